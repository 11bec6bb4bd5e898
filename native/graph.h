// What the hot paths of the graph ask for at every operation.
#pragma once
#include <Python.h>

namespace rg {

extern PyMethodDef graph_methods[];

}  // namespace rg
