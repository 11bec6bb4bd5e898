// The negative log-likelihood of target classes: one element per line along the axis of classes.
#include <algorithm>
#include <cstring>
#include <vector>

#include "network.h"

namespace rg {

namespace {

constexpr npy_intp PART = 1024;  // targets whose losses are summed before others are

// Log-probabilities of shape (outer, classes, inner), and a class for each (outer, inner).
struct Targets {
  Split s;
  const npy_int64* target;
  npy_int64 ignored;
  npy_intp count() const { return s.outer * s.inner; }
  bool is_known() const {
    const npy_int64 classes = s.count;
    for (npy_intp i = 0; i < count(); i++)
      if ((target[i] < 0 || target[i] >= classes) && target[i] != ignored) return false;
    return true;
  }
  // Calls body(i, place) for the targets from `begin` on, where place is that of the target's log-probability.
  template <class Body>
  void each(npy_intp begin, npy_intp end, const Body& body) const {
    npy_intp line = begin / s.inner * s.count * s.inner, column = begin % s.inner;
    for (npy_intp i = begin; i < end; i++) {
      body(i, line + target[i] * s.inner + column);
      if (++column == s.inner) {
        column = 0;
        line += s.count * s.inner;
      }
    }
  }
};

// The weight of a target; that of an ignored one is 0.
template <class T>
struct Weights {
  const Targets& t;
  const T* weight;  // of each class; null for ones
  Weights(const Targets& targets, PyObject* given)
      : t(targets), weight(given == Py_None ? nullptr : data<T>(given)) {}
  T operator[](npy_intp i) const {
    return t.target[i] == t.ignored ? T(0) : weight == nullptr ? T(1) : weight[t.target[i]];
  }
  double total() const {
    double sum = 0;
    for (npy_intp i = 0; i < t.count(); i++) sum += (*this)[i];
    return sum;
  }
};

template <class T>
void write_losses(const Targets& t, PyObject* from, PyObject* given, PyObject* to) {
  const Weights<T> weights(t, given);
  const T* x = data<T>(from);
  T* out = data<T>(to);
  t.each(0, t.count(), [&](npy_intp i, npy_intp place) {
    const T w = weights[i];
    out[i] = w == 0 ? T(0) : -w * x[place];  // an ignored log-probability may be infinite
  });
}

template <class T>
void write_sum(const Targets& t, PyObject* from, PyObject* given, PyObject* to, bool mean) {
  const Weights<T> weights(t, given);
  const T* x = data<T>(from);
  const npy_intp parts = (t.count() + PART - 1) / PART;
  std::vector<double> sums(static_cast<size_t>(parts));
  over(parts, PART, [&](npy_intp begin, npy_intp end) {
    for (npy_intp part = begin; part < end; part++)
      t.each(part * PART, std::min(t.count(), (part + 1) * PART), [&](npy_intp i, npy_intp place) {
        const T w = weights[i];
        if (w != 0) sums[static_cast<size_t>(part)] -= static_cast<double>(w) * x[place];
      });
  });
  double sum = 0;
  for (double part : sums) sum += part;
  *data<T>(to) = static_cast<T>(mean ? sum / weights.total() : sum);
}

// Zeros, but for minus the weights at the targets, times the gradient, over the sum of the weights if it is a mean.
template <class T>
void write_gradient(const Targets& t, PyObject* gradient, PyObject* given, PyObject* to, bool mean) {
  const Weights<T> weights(t, given);
  const T* g = data<T>(gradient);
  T* out = data<T>(to);
  const npy_intp n = t.s.count * t.s.inner, step = size_of(gradient) == 1 ? 0 : 1;
  const T total = mean ? static_cast<T>(weights.total()) : T(1);
  over(t.s.outer, n, [&](npy_intp begin, npy_intp end) {
    std::memset(out + begin * n, 0, static_cast<size_t>((end - begin) * n) * sizeof(T));
    t.each(begin * t.s.inner, end * t.s.inner, [&](npy_intp i, npy_intp place) {
      const T w = weights[i];
      if (w != 0) out[place] = g[i * step] * (-w / total);
    });
  });
}

// -- as Python sees them -------------------------------------------------------------------------------------------

bool reads_targets(PyObject* target, PyObject* ignore_index, const Split& s, Targets* t) {
  if (!is_dense(target) || kind(target) != NPY_INT64 || size_of(target) != s.outer * s.inner) return false;
  *t = Targets{s, data<npy_int64>(target), PyLong_AsLongLong(ignore_index)};
  if (PyErr_Occurred()) {
    PyErr_Clear();  // no number of 64 bits
    return false;
  }
  return t->is_known();
}

// A weight for each class of this dtype, or None.
bool are_weights(PyObject* weight, npy_intp classes, int type) {
  return weight == Py_None || (is_dense(weight) && kind(weight) == type && size_of(weight) == classes);
}

int class_axis(PyObject* x) { return PyArray_NDIM(as_array(x)) == 1 ? 0 : 1; }

// (x, target, weight, reduction, ignore_index)
PyObject* py_nll(PyObject*, Args args, Py_ssize_t count) {
  if (count != 5 || !is_real(args[0]) || !is_dense(args[0]) || PyArray_NDIM(as_array(args[0])) == 0)
    return not_served();
  PyObject *x = args[0], *weight = args[2];
  const Split s = split(x, class_axis(x), class_axis(x) + 1);
  const long reduction = PyLong_AsLong(args[3]);
  Targets t;
  if (!are_weights(weight, s.count, kind(x)) || !reads_targets(args[1], args[4], s, &t))
    return not_served();
  const bool each = reduction == 0, single = kind(x) == NPY_FLOAT;
  Array* shape = as_array(args[1]);
  PyObject* out = new_array(each ? PyArray_NDIM(shape) : 0, PyArray_DIMS(shape), kind(x));
  if (out == nullptr) return nullptr;
  if (each)
    single ? write_losses<float>(t, x, weight, out) : write_losses<double>(t, x, weight, out);
  else
    single ? write_sum<float>(t, x, weight, out, reduction == 1) : write_sum<double>(t, x, weight, out, reduction == 1);
  return out;
}

// (g, target, weight, reduction, ignore_index, shape): the gradient of log-probabilities of this shape
PyObject* py_nll_backward(PyObject*, Args args, Py_ssize_t count) {
  if (count != 6 || !is_real(args[0]) || !is_dense(args[0]) || !PyTuple_Check(args[5])) return not_served();
  const Py_ssize_t nd = PyTuple_GET_SIZE(args[5]);
  const int type = kind(args[0]);
  if (nd == 0 || nd > NPY_MAXDIMS) return not_served();
  npy_intp dims[NPY_MAXDIMS];
  for (Py_ssize_t i = 0; i < nd; i++) dims[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(args[5], i));
  const long reduction = PyLong_AsLong(args[3]);
  if (PyErr_Occurred()) return nullptr;
  Ref out(new_array(static_cast<int>(nd), dims, type));
  if (!out) return nullptr;
  const Split s = split(out.get(), class_axis(out.get()), class_axis(out.get()) + 1);
  Targets t;
  const npy_intp wanted = reduction == 0 ? s.outer * s.inner : 1;
  if (size_of(args[0]) != wanted || !are_weights(args[2], s.count, type) || !reads_targets(args[1], args[4], s, &t))
    return not_served();
  if (type == NPY_FLOAT)
    write_gradient<float>(t, args[0], args[2], out.get(), reduction == 1);
  else
    write_gradient<double>(t, args[0], args[2], out.get(), reduction == 1);
  return out.release();
}

}  // namespace

PyMethodDef likelihood_methods[] = {
    method<py_nll>("nll", "nll(x, target, weight, reduction, ignore_index), or None where the kernel does not serve."),
    method<py_nll_backward>("nll_backward", "nll_backward(g, target, weight, reduction, ignore_index, shape)"),
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rg
