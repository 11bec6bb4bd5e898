#include "windows.h"

#include "network.h"

namespace rg {

namespace {

// Numbers for the last dimensions; those in front are `missing`. All of their bits are added to `bits`.
bool read_line(PyObject* tuple, int rank, Index missing, Index* numbers, Index* bits) {
  if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) != rank) return false;
  for (int d = 0; d < SPACE; d++) {
    const int at = d - (SPACE - rank);
    numbers[d] = at < 0 ? missing : PyLong_AsSsize_t(PyTuple_GET_ITEM(tuple, at));
    *bits |= numbers[d];
  }
  return true;
}

// Whether the product of numbers from 0 to MOST_PLACES is one of them, and not 0.
bool is_bounded(const Index* numbers) {
  const Index two = numbers[0] * numbers[1];
  return two <= MOST_PLACES && two * numbers[2] <= MOST_PLACES && two * numbers[2] > 0;
}

bool are_steps(const Index* numbers) { return numbers[0] > 0 && numbers[1] > 0 && numbers[2] > 0; }

// Whether all windows begin inside the border, and are hardly longer than the array with it.
bool lies_near(const Windows& w, int d) {
  const Index whole = w.size[d] + 2 * w.padding[d];
  return (w.number[d] - 1) * w.stride[d] <= whole && (w.kernel[d] - 1) * w.dilation[d] < whole + w.stride[d];
}

}  // namespace

bool read_windows(PyObject* tuple, Windows* w) {
  if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) != 6 || !PyTuple_Check(PyTuple_GET_ITEM(tuple, 0))) return false;
  const Py_ssize_t rank = PyTuple_GET_SIZE(PyTuple_GET_ITEM(tuple, 0));
  if (rank < 1 || rank > SPACE) return false;
  w->rank = static_cast<int>(rank);
  Index* const lines[] = {w->size, w->kernel, w->stride, w->padding, w->dilation, w->number};
  Index bits = 0;
  bool read = true;
  for (int i = 0; i < 6 && read; i++)
    read = read_line(PyTuple_GET_ITEM(tuple, i), w->rank, lines[i] == w->padding ? 0 : 1, lines[i], &bits);
  if (!read || bits < 0 || bits > MOST_PLACES) {
    PyErr_Clear();  // there may be no ints, or too large ones: they are -1
    return false;
  }
  if (!is_bounded(w->size) || !is_bounded(w->kernel) || !is_bounded(w->number)) return false;
  if (!are_steps(w->stride) || !are_steps(w->dilation)) return false;
  for (int d = SPACE - w->rank; d < SPACE; d++)
    if (!lies_near(*w, d)) return false;
  return true;
}

bool ends_in(PyObject* array, const Windows& w, const Index* sizes) {
  const int nd = PyArray_NDIM(as_array(array)), lead = nd - w.rank;
  if (lead < 0) return false;
  for (int d = 0; d < w.rank; d++)
    if (PyArray_DIM(as_array(array), lead + d) != sizes[SPACE - w.rank + d]) return false;
  return true;
}

}  // namespace rg
