// The negative log-likelihood of target classes: one element per line along the axis of classes.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "indices.h"

namespace rg {

namespace {

constexpr npy_intp PART = 1024;  // targets whose losses are summed before others are

// Log-probabilities of shape (outer, classes, inner), and a class for each (outer, inner).
template <class T>
struct Targets {
  Split s;
  const npy_int64* target;
  npy_int64 ignored;
  const T* weight;  // of each class; null for ones
  npy_intp count() const { return s.outer * s.inner; }

  // Calls body(i, place, weight) for the targets from `begin` on, where place is that of the target's log-probability,
  // and the weight of an ignored one is 0; false if one is no class. Each is read once: somebody may change it.
  template <class Body>
  bool each(npy_intp begin, npy_intp end, const Body& body) const {
    if (begin == end) return true;
    npy_intp line = begin / s.inner * s.count * s.inner, column = begin % s.inner;
    for (npy_intp i = begin; i < end; i++) {
      const npy_int64 at = read_index(target + i);
      if (at == ignored)
        body(i, line, T(0));
      else if (is_inside(at, s.count))
        body(i, line + at * s.inner + column, weight == nullptr ? T(1) : weight[at]);
      else
        return false;
      if (++column == s.inner) {
        column = 0;
        line += s.count * s.inner;
      }
    }
    return true;
  }

  bool total(double* sum) const {
    *sum = 0;
    return each(0, count(), [sum](npy_intp, npy_intp, T w) { *sum += w; });
  }
};

// These are false if a target is no class.
template <class T>
bool write_losses(const Targets<T>& t, PyObject* from, PyObject* to) {
  const T* x = data<T>(from);
  T* out = data<T>(to);
  return t.each(0, t.count(), [=](npy_intp i, npy_intp place, T w) {
    out[i] = w == 0 ? T(0) : -w * x[place];  // an ignored log-probability may be infinite
  });
}

template <class T>
bool write_sum(const Targets<T>& t, PyObject* from, PyObject* to, bool mean) {
  const T* x = data<T>(from);
  const npy_intp parts = (t.count() + PART - 1) / PART;
  std::vector<double> sums(static_cast<size_t>(parts));
  std::atomic<bool> known{true};
  over(parts, PART, [&](npy_intp begin, npy_intp end) {
    for (npy_intp part = begin; part < end; part++) {
      double sum = 0;
      const auto add = [&sum, x](npy_intp, npy_intp place, T w) {
        if (w != 0) sum -= static_cast<double>(w) * x[place];
      };
      if (!t.each(part * PART, std::min(t.count(), (part + 1) * PART), add)) known = false;
      sums[static_cast<size_t>(part)] = sum;
    }
  });
  double sum = 0, total = 1;
  for (double part : sums) sum += part;
  if (!known || (mean && !t.total(&total))) return false;
  *data<T>(to) = static_cast<T>(mean ? sum / total : sum);
  return true;
}

// Zeros, but for minus the weights at the targets, times the gradient, over the sum of the weights if it is a mean.
template <class T>
bool write_gradient(const Targets<T>& t, PyObject* gradient, PyObject* to, bool mean) {
  const T* g = data<T>(gradient);
  T* out = data<T>(to);
  const npy_intp n = t.s.count * t.s.inner, step = size_of(gradient) == 1 ? 0 : 1;
  double sum = 1;
  if (mean && !t.total(&sum)) return false;
  const T total = static_cast<T>(sum);
  std::atomic<bool> known{true};
  over(t.s.outer, n, [&](npy_intp begin, npy_intp end) {
    std::memset(out + begin * n, 0, static_cast<size_t>((end - begin) * n) * sizeof(T));
    const auto write = [=](npy_intp i, npy_intp place, T w) {
      if (w != 0) out[place] = g[i * step] * (-w / total);
    };
    if (!t.each(begin * t.s.inner, end * t.s.inner, write)) known = false;
  });
  return known;
}

// -- as Python sees them -------------------------------------------------------------------------------------------

// What is neither x nor its gradient. Reads numbers first: see read_whole.
struct Choices {
  long reduction;  // 0 for none, 1 for the mean, 2 for the sum
  npy_int64 ignored;

  // False with an exception set, or where an index has more than 64 bits.
  bool read(PyObject* how, PyObject* ignore_index) {
    if (!read_whole(how, &reduction)) return false;
    ignored = PyLong_AsLongLong(ignore_index);
    if (ignored != -1 || !PyErr_Occurred()) return true;
    if (PyErr_ExceptionMatches(PyExc_OverflowError)) PyErr_Clear();
    return false;
  }
};

// Whether there is a class for each place of x but along the axis of classes.
bool are_targets(PyObject* target, int nd, const npy_intp* dims, int axis) {
  if (!is_index(target) || PyArray_NDIM(as_array(target)) != nd - 1) return false;
  for (int d = 0; d < nd; d++)
    if (d != axis && PyArray_DIM(as_array(target), d < axis ? d : d - 1) != dims[d]) return false;
  return true;
}

template <class T>
Targets<T> targets_of(const Split& s, PyObject* target, npy_int64 ignored, PyObject* weight) {
  return {s, data<npy_int64>(target), ignored, weight == Py_None ? nullptr : data<T>(weight)};
}

PyObject* failed() { return PyErr_Occurred() ? nullptr : not_served(); }

// A weight for each class of this dtype, or None.
bool are_weights(PyObject* weight, npy_intp classes, int type) {
  return weight == Py_None || (is_dense(weight) && kind(weight) == type && size_of(weight) == classes);
}

int class_axis(int nd) { return nd == 1 ? 0 : 1; }

template <class T>
bool write_forward(const Targets<T>& t, PyObject* x, PyObject* out, long reduction) {
  return reduction == 0 ? write_losses<T>(t, x, out) : write_sum<T>(t, x, out, reduction == 1);
}

// (x, target, weight, reduction, ignore_index)
PyObject* py_nll(PyObject*, Args args, Py_ssize_t count) {
  Choices choices;
  if (count != 5) return not_served();
  if (!choices.read(args[3], args[4])) return failed();
  PyObject *x = args[0], *target = args[1], *weight = args[2];
  if (!is_real(x) || !is_dense(x) || PyArray_NDIM(as_array(x)) == 0) return not_served();
  const int nd = PyArray_NDIM(as_array(x)), axis = class_axis(nd), type = kind(x);
  const Split s = split(x, axis, axis + 1);
  if (!are_weights(weight, s.count, type) || !are_targets(target, nd, PyArray_DIMS(as_array(x)), axis))
    return not_served();
  Array* shape = as_array(target);
  Ref out(new_array(choices.reduction == 0 ? nd - 1 : 0, PyArray_DIMS(shape), type));
  if (!out) return nullptr;
  const bool known =
      type == NPY_FLOAT
          ? write_forward(targets_of<float>(s, target, choices.ignored, weight), x, out.get(), choices.reduction)
          : write_forward(targets_of<double>(s, target, choices.ignored, weight), x, out.get(), choices.reduction);
  return known ? out.release() : not_served();
}

// (g, target, weight, reduction, ignore_index, shape): the gradient of log-probabilities of this shape
PyObject* py_nll_backward(PyObject*, Args args, Py_ssize_t count) {
  Choices choices;
  if (count != 6) return not_served();
  if (!choices.read(args[3], args[4])) return failed();
  PyObject *g = args[0], *target = args[1], *weight = args[2];
  npy_intp dims[NPY_MAXDIMS];
  if (!is_real(g) || !is_dense(g) || !PyTuple_Check(args[5]) || PyTuple_GET_SIZE(args[5]) > NPY_MAXDIMS)
    return not_served();
  const int nd = static_cast<int>(PyTuple_GET_SIZE(args[5])), axis = class_axis(nd), type = kind(g);
  if (nd == 0 || !read_lengths(args[5], nd, dims) || !are_targets(target, nd, dims, axis)) return not_served();
  if (size_of(g) != (choices.reduction == 0 ? size_of(target) : 1) || !are_weights(weight, dims[axis], type))
    return not_served();
  Ref out(new_array(nd, dims, type));
  if (!out || size_of(out.get()) == 0) return out.release();
  const Split s = split(out.get(), axis, axis + 1);
  const bool mean = choices.reduction == 1;
  const bool known = type == NPY_FLOAT
                         ? write_gradient(targets_of<float>(s, target, choices.ignored, weight), g, out.get(), mean)
                         : write_gradient(targets_of<double>(s, target, choices.ignored, weight), g, out.get(), mean);
  return known ? out.release() : not_served();
}

}  // namespace

PyMethodDef likelihood_methods[] = {
    method<py_nll>("nll", "nll(x, target, weight, reduction, ignore_index), or None where the kernel does not serve."),
    method<py_nll_backward>("nll_backward", "nll_backward(g, target, weight, reduction, ignore_index, shape)"),
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rg
