// New arrays that are copies of others or filled with one number, in memory of our allocator.
#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "elementwise.h"
#include "entry.h"
#include "isa.h"
#include "portable.h"
#include "walk.h"

namespace rg {

namespace {

using Index = std::ptrdiff_t;

#define RG_KERNELS "elementwise_copy.inc"
#include "versions.h"

// -- copies --------------------------------------------------------------------------------------------------------

void copy_bytes(const char* from, char* to, npy_intp bytes) {
  if (bytes < 8 * LARGE) {
    std::memcpy(to, from, static_cast<size_t>(bytes));
    return;
  }
  Unlocked unlocked(true, INTERRUPTIBLE);
  parallel_for(bytes, 8 * GRAIN, [=](std::ptrdiff_t begin, std::ptrdiff_t end) {
    std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin));
  });
}

using Exchange = void (*)(const void* x, Index sx, void* out, Index so, Index rows, Index columns);

// Whether the last two dimensions are those of a matrix that lies column by column.
bool by_columns(const Walk<1>& walk, npy_intp size) {
  const int last = walk.joined() - 1;
  return last >= 1 && last <= 2 && walk.stride(0, last - 1) == size && walk.stride(0, last) % size == 0 &&
         walk.stride(0, last) > 0;
}

void exchange(const Walk<1>& walk, const char* from, char* to, npy_intp size) {
  static const Exchange four = Versions<Exchange>{RG_VERSIONS(exchanged<float>)}.pick();
  static const Exchange eight = Versions<Exchange>{RG_VERSIONS(exchanged<double>)}.pick();
  constexpr Index tall = 64;  // rows of the result that are written at once
  const Exchange loop = size == 4 ? four : eight;
  const int last = walk.joined() - 1;
  const Index rows = walk.length(last - 1), columns = walk.length(last), apart = walk.stride(0, last) / size;
  const Index matrices = last == 2 ? walk.length(0) : 1, next = last == 2 ? walk.stride(0, 0) : 0;
  const Index strips = (rows + tall - 1) / tall;
  const auto body = [=](Index begin, Index end) {
    for (Index i = begin; i < end; i++) {
      const Index row = i % strips * tall, count = rows - row < tall ? rows - row : tall;
      loop(from + i / strips * next + row * size, apart, to + (i / strips * rows + row) * columns * size, columns, count,
           columns);
    }
  };
  if (walk.total < LARGE) return body(0, matrices * strips);
  Unlocked unlocked(true, INTERRUPTIBLE);
  parallel_for(matrices * strips, 1 + GRAIN / (tall * columns), body);
}

PyObject* copied_apart(PyObject* x) {
  const Operand operands[] = {operand(x)};
  const npy_intp size = operands[0].size;
  Walk<1> walk;
  if ((size != 4 && size != 8 && size != 1) || !walk.fit(operands, true)) return NOT_SERVED;
  Ref out(new_array(walk.nd, walk.shape, kind(x)));
  if (!out) return nullptr;
  char* to = data<char>(out.get());
  if (size != 1 && by_columns(walk, size)) {
    exchange(walk, operands[0].data, to, size);
    return out.release();
  }
  walk.run([=](const char* const* at, const std::ptrdiff_t*, npy_intp first, npy_intp n) {
    std::memcpy(to + first * size, at[0], static_cast<size_t>(n * size));
  });
  return out.release();
}

// dense_copy(x): the elements of x in C order.
PyObject* dense_copy(PyObject* self, Args args, size_t count, PyObject* names) {
  if (count_of(count) != 1 || names != nullptr || !PyArray_Check(args[0])) return by_numpy(self, args, count, names);
  PyObject* x = args[0];
  PyObject* out = NOT_SERVED;
  if (!is_plain(x) || !is_number(kind(x))) {
    // NumPy copies it below.
  } else if (PyArray_IS_C_CONTIGUOUS(as_array(x))) {
    Ref made(new_like(x));
    if (made) copy_bytes(data<char>(x), data<char>(made.get()), bytes_of(x));
    out = made.release();
  } else {
    out = copied_apart(x);
  }
  return out == NOT_SERVED ? reinterpret_cast<PyObject*>(PyArray_NewCopy(as_array(x), NPY_CORDER)) : out;
}

// copy(x): the elements of x in the order of its memory.
PyObject* copy_call(PyObject* self, Args args, size_t count, PyObject* names) {
  if (count_of(count) != 1 || names != nullptr || !is_plain(args[0]) || !is_number(kind(args[0])) ||
      !is_packed(args[0]))
    return by_numpy(self, args, count, names);
  Ref out(new_packed(args[0], kind(args[0])));
  if (out) copy_bytes(data<char>(args[0]), data<char>(out.get()), bytes_of(out.get()));
  return out.release();
}

// -- one number everywhere -----------------------------------------------------------------------------------------

enum class Filling { nothing, zeros, ones };

template <class T>
void fill_ones(PyObject* out) {
  T* to = data<T>(out);
  const npy_intp n = size_of(out);
  if (n < LARGE) {
    std::fill_n(to, n, T(1));
    return;
  }
  Unlocked unlocked(true, INTERRUPTIBLE);
  parallel_for(n, GRAIN, [=](std::ptrdiff_t begin, std::ptrdiff_t end) { std::fill_n(to + begin, end - begin, T(1)); });
}

void fill_zeros(PyObject* out) {
  char* to = data<char>(out);
  const npy_intp bytes = bytes_of(out);
  if (bytes < 8 * LARGE) {
    std::memset(to, 0, static_cast<size_t>(bytes));
    return;
  }
  Unlocked unlocked(true, INTERRUPTIBLE);
  parallel_for(bytes, 8 * GRAIN, [=](std::ptrdiff_t begin, std::ptrdiff_t end) {
    std::memset(to + begin, 0, static_cast<size_t>(end - begin));
  });
}

void fill(PyObject* out, Filling with) {
  if (with == Filling::zeros) return fill_zeros(out);
  if (with == Filling::nothing) return;
  switch (kind(out)) {
    case NPY_FLOAT: return fill_ones<float>(out);
    case NPY_DOUBLE: return fill_ones<double>(out);
    case NPY_INT64: return fill_ones<int64_t>(out);
    default: return fill_ones<bool>(out);
  }
}

const Filling NOTHING = Filling::nothing, ZEROS = Filling::zeros, ONES = Filling::ones;

Filling filling(PyObject* self) { return *static_cast<const Filling*>(as_entry(self)->kernels); }

// A shape given as an int or a tuple of ints; -1 where it is something else.
int read_shape(PyObject* shape, npy_intp* dims) {
  const bool one = PyLong_CheckExact(shape);
  if (!one && !PyTuple_CheckExact(shape)) return -1;
  const Py_ssize_t nd = one ? 1 : PyTuple_GET_SIZE(shape);
  if (nd > MOST_DIMS) return -1;
  npy_intp total = 1;
  for (Py_ssize_t i = 0; i < nd; i++) {
    PyObject* n = one ? shape : PyTuple_GET_ITEM(shape, i);
    if (!PyLong_CheckExact(n)) return -1;
    int overflow = 0;
    dims[i] = static_cast<npy_intp>(PyLong_AsLongLongAndOverflow(n, &overflow));
    if (overflow != 0 || dims[i] < 0 || dims[i] > (npy_intp{1} << 40) / total) return -1;
    total *= dims[i] > 0 ? dims[i] : 1;
  }
  return static_cast<int>(nd);
}

// A dtype given as NumPy's own object for a type that kernels know; -1 for anything else.
int read_type(PyObject* dtype) {
  if (!PyArray_DescrCheck(dtype)) return -1;
  auto* descr = reinterpret_cast<PyArray_Descr*>(dtype);
  return PyArray_ISNBO(descr->byteorder) && slot_of(descr->type_num) >= 0 ? descr->type_num : -1;
}

// zeros(shape, dtype)
PyObject* filled_call(PyObject* self, Args args, size_t count, PyObject* names) {
  const bool named = count_of(count) == 1 && names != nullptr && PyTuple_GET_SIZE(names) == 1 &&
                     PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "dtype") == 0;
  npy_intp dims[MOST_DIMS];
  if (!named && (count_of(count) != 2 || names != nullptr)) return by_numpy(self, args, count, names);
  const int type = read_type(args[1]), nd = type < 0 ? -1 : read_shape(args[0], dims);
  if (nd < 0) return by_numpy(self, args, count, names);
  Ref out(new_array(nd, dims, type));
  if (out) fill(out.get(), filling(self));
  return out.release();
}

// zeros_like(x)
PyObject* filled_like_call(PyObject* self, Args args, size_t count, PyObject* names) {
  if (count_of(count) != 1 || names != nullptr || !is_plain(args[0]) || slot_of(kind(args[0])) < 0 || !is_packed(args[0]))
    return by_numpy(self, args, count, names);
  Ref out(new_packed(args[0], kind(args[0])));
  if (out) fill(out.get(), filling(self));
  return out.release();
}

}  // namespace

bool add_copies(PyObject* module) {
  return add_entry<dense_copy>(module, "dense_copy", nullptr, "array") &&
         add_entry<copy_call>(module, "copy", nullptr) && add_entry<filled_call>(module, "empty", &NOTHING) &&
         add_entry<filled_call>(module, "zeros", &ZEROS) && add_entry<filled_call>(module, "ones", &ONES) &&
         add_entry<filled_like_call>(module, "empty_like", &NOTHING) &&
         add_entry<filled_like_call>(module, "zeros_like", &ZEROS) &&
         add_entry<filled_like_call>(module, "ones_like", &ONES);
}

}  // namespace rg
