#include "fused_layout.h"

#include <algorithm>
#include <cstdlib>

namespace rg {

namespace {

constexpr long long EXACT = 1LL << 53;  // whole numbers up to here are doubles

// Sorts the operands into arrays of one floating point type and numbers. The first array is `leader`.
struct Sorted {
  Array* arrays[FUSED_SLOTS] = {};
  Array* leader = nullptr;
  double numbers[FUSED_SLOTS];
};

bool sort(PyObject* const* operands, unsigned used, Sorted* sorted) {
  for (int s = 0; s < FUSED_SLOTS; s++) {
    if (!(used >> s & 1)) continue;
    PyObject* operand = operands[s];
    if (!Py_IS_TYPE(operand, &PyArray_Type)) {
      if (!exact_number(operand, sorted->numbers + s)) return false;
      continue;
    }
    Array* array = as_array(operand);
    if (!PyArray_ISBEHAVED_RO(array)) return false;
    if (sorted->leader == nullptr) {
      if (!is_float(PyArray_TYPE(array))) return false;
      sorted->leader = array;
    } else if (PyArray_TYPE(array) != PyArray_TYPE(sorted->leader)) {
      return false;
    }
    sorted->arrays[s] = array;
  }
  return sorted->leader != nullptr;
}

bool same_dims(Array* a, Array* b) {
  return PyArray_NDIM(a) == PyArray_NDIM(b) &&
         std::equal(PyArray_DIMS(a), PyArray_DIMS(a) + PyArray_NDIM(a), PyArray_DIMS(b));
}

// Whether all arrays have one shape and lie alike without gaps, so that they can be gone through side by side.
bool lie_alike(const Sorted& sorted) {
  Array* leader = sorted.leader;
  const bool plain = PyArray_IS_C_CONTIGUOUS(leader);
  if (!plain && !is_packed(reinterpret_cast<PyObject*>(leader))) return false;
  for (Array* a : sorted.arrays) {
    if (a == nullptr || a == leader) continue;
    if (!same_dims(a, leader)) return false;
    if (plain ? !PyArray_IS_C_CONTIGUOUS(a)
              : !std::equal(PyArray_STRIDES(a), PyArray_STRIDES(a) + PyArray_NDIM(a), PyArray_STRIDES(leader)))
      return false;
  }
  return true;
}

// -- broadcasting --------------------------------------------------------------------------------------------------

bool broadcast(const Sorted& sorted, Layout* layout) {
  layout->nd = 0;
  for (Array* a : sorted.arrays)
    if (a != nullptr) layout->nd = std::max(layout->nd, PyArray_NDIM(a));
  std::fill_n(layout->shape, layout->nd, 1);
  for (Array* a : sorted.arrays) {
    if (a == nullptr) continue;
    for (int d = 0; d < PyArray_NDIM(a); d++) {
      npy_intp& dim = layout->shape[layout->nd - PyArray_NDIM(a) + d];
      if (PyArray_DIM(a, d) == dim || PyArray_DIM(a, d) == 1) continue;
      if (dim != 1) return false;
      dim = PyArray_DIM(a, d);
    }
  }
  return true;
}

// The steps of an array that is broadcast to the shape. False if a later dimension has the longer stride: NumPy would
// give the result another order of dimensions than C's.
bool steps_of(Array* array, const Layout& layout, Steps* steps) {
  const int missing = layout.nd - PyArray_NDIM(array);
  npy_intp before = 0;
  steps->nd = 0;
  for (int d = 0; d < layout.nd; d++) {
    const npy_intp dim = layout.shape[d];
    const bool spread = d < missing || PyArray_DIM(array, d - missing) != dim;
    const npy_intp stride = spread || dim == 1 ? 0 : PyArray_STRIDE(array, d - missing);
    if (dim == 1) continue;
    if (stride != 0) {
      if (before != 0 && std::llabs(stride) > before) return false;
      before = std::llabs(stride);
    }
    const int last = steps->nd - 1;
    if (last >= 0 && steps->strides[last] == stride * dim) {
      steps->dims[last] *= dim;
      steps->strides[last] = stride;
    } else {
      steps->dims[steps->nd] = dim;
      steps->strides[steps->nd++] = stride;
    }
  }
  if (steps->nd == 0) *steps = {1, {1}, {0}};
  return true;
}

bool lies_flat(const Steps& steps, const Pass& pass) {
  return steps.nd == 1 && steps.dims[0] == pass.n && (steps.strides[0] == pass.size || pass.n == 1);
}

// Operands of different shapes, or with gaps.
bool spread(const Sorted& sorted, Layout* layout) {
  if (!broadcast(sorted, layout)) return false;
  layout->dims = layout->shape;
  Pass& pass = layout->pass;
  pass.n = 1;
  if (!grow(&pass.n, layout->nd, layout->shape)) return false;
  for (int s = 0; s < FUSED_SLOTS; s++) {
    if (sorted.arrays[s] == nullptr) continue;
    if (!steps_of(sorted.arrays[s], *layout, pass.steps + s)) return false;
    if (!lies_flat(pass.steps[s], pass)) pass.stepped |= 1u << s;
  }
  return true;
}

void put_number(Layout* layout, int slot, double number) {
  if (layout->type == NPY_FLOAT)
    layout->numbers[slot].f32 = static_cast<float>(number);
  else
    layout->numbers[slot].f64 = number;
  Pass& pass = layout->pass;
  pass.in[slot] = layout->numbers + slot;
  pass.stepped |= 1u << slot;
  pass.steps[slot].nd = 1;
  pass.steps[slot].dims[0] = pass.n;
  pass.steps[slot].strides[0] = 0;
}

}  // namespace

bool exact_number(PyObject* value, double* number) {
  if (PyFloat_CheckExact(value)) {
    *number = PyFloat_AS_DOUBLE(value);
    return true;
  }
  if (!PyLong_CheckExact(value) && !PyBool_Check(value)) return false;
  int overflow = 0;
  const long long whole = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow != 0 || whole > EXACT || whole < -EXACT) return false;
  *number = static_cast<double>(whole);
  return true;
}

bool lay_out(PyObject* const* operands, unsigned used, Layout* layout) {
  Sorted sorted;
  if (!sort(operands, used, &sorted)) return false;
  Array* leader = sorted.leader;
  Pass& pass = layout->pass;
  layout->type = PyArray_TYPE(leader);
  layout->strides = nullptr;
  pass.size = PyArray_ITEMSIZE(leader);
  pass.used = used;
  pass.stepped = 0;
  std::fill_n(pass.in, FUSED_SLOTS, nullptr);
  if (lie_alike(sorted)) {
    layout->nd = PyArray_NDIM(leader);
    layout->dims = PyArray_DIMS(leader);
    if (!PyArray_IS_C_CONTIGUOUS(leader)) layout->strides = PyArray_STRIDES(leader);
    pass.n = size_of(reinterpret_cast<PyObject*>(leader));
  } else if (!spread(sorted, layout)) {
    return false;
  }
  for (int s = 0; s < FUSED_SLOTS; s++) {
    if (sorted.arrays[s] != nullptr)
      pass.in[s] = PyArray_DATA(sorted.arrays[s]);
    else if (used >> s & 1)
      put_number(layout, s, sorted.numbers[s]);
  }
  return true;
}

PyObject* Layout::new_result() const {
  if (strides == nullptr) return new_array(nd, dims, type);
  npy_intp bytes = pass.size;
  return grow(&bytes, pass.n) ? array_of(bytes, nd, dims, strides, type) : no_memory(nd, dims, type);
}

}  // namespace rg
