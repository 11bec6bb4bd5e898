#include "elementwise.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "entry.h"
#include "isa.h"
#include "portable.h"
#include "walk.h"

namespace rg {

namespace {

#define RG_KERNELS "elementwise.inc"
#include "versions.h"

// -- one operand ---------------------------------------------------------------------------------------------------

// Elements that lie side by side, in whatever order of dimensions.
PyObject* unary_packed(UnaryLoop loop, PyObject* x, int type) {
  Ref out(new_packed(x, type));
  if (!out) return nullptr;
  const npy_intp n = size_of(x);
  const char* from = data<char>(x);
  char* to = data<char>(out.get());
  if (n < LARGE) {
    loop(from, to, n);
    return out.release();
  }
  const npy_intp size = PyArray_ITEMSIZE(as_array(x)), out_size = PyArray_ITEMSIZE(as_array(out.get()));
  {
    Unlocked unlocked(true, INTERRUPTIBLE);
    parallel_for(n, GRAIN, [=](std::ptrdiff_t begin, std::ptrdiff_t end) {
      loop(from + begin * size, to + begin * out_size, end - begin);
    });
  }
  return out.release();
}

PyObject* unary_apart(UnaryLoop loop, PyObject* x, int type) {
  const Operand operands[] = {operand(x)};
  Walk<1> walk;
  if (!walk.fit(operands)) return NOT_SERVED;
  Ref out(new_array(walk.nd, walk.shape, type));
  if (!out) return nullptr;
  char* to = data<char>(out.get());
  const npy_intp size = PyArray_ITEMSIZE(as_array(out.get()));
  walk.run([=](const char* const* at, const std::ptrdiff_t*, npy_intp first, npy_intp n) {
    loop(at[0], to + first * size, n);
  });
  return out.release();
}

// NOT_SERVED where NumPy has to do it.
PyObject* unary_of(const UnaryKernel* kernel, PyObject* x) {
  if (!is_plain(x)) return NOT_SERVED;
  const int type = kind(x), slot = slot_of(type);
  UnaryLoop loop = slot < 0 ? nullptr : kernel->loops[slot];
  if (loop == nullptr) return NOT_SERVED;
  const int out_type = kernel->truth ? NPY_BOOL : type;
  return is_packed(x) ? unary_packed(loop, x, out_type) : unary_apart(loop, x, out_type);
}

PyObject* unary_call(PyObject* self, Args args, size_t count, PyObject* names) {
  if (count_of(count) == 1 && names == nullptr) {
    PyObject* made = unary_of(static_cast<const UnaryKernel*>(as_entry(self)->kernels), args[0]);
    if (made != NOT_SERVED) return made;
  }
  return by_numpy(self, args, count, names);
}

// -- two operands --------------------------------------------------------------------------------------------------

struct Side {
  const char* data;
  std::ptrdiff_t step;  // 1, or 0 for a single number
};

// Packed operands of one layout, or one of them and a number.
void run2(BinaryLoop loop, Side x, Side y, PyObject* out, npy_intp n, npy_intp size, Signals signals) {
  char* to = data<char>(out);
  if (n < LARGE) return loop(x.data, x.step, y.data, y.step, to, n);
  const npy_intp out_size = PyArray_ITEMSIZE(as_array(out));
  Unlocked unlocked(true, signals);
  parallel_for(n, GRAIN, [=](std::ptrdiff_t begin, std::ptrdiff_t end) {
    loop(x.data + begin * x.step * size, x.step, y.data + begin * y.step * size, y.step, to + begin * out_size,
         end - begin);
  });
}

PyObject* binary_packed(BinaryLoop loop, PyObject* like, Side x, Side y, int type) {
  Ref out(new_packed(like, type));
  if (out) run2(loop, x, y, out.get(), size_of(like), PyArray_ITEMSIZE(as_array(like)), INTERRUPTIBLE);
  return out.release();
}

void walk2(BinaryLoop loop, const Walk<2>& walk, PyObject* out, Signals signals) {
  char* to = data<char>(out);
  const npy_intp size = PyArray_ITEMSIZE(as_array(out));
  const auto body = [=](const char* const* at, const std::ptrdiff_t* steps, npy_intp first, npy_intp n) {
    loop(at[0], steps[0], at[1], steps[1], to + first * size, n);
  };
  walk.run(body, signals);
}

PyObject* binary_apart(BinaryLoop loop, Operand x, Operand y, int type) {
  const Operand operands[] = {x, y};
  Walk<2> walk;
  if (!walk.fit(operands)) return NOT_SERVED;
  Ref out(new_array(walk.nd, walk.shape, type));
  if (out) walk2(loop, walk, out.get(), INTERRUPTIBLE);
  return out.release();
}

PyObject* binary_arrays(const BinaryKernel* kernel, PyObject* x, PyObject* y) {
  const int type = kind(x), slot = slot_of(type);
  if (slot < 0 || kind(y) != type) return NOT_SERVED;
  BinaryLoop loop = kernel->loops[slot];
  if (loop == nullptr) return NOT_SERVED;
  const int out_type = kernel->truth ? NPY_BOOL : type;
  const Side a{data<char>(x), 1}, b{data<char>(y), 1};
  if (same_shape(x, y) && same_layout(x, y) && is_packed(x)) return binary_packed(loop, x, a, b, out_type);
  if (PyArray_NDIM(as_array(y)) == 0 && is_packed(x)) return binary_packed(loop, x, a, {b.data, 0}, out_type);
  if (PyArray_NDIM(as_array(x)) == 0 && is_packed(y)) return binary_packed(loop, y, {a.data, 0}, b, out_type);
  return binary_apart(loop, operand(x), operand(y), out_type);
}

PyObject* binary_number(const BinaryKernel* kernel, PyObject* array, PyObject* value, bool array_first) {
  const int type = kind(array), slot = slot_of(type);
  Number number;
  if (slot < 0 || kernel->loops[slot] == nullptr || !read_number(value, slot, &number)) return NOT_SERVED;
  BinaryLoop loop = kernel->loops[slot];
  const int out_type = kernel->truth ? NPY_BOOL : type;
  const char* at = reinterpret_cast<const char*>(&number);
  if (is_packed(array)) {
    const Side a{data<char>(array), 1}, b{at, 0};
    return binary_packed(loop, array, array_first ? a : b, array_first ? b : a, out_type);
  }
  const Operand a = operand(array), b{at, 0, nullptr, nullptr, a.size};
  return binary_apart(loop, array_first ? a : b, array_first ? b : a, out_type);
}

PyObject* binary_of(const BinaryKernel* kernel, PyObject* x, PyObject* y) {
  const bool first = is_plain(x), second = is_plain(y);
  if (first && second) return binary_arrays(kernel, x, y);
  if (first) return binary_number(kernel, x, y, true);
  return second ? binary_number(kernel, y, x, false) : NOT_SERVED;
}

// -- two operands, into a third ------------------------------------------------------------------------------------

// Whether writing `out` element by element spoils no element of x that is still to be read.
bool harmless(PyObject* x, PyObject* out) {
  const char *a = data<char>(x), *b = data<char>(out);
  if (a == b && same_shape(x, out) && same_layout(x, out)) return true;
  return is_packed(x) && (a + bytes_of(x) <= b || b + bytes_of(out) <= a);
}

// out[...] = f(x, y) for arrays of one dtype, where x has the shape of `out` and y may be broadcast to it.
bool write2(const BinaryKernel* kernel, PyObject* x, PyObject* y, PyObject* out) {
  if (!is_plain(x) || !is_plain(y) || !is_plain(out) || !PyArray_ISWRITEABLE(as_array(out))) return false;
  const int type = kind(x), slot = slot_of(type);
  if (slot < 0 || kernel->loops[slot] == nullptr || kernel->truth || kind(y) != type || kind(out) != type) return false;
  if (!same_shape(x, out) || !is_packed(out) || !harmless(x, out) || !harmless(y, out)) return false;
  if (same_shape(x, y) && same_layout(x, y) && same_layout(x, out)) {
    const npy_intp n = size_of(x), size = PyArray_ITEMSIZE(as_array(x));
    run2(kernel->loops[slot], {data<char>(x), 1}, {data<char>(y), 1}, out, n, size, DEFERRED);
    return true;
  }
  if (!PyArray_IS_C_CONTIGUOUS(as_array(out))) return false;
  const Operand operands[] = {operand(x), operand(y)};
  Walk<2> walk;
  if (!walk.fit(operands) || walk.nd != PyArray_NDIM(as_array(out)) || walk.total != size_of(out))
    return false;
  walk2(kernel->loops[slot], walk, out, DEFERRED);
  return true;
}

bool only_out(PyObject* names) {
  return PyTuple_GET_SIZE(names) == 1 && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "out") == 0;
}

PyObject* binary_call(PyObject* self, Args args, size_t count, PyObject* names) {
  auto* kernel = static_cast<const BinaryKernel*>(as_entry(self)->kernels);
  if (count_of(count) != 2) return by_numpy(self, args, count, names);
  if (names == nullptr) {
    PyObject* made = binary_of(kernel, args[0], args[1]);
    return made == NOT_SERVED ? by_numpy(self, args, count, names) : made;
  }
  if (only_out(names) && write2(kernel, args[0], args[1], args[2])) return Py_NewRef(args[2]);
  return by_numpy(self, args, count, names);
}

// add_into(a, b): a += b, and a itself as the result.
PyObject* add_into(PyObject* self, Args args, size_t count, PyObject* names) {
  if (count_of(count) == 2 && names == nullptr &&
      write2(static_cast<const BinaryKernel*>(as_entry(self)->kernels), args[0], args[1], args[0]))
    return Py_NewRef(args[0]);
  if (count_of(count) != 2 || names != nullptr)
    return PyErr_Format(PyExc_TypeError, "add_into() takes two arrays, and adds the second to the first");
  return PyObject_CallFunctionObjArgs(as_entry(self)->numpy, args[0], args[1], args[0], nullptr);
}

const UnaryKernel* unary_kernels() { return Versions<const UnaryKernel* (*)()>{RG_VERSIONS(unary_table)}.pick()(); }
const BinaryKernel* binary_kernels() { return Versions<const BinaryKernel* (*)()>{RG_VERSIONS(binary_table)}.pick()(); }

}  // namespace

const ChooseKernel* choose_kernel() { return Versions<const ChooseKernel* (*)()>{RG_VERSIONS(choose_table)}.pick()(); }

bool add_elementwise(PyObject* module) {
  for (auto* one = unary_kernels(); one->name != nullptr; one++)
    if (!add_entry<unary_call>(module, one->name, one)) return false;
  for (auto* two = binary_kernels(); two->name != nullptr; two++)
    if (!add_entry<binary_call>(module, two->name, two)) return false;
  return add_entry<add_into>(module, "add_into", binary_kernels(), "add");  // the table begins with addition
}

}  // namespace rg
