// Running sums and products along an axis, from the front or from the back.
#include "network.h"

namespace rg {

namespace {

constexpr npy_intp STRETCH = 1 << 20;  // elements between two looks for signals

// Calls body(first, last) for stretches of the lines 1 to `count`, one after the other: each needs the one before it.
template <class Body>
void in_stretches(npy_intp count, npy_intp inner, const Body& body) {
  const npy_intp step = 1 + STRETCH / inner;
  Watch watch;
  for (npy_intp i = 1; i < count; i += step) {
    body(i, count - i < step ? count : i + step);
    watch.look();
  }
}

// One block of `count` lines of `inner` elements: each line and the result of the one before it become a result.
template <class T, class Step>
void scan_block(const T* from, T* to, npy_intp count, npy_intp inner, bool reverse, const Step& step) {
  const npy_intp forth = reverse ? -inner : inner;
  if (reverse) from += (count - 1) * inner, to += (count - 1) * inner;
  for (npy_intp j = 0; j < inner; j++) to[j] = from[j];
  in_stretches(count, inner, [=](npy_intp first, npy_intp last) {
    for (npy_intp i = first; i < last; i++) {
      const T* line = from + i * forth;
      T* out = to + i * forth;
      for (npy_intp j = 0; j < inner; j++) out[j] = step(out[j - forth], line[j]);
    }
  });
}

// The same for lines of one element, whose last result stays in a register.
template <class T, class Step>
void scan_line(const T* from, T* to, npy_intp count, bool reverse, const Step& step) {
  const npy_intp forth = reverse ? -1 : 1;
  if (reverse) from += count - 1, to += count - 1;
  *to = *from;
  in_stretches(count, 1, [=](npy_intp first, npy_intp end) {
    T last = to[(first - 1) * forth];
    for (npy_intp i = first; i < end; i++) to[i * forth] = last = step(last, from[i * forth]);
  });
}

template <class T, class Step>
void scan(PyObject* x, PyObject* out, const Split& s, bool reverse, const Step& step) {
  const T* from = data<T>(x);
  T* to = data<T>(out);
  const npy_intp block = s.count * s.inner;
  over(s.outer, block, [=](npy_intp begin, npy_intp end) {
    for (npy_intp i = begin; i < end; i++) {
      if (s.inner == 1)
        scan_line(from + i * block, to + i * block, s.count, reverse, step);
      else
        scan_block(from + i * block, to + i * block, s.count, s.inner, reverse, step);
    }
  });
}

template <class T>
void scan_as(PyObject* x, PyObject* out, const Split& s, bool reverse, bool product) {
  if (product)
    scan<T>(x, out, s, reverse, [](T a, T b) { return a * b; });
  else
    scan<T>(x, out, s, reverse, [](T a, T b) { return a + b; });
}

// (x, axis, reverse, product)
PyObject* py_scan(PyObject*, Args args, Py_ssize_t count) {
  if (count != 4 || !is_real(args[0]) || !is_dense(args[0])) return not_served();
  const int axis = axis_of(args[1], args[0]);
  if (axis < 0 || size_of(args[0]) == 0) return not_served();
  Ref out(new_like(args[0]));
  if (!out) return nullptr;
  const Split s = split(args[0], axis, axis + 1);
  const bool reverse = args[2] == Py_True, product = args[3] == Py_True;
  if (kind(args[0]) == NPY_FLOAT)
    scan_as<float>(args[0], out.get(), s, reverse, product);
  else
    scan_as<double>(args[0], out.get(), s, reverse, product);
  return out.release();
}

}  // namespace

PyMethodDef scan_methods[] = {
    method<py_scan>("scan", "scan(x, axis, reverse, product): running sums or products, or None."),
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rg
