// The method tables of convolution, pooling and attention.
#pragma once
#include <Python.h>

namespace rg {

extern PyMethodDef attention_methods[];
extern PyMethodDef conv_methods[];
extern PyMethodDef pool_methods[];

}  // namespace rg
