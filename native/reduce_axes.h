// Which dimensions a reduction takes away, seen as groups of dimensions that lie behind each other in memory.
#pragma once
#include "walk.h"

namespace rg {

class Axes {
 public:
  int groups = 0, reduced_groups = 0;
  npy_intp length[MOST_DIMS];  // of a group
  bool reduced[MOST_DIMS];     // whether it is taken away
  npy_intp count = 1;          // elements that become one

  // False where NumPy has to do it: gaps in memory, no elements, or axes that are not there.
  bool find(PyObject* x, PyObject* axis) {
    Array* a = as_array(x);
    nd_ = PyArray_NDIM(a);
    if (nd_ > MOST_DIMS || size_of(x) == 0 || !is_packed(x) || !mark(axis)) return false;
    sort(a);
    for (int i = 0; i < nd_; i++) {
      const int d = order_[i];
      const npy_intp n = PyArray_DIM(a, d);
      if (gone_[d]) count *= n;
      if (n > 1) append(n, gone_[d]);
    }
    if (reduced_groups == 0) append(1, true);
    return true;
  }

  // A new array for the result, laid out like the array that is reduced.
  PyObject* new_result(PyObject* x, bool keep, int type) const {
    Array* a = as_array(x);
    npy_intp dims[MOST_DIMS], strides[MOST_DIMS], apart[MOST_DIMS], bytes = bytes_of_type(type), most = bytes;
    if (!grow(&most, size_of(x))) return PyErr_NoMemory();
    for (int i = nd_ - 1; i >= 0; i--) {
      const int d = order_[i];
      apart[d] = bytes;
      if (!gone_[d]) bytes *= PyArray_DIM(a, d);
    }
    int nd = 0;
    for (int d = 0; d < nd_; d++) {
      if (gone_[d] && !keep) continue;
      dims[nd] = gone_[d] ? 1 : PyArray_DIM(a, d);
      strides[nd++] = apart[d];
    }
    return array_of(bytes, nd, dims, strides, type);
  }

 private:
  bool mark(PyObject* axis) {
    for (int i = 0; i < nd_; i++) gone_[i] = axis == Py_None;
    if (axis == Py_None) return true;
    if (!PyTuple_CheckExact(axis)) return mark_one(axis);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(axis); i++)
      if (!mark_one(PyTuple_GET_ITEM(axis, i))) return false;
    return true;
  }

  bool mark_one(PyObject* axis) {
    if (!PyLong_CheckExact(axis)) return false;
    int overflow = 0;
    long long d = PyLong_AsLongLongAndOverflow(axis, &overflow);
    if (d < 0) d += nd_;
    if (overflow != 0 || d < 0 || d >= nd_ || gone_[d]) return false;
    gone_[d] = true;
    return true;
  }

  // Dimensions from the outermost in memory to the innermost.
  void sort(Array* a) {
    for (int i = 0; i < nd_; i++) {
      int j = i;
      for (; j > 0 && PyArray_DIM(a, i) > 1 && before(a, i, order_[j - 1]); j--) order_[j] = order_[j - 1];
      order_[j] = i;
    }
  }

  static bool before(Array* a, int i, int other) {
    return PyArray_DIM(a, other) == 1 || PyArray_STRIDE(a, i) > PyArray_STRIDE(a, other);
  }

  void append(npy_intp n, bool gone) {
    if (groups > 0 && reduced[groups - 1] == gone) {
      length[groups - 1] *= n;
      return;
    }
    length[groups] = n;
    reduced[groups++] = gone;
    reduced_groups += gone;
  }

  int nd_ = 0;
  int order_[MOST_DIMS];
  bool gone_[MOST_DIMS];
};

inline bool is_named(PyObject* name, const char* text) { return PyUnicode_CompareWithASCIIString(name, text) == 0; }

// Whether a dtype is the one that an array of numbers has: then it changes nothing.
inline bool is_own_type(PyObject* dtype, PyObject* x) {
  if (!PyArray_DescrCheck(dtype) || !is_plain(x)) return false;
  return reinterpret_cast<PyArray_Descr*>(dtype) == PyArray_DESCR(as_array(x)) && kind(x) != NPY_BOOL;
}

// The arguments (x, axis=None, keepdims=False, dtype=x.dtype); false where there are others.
inline bool read_axis(PyObject* const* args, Py_ssize_t count, PyObject* names, PyObject** axis, bool* keep) {
  *axis = count > 1 ? args[1] : Py_None;
  *keep = false;
  if (count < 1 || count > 2) return false;
  const Py_ssize_t more = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
  for (Py_ssize_t i = 0; i < more; i++) {
    PyObject *name = PyTuple_GET_ITEM(names, i), *value = args[count + i];
    if (count == 1 && is_named(name, "axis")) {
      *axis = value;
    } else if (is_named(name, "keepdims") && PyBool_Check(value)) {
      *keep = value == Py_True;
    } else if (!is_named(name, "dtype") || !is_own_type(value, args[0])) {
      return false;
    }
  }
  return true;
}

}  // namespace rg
