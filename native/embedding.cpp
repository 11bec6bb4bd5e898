// Rows of a table added up by index, which is the gradient of reading them.
#include <algorithm>
#include <cstring>
#include <vector>

#include "indices.h"

using Index = std::ptrdiff_t;

#define RG_KERNELS "embedding.inc"
#include "versions.h"

namespace rg {

namespace {

constexpr npy_int64 FROM_END = NPY_MIN_INT64;  // instead of padding: there is none, and negative indices are counted so

// -- adding up -----------------------------------------------------------------------------------------------------

// Where an index points to, counted from the end if it is negative.
npy_intp row(npy_int64 index, npy_intp rows) { return index < 0 ? index + rows : index; }

// The places of each index but `padding`, in order: those of index r are `place[start[r]]` to before
// `place[start[r + 1]]`. `inside` says whether all of them pointed into the table, both times that they were read.
struct Places {
  std::vector<npy_intp> start, place;
  bool inside = true;
  Places(const npy_int64* index, npy_intp n, npy_intp rows, npy_int64 padding)
      : start(static_cast<size_t>(rows) + 1), place(static_cast<size_t>(n)) {
    each(index, n, padding, [&](npy_intp r, npy_intp) { start[r + 1]++; });
    for (npy_intp r = 0; r < rows; r++) start[r + 1] += start[r];
    std::vector<npy_intp> next(start.begin(), start.end() - 1);
    each(index, n, padding, [&](npy_intp r, npy_intp i) {
      if (next[r] < start[r + 1])
        place[next[r]++] = i;
      else
        inside = false;
    });
  }

 private:
  template <class Body>
  void each(const npy_int64* index, npy_intp n, npy_int64 padding, const Body& body) {
    const npy_intp rows = static_cast<npy_intp>(start.size()) - 1, back = padding == FROM_END ? rows : 0;
    for (npy_intp i = 0; i < n; i++) {
      const npy_int64 at = read_index(index + i);
      if (at == padding) continue;
      const npy_intp r = row(at, back);
      if (is_inside(r, rows))
        body(r, i);
      else
        inside = false;
    }
  }
};

template <class T>
struct Sources {
  const T* from;
  npy_intp n, width;
};

// Sums by index into a new table; the rows of index `padding` are left out, and divided are those of frequent indices.
// False if an index points outside.
template <class T>
bool sum_rows(const Sources<T>& x, const npy_int64* index, T* out, npy_intp rows, npy_int64 padding,
              bool by_frequency) {
  static const auto add = Versions<void (*)(T*, const T*, Index)>{RG_VERSIONS(add_row<T>)}.pick();
  static const auto add_over = Versions<void (*)(T*, const T*, T, Index)>{RG_VERSIONS(add_row_over<T>)}.pick();
  const Places places(index, x.n, rows, padding);
  if (!places.inside) return false;
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
  return true;
}

// Adds rows to those of a table that is there. Few rows, or a table that is much longer, are not worth an order.
// False if an index points outside.
template <class T>
bool add_rows(const Sources<T>& x, const npy_int64* index, T* out, npy_intp rows) {
  static const auto add = Versions<void (*)(T*, const T*, Index)>{RG_VERSIONS(add_row<T>)}.pick();
  const npy_intp width = x.width;
  if (x.n * width < LARGE || rows > 8 * x.n) {
    for (npy_intp i = 0; i < x.n; i++) {
      const npy_intp r = row(read_index(index + i), rows);
      if (!is_inside(r, rows)) return false;
      add(out + r * width, x.from + i * width, width);
    }
    return true;
  }
  const Places places(index, x.n, rows, FROM_END);
  if (!places.inside) return false;
  over(rows, (x.n * width + rows - 1) / rows, [&](npy_intp begin, npy_intp end) {
    for (npy_intp r = begin; r < end; r++)
      for (npy_intp i = places.start[r]; i < places.start[r + 1]; i++)
        add(out + r * width, x.from + places.place[i] * width, width);
  });
  return true;
}

// -- as Python sees them -------------------------------------------------------------------------------------------

// Rows and their indices, as many of each; false where they do not fit.
bool reads_sources(PyObject* x, PyObject* indices, npy_intp width) {
  npy_intp size = width;
  return is_index(indices) && width > 0 && grow(&size, size_of(indices)) && size_of(x) == size;
}

// (x, indices, rows, padding, by_frequency)
PyObject* py_sum_rows(PyObject*, Args args, Py_ssize_t count) {
  if (count != 5 || !is_real(args[0]) || PyArray_NDIM(as_array(args[0])) == 0) return not_served();
  const int nd = PyArray_NDIM(as_array(args[0]));
  const npy_intp width = PyArray_DIM(as_array(args[0]), nd - 1);
  const npy_intp rows = PyLong_AsSsize_t(args[2]);
  if (rows == -1 && PyErr_Occurred()) return nullptr;
  const npy_intp padding = PyLong_AsSsize_t(args[3]);
  if (padding == -1 && PyErr_Occurred()) return nullptr;
  const bool by_frequency = args[4] == Py_True;
  if (!reads_sources(args[0], args[1], width) || rows <= 0) return not_served();
  const npy_int64* index = data<npy_int64>(args[1]);
  const npy_intp n = size_of(args[1]);
  Ref x(dense(args[0]));
  const npy_intp dims[] = {rows, width};
  Ref out(x ? new_array(2, dims, kind(args[0])) : nullptr);
  if (!out) return nullptr;
  const bool inside =
      kind(x.get()) == NPY_FLOAT
          ? sum_rows<float>({data<float>(x.get()), n, width}, index, data<float>(out.get()), rows, padding, by_frequency)
          : sum_rows<double>({data<double>(x.get()), n, width}, index, data<double>(out.get()), rows, padding,
                             by_frequency);
  return inside ? out.release() : not_served();
}

template <class T>
bool add_blocks(PyObject* x, PyObject* indices, PyObject* out, const Split& s) {
  const npy_intp n = size_of(indices);
  const npy_int64* index = data<npy_int64>(indices);
  const T* from = data<T>(x);
  T* to = data<T>(out);
  for (npy_intp i = 0; i < s.outer; i++)
    if (!add_rows<T>({from + i * n * s.inner, n, s.inner}, index, to + i * s.count * s.inner, s.count)) return false;
  return true;
}

// (out, axis, indices, x): adds what x has along the axis in place; True, or None where the kernel does not serve
PyObject* py_add_rows(PyObject*, Args args, Py_ssize_t count) {
  if (count != 4 || !is_real(args[0]) || !is_dense(args[0]) || !is_of(args[3], kind(args[0]))) return not_served();
  const int axis = axis_of(args[1], args[0]);
  if (axis < 0 || !PyArray_ISWRITEABLE(as_array(args[0])) || size_of(args[0]) == 0) return not_served();
  const Split s = split(args[0], axis, axis + 1);
  if (!reads_sources(args[3], args[2], s.outer * s.inner)) return not_served();
  if (!are_within(data<npy_int64>(args[2]), size_of(args[2]), -s.count, s.count)) return not_served();
  Ref x(dense(args[3]));
  if (!x) return nullptr;
  const auto add = kind(x.get()) == NPY_FLOAT ? add_blocks<float> : add_blocks<double>;
  return add(x.get(), args[2], args[0], s) ? Py_NewRef(Py_True) : index_changed();
}

}  // namespace

PyMethodDef embedding_methods[] = {
    method<py_sum_rows>("sum_rows", "sum_rows(x, indices, rows, padding, by_frequency): a table of sums by index."),
    method<py_add_rows>("add_rows", "add_rows(out, axis, indices, x): adds in place; True, or None."),
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rg
