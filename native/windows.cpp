#include "windows.h"

namespace rg {

namespace {

bool read_line(PyObject* tuple, int rank, Index* numbers, Index missing) {
  if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) != rank) return false;
  for (int d = 0; d < SPACE; d++) {
    const int at = d - (SPACE - rank);
    numbers[d] = at < 0 ? missing : PyLong_AsSsize_t(PyTuple_GET_ITEM(tuple, at));
  }
  return true;
}

}  // namespace

bool read_windows(PyObject* tuple, Windows* w) {
  if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) != 6 || !PyTuple_Check(PyTuple_GET_ITEM(tuple, 0))) return false;
  const Py_ssize_t rank = PyTuple_GET_SIZE(PyTuple_GET_ITEM(tuple, 0));
  if (rank < 1 || rank > SPACE) return false;
  w->rank = static_cast<int>(rank);
  Index* const lines[] = {w->size, w->kernel, w->stride, w->padding, w->dilation, w->number};
  for (int i = 0; i < 6; i++)
    if (!read_line(PyTuple_GET_ITEM(tuple, i), w->rank, lines[i], i == 3 ? 0 : 1)) return false;
  if (!PyErr_Occurred()) return true;
  PyErr_Clear();
  return false;
}

}  // namespace rg
