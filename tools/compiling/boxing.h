// What mypyc takes for granted, that a float or a tuple can be made an object, where there is no memory for one: see
// Note [Boxes].
#ifndef RETROGRAD_BOXING_H
#define RETROGRAD_BOXING_H

#include <Python.h>

PyObject *float_once_more(double number);
PyObject *tuple_once_more(Py_ssize_t length);

static inline PyObject *boxed_float(double number) {
    PyObject *made = PyFloat_FromDouble(number);
    return made != NULL ? made : float_once_more(number);
}

static inline PyObject *boxed_tuple(Py_ssize_t length) {
    PyObject *made = PyTuple_New(length);
    return made != NULL ? made : tuple_once_more(length);
}

#define PyFloat_FromDouble(number) boxed_float(number)
#define PyTuple_New(length) boxed_tuple(length)

#endif
