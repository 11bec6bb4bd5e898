// CuPy's arrays, read and made without Python's attributes in between; kernels on a GPU, and what launches them.
#pragma once
#include <vector>

#include "array.h"
#include "fused.h"

namespace rg::gpu {

// CuPy's pointer and array, as they lie in memory. Nobody promises that they do: `open` compares arrays of CuPy's with
// what these structures say, and where they differ nothing here serves.
struct Pointer {
  PyObject_HEAD
  void* table;
  intptr_t address;
  int device;
  PyObject* memory;
};

struct CuArray {
  PyObject_HEAD
  void* table;
  PyObject* weak;
  Py_ssize_t size;
  std::vector<Py_ssize_t> shape, strides;
  int in_rows, in_columns, narrow;  // narrow: whether 32 bits are enough for an index
  PyArray_Descr* dtype;
  Pointer* data;
  PyObject* base;

  int nd() const { return static_cast<int>(shape.size()); }
  char* address() const { return reinterpret_cast<char*>(data->address); }
  int type() const { return dtype->type_num; }
  Py_ssize_t itemsize() const { return PyDataType_ELSIZE(dtype); }
};

extern PyTypeObject* array_type;   // null until the road is open
extern PyTypeObject* narrow_type;  // of arrays of bfloat16, whose dtype is that of their bits; null until there are some

inline bool is_array(PyObject* object) { return array_type != nullptr && Py_IS_TYPE(object, array_type); }
inline bool is_narrow(PyObject* object) { return array_type != nullptr && Py_IS_TYPE(object, narrow_type); }
inline CuArray* as_cupy(PyObject* object) { return reinterpret_cast<CuArray*>(object); }

// What an array is made of, if kernels are compiled for it: f, d, or b for bfloat16; else 0.
inline char letter_of(PyObject* object) {
  if (is_narrow(object)) return 'b';
  const int type = is_array(object) ? as_cupy(object)->type() : -1;
  return type == NPY_FLOAT ? 'f' : type == NPY_DOUBLE ? 'd' : '\0';
}

// A new array on the GPU, in rows, not filled; null with an exception set.
PyObject* empty(int nd, const Py_ssize_t* dims, PyArray_Descr* dtype);
// The same with strides, in bytes; they leave no gaps.
PyObject* empty(int nd, const Py_ssize_t* dims, const Py_ssize_t* strides, PyArray_Descr* dtype,
                PyTypeObject* type = array_type);
inline PyObject* empty_like(const CuArray* x) {
  return empty(x->nd(), x->shape.data(), x->dtype);
}
// Another look at the memory of an array, `offset` bytes from its first element.
PyObject* view_of(CuArray* x, int nd, const Py_ssize_t* dims, const Py_ssize_t* strides, Py_ssize_t offset);

// The stream that work goes into.
void* stream();

// Puts a kernel into the stream; false with an exception set.
bool launch(void* function, unsigned blocks, unsigned rows, unsigned threads, void** arguments);
// After a call that the driver has refused: true if it is worth another, else false with an exception set.
bool refused(int status);

constexpr int THREADS = 256;  // of a block

// What a compiled formula (see fused.cpp) makes of operands of which some are on a GPU: a result, or for several a tuple
// with None where one is not wanted; NotImplemented where it does not serve. `leaf` is where the parameters have led.
PyObject* by_formula(const FusedKernel& row, int leaf, PyObject* op, PyObject* const* operands, const double* params,
                     long wanted);

inline bool has_array(PyObject* const* operands, int count) {
  if (array_type == nullptr) return false;
  for (int i = 0; i < count; i++)
    if (Py_IS_TYPE(operands[i], array_type)) return true;
  return false;
}

// target += other, if they are float arrays that lie so that it can be done at once. 1, 0 if not, -1 with an exception.
int add_into(PyObject* target, PyObject* other);

extern PyMethodDef array_methods[];
extern PyMethodDef formula_methods[];
extern PyMethodDef product_methods[];
extern PyMethodDef step_methods[];
extern PyMethodDef sum_methods[];

}  // namespace rg::gpu
