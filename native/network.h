// What the kernels of neural networks share: dense operands of one dtype, seen as lines along an axis.
#pragma once
#include <exception>
#include <vector>

#include "array.h"
#include "isa.h"
#include "parallel.h"
#include "portable.h"

namespace rg {

using Args = PyObject* const*;

// What a kernel answers where it does not serve its arguments: the caller computes it the plain way.
inline PyObject* not_served() { return Py_NewRef(Py_None); }

// A plain array of single or double precision.
inline bool is_real(PyObject* object) { return is_plain(object) && is_float(kind(object)); }

inline bool is_of(PyObject* object, int type) { return is_plain(object) && kind(object) == type; }

// The array itself, or a dense copy where its elements lie apart. Null with an exception set if there is no memory.
inline PyObject* dense(PyObject* array) {
  return reinterpret_cast<PyObject*>(PyArray_GETCONTIGUOUS(as_array(array)));
}

// An array as `outer` blocks of `count` lines of `inner` elements.
struct Split {
  npy_intp outer = 1, count = 1, inner = 1;
  bool empty() const { return outer == 0 || count == 0 || inner == 0; }
};

// The lengths before axis `first`, from it to before `last`, and from there on, each multiplied up.
inline Split split(PyObject* array, int first, int last) {
  Split s;
  const npy_intp* dims = PyArray_DIMS(as_array(array));
  const int nd = PyArray_NDIM(as_array(array));
  for (int i = 0; i < nd; i++) (i < first ? s.outer : i < last ? s.count : s.inner) *= dims[i];
  return s;
}

// Numbers that are not arrays. Reading one may run a user's code (`__index__`, `__float__`), which may change arrays in
// place: numbers are read first, and arrays are looked at afterwards. False with an exception set.
inline bool read_whole(PyObject* number, long* found) {
  *found = PyLong_AsLong(number);
  return *found != -1 || !PyErr_Occurred();
}
inline bool read_real(PyObject* number, double* found) {
  *found = PyFloat_AsDouble(number);
  return *found != -1 || !PyErr_Occurred();
}

// An axis given as a Python int, counted from 0; -1 where it is none of the array's.
inline int axis_of(PyObject* number, PyObject* array) {
  if (!PyLong_CheckExact(number)) return -1;
  const long axis = PyLong_AsLong(number);
  if (axis == -1 && PyErr_Occurred()) PyErr_Clear();
  return axis >= 0 && axis < PyArray_NDIM(as_array(array)) ? static_cast<int>(axis) : -1;
}

// Reads a tuple of `count` lengths; false if it is none.
inline bool read_lengths(PyObject* tuple, Py_ssize_t count, npy_intp* lengths) {
  if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) != count) return false;
  for (Py_ssize_t i = 0; i < count; i++) {
    if (!PyLong_Check(PyTuple_GET_ITEM(tuple, i))) return false;
    lengths[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(tuple, i));
    if (lengths[i] == -1 && PyErr_Occurred()) PyErr_Clear();
    if (lengths[i] < 0) return false;
  }
  return true;
}

// Memory of notes: begins at a cache line, so that no register is filled from two.
template <class T>
struct Aligned {
  using value_type = T;
  Aligned() = default;
  template <class U>
  Aligned(const Aligned<U>&) {}
  T* allocate(size_t n) {
    std::ptrdiff_t bytes = sizeof(T);
    if (!grow(&bytes, static_cast<std::ptrdiff_t>(n))) throw std::bad_alloc();
    return static_cast<T*>(aligned_memory(static_cast<size_t>(bytes)));
  }
  void deallocate(T* memory, size_t) { aligned_release(memory); }
  template <class U>
  bool operator==(const Aligned<U>&) const { return true; }
  template <class U>
  bool operator!=(const Aligned<U>&) const { return false; }
};

template <class T>
using Line = std::vector<T, Aligned<T>>;

// Runs body(begin, end) over [0, n), where each step costs about `cost` elements; on several threads if it is long.
template <class Body>
void over(npy_intp n, npy_intp cost, const Body& body) {
  if (n < LARGE && cost < LARGE && n * cost < LARGE) {
    if (n > 0) body(npy_intp(0), n);
    return;
  }
  const npy_intp grain = LARGE / 2 / (cost > 0 ? cost : 1);
  Unlocked unlocked(true, INTERRUPTIBLE);
  parallel_for(n, grain > 0 ? grain : 1, body);
}

using Function = PyObject* (*)(PyObject*, Args, Py_ssize_t);

// Calls a kernel; if there is no memory for its notes (they throw nothing else), Python hears of it.
template <Function kernel>
PyObject* guarded(PyObject* self, Args args, Py_ssize_t count) {
  try {
    return kernel(self, args, count);
  } catch (const Interrupted&) {
    return nullptr;
  } catch (const std::exception&) {
    return PyErr_NoMemory();
  }
}

// A kernel as a row of a method table.
template <Function kernel>
PyMethodDef method(const char* name, const char* text) {
  const Function call = guarded<kernel>;
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call)), METH_FASTCALL, text};
}

extern PyMethodDef batchnorm_methods[];
extern PyMethodDef random_methods[];
extern PyMethodDef embedding_methods[];
extern PyMethodDef factor_methods[];
extern PyMethodDef likelihood_methods[];
extern PyMethodDef loss_methods[];
extern PyMethodDef norm_methods[];
extern PyMethodDef number_methods[];
extern PyMethodDef optim_methods[];
extern PyMethodDef recurrent_methods[];
extern PyMethodDef resample_methods[];
extern PyMethodDef scan_methods[];
extern PyMethodDef search_methods[];
extern PyMethodDef softmax_methods[];
extern PyMethodDef special_methods[];
extern PyMethodDef variance_methods[];

}  // namespace rg
