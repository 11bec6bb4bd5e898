// Several arrays as one: along a dimension they have, or along a new one.
#include "join.h"

#include <cstring>

#include "array.h"

namespace rg {

namespace {

constexpr npy_intp LARGE_BYTES = 1 << 20;  // from which a copy gives up the GIL

// One piece of the result: blocks of `bytes` each, which lie in memory as a whole, one per index of the outer dimensions.
struct Piece {
  Array* array;
  npy_intp bytes;
};

// Whether the dimensions from `axis` on lie in memory as one block.
bool is_block(Array* a, int axis) {
  npy_intp step = PyArray_ITEMSIZE(a);
  for (int i = PyArray_NDIM(a) - 1; i >= axis; i--) {
    if (PyArray_DIM(a, i) != 1 && PyArray_STRIDE(a, i) != step) return false;
    step *= PyArray_DIM(a, i);
  }
  return true;
}

npy_intp block_bytes(Array* a, int axis) {
  npy_intp bytes = PyArray_ITEMSIZE(a);
  for (int i = axis; i < PyArray_NDIM(a); i++) bytes *= PyArray_DIM(a, i);
  return bytes;
}

// Copies the blocks of a piece to every `stride` bytes from `to` on.
void copy_blocks(const Piece& piece, int outer, char* to, npy_intp stride) {
  npy_intp index[NPY_MAXDIMS] = {};
  const char* from = static_cast<const char*>(PyArray_DATA(piece.array));
  while (true) {
    std::memcpy(to, from, static_cast<size_t>(piece.bytes));
    to += stride;
    int d = outer - 1;
    for (; d >= 0; d--) {
      from += PyArray_STRIDE(piece.array, d);
      if (++index[d] < PyArray_DIM(piece.array, d)) break;
      from -= PyArray_STRIDE(piece.array, d) * PyArray_DIM(piece.array, d);
      index[d] = 0;
    }
    if (d < 0) return;
  }
}

// Whether `a` can be joined with `first` along `axis`; all of their sizes must agree if that is a new dimension.
bool goes_with(Array* a, Array* first, int axis, bool is_new) {
  if (PyArray_TYPE(a) != PyArray_TYPE(first) || PyArray_NDIM(a) != PyArray_NDIM(first)) return false;
  for (int i = 0; i < PyArray_NDIM(a); i++)
    if (PyArray_DIM(a, i) != PyArray_DIM(first, i) && (is_new || i != axis)) return false;
  return true;
}

PyObject* joined(PyObject* sequence, int axis, bool is_new) {
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(sequence);
  PyObject** items = PySequence_Fast_ITEMS(sequence);
  Array* first = as_array(items[0]);
  const int nd = PyArray_NDIM(first) + (is_new ? 1 : 0);
  npy_intp dims[NPY_MAXDIMS], length = 0, total = 0;
  for (Py_ssize_t i = 0; i < count; i++) {
    length += is_new ? 1 : PyArray_DIM(as_array(items[i]), axis);
    total += block_bytes(as_array(items[i]), axis);
  }
  for (int i = 0; i < nd; i++) dims[i] = i == axis ? length : PyArray_DIM(first, is_new && i > axis ? i - 1 : i);
  PyObject* out = new_array(nd, dims, PyArray_TYPE(first));
  if (out == nullptr || PyArray_SIZE(as_array(out)) == 0) return out;
  Unlocked unlocked(PyArray_NBYTES(as_array(out)) >= LARGE_BYTES);
  char* to = data<char>(out);
  for (Py_ssize_t i = 0; i < count; i++) {
    const Piece piece{as_array(items[i]), block_bytes(as_array(items[i]), axis)};
    if (piece.bytes > 0) copy_blocks(piece, axis, to, total);
    to += piece.bytes;
  }
  return out;
}

// join(arrays, axis, is_new): the arrays as one, or None where NumPy has to do it.
PyObject* join(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 3 || !(PyList_CheckExact(args[0]) || PyTuple_CheckExact(args[0]))) Py_RETURN_NONE;
  const int axis = static_cast<int>(PyLong_AsLong(args[1]));
  const bool is_new = args[2] == Py_True;
  if (axis < 0) {
    PyErr_Clear();
    Py_RETURN_NONE;
  }
  const Py_ssize_t arrays = PySequence_Fast_GET_SIZE(args[0]);
  PyObject** items = PySequence_Fast_ITEMS(args[0]);
  for (Py_ssize_t i = 0; i < arrays; i++) {
    if (!is_plain(items[i]) || PyTypeNum_ISFLEXIBLE(kind(items[i])) || kind(items[i]) == NPY_OBJECT) Py_RETURN_NONE;
    Array *a = as_array(items[i]), *first = as_array(items[0]);
    if (PyArray_NDIM(a) + (is_new ? 1 : 0) <= axis || PyArray_NDIM(a) == NPY_MAXDIMS) Py_RETURN_NONE;
    if (!goes_with(a, first, axis, is_new) || !is_block(a, axis)) Py_RETURN_NONE;
  }
  return arrays == 0 ? Py_NewRef(Py_None) : joined(args[0], axis, is_new);
}

}  // namespace

PyMethodDef join_methods[] = {
    {"join", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(join)), METH_FASTCALL,
     "Arrays as one along a dimension, new or not; None where NumPy has to do it."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rg
