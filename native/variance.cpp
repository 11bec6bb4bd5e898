// Variances of arrays that are too small to be worth several passes, in double precision.
#include <cmath>

#include "network.h"
#include "reduce_axes.h"

namespace rg {

namespace {

// The sum of term(x[i * step]) for i < n, four at a time.
template <class T, class Term>
double total(const T* x, npy_intp n, npy_intp step, const Term& term) {
  double sums[4] = {0, 0, 0, 0};
  npy_intp i = 0;
  for (; i + 4 <= n; i += 4)
    for (npy_intp k = 0; k < 4; k++) sums[k] += term(x[(i + k) * step]);
  for (; i < n; i++) sums[0] += term(x[i * step]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

template <class T>
double mean_of(const T* x, const Split& s) {
  return total(x, s.count, s.inner, [](T v) { return static_cast<double>(v); }) / static_cast<double>(s.count);
}

template <class T>
void variances(const T* x, T* out, const Split& s, double freedom, bool root) {
  for (npy_intp i = 0; i < s.outer * s.inner; i++) {
    const T* first = x + i / s.inner * s.count * s.inner + i % s.inner;
    const double mean = mean_of(first, s);
    const double squares = total(first, s.count, s.inner, [mean](T v) { return (v - mean) * (v - mean); });
    out[i] = static_cast<T>(root ? std::sqrt(squares / freedom) : squares / freedom);
  }
}

template <class T>
void slopes(const T* g, const T* x, T* out, const Split& s, double factor) {
  for (npy_intp i = 0; i < s.outer * s.inner; i++) {
    const npy_intp first = i / s.inner * s.count * s.inner + i % s.inner;
    const double mean = mean_of(x + first, s), by = factor * g[i];
    for (npy_intp k = 0; k < s.count; k++) {
      const npy_intp at = first + k * s.inner;
      out[at] = static_cast<T>(by * (x[at] - mean));
    }
  }
}

// The axes of a small dense array of floats, if they lie behind each other.
bool reads(PyObject* x, PyObject* axis, Axes* axes, Split* s) {
  if (!is_real(x) || !is_dense(x) || size_of(x) >= LARGE || !axes->find(x, axis) || axes->reduced_groups > 1) return false;
  bool seen = false;
  for (int g = 0; g < axes->groups; g++) {
    seen |= axes->reduced[g];
    (axes->reduced[g] ? s->count : seen ? s->inner : s->outer) *= axes->length[g];
  }
  return true;
}

// (x, axis, correction, keepdims, root)
PyObject* py_variance(PyObject*, Args args, Py_ssize_t count) {
  if (count != 5) return not_served();
  double correction;
  if (!read_real(args[2], &correction)) return nullptr;
  Axes axes;
  Split s;
  if (!reads(args[0], args[1], &axes, &s)) return not_served();
  PyObject* out = axes.new_result(args[0], args[3] == Py_True, kind(args[0]));
  if (out == nullptr) return nullptr;
  const double freedom = static_cast<double>(s.count) > correction ? static_cast<double>(s.count) - correction : 0;
  const bool root = args[4] == Py_True;
  if (kind(out) == NPY_FLOAT)
    variances(data<float>(args[0]), data<float>(out), s, freedom, root);
  else
    variances(data<double>(args[0]), data<double>(out), s, freedom, root);
  return out;
}

// (g, x, axis, factor): factor * g * (x - mean), with one g for each mean
PyObject* py_variance_backward(PyObject*, Args args, Py_ssize_t count) {
  if (count != 4) return not_served();
  double factor;
  if (!read_real(args[3], &factor)) return nullptr;
  Axes axes;
  Split s;
  if (!reads(args[1], args[2], &axes, &s) || !is_dense(args[0]) || kind(args[0]) != kind(args[1]) ||
      size_of(args[0]) != s.outer * s.inner)
    return not_served();
  PyObject* out = new_like(args[1]);
  if (out == nullptr) return nullptr;
  if (kind(out) == NPY_FLOAT)
    slopes(data<float>(args[0]), data<float>(args[1]), data<float>(out), s, factor);
  else
    slopes(data<double>(args[0]), data<double>(args[1]), data<double>(out), s, factor);
  return out;
}

}  // namespace

PyMethodDef variance_methods[] = {
    method<py_variance>("variance", "variance(x, axis, correction, keepdims, root), or None."),
    method<py_variance_backward>("variance_backward", "variance_backward(g, x, axis, factor), or None."),
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rg
