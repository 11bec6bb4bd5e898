// What a kernel's arguments are: arrays of a known element type, or Python numbers.
#pragma once
#include "array.h"
#include "elementwise.h"

namespace rg {

// What a kernel returns to say that NumPy has to do it; a borrowed reference.
#define NOT_SERVED Py_NotImplemented

inline Py_ssize_t count_of(size_t count) { return PyVectorcall_NARGS(count); }

// The slot of an element type, -1 where there are no loops for it.
inline int slot_of(int type) {
  switch (type) {
    case NPY_FLOAT: return F32;
    case NPY_DOUBLE: return F64;
    case NPY_INT64: return I64;
    case NPY_BOOL: return B8;
    default: return -1;
  }
}

union Number {
  float f32;
  double f64;
  int64_t i64;
  bool b8;
};

constexpr long long EXACT = 1LL << 53;  // integers up to here are the same in double precision

// A Python number in the element type of the array that it meets (NumPy's rule for Python numbers); false if NumPy has
// to convert it.
inline bool read_number(PyObject* value, int slot, Number* number) {
  double real;
  if (PyFloat_CheckExact(value) && slot <= F64) {
    real = PyFloat_AS_DOUBLE(value);
  } else if (PyLong_CheckExact(value) && slot <= I64) {
    int overflow = 0;
    long long whole = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow != 0) return false;
    if (slot == I64) {
      number->i64 = whole;
      return true;
    }
    if (whole > EXACT || whole < -EXACT) return false;
    real = static_cast<double>(whole);
  } else {
    return false;
  }
  if (slot == F32)
    number->f32 = static_cast<float>(real);
  else
    number->f64 = real;
  return true;
}

}  // namespace rg
