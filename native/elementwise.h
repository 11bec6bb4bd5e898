// Elementwise kernels: how a loop is called, and the tables of loops that each instruction set has.
#pragma once
#include <Python.h>

#include <cstddef>
#include <cstdint>

namespace rg {

enum Slot { F32, F64, I64, B8, SLOTS };  // the element types that loops exist for

// out[i] = f(x[i])
using UnaryLoop = void (*)(const void* x, void* out, std::ptrdiff_t n);

// out[i] = f(x[i * sx], y[i * sy]), where a step is 0 or 1 element
using BinaryLoop = void (*)(const void* x, std::ptrdiff_t sx, const void* y, std::ptrdiff_t sy, void* out,
                            std::ptrdiff_t n);

// One function under NumPy's name; null where a type is left to NumPy. `truth` says that results are booleans.
struct UnaryKernel {
  const char* name;
  UnaryLoop loops[SLOTS];
  bool truth;
};

struct BinaryKernel {
  const char* name;
  BinaryLoop loops[SLOTS];
  bool truth;
};

// out[i] = c[i * sc] ? x[i * sx] : y[i * sy], where a step is 0 or 1 element
using ChooseLoop = void (*)(const void* c, std::ptrdiff_t sc, const void* x, std::ptrdiff_t sx, const void* y,
                            std::ptrdiff_t sy, void* out, std::ptrdiff_t n);

struct ChooseKernel {
  ChooseLoop loops[SLOTS];
};

const ChooseKernel* choose_kernel();

// These put entries into the module; false with an exception set.
bool add_elementwise(PyObject* module);
bool add_choices(PyObject* module);
bool add_copies(PyObject* module);

}  // namespace rg
