// Arrays on memory that another one owns, and small constants: what NumPy's Python functions take microseconds for.
#include "views.h"

#include <cstring>

#include "array.h"

namespace rg {

namespace {

// stretched(array, size): the array broadcast to a shape, read-only; NotImplemented where NumPy has to do it.
PyObject* stretched(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 2 || !PyTuple_CheckExact(args[1]) || !Py_IS_TYPE(args[0], &PyArray_Type)) Py_RETURN_NOTIMPLEMENTED;
  Array* array = as_array(args[0]);
  const Py_ssize_t nd = PyTuple_GET_SIZE(args[1]), lead = nd - PyArray_NDIM(array);
  if (nd > NPY_MAXDIMS || lead < 0) Py_RETURN_NOTIMPLEMENTED;
  npy_intp dims[NPY_MAXDIMS], strides[NPY_MAXDIMS];
  for (Py_ssize_t i = 0; i < nd; i++) {
    PyObject* item = PyTuple_GET_ITEM(args[1], i);
    if (!PyLong_CheckExact(item)) Py_RETURN_NOTIMPLEMENTED;
    dims[i] = PyLong_AsSsize_t(item);
    if (dims[i] < 0) {  // NumPy says what is wrong with it
      PyErr_Clear();
      Py_RETURN_NOTIMPLEMENTED;
    }
    const bool same = i >= lead && PyArray_DIM(array, i - lead) == dims[i];
    if (!same && i >= lead && PyArray_DIM(array, i - lead) != 1) Py_RETURN_NOTIMPLEMENTED;
    strides[i] = same ? PyArray_STRIDE(array, i - lead) : 0;
  }
  PyArray_Descr* descr = PyArray_DESCR(array);
  Py_INCREF(descr);
  PyObject* view = PyArray_NewFromDescr(&PyArray_Type, descr, static_cast<int>(nd), dims, strides, PyArray_DATA(array),
                                        0, nullptr);
  if (view == nullptr) return nullptr;
  if (PyArray_SetBaseObject(as_array(view), Py_NewRef(args[0])) < 0) {
    Py_DECREF(view);
    return nullptr;
  }
  return view;
}

template <class T>
PyObject* filled(PyObject* array, T value) {
  T* to = data<T>(array);
  for (npy_intp i = 0, n = size_of(array); i < n; i++) to[i] = value;
  return array;
}

// ones_like(array): an array of ones; NotImplemented where NumPy has to make it.
PyObject* ones_of(PyObject*, PyObject* object) {
  if (!Py_IS_TYPE(object, &PyArray_Type) || !is_float(kind(object))) Py_RETURN_NOTIMPLEMENTED;
  PyObject* made = new_like(object);
  if (made == nullptr) return nullptr;
  return kind(object) == NPY_FLOAT ? filled(made, 1.0f) : filled(made, 1.0);
}

// extent_of(array): the address of its first element, of its first byte, and of the byte behind its last one
PyObject* extent_of(PyObject*, PyObject* object) {
  if (!Py_IS_TYPE(object, &PyArray_Type)) Py_RETURN_NOTIMPLEMENTED;
  Array* array = as_array(object);
  const npy_intp start = reinterpret_cast<npy_intp>(PyArray_DATA(array));
  npy_intp low = start, high = start;
  if (size_of(object) > 0) {
    high += PyArray_ITEMSIZE(array);
    for (int i = 0; i < PyArray_NDIM(array); i++) {
      const npy_intp reach = PyArray_STRIDE(array, i) * (PyArray_DIM(array, i) - 1);
      (reach < 0 ? low : high) += reach;
    }
  }
  return Py_BuildValue("(nnn)", start, low, high);
}

// is_open(array): whether it is NumPy's own, lies in rows and may be written to, so that a write needs no other look
PyObject* is_open(PyObject*, PyObject* object) {
  return PyBool_FromLong(is_dense(object) && PyArray_ISWRITEABLE(as_array(object)));
}

// copy_over(array, values): copies values over a small array of their shape and dtype, or truths over one of numbers;
// False where NumPy has to do it
PyObject* copy_over(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 2 || !is_dense(args[0]) || !is_dense(args[1]) || !PyArray_ISWRITEABLE(as_array(args[0])) ||
      !is_number(kind(args[0])) || !same_shape(args[0], args[1]) || size_of(args[0]) >= LARGE)
    Py_RETURN_FALSE;
  if (kind(args[0]) != kind(args[1])) {
    if (kind(args[1]) != NPY_BOOL) Py_RETURN_FALSE;
    if (PyArray_CopyInto(as_array(args[0]), as_array(args[1])) < 0) return nullptr;
    Py_RETURN_TRUE;
  }
  std::memmove(data<char>(args[0]), data<char>(args[1]), static_cast<size_t>(bytes_of(args[0])));
  Py_RETURN_TRUE;
}

}  // namespace

PyMethodDef view_methods[] = {
    {"extent_of", extent_of, METH_O, "Where an array begins, and the bytes that it reaches over; or NotImplemented."},
    {"stretched", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(stretched)), METH_FASTCALL,
     "An array broadcast to a shape, or NotImplemented."},
    {"is_open", is_open, METH_O, "Whether an array of NumPy's own lies in rows and may be written to."},
    {"copy_over", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(copy_over)), METH_FASTCALL,
     "Copies values over a small array; whether it could."},
    {"ones_of", ones_of, METH_O, "Ones in the shape and dtype of an array of floats, or NotImplemented."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rg
