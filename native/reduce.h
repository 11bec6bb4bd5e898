// Reductions: how loops are called, and the tables of loops that each instruction set has.
#pragma once
#include <Python.h>

#include <cstddef>
#include <cstdint>

#include "elementwise.h"

namespace rg {

// out[i] = the reduction over j < n of x[i * n + j], for i < count
using RunsLoop = void (*)(const void* x, std::ptrdiff_t count, std::ptrdiff_t n, void* out);

// out[j] = the reduction over i < rows of x[i * stride + j], for j < n; strides in elements, n up to TILE
using RowsLoop = void (*)(const void* x, std::ptrdiff_t rows, std::ptrdiff_t stride, std::ptrdiff_t n, void* out);

constexpr std::ptrdiff_t TILE = 1024;  // elements of a row that are reduced at once

struct Loops {
  RunsLoop runs;
  RowsLoop rows;
};

// One function under NumPy's name. `first` reads the array, `then` what an earlier step has left; results are booleans
// if `truth`, and divided by the count if `mean`.
struct ReduceKernel {
  const char* name;
  Loops first[SLOTS], then[SLOTS];
  bool truth, mean;
};

// The place of the extremum in each run, or for each column in rows.
using RunPlaces = void (*)(const void* x, std::ptrdiff_t count, std::ptrdiff_t n, int64_t* out);
using RowsPlaces = void (*)(const void* x, std::ptrdiff_t rows, std::ptrdiff_t stride, std::ptrdiff_t n, int64_t* out);

struct PlaceKernel {
  const char* name;
  RunPlaces runs[SLOTS];
  RowsPlaces rows[SLOTS];
};

extern PyMethodDef reduce_methods[];

bool add_reductions(PyObject* module);  // puts the entries into the module; false with an exception set

}  // namespace rg
