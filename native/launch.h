// Launching kernels on a GPU.
#pragma once
#include <Python.h>

namespace rg {

extern PyMethodDef launch_methods[];

}  // namespace rg
