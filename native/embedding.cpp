// Rows of a table added up by index, which is the gradient of reading them.
#include <algorithm>
#include <cstring>
#include <vector>

#include "network.h"

using Index = std::ptrdiff_t;

#define RG_KERNELS "embedding.inc"
#include "versions.h"

namespace rg {

namespace {

constexpr npy_int64 NONE = NPY_MIN_INT64;  // an index that none is

// Whether indices are from `low` to before `high`, but for those that do not count.
bool are_within(const npy_int64* index, npy_intp n, npy_int64 low, npy_int64 high, npy_int64 padding) {
  for (npy_intp i = 0; i < n; i++)
    if ((index[i] < low || index[i] >= high) && index[i] != padding) return false;
  return true;
}

// -- adding up -----------------------------------------------------------------------------------------------------

// Where an index points to, counted from the end if it is negative.
npy_intp row(npy_int64 index, npy_intp rows) { return index < 0 ? index + rows : index; }

// The places of each index but `padding`, in order: those of index r are `place[start[r]]` to before
// `place[start[r + 1]]`.
struct Places {
  std::vector<npy_intp> start, place;
  Places(const npy_int64* index, npy_intp n, npy_intp rows, npy_int64 padding)
      : start(static_cast<size_t>(rows) + 1), place(static_cast<size_t>(n)) {
    for (npy_intp i = 0; i < n; i++)
      if (index[i] != padding) start[row(index[i], rows) + 1]++;
    for (npy_intp r = 0; r < rows; r++) start[r + 1] += start[r];
    std::vector<npy_intp> next(start.begin(), start.end() - 1);
    for (npy_intp i = 0; i < n; i++)
      if (index[i] != padding) place[next[row(index[i], rows)]++] = i;
  }
};

template <class T>
struct Sources {
  const T* from;
  npy_intp n, width;
};

// Sums by index into a new table; the rows of index `padding` are left out, and divided are those of frequent indices.
template <class T>
void sum_rows(const Sources<T>& x, const npy_int64* index, T* out, npy_intp rows, npy_int64 padding,
              bool by_frequency) {
  static const auto add = Versions<void (*)(T*, const T*, Index)>{RG_VERSIONS(add_row<T>)}.pick();
  static const auto add_over = Versions<void (*)(T*, const T*, T, Index)>{RG_VERSIONS(add_row_over<T>)}.pick();
  const Places places(index, x.n, rows, padding);
  const npy_intp width = x.width;
  over(rows, width, [&](npy_intp begin, npy_intp end) {
    std::memset(out + begin * width, 0, static_cast<size_t>((end - begin) * width) * sizeof(T));
    for (npy_intp r = begin; r < end; r++) {
      const npy_intp first = places.start[r], last = places.start[r + 1];
      for (npy_intp i = first; i < last; i++) {
        const T* from = x.from + places.place[i] * width;
        by_frequency ? add_over(out + r * width, from, T(last - first), width) : add(out + r * width, from, width);
      }
    }
  });
}

// Adds rows to those of a table that is there. Few rows, or a table that is much longer, are not worth an order.
template <class T>
void add_rows(const Sources<T>& x, const npy_int64* index, T* out, npy_intp rows) {
  static const auto add = Versions<void (*)(T*, const T*, Index)>{RG_VERSIONS(add_row<T>)}.pick();
  const npy_intp width = x.width;
  if (x.n * width < LARGE || rows > 8 * x.n) {
    for (npy_intp i = 0; i < x.n; i++) add(out + row(index[i], rows) * width, x.from + i * width, width);
    return;
  }
  const Places places(index, x.n, rows, NONE);
  over(rows, (x.n * width + rows - 1) / rows, [&](npy_intp begin, npy_intp end) {
    for (npy_intp r = begin; r < end; r++)
      for (npy_intp i = places.start[r]; i < places.start[r + 1]; i++)
        add(out + r * width, x.from + places.place[i] * width, width);
  });
}

// -- as Python sees them -------------------------------------------------------------------------------------------

bool is_index(PyObject* object) { return is_dense(object) && kind(object) == NPY_INT64; }

// Rows and their indices, as many of each; false where they do not fit.
bool reads_sources(PyObject* x, PyObject* indices, npy_intp width) {
  return is_index(indices) && size_of(x) == size_of(indices) * width && width > 0;
}

// (x, indices, rows, padding, by_frequency)
PyObject* py_sum_rows(PyObject*, Args args, Py_ssize_t count) {
  if (count != 5 || !is_real(args[0]) || PyArray_NDIM(as_array(args[0])) == 0) return not_served();
  const int nd = PyArray_NDIM(as_array(args[0]));
  const npy_intp width = PyArray_DIM(as_array(args[0]), nd - 1);
  const npy_intp rows = PyLong_AsSsize_t(args[2]), padding = PyLong_AsSsize_t(args[3]);
  const bool by_frequency = args[4] == Py_True;
  if (PyErr_Occurred()) return nullptr;
  if (!reads_sources(args[0], args[1], width) || rows <= 0) return not_served();
  const npy_int64* index = data<npy_int64>(args[1]);
  const npy_intp n = size_of(args[1]);
  if (!are_within(index, n, 0, rows, padding)) return not_served();
  Ref x(dense(args[0]));
  const npy_intp dims[] = {rows, width};
  Ref out(x ? new_array(2, dims, kind(args[0])) : nullptr);
  if (!out) return nullptr;
  if (kind(x.get()) == NPY_FLOAT)
    sum_rows<float>({data<float>(x.get()), n, width}, index, data<float>(out.get()), rows, padding, by_frequency);
  else
    sum_rows<double>({data<double>(x.get()), n, width}, index, data<double>(out.get()), rows, padding, by_frequency);
  return out.release();
}

template <class T>
void add_blocks(PyObject* x, PyObject* indices, PyObject* out, const Split& s) {
  const npy_intp n = size_of(indices);
  for (npy_intp i = 0; i < s.outer; i++)
    add_rows<T>({data<T>(x) + i * n * s.inner, n, s.inner}, data<npy_int64>(indices),
                data<T>(out) + i * s.count * s.inner, s.count);
}

// (out, axis, indices, x): adds what x has along the axis in place; True, or None where the kernel does not serve
PyObject* py_add_rows(PyObject*, Args args, Py_ssize_t count) {
  if (count != 4 || !is_real(args[0]) || !is_dense(args[0]) || !is_of(args[3], kind(args[0]))) return not_served();
  const int axis = axis_of(args[1], args[0]);
  if (axis < 0 || !PyArray_ISWRITEABLE(as_array(args[0])) || size_of(args[0]) == 0) return not_served();
  const Split s = split(args[0], axis, axis + 1);
  if (!reads_sources(args[3], args[2], s.outer * s.inner)) return not_served();
  if (!are_within(data<npy_int64>(args[2]), size_of(args[2]), -s.count, s.count, NONE)) return not_served();
  Ref x(dense(args[3]));
  if (!x) return nullptr;
  if (kind(x.get()) == NPY_FLOAT)
    add_blocks<float>(x.get(), args[2], args[0], s);
  else
    add_blocks<double>(x.get(), args[2], args[0], s);
  Py_RETURN_TRUE;
}

}  // namespace

PyMethodDef embedding_methods[] = {
    method<py_sum_rows>("sum_rows", "sum_rows(x, indices, rows, padding, by_frequency): a table of sums by index."),
    method<py_add_rows>("add_rows", "add_rows(out, axis, indices, x): adds in place; True, or None."),
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rg
