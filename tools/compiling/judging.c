// Asks `retrograd.ops.refusals` whether a call that failed had an argument of a wrong type: see Note [Types first].
#include "judging.h"

#include <stdbool.h>

static PyObject *named_arguments(PyObject *const *values, PyObject *names)
{
    PyObject *found = PyDict_New();
    Py_ssize_t count = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    for (Py_ssize_t i = 0; found != NULL && i < count; i++)
        if (PyDict_SetItem(found, PyTuple_GET_ITEM(names, i), values[i]) < 0) Py_CLEAR(found);
    return found;
}

static PyObject *positional_arguments(PyObject *const *values, Py_ssize_t count)
{
    PyObject *found = PyTuple_New(count);
    for (Py_ssize_t i = 0; found != NULL && i < count; i++) PyTuple_SET_ITEM(found, i, Py_NewRef(values[i]));
    return found;
}

// The error that is to be raised, None, or NULL where there is no answer.
static PyObject *refusal(
    PyObject *module, const char *name, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    PyObject *found = NULL, *given = positional_arguments(args, nargs), *named = named_arguments(args + nargs, kwnames);
    PyObject *judge = PyImport_ImportModule("retrograd.ops.refusals");
    const char *home = PyModule_GetName(module);
    if (judge != NULL && given != NULL && named != NULL && home != NULL)
        found = PyObject_CallMethod(judge, "refusal", "ssOO", home, name, given, named);
    Py_XDECREF(judge);
    Py_XDECREF(given);
    Py_XDECREF(named);
    return found;
}

static bool is_to_be_judged(void)
{
    return PyErr_ExceptionMatches(PyExc_Exception) && !PyErr_ExceptionMatches(PyExc_TypeError) &&
           !PyErr_ExceptionMatches(PyExc_MemoryError);
}

PyObject *tell_types_first(
    PyObject *module, const char *name, PyObject *const *args, size_t nargs, PyObject *kwnames)
{
    if (!is_to_be_judged()) return NULL;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *error = refusal(module, name, args, PyVectorcall_NARGS(nargs), kwnames);
    if (error != NULL && error != Py_None) {
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
    } else
        PyErr_Restore(type, value, traceback);
    Py_XDECREF(error);
    return NULL;
}
