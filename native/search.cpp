// Where values belong among sorted ones.
#include <atomic>

#include "indices.h"

namespace rg {

namespace {

// A row of sorted values, and the order in which they are sorted (null: as they lie).
template <class T>
struct Row {
  const T* values;
  const npy_int64* order;
  npy_intp n;

  // The number of elements before `value`, of those that equal it too if `right`; NaN goes to the end. -1 where the
  // order names no element.
  npy_intp place_of(T value, bool right) const {
    npy_intp low = 0, high = n;
    while (low < high) {
      const npy_intp middle = low + (high - low) / 2;
      const npy_int64 at = order == nullptr ? middle : read_index(order + middle);
      if (!is_inside(at, n)) return -1;
      const bool before = right ? !(values[at] > value) : !(values[at] >= value);
      (before ? low : high) = before ? middle + 1 : middle;
    }
    return low;
  }
};

template <class T, class Out>
bool search(PyObject* rows, PyObject* values, const npy_int64* order, bool right, PyObject* out) {
  Array *r = as_array(rows), *v = as_array(values);
  const npy_intp n = PyArray_DIM(r, PyArray_NDIM(r) - 1);
  const npy_intp width = PyArray_NDIM(r) == 1 ? size_of(values) : PyArray_DIM(v, PyArray_NDIM(v) - 1);
  const T *sorted = data<T>(rows), *from = data<T>(values);
  Out* to = data<Out>(out);
  std::atomic<bool> inside{true};
  over(size_of(values), 16, [=, &inside](npy_intp begin, npy_intp end) {
    for (npy_intp i = begin; i < end; i++) {
      const npy_intp start = i / width * n;
      const Row<T> row{sorted + start, order == nullptr ? nullptr : order + start, n};
      const npy_intp place = row.place_of(from[i], right);
      if (place < 0) inside = false;
      to[i] = static_cast<Out>(place);
    }
  });
  return inside;
}

template <class T>
bool search(PyObject* rows, PyObject* values, const npy_int64* order, bool right, PyObject* out) {
  return kind(out) == NPY_INT32 ? search<T, npy_int32>(rows, values, order, right, out)
                                : search<T, npy_int64>(rows, values, order, right, out);
}

bool search_any(PyObject* rows, PyObject* values, const npy_int64* order, bool right, PyObject* out) {
  switch (kind(rows)) {
    case NPY_FLOAT: return search<float>(rows, values, order, right, out);
    case NPY_DOUBLE: return search<double>(rows, values, order, right, out);
    case NPY_INT64: return search<npy_int64>(rows, values, order, right, out);
    case NPY_INT32: return search<npy_int32>(rows, values, order, right, out);
    default: return false;
  }
}

// Whether there is one row for all values, or one for each of theirs.
bool fit(PyObject* rows, PyObject* values) {
  Array *r = as_array(rows), *v = as_array(values);
  const int nd = PyArray_NDIM(r);
  if (nd == 1) return true;
  if (nd == 0 || PyArray_NDIM(v) != nd) return false;
  return PyArray_CompareLists(PyArray_DIMS(r), PyArray_DIMS(v), nd - 1);
}

// (rows, values, order, right, narrow): int32 places if narrow, else int64
PyObject* py_search(PyObject*, Args args, Py_ssize_t count) {
  if (count != 5 || !is_dense(args[0]) || !is_of(args[1], kind(args[0])) || !is_dense(args[1])) return not_served();
  PyObject *rows = args[0], *values = args[1], *order = args[2];
  if (!fit(rows, values)) return not_served();
  if (order != Py_None && (!is_index(order) || !same_shape(order, rows))) return not_served();
  Ref out(new_array(PyArray_NDIM(as_array(values)), PyArray_DIMS(as_array(values)),
                    args[4] == Py_True ? NPY_INT32 : NPY_INT64));
  if (!out) return nullptr;
  const npy_int64* places = order == Py_None ? nullptr : data<npy_int64>(order);
  return search_any(rows, values, places, args[3] == Py_True, out.get()) ? out.release() : not_served();
}

}  // namespace

PyMethodDef search_methods[] = {
    method<py_search>("search", "search(rows, values, order, right, narrow): places among sorted values, or None."),
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rg
