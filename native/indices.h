// Indices that are read from an array. Another thread may change the array while a kernel reads it, and so may the
// kernel itself, if what it writes lies in the same memory. So each index is read once and looked at where it is used.
#pragma once
#include "network.h"

namespace rg {

inline bool is_index(PyObject* object) { return is_dense(object) && kind(object) == NPY_INT64; }

// Not twice, whatever the compiler thinks of it.
inline npy_int64 read_index(const npy_int64* at) { return *static_cast<const volatile npy_int64*>(at); }

inline bool is_inside(npy_int64 index, npy_intp length) {
  return static_cast<npy_uint64>(index) < static_cast<npy_uint64>(length);
}

// Whether all indices are from `low` to before `high`, as they are now.
inline bool are_within(const npy_int64* index, npy_intp n, npy_int64 low, npy_int64 high) {
  npy_intp i = 0;
  while (i < n && index[i] >= low && index[i] < high) i++;
  return i == n;
}

// For what is written in place: some of it is written already, so that nobody else can do it.
inline PyObject* index_changed() {
  PyErr_SetString(PyExc_RuntimeError, "an index has been changed while it was used, and points outside now");
  return nullptr;
}

}  // namespace rg
