// Normalisation of channels over a batch, by its own statistics or by given ones, and its backward.
#include "batchnorm.h"

#include <algorithm>
#include <cmath>

namespace rg {

namespace {

// What normalises, from the lines of means and factors.
template <class T>
Scales<T> scales_of(PyObject* moments, npy_intp channels) {
  const T* lines = data<T>(moments);
  return {Line<T>(lines, lines + channels), Line<T>(lines + channels, lines + 2 * channels)};
}

// Times the weight, if there is one.
template <class T>
Line<T> weighted(Line<T> factor, PyObject* weight) {
  if (weight != Py_None)
    for (size_t c = 0; c < factor.size(); c++) factor[c] *= data<T>(weight)[c];
  return factor;
}

// -- forward -------------------------------------------------------------------------------------------------------

// Lines of means, factors and variances: those of x, or of what is given.
template <class T>
void measure(const NormOperands& in, PyObject* mean, PyObject* variance, const BatchLoops<T>& loops) {
  const npy_intp channels = loops.channels();
  T* lines = data<T>(in.moments);
  const Moments own = mean == Py_None ? loops.moments(data<T>(in.x)) : Moments();
  for (npy_intp c = 0; c < channels; c++) {
    const bool given = mean != Py_None;
    const T var = given ? data<T>(variance)[c] : static_cast<T>(own.square[c] / own.count);
    lines[c] = given ? data<T>(mean)[c] : static_cast<T>(own.mean[c]);
    lines[channels + c] = 1 / std::sqrt(var + static_cast<T>(in.eps));
    lines[2 * channels + c] = var;
  }
}

template <class T>
void normalise(const NormOperands& in, PyObject* mean, PyObject* variance, PyObject* out, const Split& s) {
  const BatchLoops<T> loops(s);
  measure(in, mean, variance, loops);
  const Scales<T> by = scales_of<T>(in.moments, s.count);
  const T* bias = in.at<T>(in.bias);
  const Line<T> shift = bias == nullptr ? Line<T>(by.mean.size()) : Line<T>(bias, bias + s.count);
  loops.forward(data<T>(in.x), by.mean, weighted(by.factor, in.weight), shift, data<T>(out));
}

// -- backward ------------------------------------------------------------------------------------------------------

template <class T>
void backward(const NormOperands& in, bool training, const NormGradients& out, const Split& s) {
  const BatchLoops<T> loops(s);
  const T *g = data<T>(in.g), *x = data<T>(in.x);
  const Scales<T> by = scales_of<T>(in.moments, s.count);
  Sums<T> sums;
  if (training || out.weight != nullptr || out.bias != nullptr) sums = loops.sums(g, x, by);
  if (out.weight != nullptr) std::copy(sums.dots.begin(), sums.dots.end(), data<T>(out.weight));
  if (out.bias != nullptr) std::copy(sums.of_g.begin(), sums.of_g.end(), data<T>(out.bias));
  if (out.x == nullptr) return;
  const Line<T> scale = weighted(by.factor, in.weight);
  if (!training) {
    loops.scaled(g, scale, data<T>(out.x));
    return;
  }
  for (T& sum : sums.of_g) sum /= static_cast<T>(loops.count());
  for (T& dot : sums.dots) dot /= static_cast<T>(loops.count());
  loops.backward(g, x, by, sums.of_g, sums.dots, scale, data<T>(out.x));
}

// -- as Python sees them -------------------------------------------------------------------------------------------

// Whether x has channels, and what is given for each of them fits.
bool has_channels(PyObject* x, PyObject* weight, PyObject* bias) {
  if (!is_real(x) || PyArray_NDIM(as_array(x)) < 2 || size_of(x) == 0) return false;
  const npy_intp channels = PyArray_DIM(as_array(x), 1);
  return fits(weight, kind(x), channels) && fits(bias, kind(x), channels);
}

// (x, weight, bias, mean, variance, eps): by its own statistics where none are given; the result, and lines of means,
// factors and variances
PyObject* py_batch_norm(PyObject*, Args args, Py_ssize_t count) {
  if (count != 6) return not_served();
  double eps;
  if (!read_real(args[5], &eps)) return nullptr;
  if (!has_channels(args[0], args[1], args[2]) || !has_channels(args[0], args[3], args[4])) return not_served();
  if ((args[3] == Py_None) != (args[4] == Py_None)) return not_served();
  Ref x(dense(args[0]));
  if (!x) return nullptr;
  const Split s = split(x.get(), 1, 2);
  NormResult out(x.get(), s.count, 3);
  if (out.failed()) return nullptr;
  const NormOperands in{nullptr, x.get(), args[1], args[2], out.moments(), eps};
  if (kind(x.get()) == NPY_FLOAT)
    normalise<float>(in, args[3], args[4], out.result(), s);
  else
    normalise<double>(in, args[3], args[4], out.result(), s);
  return out.as_tuple();
}

// (g, x, weight, moments, training, wanted): the gradients of x, weight and bias; `wanted` has a bit for each
PyObject* py_batch_norm_backward(PyObject*, Args args, Py_ssize_t count) {
  if (count != 6) return not_served();
  long wanted;
  if (!read_whole(args[5], &wanted)) return nullptr;
  if (!has_channels(args[1], args[2], Py_None)) return not_served();
  const int type = kind(args[1]);
  const Split s = split(args[1], 1, 2);
  if (!is_of(args[0], type) || !same_shape(args[0], args[1])) return not_served();
  if (!is_dense(args[3]) || kind(args[3]) != type || size_of(args[3]) != 3 * s.count) return not_served();
  Ref g(dense(args[0])), x(dense(args[1]));
  if (!g || !x) return nullptr;
  NormAnswer out(x.get(), &s.count, 1, wanted);
  if (out.failed()) return nullptr;
  const NormOperands in{g.get(), x.get(), args[2], Py_None, args[3], 0};
  if (type == NPY_FLOAT)
    backward<float>(in, args[4] == Py_True, out.gradients(), s);
  else
    backward<double>(in, args[4] == Py_True, out.gradients(), s);
  return out.as_tuple();
}

}  // namespace

PyMethodDef batchnorm_methods[] = {
    method<py_batch_norm>("batch_norm",
                          "batch_norm(x, weight, bias, mean, variance, eps): the result and moments, or None."),
    method<py_batch_norm_backward>("batch_norm_backward",
                                   "batch_norm_backward(g, x, weight, moments, training, wanted)"),
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rg
