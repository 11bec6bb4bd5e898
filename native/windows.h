// How windows slide over the last dimensions of an array: `Sliding` of ops/nn/sliding.py.
#pragma once
#include <Python.h>

#include <cstdint>

#include "gemm.h"

namespace rg {

using Place = std::int32_t;  // of an element

constexpr int SPACE = 3;  // fewer dimensions have others of length 1 in front
constexpr Index MOST_PLACES = INT32_MAX;  // of a plane, or of a window: as many as there are bits for

struct Windows {
  Index size[SPACE], kernel[SPACE], stride[SPACE], padding[SPACE], dilation[SPACE], number[SPACE];
  int rank;

  // None of these is more than MOST_PLACES.
  Index taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  Index elements() const { return size[0] * size[1] * size[2]; }
  Index windows() const { return number[0] * number[1] * number[2]; }
};

// Reads a tuple of size, kernel, stride, padding, dilation and number, each a tuple of ints; false if it is none, or if
// there are no elements or no windows, or windows that lie nowhere near the array.
bool read_windows(PyObject* tuple, Windows* w);

// Whether the last dimensions of an array are these.
bool ends_in(PyObject* array, const Windows& w, const Index* sizes);

}  // namespace rg
