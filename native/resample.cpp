// Resampling: along an axis, every element of the result is a weighted sum of a few of the operand's.
#include <atomic>

#include "indices.h"

namespace rg {

namespace {

// `count` rows of `n` indices and weights: see Note [Taps] in `ops/nn/resample.py`.
struct Taps {
  const npy_int64* index;
  const double* weight;
  npy_intp count, n;
};

// One line of the result, from the lines of a block. A weight of 0 is not multiplied. False if an index points outside.
template <class T>
bool resample_line(const T* block, T* to, const Taps& taps, npy_intp j, const Split& s) {
  for (npy_intp t = 0; t < taps.count; t++) {
    const npy_int64 at = read_index(taps.index + t * taps.n + j);
    if (!is_inside(at, s.count)) return false;
    const T weight = static_cast<T>(taps.weight[t * taps.n + j]), *from = block + at * s.inner;
    for (npy_intp i = 0; i < s.inner; i++) {
      const T part = weight == 0 ? T(0) : from[i] * weight;
      to[i] = t == 0 ? part : to[i] + part;
    }
  }
  return true;
}

template <class T>
bool resample(PyObject* x, PyObject* out, const Taps& taps, const Split& s) {
  const T* from = data<T>(x);
  T* to = data<T>(out);
  std::atomic<bool> inside{true};
  over(s.outer, taps.n * taps.count * s.inner, [=, &inside](npy_intp begin, npy_intp end) {
    for (npy_intp o = begin; o < end; o++)
      for (npy_intp j = 0; j < taps.n; j++)
        if (!resample_line(from + o * s.count * s.inner, to + (o * taps.n + j) * s.inner, taps, j, s)) inside = false;
  });
  return inside;
}

// (x, index, weight, axis)
PyObject* py_resample(PyObject*, Args args, Py_ssize_t count) {
  if (count != 4 || !is_real(args[0]) || !is_dense(args[0]) || !is_index(args[1])) return not_served();
  if (!is_of(args[2], NPY_DOUBLE) || !is_dense(args[2]) || !same_shape(args[1], args[2])) return not_served();
  Array *x = as_array(args[0]), *index = as_array(args[1]);
  const int axis = axis_of(args[3], args[0]);
  if (axis < 0 || PyArray_NDIM(index) != 2 || PyArray_DIM(index, 0) == 0 || size_of(args[0]) == 0) return not_served();
  npy_intp dims[NPY_MAXDIMS];
  for (int d = 0; d < PyArray_NDIM(x); d++) dims[d] = d == axis ? PyArray_DIM(index, 1) : PyArray_DIM(x, d);
  Ref out(new_array(PyArray_NDIM(x), dims, kind(args[0])));
  if (!out) return nullptr;
  const Split s = split(args[0], axis, axis + 1);
  const Taps taps{data<npy_int64>(args[1]), data<double>(args[2]), PyArray_DIM(index, 0), PyArray_DIM(index, 1)};
  const bool done = kind(args[0]) == NPY_FLOAT ? resample<float>(args[0], out.get(), taps, s)
                                               : resample<double>(args[0], out.get(), taps, s);
  return done ? out.release() : not_served();
}

}  // namespace

PyMethodDef resample_methods[] = {
    method<py_resample>("resample", "resample(x, index, weight, axis): weighted sums along an axis, or None."),
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rg
