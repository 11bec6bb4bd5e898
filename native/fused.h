// Fused elementwise kernels: the tables that tools/fuse.py writes, and what reads them.
#pragma once
#include <Python.h>

#include <cstddef>

#include "isa.h"

namespace rg {

constexpr int FUSED_SLOTS = 4;    // operands of a kernel: g, x, y, out at most
constexpr int FUSED_RESULTS = 3;  // gradients that it computes
constexpr int FUSED_PARAMS = 4;   // parameters of the op that it reads

constexpr int ITSELF = -1;    // instead of a loop: the first operand is the result
constexpr int UNSERVED = -2;  // instead of a leaf: the plain formula has to serve

// One pass over n elements: in[slot] and out[result] are arrays without gaps, p the parameters as doubles.
using FusedLoop = void (*)(const void* const* in, void* const* out, const double* p, std::ptrdiff_t n);

struct FusedRow {
  Versions<FusedLoop> f32, f64;
  unsigned used;  // the slots that it reads, as bits
  bool slow;      // whether it calls functions that are not vectorised
};

// What is computed under given parameters: a loop for each result, and one for two together where there are two.
struct FusedLeaf {
  int single[FUSED_RESULTS];
  int both;
};

// A kind of parameters: each null for a number, "" for None, else the text it has to be. `lead` goes from the numbers
// to a leaf; it is null where there is only one.
struct FusedCase {
  const char* kinds[FUSED_PARAMS];
  int (*lead)(const double* p);
  int leaf;
};

// One method of one op class; its cases follow each other in the table of cases.
struct FusedKernel {
  const char* key;
  const char* params[FUSED_PARAMS];
  int slots, results, param_count, first_case, case_count;
};

struct FusedTable {
  const FusedRow* loops;
  const FusedLeaf* leaves;
  const FusedCase* cases;
  const FusedKernel* kernels;
  int kernel_count;
};

extern const FusedTable fused_table;
extern PyMethodDef fused_methods[];

}  // namespace rg
