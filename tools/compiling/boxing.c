// Note [Boxes]
// ~~~~~~~~~~~~
// Compiled code keeps floats, ints and short tuples without objects, and makes objects of them for Python. It never asks
// whether there was memory: without a tuple it ends the process, and a float that is none goes on as a null pointer. So
// it asks once more, because by then others may have given memory back. runtime.py does so for ints.
#include "boxing.h"

#undef PyFloat_FromDouble
#undef PyTuple_New

PyObject *float_once_more(double number) {
    PyErr_Clear();
    return PyFloat_FromDouble(number);
}

PyObject *tuple_once_more(Py_ssize_t length) {
    PyErr_Clear();
    return PyTuple_New(length);
}
