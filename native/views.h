// Arrays on memory that another one owns, and small constants.
#pragma once
#include <Python.h>

namespace rg {

extern PyMethodDef view_methods[];

}  // namespace rg
