// Several arrays as one: along a dimension they have, or along a new one.
#include "join.h"

#include <cstring>
#include <vector>

#include "network.h"

namespace rg {

namespace {

constexpr npy_intp LARGE_BYTES = 1 << 20;  // from which a copy gives up the GIL
constexpr int MOST_OUTER = 8;              // dimensions in front of the one along which arrays are joined

// One piece of the result: blocks of `bytes` each, which lie in memory as a whole, one per index of the outer dimensions.
struct Piece {
  const char* from;
  npy_intp bytes;
  int outer;
  npy_intp dims[MOST_OUTER], strides[MOST_OUTER];
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

Piece piece_of(Array* a, int axis) {
  Piece piece;
  piece.from = PyArray_BYTES(a);
  piece.bytes = block_bytes(a, axis);
  piece.outer = axis;
  for (int d = 0; d < axis; d++) piece.dims[d] = PyArray_DIM(a, d), piece.strides[d] = PyArray_STRIDE(a, d);
  return piece;
}

// Copies the blocks of a piece, by `copy(to, from, bytes)`, to every `stride` bytes from `to` on.
template <class Copy>
void copy_blocks(const Piece& piece, char* to, npy_intp stride, const Copy& copy) {
  npy_intp index[MOST_OUTER];
  const char* from = piece.from;
  for (int d = 0; d < piece.outer; d++) index[d] = 0;
  while (true) {
    copy(to, from, piece.bytes);
    to += stride;
    int d = piece.outer - 1;
    for (; d >= 0; d--) {
      from += piece.strides[d];
      if (++index[d] < piece.dims[d]) break;
      from -= piece.strides[d] * piece.dims[d];
      index[d] = 0;
    }
    if (d < 0) return;
  }
}

void copy_block(char* to, const char* from, npy_intp bytes) { std::memcpy(to, from, static_cast<size_t>(bytes)); }

// Copies blocks, and looks for signals after every few megabytes.
class WatchedCopy {
 public:
  void operator()(char* to, const char* from, npy_intp bytes) {
    for (npy_intp at = 0; at < bytes; at += STRIP) {
      const npy_intp count = bytes - at < STRIP ? bytes - at : STRIP;
      copy_block(to + at, from + at, count);
      since_ += count;
      if (since_ < STRIP) continue;
      since_ = 0;
      watch_.look();
    }
  }

 private:
  static constexpr npy_intp STRIP = 1 << 22;
  Watch watch_;
  npy_intp since_ = 0;
};

// Whether `a` can be joined with `first` along `axis`; all of their sizes must agree if that is a new dimension.
bool goes_with(Array* a, Array* first, int axis, bool is_new) {
  if (PyArray_TYPE(a) != PyArray_TYPE(first) || PyArray_NDIM(a) != PyArray_NDIM(first)) return false;
  for (int i = 0; i < PyArray_NDIM(a); i++)
    if (PyArray_DIM(a, i) != PyArray_DIM(first, i) && (is_new || i != axis)) return false;
  return true;
}

// Whether arrays can be joined here. No other code runs while they are looked at and copied, or they are held.
bool fit(PyObject* sequence, int axis, bool is_new) {
  PyObject** items = PySequence_Fast_ITEMS(sequence);
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence); i++) {
    if (!is_plain(items[i]) || !is_number(kind(items[i]))) return false;
    Array *a = as_array(items[i]), *first = as_array(items[0]);
    if (PyArray_NDIM(a) + (is_new ? 1 : 0) <= axis || PyArray_NDIM(a) == NPY_MAXDIMS) return false;
    if (!goes_with(a, first, axis, is_new) || !is_block(a, axis)) return false;
  }
  return PySequence_Fast_GET_SIZE(sequence) > 0;
}

// A new array for the result; null with an exception set.
PyObject* new_result(PyObject* sequence, int axis, bool is_new) {
  PyObject** items = PySequence_Fast_ITEMS(sequence);
  Array* first = as_array(items[0]);
  const int nd = PyArray_NDIM(first) + (is_new ? 1 : 0);
  npy_intp dims[NPY_MAXDIMS], length = 0;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence); i++) {
    const npy_intp more = is_new ? 1 : PyArray_DIM(as_array(items[i]), axis);
    if (more > NPY_MAX_INTP - length) return PyErr_NoMemory();
    length += more;
  }
  for (int i = 0; i < nd; i++) dims[i] = i == axis ? length : PyArray_DIM(first, is_new && i > axis ? i - 1 : i);
  return new_array(nd, dims, PyArray_TYPE(first));
}

void copy_all(PyObject* sequence, int axis, PyObject* out) {
  const npy_intp total = block_bytes(as_array(out), axis);
  char* to = data<char>(out);
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence); i++) {
    const Piece piece = piece_of(as_array(PySequence_Fast_ITEMS(sequence)[i]), axis);
    if (piece.bytes > 0) copy_blocks(piece, to, total, copy_block);
    to += piece.bytes;
  }
}

// The same while other threads run: they may not take an array away (a tuple holds them), nor reshape one that is still
// to be copied.
void copy_all_unlocked(PyObject* tuple, int axis, PyObject* out) {
  const npy_intp total = block_bytes(as_array(out), axis);
  std::vector<Piece> pieces;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++)
    pieces.push_back(piece_of(as_array(PyTuple_GET_ITEM(tuple, i)), axis));
  char* to = data<char>(out);
  Unlocked unlocked(true, INTERRUPTIBLE);
  WatchedCopy copy;
  const auto by_strips = [&](char* there, const char* from, npy_intp bytes) { copy(there, from, bytes); };
  for (const Piece& piece : pieces) {
    if (piece.bytes > 0) copy_blocks(piece, to, total, by_strips);
    to += piece.bytes;
  }
}

PyObject* joined(PyObject* sequence, int axis, bool is_new) {
  if (!fit(sequence, axis, is_new)) return not_served();
  Ref out(new_result(sequence, axis, is_new));
  if (!out || size_of(out.get()) == 0) return out.release();
  if (bytes_of(out.get()) < LARGE_BYTES) {
    copy_all(sequence, axis, out.get());
    return out.release();
  }
  if (PyList_CheckExact(sequence)) {
    const Ref held(PyList_AsTuple(sequence));
    return held ? joined(held.get(), axis, is_new) : nullptr;
  }
  copy_all_unlocked(sequence, axis, out.get());
  return out.release();
}

// join(arrays, axis, is_new): the arrays as one, or None where NumPy has to do it.
PyObject* join(PyObject*, Args args, Py_ssize_t count) {
  if (count != 3 || !(PyList_CheckExact(args[0]) || PyTuple_CheckExact(args[0])) || !PyLong_CheckExact(args[1]))
    return not_served();
  const Py_ssize_t axis = PyLong_AsSsize_t(args[1]);
  if (axis == -1 && PyErr_Occurred()) PyErr_Clear();
  if (axis < 0 || axis > MOST_OUTER) return not_served();
  return joined(args[0], static_cast<int>(axis), args[2] == Py_True);
}

}  // namespace

PyMethodDef join_methods[] = {
    method<join>("join", "Arrays as one along a dimension, new or not; None where NumPy has to do it."),
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rg
