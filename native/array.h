// Looking at NumPy arrays and making new ones.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL retrograd_array_api
#ifndef RG_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include <cstdint>

#include "memory.h"

namespace rg {

using Array = PyArrayObject;

// A reference that is given back when its scope ends.
class Ref {
 public:
  explicit Ref(PyObject* object = nullptr) : object_(object) {}
  explicit Ref(Array* array) : object_(reinterpret_cast<PyObject*>(array)) {}
  ~Ref() { Py_XDECREF(object_); }
  Ref(const Ref&) = delete;
  Ref& operator=(const Ref&) = delete;
  PyObject* get() const { return object_; }
  PyObject* release() {
    PyObject* object = object_;
    object_ = nullptr;
    return object;
  }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_;
};

// Lets other Python threads run while a large loop does.
class Unlocked {
 public:
  explicit Unlocked(bool really) : state_(really ? PyEval_SaveThread() : nullptr) {}
  ~Unlocked() {
    if (state_ != nullptr) PyEval_RestoreThread(state_);
  }

 private:
  PyThreadState* state_;
};

constexpr npy_intp LARGE = 1 << 15;  // elements from which a loop gives up the GIL and asks for threads

// An array of exactly NumPy's class, aligned and in this machine's byte order.
inline bool is_plain(PyObject* object) {
  return Py_IS_TYPE(object, &PyArray_Type) && PyArray_ISBEHAVED_RO(reinterpret_cast<Array*>(object));
}

inline Array* as_array(PyObject* object) { return reinterpret_cast<Array*>(object); }

// A plain array whose elements lie side by side in C order.
inline bool is_dense(PyObject* object) {
  return is_plain(object) && PyArray_IS_C_CONTIGUOUS(as_array(object));
}

inline int kind(PyObject* array) { return PyArray_TYPE(as_array(array)); }
inline bool is_float(int type) { return type == NPY_FLOAT || type == NPY_DOUBLE; }

template <class T>
inline T* data(PyObject* array) {
  return static_cast<T*>(PyArray_DATA(as_array(array)));
}

// A new array in C order, not filled, whose memory comes from our allocator. Null with an exception set if there is none.
inline PyObject* new_array(int nd, const npy_intp* dims, int type) {
  PyArray_Descr* descr = PyArray_DescrFromType(type);
  npy_intp size = PyDataType_ELSIZE(descr);
  for (int i = 0; i < nd; i++) size *= dims[i];
  void* memory = allocate(static_cast<size_t>(size));
  if (memory == nullptr) {
    Py_DECREF(descr);
    return PyErr_NoMemory();
  }
  PyObject* made = PyArray_NewFromDescr(&PyArray_Type, descr, nd, dims, nullptr, memory, NPY_ARRAY_CARRAY, nullptr);
  if (made == nullptr) {
    release(memory, static_cast<size_t>(size));
    return nullptr;
  }
  give_handler(made);
  return made;
}

inline PyObject* new_like(PyObject* array) {
  Array* a = as_array(array);
  return new_array(PyArray_NDIM(a), PyArray_DIMS(a), PyArray_TYPE(a));
}

inline bool same_shape(PyObject* x, PyObject* y) {
  Array *a = as_array(x), *b = as_array(y);
  return PyArray_NDIM(a) == PyArray_NDIM(b) &&
         PyArray_CompareLists(PyArray_DIMS(a), PyArray_DIMS(b), PyArray_NDIM(a));
}

}  // namespace rg
