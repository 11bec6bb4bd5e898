// Losses of predictions and targets of one shape: each, or their sum, in one pass; and their backward.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "network.h"

using Index = std::ptrdiff_t;

#define RG_KERNELS "loss.inc"
#include "versions.h"

namespace rg {

namespace {

enum Kind { MSE, SMOOTH_L1, HUBER, BINARY, BINARY_OF_LOGITS, KINDS };

template <class T>
struct Kernels {
  T (*sum)(const T*, const T*, Index, T);
  void (*each)(const T*, const T*, T*, Index, T);
  void (*slopes)(T, const T*, const T*, T*, Index, T);
  void (*products)(const T*, T, const T*, const T*, T*, Index, T);
};

#define RG_LOSS(isa, loss)                                                                                 \
  Kernels<T> {                                                                                             \
    isa::loss_sum<isa::loss, T>, isa::loss_each<isa::loss, T>, isa::loss_slopes<isa::loss, T>,             \
        isa::loss_products<isa::loss, T>                                                                   \
  }
#define RG_LOSSES(isa) \
  { RG_LOSS(isa, Mse), RG_LOSS(isa, SmoothL1), RG_LOSS(isa, Huber), RG_LOSS(isa, Binary), RG_LOSS(isa, BinaryOfLogits) }

template <class T>
const Kernels<T>& kernels(Kind kind) {
#if RG_X86
  static const Kernels<T> all[3][KINDS] = {RG_LOSSES(base), RG_LOSSES(avx2), RG_LOSSES(avx512)};
  return all[static_cast<int>(isa())][kind];
#else
  static const Kernels<T> all[KINDS] = RG_LOSSES(base);
  return all[kind];
#endif
}

#undef RG_LOSSES
#undef RG_LOSS

// What a call is about: x and the target, dense and alike, and the parameter of the loss.
struct Call {
  Kind kind;
  PyObject *x, *target;
  double parameter;
  npy_intp n;
  template <class T>
  const T* xs() const {
    return data<T>(x);
  }
  template <class T>
  const T* ts() const {
    return data<T>(target);
  }
};

// The sum of all losses: of parts of fixed length, so that it does not depend on threads.
template <class T>
double sum(const Call& call) {
  const auto& loss = kernels<T>(call.kind);
  const npy_intp part = LARGE / 2, parts = (call.n + part - 1) / part;
  std::vector<T> sums(static_cast<size_t>(parts));
  over(parts, part, [&](npy_intp begin, npy_intp end) {
    for (npy_intp i = begin; i < end; i++)
      sums[i] = loss.sum(call.xs<T>() + i * part, call.ts<T>() + i * part, std::min(part, call.n - i * part),
                         static_cast<T>(call.parameter));
  });
  double found = 0;
  for (T s : sums) found += s;
  return found;
}

template <class T>
PyObject* reduced(const Call& call, bool mean) {
  const double found = sum<T>(call);
  PyObject* out = new_array(0, nullptr, kind(call.x));
  if (out != nullptr) *data<T>(out) = static_cast<T>(mean ? found / static_cast<double>(call.n) : found);
  return out;
}

template <class T>
PyObject* each(const Call& call) {
  Ref out(new_like(call.x));
  if (!out) return nullptr;
  const auto& loss = kernels<T>(call.kind);
  over(call.n, 1, [&](npy_intp begin, npy_intp end) {
    loss.each(call.xs<T>() + begin, call.ts<T>() + begin, data<T>(out.get()) + begin, end - begin,
              static_cast<T>(call.parameter));
  });
  return out.release();
}

template <class T>
PyObject* backward(const Call& call, PyObject* gradient, double factor) {
  Ref out(new_like(call.x));
  if (!out) return nullptr;
  const auto& loss = kernels<T>(call.kind);
  const bool one = PyArray_NDIM(as_array(gradient)) == 0;
  const T* g = data<T>(gradient);
  const T scale = static_cast<T>(factor), p = static_cast<T>(call.parameter);
  over(call.n, 1, [&](npy_intp begin, npy_intp end) {
    const T *x = call.xs<T>() + begin, *t = call.ts<T>() + begin;
    T* to = data<T>(out.get()) + begin;
    if (one)
      loss.slopes(*g * scale, x, t, to, end - begin, p);
    else
      loss.products(g + begin, scale, x, t, to, end - begin, p);
  });
  return out.release();
}

// -- as Python sees them -------------------------------------------------------------------------------------------

bool is_pair(PyObject* x, PyObject* target) {
  return is_real(x) && is_of(target, kind(x)) && same_shape(x, target);
}

// (kind, x, target, parameter, reduction): reduction is 0 for none, 1 for the mean, 2 for the sum
PyObject* py_loss(PyObject*, Args args, Py_ssize_t count) {
  if (count != 5) return not_served();
  long number, reduction;
  double parameter;
  if (!read_whole(args[0], &number) || !read_whole(args[4], &reduction) || !read_real(args[3], &parameter))
    return nullptr;
  if (number < 0 || number >= KINDS || !is_pair(args[1], args[2])) return not_served();
  Ref x(dense(args[1])), target(dense(args[2]));
  if (!x || !target) return nullptr;
  const Call call{static_cast<Kind>(number), x.get(), target.get(), parameter, size_of(x.get())};
  const bool single = kind(x.get()) == NPY_FLOAT;
  if (reduction == 0) return single ? each<float>(call) : each<double>(call);
  return single ? reduced<float>(call, reduction == 1) : reduced<double>(call, reduction == 1);
}

// (kind, g, x, target, parameter, factor): g has the shape of x, or none
PyObject* py_loss_backward(PyObject*, Args args, Py_ssize_t count) {
  if (count != 6) return not_served();
  long number;
  double parameter, factor;
  if (!read_whole(args[0], &number) || !read_real(args[4], &parameter) || !read_real(args[5], &factor)) return nullptr;
  if (number < 0 || number >= KINDS || !is_pair(args[2], args[3]) || !is_of(args[1], kind(args[2]))) return not_served();
  if (PyArray_NDIM(as_array(args[1])) != 0 && !same_shape(args[1], args[2])) return not_served();
  Ref g(dense(args[1])), x(dense(args[2])), target(dense(args[3]));
  if (!g || !x || !target) return nullptr;
  const Call call{static_cast<Kind>(number), x.get(), target.get(), parameter, size_of(x.get())};
  return kind(x.get()) == NPY_FLOAT ? backward<float>(call, g.get(), factor) : backward<double>(call, g.get(), factor);
}

// (x): whether all numbers of an array lie between 0 and 1
PyObject* py_within_0_1(PyObject*, Args args, Py_ssize_t count) {
  if (count != 1 || !is_real(args[0]) || !is_dense(args[0])) return not_served();
  const npy_intp n = size_of(args[0]);
  static const auto in_float = Versions<bool (*)(const float*, Index)>{RG_VERSIONS(within_0_1<float>)}.pick();
  static const auto in_double = Versions<bool (*)(const double*, Index)>{RG_VERSIONS(within_0_1<double>)}.pick();
  const bool single = kind(args[0]) == NPY_FLOAT;
  return PyBool_FromLong(single ? in_float(data<float>(args[0]), n) : in_double(data<double>(args[0]), n));
}

}  // namespace

PyMethodDef loss_methods[] = {
    method<py_loss>("loss", "loss(kind, x, target, parameter, reduction), or None where the kernel does not serve."),
    method<py_loss_backward>("loss_backward", "loss_backward(kind, g, x, target, parameter, factor)"),
    method<py_within_0_1>("within_0_1", "within_0_1(x): whether all numbers are probabilities."),
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rg
