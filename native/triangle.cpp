// tril(x, k) and triu(x, k)
#include <cstring>

#include "entry.h"
#include "picks.h"
#include "walk.h"

namespace rg {

namespace {

const bool LOWER = false, UPPER = true;

// Whether an offset of the diagonal is given, as a Python int or not at all.
bool read_offset(Args args, Py_ssize_t count, npy_intp* offset) {
  *offset = 0;
  if (count == 1) return true;
  if (count != 2 || !PyLong_CheckExact(args[1])) return false;
  int overflow = 0;
  *offset = static_cast<npy_intp>(PyLong_AsLongLongAndOverflow(args[1], &overflow));
  return overflow == 0 && *offset > -LARGE * LARGE && *offset < LARGE * LARGE;
}

// Rows [begin, end) of matrices of `rows` rows; the triangle takes the elements up to its edge, or from there on.
void copy_rows(const char* from, char* to, npy_intp begin, npy_intp end, npy_intp rows, npy_intp width, npy_intp size,
               npy_intp offset, bool upper) {
  for (npy_intp i = begin; i < end; i++) {
    npy_intp edge = i % rows + offset + (upper ? 0 : 1);
    edge = (edge < 0 ? 0 : edge > width ? width : edge) * size;
    const npy_intp whole = width * size, first = upper ? edge : 0, last = upper ? whole : edge;
    char* out = to + i * whole;
    std::memset(out, 0, static_cast<size_t>(first));
    std::memcpy(out + first, from + i * whole + first, static_cast<size_t>(last - first));
    std::memset(out + last, 0, static_cast<size_t>(whole - last));
  }
}

PyObject* triangle_call(PyObject* self, Args args, size_t count, PyObject* names) {
  npy_intp offset;
  if (names != nullptr || !read_offset(args, count_of(count), &offset) || !is_dense(args[0]) ||
      slot_of(kind(args[0])) < 0 || PyArray_NDIM(as_array(args[0])) < 2)
    return by_numpy(self, args, count, names);
  Array* x = as_array(args[0]);
  Ref out(new_like(args[0]));
  if (!out || size_of(args[0]) == 0) return out.release();
  const int nd = PyArray_NDIM(x);
  const npy_intp rows = PyArray_DIM(x, nd - 2), width = PyArray_DIM(x, nd - 1), size = PyArray_ITEMSIZE(x);
  const bool upper = *static_cast<const bool*>(as_entry(self)->kernels);
  const char* from = data<char>(args[0]);
  char* to = data<char>(out.get());
  const auto body = [=](npy_intp begin, npy_intp end) {
    copy_rows(from, to, begin, end, rows, width, size, offset, upper);
  };
  const npy_intp lines = size_of(args[0]) / width;
  if (size_of(args[0]) < LARGE) {
    body(0, lines);
  } else {
    Unlocked unlocked(true, INTERRUPTIBLE);
    parallel_for(lines, 1 + GRAIN / width, body);
  }
  return out.release();
}

}  // namespace

bool add_triangles(PyObject* module) {
  return add_entry<triangle_call>(module, "tril", &LOWER) && add_entry<triangle_call>(module, "triu", &UPPER);
}

}  // namespace rg
