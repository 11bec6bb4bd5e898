// Python numbers in nested lists and tuples as arrays.
#include "network.h"

namespace rg {

namespace {

constexpr int DEEPEST = 16;

bool is_list(PyObject* object) { return PyList_CheckExact(object) || PyTuple_CheckExact(object); }

// What nested lists hold. Nobody's code runs while they are read, so they stay as they are.
class Nested {
 public:
  int nd = 0;
  npy_intp dims[DEEPEST];
  bool bools = false, ints = false, floats = false;

  // False where lists are not equally long, or there is anything but bools, ints and floats.
  bool look(PyObject* data, int depth = 0) {
    if (!is_list(data)) return at_bottom(depth) && note(data);
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(data);
    if (depth == nd && bottom_ < 0 && nd < DEEPEST) dims[nd++] = n;
    if (depth >= nd || dims[depth] != n) return false;
    PyObject** items = PySequence_Fast_ITEMS(data);
    for (Py_ssize_t i = 0; i < n; i++)
      if (!look(items[i], depth + 1)) return false;
    return true;
  }

 private:
  // Whether numbers may come here: all of them come at one depth.
  bool at_bottom(int depth) {
    if (bottom_ < 0) bottom_ = depth;
    return bottom_ == depth && depth == nd;
  }

  bool note(PyObject* number) {
    if (PyFloat_CheckExact(number)) return floats = true;
    if (PyLong_CheckExact(number)) return ints = true;
    return PyBool_Check(number) && (bools = true);
  }

  int bottom_ = -1;
};

bool read(PyObject* number, double* to) {
  *to = PyFloat_CheckExact(number) ? PyFloat_AS_DOUBLE(number) : PyLong_AsDouble(number);
  return *to != -1.0 || !PyErr_Occurred();
}

bool read(PyObject* number, float* to) {
  double wide;
  if (!read(number, &wide)) return false;
  *to = static_cast<float>(wide);
  return true;
}

bool read(PyObject* number, npy_int64* to) {
  *to = PyLong_AsLongLong(number);
  return *to != -1 || !PyErr_Occurred();
}

bool read(PyObject* number, bool* to) {
  *to = number == Py_True;
  return true;
}

// Writes the numbers one behind the other; null with an exception set where one is too large.
template <class T>
T* write(PyObject* data, T* to) {
  if (!is_list(data)) return read(data, to) ? to + 1 : nullptr;
  PyObject** items = PySequence_Fast_ITEMS(data);
  for (Py_ssize_t i = 0, n = PySequence_Fast_GET_SIZE(data); i < n && to != nullptr; i++) to = write(items[i], to);
  return to;
}

bool fill(PyObject* from, PyObject* out) {
  switch (kind(out)) {
    case NPY_FLOAT: return write(from, data<float>(out)) != nullptr;
    case NPY_DOUBLE: return write(from, data<double>(out)) != nullptr;
    case NPY_INT64: return write(from, data<npy_int64>(out)) != nullptr;
    default: return write(from, data<bool>(out)) != nullptr;
  }
}

// The number of a dtype; -1 for one in another byte order than this machine's.
int type_of(PyObject* dtype) {
  auto* descr = reinterpret_cast<PyArray_Descr*>(dtype);
  return PyArray_ISNBO(descr->byteorder) ? descr->type_num : -1;
}

// The type of the array: the one that is wanted, or else what the numbers are; -1 where it may not hold them.
int type_for(const Nested& nested, PyObject* wanted, PyObject* floats) {
  int type = nested.ints ? NPY_INT64 : NPY_BOOL;
  if (nested.floats || !(nested.ints || nested.bools)) type = type_of(floats);
  if (wanted != Py_None) {
    const int target = type_of(wanted);
    if (!is_float(target) && target != type) return -1;
    type = target;
  }
  return is_float(type) || type == NPY_INT64 || type == NPY_BOOL ? type : -1;
}

// (data, dtype, floats): numbers as an array of a dtype; None stands for their own, which `floats` is for floats
PyObject* py_numbers(PyObject*, Args args, Py_ssize_t count) {
  if (count != 3 || !PyArray_DescrCheck(args[2]) || (args[1] != Py_None && !PyArray_DescrCheck(args[1])))
    return not_served();
  Nested nested;
  if (!nested.look(args[0])) return not_served();
  const int type = type_for(nested, args[1], args[2]);
  if (type < 0) return not_served();
  Ref out(new_array(nested.nd, nested.dims, type));
  if (!out) return nullptr;
  if (fill(args[0], out.get())) return out.release();
  PyErr_Clear();
  return not_served();
}

}  // namespace

PyMethodDef number_methods[] = {
    method<py_numbers>("numbers", "numbers(data, dtype, floats): nested lists of numbers as an array, or None."),
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rg
