// where(c, x, y)
#include "elementwise.h"
#include "entry.h"
#include "walk.h"

namespace rg {

namespace {

// The common element type of two sides of which at least one is an array; -1 where NumPy has to find it.
int common_type(PyObject* x, PyObject* y) {
  if (is_plain(x)) return is_plain(y) && kind(y) != kind(x) ? -1 : kind(x);
  return is_plain(y) ? kind(y) : -1;
}

bool side(PyObject* value, int slot, npy_intp size, Number* number, Operand* found) {
  if (is_plain(value)) {
    *found = operand(value);
    return true;
  }
  *found = {reinterpret_cast<const char*>(number), 0, nullptr, nullptr, size};
  return read_number(value, slot, number);
}

// Operands that lie side by side in C order, in the condition's shape, or are numbers.
bool is_flat(PyObject* value, PyObject* condition) {
  if (!is_plain(value)) return true;
  return PyArray_NDIM(as_array(value)) == 0 || (is_dense(value) && same_shape(value, condition));
}

PyObject* choose_flat(ChooseLoop loop, PyObject* c, const Operand& x, const Operand& y, int type) {
  Array* a = as_array(c);
  PyObject* out = new_array(PyArray_NDIM(a), PyArray_DIMS(a), type);
  if (out == nullptr) return nullptr;
  loop(data<char>(c), 1, x.data, x.nd != 0, y.data, y.nd != 0, data<char>(out), size_of(c));
  return out;
}

PyObject* choose_apart(ChooseLoop loop, const Operand* operands, int type) {
  Walk<3> walk;
  if (!walk.fit(operands)) return NOT_SERVED;
  Ref out(new_array(walk.nd, walk.shape, type));
  if (!out) return nullptr;
  char* to = data<char>(out.get());
  const npy_intp size = PyArray_ITEMSIZE(as_array(out.get()));
  walk.run([=](const char* const* at, const std::ptrdiff_t* steps, npy_intp first, npy_intp n) {
    loop(at[0], steps[0], at[1], steps[1], at[2], steps[2], to + first * size, n);
  });
  return out.release();
}

PyObject* where_of(const ChooseKernel* kernel, PyObject* c, PyObject* x, PyObject* y) {
  if (!is_plain(c) || kind(c) != NPY_BOOL) return NOT_SERVED;
  const int type = common_type(x, y), slot = type < 0 ? -1 : slot_of(type);
  if (slot < 0) return NOT_SERVED;
  Number first, second;
  const npy_intp size = PyArray_ITEMSIZE(as_array(is_plain(x) ? x : y));
  Operand operands[3] = {operand(c)};
  if (!side(x, slot, size, &first, operands + 1) || !side(y, slot, size, &second, operands + 2)) return NOT_SERVED;
  ChooseLoop loop = kernel->loops[slot];
  if (is_dense(c) && size_of(c) < LARGE && PyArray_NDIM(as_array(c)) > 0 && is_flat(x, c) && is_flat(y, c))
    return choose_flat(loop, c, operands[1], operands[2], type);
  return choose_apart(loop, operands, type);
}

PyObject* where_call(PyObject* self, Args args, size_t count, PyObject* names) {
  if (count_of(count) == 3 && names == nullptr) {
    PyObject* made = where_of(static_cast<const ChooseKernel*>(as_entry(self)->kernels), args[0], args[1], args[2]);
    if (made != NOT_SERVED) return made;
  }
  return by_numpy(self, args, count, names);
}

}  // namespace

bool add_choices(PyObject* module) { return add_entry<where_call>(module, "where", choose_kernel()); }

}  // namespace rg
