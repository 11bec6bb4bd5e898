// where(c, x, y), and powers by a number.
#include "elementwise.h"
#include "entry.h"
#include "walk.h"

namespace rg {

namespace {

// -- where ---------------------------------------------------------------------------------------------------------

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
  loop(data<char>(c), 1, x.data, x.nd != 0, y.data, y.nd != 0, data<char>(out), PyArray_SIZE(a));
  return out;
}

PyObject* choose_apart(ChooseLoop loop, const Operand* operands, int type) {
  Walk<3> walk;
  if (!walk.fit(operands)) return NOT_SERVED;
  PyObject* out = new_array(walk.nd, walk.shape, type);
  if (out == nullptr) return nullptr;
  char* to = data<char>(out);
  const npy_intp size = PyArray_ITEMSIZE(as_array(out));
  walk.run([=](const char* const* at, const std::ptrdiff_t* steps, npy_intp first, npy_intp n) {
    loop(at[0], steps[0], at[1], steps[1], at[2], steps[2], to + first * size, n);
  });
  return out;
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
  if (is_dense(c) && PyArray_SIZE(as_array(c)) < LARGE && PyArray_NDIM(as_array(c)) > 0 && is_flat(x, c) && is_flat(y, c))
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

// -- powers by a number --------------------------------------------------------------------------------------------

struct Powers {
  const BinaryKernel *power, *multiply;
  const UnaryKernel *square, *reciprocal, *root;
} powers;

bool number_of(PyObject* value, double* number) {
  if (PyFloat_CheckExact(value)) {
    *number = PyFloat_AS_DOUBLE(value);
    return true;
  }
  if (!PyLong_CheckExact(value)) return false;
  *number = PyLong_AsDouble(value);
  if (*number != -1 || !PyErr_Occurred()) return true;
  PyErr_Clear();
  return false;
}

PyObject* cube(PyObject* x) {
  Ref squared(unary_of(powers.square, x));
  return squared ? binary_of(powers.multiply, squared.get(), x) : nullptr;
}

// raised(x, e): x ** e for a number e, in its cheapest form; a square root for 0.5, as the operator has it.
PyObject* raised(PyObject* self, Args args, size_t count, PyObject* names) {
  double exponent = 0;
  if (count_of(count) != 2 || names != nullptr || !is_plain(args[0]) || !is_float(kind(args[0])) ||
      !number_of(args[1], &exponent))
    return by_numpy(self, args, count, names);
  PyObject* x = args[0];
  PyObject* made = exponent == 2     ? unary_of(powers.square, x)
                   : exponent == 0.5 ? unary_of(powers.root, x)
                   : exponent == -1  ? unary_of(powers.reciprocal, x)
                   : exponent == 3   ? cube(x)
                                     : binary_of(powers.power, x, args[1]);
  return made == NOT_SERVED ? by_numpy(self, args, count, names) : made;
}

}  // namespace

bool add_choices(PyObject* module) {
  powers = {binary_kernel("power"), binary_kernel("multiply"), unary_kernel("square"), unary_kernel("reciprocal"),
            unary_kernel("sqrt")};
  Ref operators(PyImport_ImportModule("operator"));
  return operators && add_entry(module, "where", where_call, choose_kernel()) &&
         add_entry_for(module, "raised", raised, nullptr, PyObject_GetAttrString(operators.get(), "pow"));
}

}  // namespace rg
