// What public functions do when they have failed: see Note [Types first] in ops/refusals.py.
#ifndef RETROGRAD_JUDGING_H
#define RETROGRAD_JUDGING_H

#include <Python.h>

// Puts a TypeError in the place of the error that is raised, if an argument is of a type that the function `name` of
// `module` does not take; returns NULL.
PyObject *tell_types_first(
    PyObject *module, const char *name, PyObject *const *args, size_t nargs, PyObject *kwnames);

#endif
