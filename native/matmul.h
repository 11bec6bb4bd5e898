// Products of matrices under NumPy's name, and with operands transposed or something added.
#pragma once
#include <Python.h>

namespace rg {

bool add_matmul(PyObject* module);  // puts `matmul` into the module; false with an exception set

extern PyMethodDef matmul_methods[];

}  // namespace rg
