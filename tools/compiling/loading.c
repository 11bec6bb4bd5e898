// What modules do when they are loaded, which mypyc writes out each time: see loading.py.
#include "loading.h"

extern PyObject *CPyStatics[];
extern CPyModuleLockAPI *CPyModuleLockAPI_retrograd;
extern const char library_suffix[];

// Where the library is that holds all modules.
static PyObject *library_file(PyObject *modules) {
    PyObject *library = PyDict_GetItemString(modules, "retrograd__mypyc");
    if (library == NULL) {
        PyErr_SetString(PyExc_KeyError, "retrograd__mypyc");
        return NULL;
    }
    return PyObject_GetAttrString(library, "__file__");
}

PyObject *load_compiled(PyObject **name, const char *text, PyObject *(*make)(void), int (*run)(PyObject *),
                        CPyModule **module, CPyModuleCache *cache, CPyImportState *state) {
    if (*name == NULL && (*name = PyUnicode_InternFromString(text)) == NULL)
        return NULL;
    PyObject *modules = PyImport_GetModuleDict();
    if (CPyImport_IsInitialized(state))
        return CPyDict_GetItem(modules, *name);
    PyObject *file = library_file(modules);
    PyObject *suffix = file == NULL ? NULL : PyUnicode_FromString(library_suffix);
    PyObject *made = suffix == NULL ? NULL
                                    : CPyImport_ImportNative(*name, make, run, module, cache, state,
                                                             CPyModuleLockAPI_retrograd, file, suffix, 0);
    Py_XDECREF(suffix);
    Py_XDECREF(file);
    return made;
}

// The tuple by which copies of an object are made.
static int put_attributes(PyObject *made, const int *places) {
    Py_ssize_t count = 0;
    while (places[count] >= 0)
        count++;
    PyObject *names = PyTuple_New(count);
    if (names == NULL)
        return -1;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *name = CPyStatics[places[i]];
        Py_INCREF(name);
        PyTuple_SET_ITEM(names, i, name);
    }
    int done = PyObject_SetAttrString(made, "__mypyc_attrs__", names);
    Py_DECREF(names);
    return done;
}

PyObject *make_class(PyObject *template, PyObject *bases, PyObject *module, bool (*methods)(void),
                     bool (*coroutines)(PyObject *), const int *attributes, PyTypeObject **place, PyObject *globals,
                     PyObject *name) {
    PyObject *made = CPyType_FromTemplate(template, bases, module);
    if (made == NULL)
        return NULL;
    if (!methods() || !coroutines(made) || put_attributes(made, attributes) < 0) {
        Py_DECREF(made);
        return NULL;
    }
    Py_INCREF(made);
    *place = (PyTypeObject *)made;
    if (PyDict_SetItem(globals, name, made) < 0) {
        Py_DECREF(made);
        return NULL;
    }
    return made;
}
