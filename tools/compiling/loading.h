// What a module does when it is loaded, and what its functions do when they fail: see loading.py.
#ifndef RETROGRAD_LOADING_H
#define RETROGRAD_LOADING_H

#include <CPy.h>

#if defined(__GNUC__)
#define COLD __attribute__((noinline, cold))
#else
#define COLD
#endif

// A compiled module, which is loaded if it was not. `name` keeps the string made of `text`.
PyObject *load_compiled(PyObject **name, const char *text, PyObject *(*make)(void), int (*run)(PyObject *),
                        CPyModule **module, CPyModuleCache *cache, CPyImportState *state);

// A class of a template, with its name in `globals` and itself in `place`. `attributes` are the places of their names in
// the table of literals; a negative one ends them.
PyObject *make_class(PyObject *template, PyObject *bases, PyObject *module, bool (*methods)(void),
                     bool (*coroutines)(PyObject *), const int *attributes, PyTypeObject **place, PyObject *globals,
                     PyObject *name);

#endif
