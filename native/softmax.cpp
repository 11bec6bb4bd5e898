// Softmax, its logarithm and the logarithm of its denominator, along any axis; and their backward.
#include "network.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

using Index = std::ptrdiff_t;

#define RG_KERNELS "softmax.inc"
#include "versions.h"

namespace rg {

namespace {

template <class T>
struct Kernels {
  using Forward = void (*)(const T*, T*, npy_intp, npy_intp);
  using Backward = void (*)(const T*, const T*, T*, npy_intp, npy_intp);
  using Columns = void (*)(const T*, T*, npy_intp, npy_intp, npy_intp);
  using BackwardColumns = void (*)(const T*, const T*, T*, npy_intp, npy_intp, npy_intp);
  using Spread = void (*)(const T*, const T*, const T*, T*, npy_intp, npy_intp);
  using SpreadColumns = void (*)(const T*, const T*, const T*, T*, npy_intp, npy_intp, npy_intp);
};

// Calls body(offset, first column, width) for tiles of columns of all blocks of a split.
template <class Body>
void over_tiles(const Split& s, const Body& body) {
  const npy_intp tiles = (s.inner + base::TILE - 1) / base::TILE;
  over(s.outer * tiles, s.count * std::min(s.inner, npy_intp(base::TILE)), [&](npy_intp begin, npy_intp end) {
    for (npy_intp i = begin; i < end; i++) {
      const npy_intp block = i / tiles, column = i % tiles * base::TILE;
      body(block, column, std::min(npy_intp(base::TILE), s.inner - column));
    }
  });
}

template <bool LOG, class T>
void forward(PyObject* from, PyObject* to, const Split& s) {
  static const auto rows = Versions<typename Kernels<T>::Forward>{RG_VERSIONS(forward_rows<LOG, T>)}.pick();
  static const auto columns = Versions<typename Kernels<T>::Columns>{RG_VERSIONS(forward_columns<LOG, T>)}.pick();
  const T* x = data<T>(from);
  T* out = data<T>(to);
  const npy_intp n = s.count;
  if (s.inner == 1)
    over(s.outer, n, [=](npy_intp begin, npy_intp end) { rows(x + begin * n, out + begin * n, end - begin, n); });
  else
    over_tiles(s, [=](npy_intp block, npy_intp column, npy_intp width) {
      const npy_intp at = block * n * s.inner + column;
      columns(x + at, out + at, n, s.inner, width);
    });
}

template <bool LOG, class T>
void backward(PyObject* gradient, PyObject* result, PyObject* to, const Split& s) {
  static const auto rows = Versions<typename Kernels<T>::Backward>{RG_VERSIONS(backward_rows<LOG, T>)}.pick();
  static const auto columns =
      Versions<typename Kernels<T>::BackwardColumns>{RG_VERSIONS(backward_columns<LOG, T>)}.pick();
  const T *g = data<T>(gradient), *y = data<T>(result);
  T* out = data<T>(to);
  const npy_intp n = s.count;
  if (s.inner == 1)
    over(s.outer, n, [=](npy_intp begin, npy_intp end) {
      rows(g + begin * n, y + begin * n, out + begin * n, end - begin, n);
    });
  else
    over_tiles(s, [=](npy_intp block, npy_intp column, npy_intp width) {
      const npy_intp at = block * n * s.inner + column;
      columns(g + at, y + at, out + at, n, s.inner, width);
    });
}

template <class T>
void logsumexp(PyObject* from, PyObject* to, const Split& s) {
  static const auto rows = Versions<typename Kernels<T>::Forward>{RG_VERSIONS(logsumexp_rows<T>)}.pick();
  static const auto columns = Versions<typename Kernels<T>::Columns>{RG_VERSIONS(logsumexp_columns<T>)}.pick();
  const T* x = data<T>(from);
  T* out = data<T>(to);
  const npy_intp n = s.count;
  if (s.inner == 1)
    over(s.outer, n, [=](npy_intp begin, npy_intp end) { rows(x + begin * n, out + begin, end - begin, n); });
  else
    over_tiles(s, [=](npy_intp block, npy_intp column, npy_intp width) {
      columns(x + block * n * s.inner + column, out + block * s.inner + column, n, s.inner, width);
    });
}

template <class T>
void logsumexp_backward(PyObject* gradient, PyObject* from, PyObject* result, PyObject* to, const Split& s) {
  static const auto rows = Versions<typename Kernels<T>::Spread>{RG_VERSIONS(logsumexp_backward_rows<T>)}.pick();
  static const auto columns =
      Versions<typename Kernels<T>::SpreadColumns>{RG_VERSIONS(logsumexp_backward_columns<T>)}.pick();
  const T *g = data<T>(gradient), *x = data<T>(from), *y = data<T>(result);
  T* out = data<T>(to);
  const npy_intp n = s.count;
  if (s.inner == 1)
    over(s.outer, n, [=](npy_intp begin, npy_intp end) {
      rows(g + begin, x + begin * n, y + begin, out + begin * n, end - begin, n);
    });
  else
    over_tiles(s, [=](npy_intp block, npy_intp column, npy_intp width) {
      const npy_intp at = block * n * s.inner + column, small = block * s.inner + column;
      columns(g + small, x + at, y + small, out + at, n, s.inner, width);
    });
}

// -- as Python sees them -------------------------------------------------------------------------------------------

template <bool LOG>
PyObject* py_forward(PyObject*, Args args, Py_ssize_t count) {
  const int axis = count == 2 && is_real(args[0]) ? axis_of(args[1], args[0]) : -1;
  if (axis < 0) return not_served();
  Ref x(dense(args[0]));
  Ref out(x ? new_like(x.get()) : nullptr);
  if (!out || size_of(out.get()) == 0) return out.release();
  const Split s = split(x.get(), axis, axis + 1);
  if (kind(x.get()) == NPY_FLOAT)
    forward<LOG, float>(x.get(), out.get(), s);
  else
    forward<LOG, double>(x.get(), out.get(), s);
  return out.release();
}

template <bool LOG>
PyObject* py_backward(PyObject*, Args args, Py_ssize_t count) {
  const int axis = count == 3 && is_real(args[0]) && is_of(args[1], kind(args[0])) && same_shape(args[0], args[1])
                       ? axis_of(args[2], args[0])
                       : -1;
  if (axis < 0) return not_served();
  Ref g(dense(args[0])), y(dense(args[1]));
  Ref out(g && y ? new_like(g.get()) : nullptr);
  if (!out || size_of(out.get()) == 0) return out.release();
  const Split s = split(g.get(), axis, axis + 1);
  if (kind(g.get()) == NPY_FLOAT)
    backward<LOG, float>(g.get(), y.get(), out.get(), s);
  else
    backward<LOG, double>(g.get(), y.get(), out.get(), s);
  return out.release();
}

// The shape of an array with 1 for the lengths along an axis.
struct Narrow {
  npy_intp dims[NPY_MAXDIMS];
  Narrow(PyObject* array, int axis) {
    std::copy_n(PyArray_DIMS(as_array(array)), PyArray_NDIM(as_array(array)), dims);
    dims[axis] = 1;
  }
};

PyObject* py_logsumexp(PyObject*, Args args, Py_ssize_t count) {
  const int axis = count == 2 && is_real(args[0]) ? axis_of(args[1], args[0]) : -1;
  if (axis < 0) return not_served();
  Ref x(dense(args[0]));
  if (!x) return nullptr;
  Ref out(new_array(PyArray_NDIM(as_array(x.get())), Narrow(x.get(), axis).dims, kind(x.get())));
  if (!out || size_of(out.get()) == 0) return out.release();
  const Split s = split(x.get(), axis, axis + 1);
  if (kind(x.get()) == NPY_FLOAT)
    logsumexp<float>(x.get(), out.get(), s);
  else
    logsumexp<double>(x.get(), out.get(), s);
  return out.release();
}

// (g, x, out, axis): g and out have 1 along the axis, or lack it.
PyObject* py_logsumexp_backward(PyObject*, Args args, Py_ssize_t count) {
  const int type = count == 4 && is_real(args[1]) ? kind(args[1]) : -1;
  if (type < 0 || !is_of(args[0], type) || !is_of(args[2], type)) return not_served();
  const int axis = axis_of(args[3], args[1]);
  if (axis < 0) return not_served();
  const Split s = split(args[1], axis, axis + 1);
  if (size_of(args[0]) != s.outer * s.inner || size_of(args[2]) != s.outer * s.inner) return not_served();
  Ref g(dense(args[0])), x(dense(args[1])), y(dense(args[2]));
  Ref out(g && x && y ? new_like(x.get()) : nullptr);
  if (!out || size_of(out.get()) == 0) return out.release();
  if (type == NPY_FLOAT)
    logsumexp_backward<float>(g.get(), x.get(), y.get(), out.get(), s);
  else
    logsumexp_backward<double>(g.get(), x.get(), y.get(), out.get(), s);
  return out.release();
}

}  // namespace

PyMethodDef softmax_methods[] = {
    method<py_forward<false>>("softmax", "softmax(x, axis), or None where the kernel does not serve."),
    method<py_forward<true>>("log_softmax", "log_softmax(x, axis), or None where the kernel does not serve."),
    method<py_backward<false>>("softmax_backward", "softmax_backward(g, out, axis)"),
    method<py_backward<true>>("log_softmax_backward", "log_softmax_backward(g, out, axis)"),
    method<py_logsumexp>("logsumexp", "logsumexp(x, axis), with 1 along the axis."),
    method<py_logsumexp_backward>("logsumexp_backward", "logsumexp_backward(g, x, out, axis)"),
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rg
