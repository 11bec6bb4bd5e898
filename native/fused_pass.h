// One pass of a fused loop over operands of any layout.
#pragma once
#include <cstddef>

#include "array.h"
#include "fused.h"

namespace rg {

// How the elements of an operand follow each other in the order of the result; strides in bytes. Dimensions that lie
// behind one another without a gap are one.
struct Steps {
  int nd;
  npy_intp dims[NPY_MAXDIMS];
  npy_intp strides[NPY_MAXDIMS];
};

struct Pass {
  FusedLoop loop;
  const double* params;
  npy_intp n;
  npy_intp size;               // of an element, in bytes
  unsigned used;               // slots that the loop reads
  unsigned stepped;            // those of them that do not lie as the result does: see `steps`
  const void* in[FUSED_SLOTS];
  void* out[FUSED_RESULTS];
  int results;
  Steps steps[FUSED_SLOTS];
};

// Runs a pass: large ones without the GIL, on several threads. Operands that do not lie as the result does are brought
// into a tile that stays in the cache, so that a loop only ever sees elements side by side.
void run(const Pass& pass);

}  // namespace rg
