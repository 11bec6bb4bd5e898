// Operands of a fused kernel: whether it serves them, and how they lie with regard to the result.
#pragma once
#include "fused_pass.h"

namespace rg {

// A Python number as a double that it is exactly equal to; false for anything else.
bool exact_number(PyObject* value, double* number);

struct Layout {
  Pass pass;  // without loop, parameters and results
  int type;
  int nd;
  const npy_intp* dims;
  const npy_intp* strides;  // of the result, null for C order
  npy_intp shape[NPY_MAXDIMS];

  union {
    float f32;
    double f64;
  } numbers[FUSED_SLOTS];

  PyObject* new_result() const;
};

// Looks at the operands in the slots of `used`; false if the kernel does not serve them.
bool lay_out(PyObject* const* operands, unsigned used, Layout* layout);

}  // namespace rg
