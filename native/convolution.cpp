// Convolutions as Python calls them.
#include <cstring>

#include "conv.h"
#include "convolution.h"
#include "network.h"
#include "windows.h"

namespace rg {

namespace {

constexpr Index SLACK = 64;  // elements that kernels may read behind the last row of samples with a border

// Two dense operands of one dtype and of the same rank as the windows; the arrays are held as long as this is.
struct Operands {
  Ref x, y;
  Windows w;
  Index groups;

  Operands(PyObject* a, PyObject* b, const Windows& windows, Index count)
      : x(dense(a)), y(dense(b)), w(windows), groups(count) {}
  bool ready() const { return x && y; }
  Index length(const Ref& v, int axis) const { return PyArray_DIM(as_array(v.get()), axis); }
};

Index length(PyObject* array, int axis) { return PyArray_DIM(as_array(array), axis); }

bool suits(PyObject* x, PyObject* y, PyObject* windows, Windows* w) {
  if (!is_real(x) || !is_of(y, kind(x)) || !read_windows(windows, w)) return false;
  return PyArray_NDIM(as_array(x)) == w->rank + 2 && PyArray_NDIM(as_array(y)) == w->rank + 2;
}

// Whether sizes go together. A weight is [output channels, input channels of a group, kernel…].
using Agree = bool (*)(PyObject* x, PyObject* y, const Windows& w, Index groups);

bool agree_correlate(PyObject* x, PyObject* weight, const Windows& w, Index groups) {
  return ends_in(x, w, w.size) && ends_in(weight, w, w.kernel) && length(weight, 0) % groups == 0 &&
         length(x, 1) % groups == 0 && length(x, 1) / groups == length(weight, 1);
}

bool agree_spread(PyObject* y, PyObject* weight, const Windows& w, Index groups) {
  return ends_in(y, w, w.number) && ends_in(weight, w, w.kernel) && length(weight, 0) % groups == 0 &&
         length(y, 1) == length(weight, 0);
}

bool agree_overlap(PyObject* x, PyObject* y, const Windows& w, Index groups) {
  return ends_in(x, w, w.size) && ends_in(y, w, w.number) && length(x, 0) == length(y, 0) &&
         length(x, 1) % groups == 0 && length(y, 1) % groups == 0;
}

// Memory for the time of one call, from the allocator; null with an exception set if there is none.
PyObject* memory_for(Index elements, int type) {
  const npy_intp count = elements;
  return new_array(1, &count, type);
}

Index padded_size(const Plan& p, size_t itemsize) {
  return samples_at_once(p, itemsize) * p.groups * p.inputs * p.source.channel() + SLACK;
}

PyObject* new_result(PyObject* like, Index samples, Index channels, const Index* sizes) {
  const int nd = PyArray_NDIM(as_array(like));
  npy_intp shape[2 + SPACE] = {samples, channels};
  for (int d = 2; d < nd; d++) shape[d] = sizes[SPACE - nd + d];
  return new_array(nd, shape, kind(like));
}

template <class T>
PyObject* convolved(const Plan& p, const Ref& source, Weights<T> weights, const T* bias, PyObject* result) {
  Ref out(result), padded(memory_for(padded_size(p, sizeof(T)), kind(source.get())));
  Ref packed(memory_for(packed_size(p, sizeof(T)), kind(source.get())));
  if (!out || !padded || !packed) return nullptr;
  {
    Unlocked unlocked(true, INTERRUPTIBLE);
    convolve<T>({&p, data<T>(source.get()), weights, bias, data<T>(out.get()), data<T>(padded.get()),
                 data<T>(packed.get())});
  }
  return out.release();
}

// A bias that kernels can add: none, or a dense vector of the operands' dtype.
bool suits_bias(PyObject* bias, PyObject* x, Index channels) {
  return bias == Py_None || (is_dense(bias) && kind(bias) == kind(x) && size_of(bias) == channels);
}

template <class T>
PyObject* correlate(const Operands& o, PyObject* bias) {
  const Index outputs = o.length(o.y, 0), inputs = o.length(o.y, 1), taps = o.w.taps();
  const Index channels = outputs / o.groups;
  if (!suits_bias(bias, o.x.get(), outputs)) return not_served();
  Plan plan;
  if (!plan_correlate(o.w, {o.length(o.x, 0), o.groups, inputs, channels}, &plan)) return not_served();
  const Weights<T> weights = {data<T>(o.y.get()), channels * inputs * taps, inputs * taps, taps};
  return convolved<T>(plan, o.x, weights, bias == Py_None ? nullptr : data<T>(bias),
                      new_result(o.x.get(), plan.samples, outputs, o.w.number));
}

template <class T>
PyObject* spread(const Operands& o, PyObject* bias) {
  const Index outputs = o.length(o.y, 0), inputs = o.length(o.y, 1), taps = o.w.taps();
  const Index channels = outputs / o.groups;
  if (!suits_bias(bias, o.x.get(), inputs * o.groups)) return not_served();
  Plan plan;
  if (!plan_spread(o.w, {o.length(o.x, 0), o.groups, channels, inputs}, &plan)) return not_served();
  const Weights<T> weights = {data<T>(o.y.get()), channels * inputs * taps, taps, inputs * taps};
  return convolved<T>(plan, o.x, weights, bias == Py_None ? nullptr : data<T>(bias),
                      new_result(o.x.get(), plan.samples, inputs * o.groups, o.w.size));
}

template <class T>
PyObject* overlapped(const Operands& o) {
  const Index inputs = o.length(o.x, 1) / o.groups, channels = o.length(o.y, 1) / o.groups;
  Plan plan;
  if (!plan_correlate(o.w, {o.length(o.x, 0), o.groups, inputs, channels}, &plan)) return not_served();
  const int type = kind(o.x.get());
  Ref out(new_result(o.x.get(), channels * o.groups, inputs, o.w.kernel));
  Ref padded(memory_for(padded_size(plan, sizeof(T)), type)), partial(memory_for(partial_size(plan, sizeof(T)), type));
  if (!out || !padded || !partial) return nullptr;
  {
    Unlocked unlocked(true, INTERRUPTIBLE);
    overlap<T>({&plan, data<T>(o.x.get()), data<T>(o.y.get()), data<T>(out.get()), data<T>(padded.get()),
                data<T>(partial.get())});
  }
  return out.release();
}

// Calls one of the above, if sizes go together.
template <class Run>
PyObject* with_operands(PyObject* x, PyObject* y, PyObject* windows, PyObject* groups, Agree agree, const Run& run) {
  Windows w;
  const Py_ssize_t count = PyLong_AsSsize_t(groups);
  if (count == -1 && PyErr_Occurred()) PyErr_Clear();
  if (count < 1 || !suits(x, y, windows, &w) || !agree(x, y, w, count)) return not_served();
  const Operands o(x, y, w, count);
  return o.ready() ? run(o) : nullptr;
}

PyObject* conv_correlate(PyObject*, Args args, Py_ssize_t count) {
  if (count != 5) return not_served();
  return with_operands(args[0], args[1], args[3], args[4], agree_correlate, [&](const Operands& o) {
    return kind(args[0]) == NPY_FLOAT ? correlate<float>(o, args[2]) : correlate<double>(o, args[2]);
  });
}

PyObject* conv_spread(PyObject*, Args args, Py_ssize_t count) {
  if (count != 5) return not_served();
  return with_operands(args[0], args[1], args[3], args[4], agree_spread, [&](const Operands& o) {
    return kind(args[0]) == NPY_FLOAT ? spread<float>(o, args[2]) : spread<double>(o, args[2]);
  });
}

PyObject* conv_overlap(PyObject*, Args args, Py_ssize_t count) {
  if (count != 4) return not_served();
  return with_operands(args[0], args[1], args[2], args[3], agree_overlap, [&](const Operands& o) {
    return kind(args[0]) == NPY_FLOAT ? overlapped<float>(o) : overlapped<double>(o);
  });
}

template <class T>
void sum_channels(PyObject* array, const Split& s, PyObject* out) {
  channel_sums<T>(data<T>(array), s.outer, s.count, s.inner, data<T>(out));
}

PyObject* conv_channel_sums(PyObject*, Args args, Py_ssize_t count) {
  if (count != 1 || !is_real(args[0]) || PyArray_NDIM(as_array(args[0])) < 2) return not_served();
  PyObject* array = args[0];
  const npy_intp channels = PyArray_DIM(as_array(array), 1);
  const Ref values(dense(array));
  Ref out(new_array(1, &channels, kind(array)));
  if (!values || !out) return nullptr;
  if (size_of(array) == 0) {
    std::memset(data<char>(out.get()), 0, static_cast<size_t>(bytes_of(out.get())));
  } else {
    const Split s = split(values.get(), 1, 2);
    const auto sum = kind(array) == NPY_FLOAT ? sum_channels<float> : sum_channels<double>;
    Unlocked unlocked(size_of(array) >= LARGE, INTERRUPTIBLE);
    sum(values.get(), s, out.get());
  }
  return out.release();
}

}  // namespace

PyMethodDef conv_methods[] = {
    method<conv_channel_sums>("conv_channel_sums", "The sums over all dimensions but the second."),
    method<conv_correlate>("conv_correlate", "The convolution of x with a weight, plus a bias: (x, w, b, windows, groups)."),
    method<conv_overlap>("conv_overlap", "The gradient of a convolution's weight: (x, y, windows, groups)."),
    method<conv_spread>("conv_spread", "The transpose of a convolution, plus a bias: (y, w, b, windows, groups)."),
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rg
