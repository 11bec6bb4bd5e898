// Elements named by an index, and triangles of matrices.
#pragma once
#include <Python.h>

namespace rg {

extern PyMethodDef pick_methods[];
bool add_picks(PyObject* module);  // puts `take` into the module; false with an exception set
bool add_triangles(PyObject* module);

}  // namespace rg
