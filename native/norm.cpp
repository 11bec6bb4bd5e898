// Normalisation within a sample, of layers and of groups of channels, and its backward.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "norm.h"

using Index = std::ptrdiff_t;

#define RG_KERNELS "norm.inc"
#include "versions.h"

namespace rg {

namespace {

// Means and factors of rows are the first and the second line of an array, the moments.
template <class T>
using Forward = void (*)(const T*, const T*, const T*, T*, T*, T*, Index, Index, T);
template <class T>
using Backward = void (*)(const T*, const T*, const T*, T*, T*, T*, const T*, const T*, Index, Index);

// -- layers --------------------------------------------------------------------------------------------------------

template <class T>
void layer(const NormOperands& in, PyObject* out, npy_intp rows, npy_intp n) {
  T *mean = data<T>(in.moments), *factor = mean + rows;
  static const auto run = Versions<Forward<T>>{RG_VERSIONS(layer_rows<T>)}.pick();
  const T *x = data<T>(in.x), *weight = in.at<T>(in.weight), *bias = in.at<T>(in.bias);
  Line<T> missing;
  if ((weight == nullptr) != (bias == nullptr)) {
    missing.assign(static_cast<size_t>(n), weight == nullptr ? T(1) : T(0));
    (weight == nullptr ? weight : bias) = missing.data();
  }
  over(rows, n, [&](npy_intp begin, npy_intp end) {
    run(x + begin * n, weight, bias, data<T>(out) + begin * n, mean + begin, factor + begin, end - begin, n,
        static_cast<T>(in.eps));
  });
}

template <class T>
void layer_backward(const NormOperands& in, const NormGradients& out, npy_intp rows, npy_intp n) {
  static const auto run = Versions<Backward<T>>{RG_VERSIONS(layer_backward_rows<T>)}.pick();
  const npy_intp grain = std::max(LARGE / 2 / std::max(n, npy_intp(1)) + 1, (rows + PARTS - 1) / PARTS);
  const npy_intp parts = (rows + grain - 1) / grain;
  Line<T> gw(out.weight ? static_cast<size_t>(parts * n) : 0), gb(out.bias ? static_cast<size_t>(parts * n) : 0);
  const T *g = data<T>(in.g), *x = data<T>(in.x), *weight = in.at<T>(in.weight);
  const T *mean = data<T>(in.moments), *factor = mean + rows;
  T* gx = out.at<T>(out.x);
  over(parts, grain * n, [&](npy_intp first, npy_intp last) {
    for (npy_intp part = first; part < last; part++) {
      const npy_intp begin = part * grain, count = std::min(rows, begin + grain) - begin;
      run(g + begin * n, x + begin * n, weight, gx ? gx + begin * n : nullptr, out.weight ? &gw[part * n] : nullptr,
          out.bias ? &gb[part * n] : nullptr, mean + begin, factor + begin, count, n);
    }
  });
  if (out.weight) add_up(gw.data(), parts, n, data<T>(out.weight));
  if (out.bias) add_up(gb.data(), parts, n, data<T>(out.bias));
}

// -- groups --------------------------------------------------------------------------------------------------------

// An array (samples, groups * channels, inner).
struct Groups {
  npy_intp samples, groups, channels, inner;
  npy_intp count() const { return samples * groups; }
  npy_intp size() const { return channels * inner; }
  npy_intp first_channel(npy_intp row) const { return row % groups * channels; }
};

template <class T>
void group(const NormOperands& in, PyObject* out, const Groups& s) {
  static const auto run = Versions<Forward<T>>{RG_VERSIONS(group_row<T>)}.pick();
  const T *x = data<T>(in.x), *weight = in.at<T>(in.weight), *bias = in.at<T>(in.bias);
  T *mean = data<T>(in.moments), *factor = mean + s.count();
  over(s.count(), s.size(), [&](npy_intp begin, npy_intp end) {
    for (npy_intp row = begin; row < end; row++) {
      const npy_intp c = s.first_channel(row), at = row * s.size();
      run(x + at, weight ? weight + c : nullptr, bias ? bias + c : nullptr, data<T>(out) + at, mean + row, factor + row,
          s.channels, s.inner, static_cast<T>(in.eps));
    }
  });
}

template <class T>
void group_backward(const NormOperands& in, const NormGradients& out, const Groups& s) {
  static const auto run = Versions<Backward<T>>{RG_VERSIONS(group_backward_row<T>)}.pick();
  const npy_intp all = s.groups * s.channels;
  Line<T> gw(static_cast<size_t>(s.samples * all)), gb(static_cast<size_t>(s.samples * all));
  const T *g = data<T>(in.g), *x = data<T>(in.x), *weight = in.at<T>(in.weight);
  const T *mean = data<T>(in.moments), *factor = mean + s.count();
  T* gx = out.at<T>(out.x);
  over(s.count(), s.size(), [&](npy_intp begin, npy_intp end) {
    for (npy_intp row = begin; row < end; row++) {
      const npy_intp c = s.first_channel(row), at = row * s.size(), slot = row * s.channels;
      run(g + at, x + at, weight ? weight + c : nullptr, gx ? gx + at : nullptr, &gw[slot], &gb[slot], mean + row,
          factor + row, s.channels, s.inner);
    }
  });
  if (out.weight) add_up(gw.data(), s.samples, all, data<T>(out.weight));
  if (out.bias) add_up(gb.data(), s.samples, all, data<T>(out.bias));
}

// -- as Python sees them -------------------------------------------------------------------------------------------

// (x, weight, bias, eps, axis): normalised over the dimensions from `axis` on; the result and the moments of the rows
PyObject* py_layer_norm(PyObject*, Args args, Py_ssize_t count) {
  if (count != 5) return not_served();
  double eps;
  if (!read_real(args[3], &eps)) return nullptr;
  const int axis = is_real(args[0]) ? axis_of(args[4], args[0]) : -1;
  if (axis < 0) return not_served();
  const Split s = split(args[0], axis, NPY_MAXDIMS);
  const int type = kind(args[0]);
  if (!fits(args[1], type, s.count) || !fits(args[2], type, s.count) || s.count == 0) return not_served();
  Ref x(dense(args[0]));
  if (!x) return nullptr;
  NormResult out(x.get(), s.outer);
  if (out.failed()) return nullptr;
  const NormOperands in{nullptr, x.get(), args[1], args[2], out.moments(), eps};
  if (type == NPY_FLOAT)
    layer<float>(in, out.result(), s.outer, s.count);
  else
    layer<double>(in, out.result(), s.outer, s.count);
  return out.as_tuple();
}

// Whether a gradient is alike to x, and moments are those of so many rows.
bool are_alike(PyObject* g, PyObject* x, PyObject* moments, npy_intp rows) {
  const int type = kind(x);
  return is_of(g, type) && same_shape(g, x) && is_dense(moments) && kind(moments) == type &&
         size_of(moments) == 2 * rows;
}

// (g, x, weight, moments, axis, wanted): the gradients of x, weight and bias; `wanted` has a bit for each
PyObject* py_layer_norm_backward(PyObject*, Args args, Py_ssize_t count) {
  if (count != 6) return not_served();
  long wanted;
  if (!read_whole(args[5], &wanted)) return nullptr;
  const int axis = is_real(args[1]) ? axis_of(args[4], args[1]) : -1;
  if (axis < 0) return not_served();
  const Split s = split(args[1], axis, NPY_MAXDIMS);
  const int type = kind(args[1]), nd = PyArray_NDIM(as_array(args[1])) - axis;
  if (!are_alike(args[0], args[1], args[3], s.outer) || !fits(args[2], type, s.count) || s.count == 0)
    return not_served();
  Ref g(dense(args[0])), x(dense(args[1]));
  if (!g || !x) return nullptr;
  NormAnswer out(x.get(), PyArray_DIMS(as_array(x.get())) + axis, nd, wanted);
  if (out.failed()) return nullptr;
  const NormOperands in{g.get(), x.get(), args[2], Py_None, args[3], 0};
  if (type == NPY_FLOAT)
    layer_backward<float>(in, out.gradients(), s.outer, s.count);
  else
    layer_backward<double>(in, out.gradients(), s.outer, s.count);
  return out.as_tuple();
}

// How an array (samples, channels, …) falls into groups; false where it does not.
bool reads_groups(PyObject* x, long groups, Groups* s) {
  if (!is_real(x) || PyArray_NDIM(as_array(x)) < 2 || size_of(x) == 0) return false;
  const Split parts = split(x, 1, 2);
  if (groups <= 0 || parts.count % groups != 0) return false;
  *s = Groups{parts.outer, groups, parts.count / groups, parts.inner};
  return true;
}

// (x, weight, bias, eps, groups): the result and the moments of the groups
PyObject* py_group_norm(PyObject*, Args args, Py_ssize_t count) {
  if (count != 5) return not_served();
  Groups s;
  long groups;
  double eps;
  if (!read_whole(args[4], &groups) || !read_real(args[3], &eps)) return nullptr;
  if (!reads_groups(args[0], groups, &s)) return not_served();
  const int type = kind(args[0]);
  const npy_intp channels = s.groups * s.channels;
  if (!fits(args[1], type, channels) || !fits(args[2], type, channels)) return not_served();
  Ref x(dense(args[0]));
  if (!x) return nullptr;
  NormResult out(x.get(), s.count());
  if (out.failed()) return nullptr;
  const NormOperands in{nullptr, x.get(), args[1], args[2], out.moments(), eps};
  type == NPY_FLOAT ? group<float>(in, out.result(), s) : group<double>(in, out.result(), s);
  return out.as_tuple();
}

// (g, x, weight, moments, groups, wanted)
PyObject* py_group_norm_backward(PyObject*, Args args, Py_ssize_t count) {
  if (count != 6) return not_served();
  Groups s;
  long groups, wanted;
  if (!read_whole(args[4], &groups) || !read_whole(args[5], &wanted)) return nullptr;
  if (!reads_groups(args[1], groups, &s)) return not_served();
  const int type = kind(args[1]);
  const npy_intp channels = s.groups * s.channels;
  if (!are_alike(args[0], args[1], args[3], s.count()) || !fits(args[2], type, channels)) return not_served();
  Ref g(dense(args[0])), x(dense(args[1]));
  if (!g || !x) return nullptr;
  NormAnswer out(x.get(), &channels, 1, wanted);
  if (out.failed()) return nullptr;
  const NormOperands in{g.get(), x.get(), args[2], Py_None, args[3], 0};
  type == NPY_FLOAT ? group_backward<float>(in, out.gradients(), s) : group_backward<double>(in, out.gradients(), s);
  return out.as_tuple();
}

}  // namespace

PyMethodDef norm_methods[] = {
    method<py_layer_norm>("layer_norm", "layer_norm(x, weight, bias, eps, axis): the result and moments, or None."),
    method<py_layer_norm_backward>("layer_norm_backward", "layer_norm_backward(g, x, weight, moments, axis, wanted)"),
    method<py_group_norm>("group_norm", "group_norm(x, weight, bias, eps, groups): the result and moments, or None."),
    method<py_group_norm_backward>("group_norm_backward",
                                   "group_norm_backward(g, x, weight, moments, groups, wanted)"),
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rg
