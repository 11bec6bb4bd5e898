// Joining arrays.
#pragma once
#include <Python.h>

namespace rg {

extern PyMethodDef join_methods[];

}  // namespace rg
