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

#include <chrono>
#include <cstdint>
#include <thread>

#include "memory.h"
#include "parallel.h"
#include "sizes.h"

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

enum Signals { DEFERRED, INTERRUPTIBLE };  // what a loop does about Ctrl-C: see parallel.h

// Lets other Python threads run while a large loop does.
class Unlocked {
 public:
  explicit Unlocked(bool really, Signals signals = DEFERRED) : state_(really ? PyEval_SaveThread() : nullptr) {
    if (state_ != nullptr && signals == INTERRUPTIBLE) set_interruptible(state_);
  }
  // Before 3.14, Python ends a daemon thread that comes back while the interpreter is finalised, by unwinding its stack.
  // The destructors below would touch objects without the GIL: the thread waits for the end of the process instead.
  ~Unlocked() {
    if (state_ == nullptr) return;
    set_interruptible(nullptr);
    try {
      PyEval_RestoreThread(state_);
    } catch (...) {
      for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
    }
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

// A type whose elements are plain bytes, so that copying memory copies them.
inline bool is_number(int type) { return type <= NPY_LONGDOUBLE || (type >= NPY_CFLOAT && type <= NPY_CLONGDOUBLE); }

// How many elements an array has. NumPy has seen to it that there is such a number.
inline npy_intp size_of(PyObject* array) {
  Array* a = as_array(array);
  npy_intp n = 1;
  for (int i = 0; i < PyArray_NDIM(a) && n != 0; i++) n *= PyArray_DIM(a, i);
  return n;
}
inline npy_intp bytes_of(PyObject* array) { return size_of(array) * PyArray_ITEMSIZE(as_array(array)); }

template <class T>
inline T* data(PyObject* array) {
  return static_cast<T*>(PyArray_DATA(as_array(array)));
}

// Python 3.11's header forgets to say that this is C.
extern "C" int PyTraceMalloc_Track(unsigned int domain, uintptr_t memory, size_t size);
constexpr unsigned TRACE_DOMAIN = 389047;  // np.lib.tracemalloc_domain, where tracemalloc counts arrays

// Raises OutOfMemoryError, with the figures of an array that there is no memory for; null.
PyObject* no_memory(int nd, const npy_intp* dims, int type);

// A new array of `bytes` in memory from our allocator, not filled; null with an exception set.
inline PyObject* array_of(npy_intp bytes, int nd, const npy_intp* dims, const npy_intp* strides, int type) {
  void* memory = allocate(static_cast<size_t>(bytes));
  if (memory == nullptr) return no_memory(nd, dims, type);
  PyObject* made = PyArray_NewFromDescr(&PyArray_Type, PyArray_DescrFromType(type), nd, dims, strides, memory,
                                        NPY_ARRAY_CARRAY, nullptr);
  if (made == nullptr) {
    release(memory);
    return nullptr;
  }
  give_handler(made);
  rg::PyTraceMalloc_Track(TRACE_DOMAIN, reinterpret_cast<uintptr_t>(memory), static_cast<size_t>(bytes));
  return made;
}

// The size of an element.
inline npy_intp bytes_of_type(int type) {
  PyArray_Descr* descr = PyArray_DescrFromType(type);
  npy_intp size = PyDataType_ELSIZE(descr);
  Py_DECREF(descr);
  return size;
}

// A new array in C order, not filled, whose memory comes from our allocator. Null with an exception set if there is none.
inline PyObject* new_array(int nd, const npy_intp* dims, int type) {
  npy_intp bytes = type == NPY_FLOAT ? 4 : type == NPY_DOUBLE ? 8 : bytes_of_type(type);
  if (!grow(&bytes, nd, dims)) return no_memory(nd, dims, type);
  return array_of(bytes, nd, dims, nullptr, type);
}

inline PyObject* new_like(PyObject* array) {
  Array* a = as_array(array);
  return new_array(PyArray_NDIM(a), PyArray_DIMS(a), PyArray_TYPE(a));
}

inline bool same_shape(PyObject* x, PyObject* y) {
  Array *a = as_array(x), *b = as_array(y);
  const int nd = PyArray_NDIM(a);
  if (nd != PyArray_NDIM(b)) return false;
  for (int i = 0; i < nd; i++)
    if (PyArray_DIM(a, i) != PyArray_DIM(b, i)) return false;
  return true;
}

// Whether the elements fill a stretch of memory without gaps, in whatever order of dimensions.
inline bool is_packed(PyObject* array) {
  Array* a = as_array(array);
  if (PyArray_IS_C_CONTIGUOUS(a) || PyArray_IS_F_CONTIGUOUS(a)) return true;
  npy_intp expected = PyArray_ITEMSIZE(a);
  for (int found = 0; found < PyArray_NDIM(a); found++) {
    int i = 0;
    while (i < PyArray_NDIM(a) && (PyArray_STRIDE(a, i) != expected || PyArray_DIM(a, i) < 2)) i++;
    if (i == PyArray_NDIM(a)) break;
    expected *= PyArray_DIM(a, i);
  }
  return expected == bytes_of(array) && expected > 0;
}

// Whether two arrays of one shape have their elements in the same order.
inline bool same_layout(PyObject* x, PyObject* y) {
  Array *a = as_array(x), *b = as_array(y);
  for (int i = 0; i < PyArray_NDIM(a); i++)
    if (PyArray_STRIDE(a, i) != PyArray_STRIDE(b, i) && PyArray_DIM(a, i) > 1) return false;
  return true;
}

// A new array whose elements have the order of a packed one, as NumPy lays out the results of its functions.
inline PyObject* new_packed(PyObject* like, int type) {
  Array* a = as_array(like);
  const int nd = PyArray_NDIM(a);
  if (PyArray_IS_C_CONTIGUOUS(a)) return new_array(nd, PyArray_DIMS(a), type);
  npy_intp strides[NPY_MAXDIMS], size = bytes_of_type(type), bytes = size;
  if (!grow(&bytes, nd, PyArray_DIMS(a))) return no_memory(nd, PyArray_DIMS(a), type);
  for (int i = 0; i < nd; i++)  // the stride of a dimension of length 1 may be anything
    strides[i] = PyArray_DIM(a, i) > 1 ? PyArray_STRIDE(a, i) / PyArray_ITEMSIZE(a) * size : size;
  return array_of(bytes, nd, PyArray_DIMS(a), strides, type);
}

}  // namespace rg
