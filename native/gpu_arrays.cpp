// CuPy's arrays: whether they lie in memory as gpu.h says, and how they are made.
//
// Memory comes from CuPy's pool. What small arrays have left behind is kept here, by size and stream, and used again for
// the next array of that stream: work goes through a stream in order, so the old array's is done before the new one's.
// Memory is free when nobody but this list refers to it.
#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "gpu.h"

namespace rg::gpu {

PyTypeObject* array_type = nullptr;
PyTypeObject* narrow_type = nullptr;

namespace {

PyTypeObject* base_type = nullptr;     // of array_type, written in C: makes arrays without a call of Python code
PyTypeObject* pointer_type = nullptr;
PyObject* allocate_bytes = nullptr;    // cupy.cuda.alloc
intptr_t (*current_stream)() = nullptr;

// ---- memory that is used again --------------------------------------------------------------------------------------

constexpr Py_ssize_t UNIT = 512;             // bytes: CuPy's pool counts in these, too
constexpr Py_ssize_t LARGEST = 1 << 20;      // more bytes than these are left to CuPy's pool
constexpr Py_ssize_t MOST_KEPT = 64 << 20;   // bytes in all
constexpr int LOOKS = 8;                     // at memory that may be free, for one array
constexpr int PATIENCE = 64;                 // how often memory may be found in use before it is no longer kept

struct Kept {
  Pointer* pointer;
  int found_in_use;
};

// Memory of one size, for one stream.
struct Shelf {
  Py_ssize_t units = 0;
  std::vector<Kept> kept;
  size_t next = 0;
};

std::unordered_map<size_t, Shelf> shelves;
Py_ssize_t kept_bytes = 0;

Shelf& shelf_of(intptr_t stream, Py_ssize_t units) {
  static_assert(LARGEST / UNIT < 1 << 12, "addresses of streams are multiples of 16, and need 48 bits");
  Shelf& found = shelves[static_cast<size_t>(stream) << 12 | static_cast<size_t>(units)];
  found.units = units;
  return found;
}

bool is_free(const Pointer* pointer) {
  return Py_REFCNT(pointer) == 1 && Py_REFCNT(pointer->memory) == 1;
}

// Memory of so many units that nobody uses; null if there is none at hand.
Pointer* used_again(Shelf& shelf) {
  for (int look = 0; look < LOOKS && !shelf.kept.empty(); look++) {
    if (shelf.next >= shelf.kept.size()) shelf.next = 0;
    Kept& kept = shelf.kept[shelf.next];
    if (is_free(kept.pointer)) {
      kept.found_in_use = 0;
      shelf.next++;
      return reinterpret_cast<Pointer*>(Py_NewRef(reinterpret_cast<PyObject*>(kept.pointer)));
    }
    if (++kept.found_in_use < PATIENCE) {
      shelf.next++;
      continue;
    }
    Py_DECREF(kept.pointer);
    kept_bytes -= shelf.units * UNIT;
    kept = shelf.kept.back();
    shelf.kept.pop_back();
  }
  return nullptr;
}

Pointer* new_pointer(Py_ssize_t bytes) {
  Ref size(PyLong_FromSsize_t(bytes));
  if (!size) return nullptr;
  PyObject* found = PyObject_CallOneArg(allocate_bytes, size.get());
  if (found == nullptr || Py_IS_TYPE(found, pointer_type)) return reinterpret_cast<Pointer*>(found);
  Py_DECREF(found);
  PyErr_SetString(PyExc_TypeError, "an allocator of CuPy's has given no pointer of CuPy's");
  return nullptr;
}

Pointer* memory_for(Py_ssize_t bytes) {
  if (bytes > LARGEST || bytes == 0) return new_pointer(bytes);
  const Py_ssize_t units = (bytes + UNIT - 1) / UNIT;
  const intptr_t stream = current_stream();
  if (PyErr_Occurred() != nullptr) return nullptr;
  Shelf& shelf = shelf_of(stream, units);
  Pointer* found = used_again(shelf);
  if (found != nullptr) return found;
  found = new_pointer(units * UNIT);  // Python code may run here, and make arrays
  if (found != nullptr && kept_bytes + units * UNIT <= MOST_KEPT) {
    kept_bytes += units * UNIT;
    Py_INCREF(found);
    shelf_of(stream, units).kept.push_back({found, 0});
  }
  return found;
}

// Gives back the memory that is kept for the next arrays, as far as nobody uses it: how many bytes those are.
Py_ssize_t trim() {
  std::vector<Pointer*> gone;
  Py_ssize_t freed = 0;
  for (auto& entry : shelves) {
    Shelf& shelf = entry.second;
    size_t left = 0;
    for (const Kept& kept : shelf.kept) {
      if (!is_free(kept.pointer)) {
        shelf.kept[left++] = kept;
        continue;
      }
      gone.push_back(kept.pointer);
      freed += shelf.units * UNIT;
    }
    shelf.kept.resize(left);
  }
  kept_bytes -= freed;
  for (Pointer* pointer : gone) Py_DECREF(pointer);  // at last: this may run Python code
  return freed;
}

// ---- arrays ---------------------------------------------------------------------------------------------------------

// Whether elements lie side by side, the last dimension closest together (or the first).
bool is_dense(const CuArray* a, bool last_closest) {
  Py_ssize_t expected = a->itemsize();
  const int nd = a->nd();
  if (a->size == 0) return true;
  for (int i = 0; i < nd; i++) {
    const int d = last_closest ? nd - 1 - i : i;
    if (a->shape[d] == 1) continue;
    if (a->strides[d] != expected) return false;
    expected *= a->shape[d];
  }
  return true;
}

// An array of CuPy's with these fields; takes over `data`.
PyObject* made_of(Pointer* data, PyArray_Descr* dtype, int nd, const Py_ssize_t* dims, const Py_ssize_t* strides,
                  PyObject* base, PyTypeObject* type = array_type) {
  static PyObject* const nothing = PyTuple_New(0);
  PyObject* made = data == nullptr ? nullptr : base_type->tp_new(type, nothing, nullptr);
  if (made == nullptr) {
    Py_XDECREF(data);
    return nullptr;
  }
  CuArray* a = as_cupy(made);
  Py_SETREF(a->data, data);
  Py_INCREF(dtype);
  Py_SETREF(a->dtype, dtype);
  Py_SETREF(a->base, Py_NewRef(base));
  a->shape.assign(dims, dims + nd);
  a->strides.resize(static_cast<size_t>(nd));
  a->size = 1;
  Py_ssize_t step = a->itemsize();
  for (int d = nd - 1; d >= 0; d--) {
    a->strides[d] = strides == nullptr ? step : strides[d];
    step *= dims[d];
    a->size *= dims[d];
  }
  if (a->size == 0 && strides == nullptr) a->strides.assign(static_cast<size_t>(nd), 0);  // as CuPy has it
  a->in_rows = strides == nullptr || is_dense(a, true);
  a->in_columns = is_dense(a, false);
  a->narrow = a->size * a->itemsize() < (Py_ssize_t{1} << 31);
  return made;
}

// Whether there is no memory for an array; what CuPy has said is forgotten.
bool is_short() {
  if (PyErr_Occurred() == nullptr || !PyErr_ExceptionMatches(PyExc_MemoryError)) return false;
  PyErr_Clear();
  return true;
}

// ---- whether the structures of gpu.h are CuPy's ---------------------------------------------------------------------

bool equals(PyObject* object, const char* name, Py_ssize_t value) {
  Ref found(PyObject_GetAttrString(object, name));
  return found && PyLong_AsSsize_t(found.get()) == value && PyErr_Occurred() == nullptr;
}

bool holds(PyObject* object, const char* name, const void* value) {
  Ref found(PyObject_GetAttrString(object, name));
  return found && found.get() == value;
}

bool lists(PyObject* object, const char* name, const std::vector<Py_ssize_t>& numbers) {
  Ref found(PyObject_GetAttrString(object, name));
  if (!found || !PyTuple_Check(found.get())) return false;
  // A vector that is none would have an absurd length, or elements anywhere.
  if (static_cast<size_t>(PyTuple_GET_SIZE(found.get())) != numbers.size()) return false;
  for (size_t i = 0; i < numbers.size(); i++)
    if (PyLong_AsSsize_t(PyTuple_GET_ITEM(found.get(), i)) != numbers[i]) return false;
  return PyErr_Occurred() == nullptr;
}

// Whether an array of CuPy's has in its fields what its attributes say.
bool is_as_told(PyObject* array) {
  if (Py_TYPE(array)->tp_basicsize != sizeof(CuArray)) return false;
  const CuArray* a = as_cupy(array);
  if (!equals(array, "size", a->size) || !lists(array, "shape", a->shape) || !lists(array, "strides", a->strides)) return false;
  if (!equals(array, "_c_contiguous", a->in_rows) || !equals(array, "_f_contiguous", a->in_columns)) return false;
  if (!holds(array, "dtype", a->dtype) || !holds(array, "data", a->data) || !holds(array, "base", a->base)) return false;
  PyObject* data = reinterpret_cast<PyObject*>(a->data);
  return Py_TYPE(data)->tp_basicsize == sizeof(Pointer) && equals(data, "ptr", a->data->address) &&
         equals(data, "device_id", a->data->device) && holds(data, "mem", a->data->memory);
}

// gpu_open(arrays, allocate, stream): whether the arrays show that we know how CuPy's lie; if so, all is served from now on.
PyObject* gpu_open(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 3 || !PyTuple_Check(args[0]) || PyTuple_GET_SIZE(args[0]) == 0 || !PyCapsule_CheckExact(args[2]))
    return PyErr_Format(PyExc_TypeError, "gpu_open() takes arrays, an allocator and a capsule");
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args[0]); i++)
    if (!is_as_told(PyTuple_GET_ITEM(args[0], i))) {
      PyErr_Clear();
      Py_RETURN_FALSE;
    }
  const char* signature = PyCapsule_GetName(args[2]);
  if (signature == nullptr || std::strcmp(signature, "intptr_t (void)") != 0) Py_RETURN_FALSE;
  PyObject* first = PyTuple_GET_ITEM(args[0], 0);
  PyTypeObject* type = Py_TYPE(first);
  if (type->tp_base == nullptr || type->tp_base->tp_basicsize != sizeof(CuArray)) Py_RETURN_FALSE;
  current_stream = reinterpret_cast<intptr_t (*)()>(PyCapsule_GetPointer(args[2], signature));
  allocate_bytes = Py_NewRef(args[1]);
  pointer_type = Py_TYPE(as_cupy(first)->data);
  base_type = type->tp_base;
  array_type = reinterpret_cast<PyTypeObject*>(Py_NewRef(reinterpret_cast<PyObject*>(type)));
  Py_RETURN_TRUE;
}

// Lets everything go its old way again.
PyObject* gpu_close(PyObject*, PyObject*) {
  array_type = nullptr;
  Py_RETURN_NONE;
}

// ---- what Python calls ----------------------------------------------------------------------------------------------

// The class that an argument names, if arrays of it are made here; null with an exception set.
PyTypeObject* class_of(PyObject* type) {
  if (array_type != nullptr && (type == reinterpret_cast<PyObject*>(array_type) || type == reinterpret_cast<PyObject*>(narrow_type)))
    return reinterpret_cast<PyTypeObject*>(type);
  PyErr_SetString(PyExc_TypeError, "arrays of this class are not made here, or the road is not open");
  return nullptr;
}

// gpu_narrow(type): makes a class of arrays of bfloat16 known; whether they lie in memory as CuPy's do.
PyObject* gpu_narrow(PyObject*, PyObject* type) {
  if (array_type == nullptr || !PyType_Check(type)) Py_RETURN_FALSE;
  PyTypeObject* found = reinterpret_cast<PyTypeObject*>(type);
  if (!PyType_IsSubtype(found, array_type) || found->tp_basicsize != sizeof(CuArray)) Py_RETURN_FALSE;
  Py_INCREF(found);
  Py_XSETREF(narrow_type, found);
  Py_RETURN_TRUE;
}

// gpu_seen_as(array, type): another look at an array's memory, of a class that is made here.
PyObject* gpu_seen_as(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 2 || !(is_array(args[0]) || is_narrow(args[0])))
    return PyErr_Format(PyExc_TypeError, "gpu_seen_as() takes an array of CuPy's, or of bfloat16, and a class");
  PyTypeObject* type = class_of(args[1]);
  if (type == nullptr) return nullptr;
  CuArray* x = as_cupy(args[0]);
  Py_INCREF(x->data);
  PyObject* base = x->base == Py_None ? args[0] : x->base;
  return made_of(x->data, x->dtype, x->nd(), x->shape.data(), x->strides.data(), base, type);
}

// gpu_empty(shape, dtype), gpu_empty(shape, dtype, type)
PyObject* gpu_empty(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if ((count != 2 && count != 3) || !PyTuple_Check(args[0]) || !PyArray_DescrCheck(args[1]) || array_type == nullptr)
    return PyErr_Format(PyExc_TypeError, "gpu_empty() takes a shape and a dtype, once the road is open");
  PyTypeObject* type = count == 2 ? array_type : class_of(args[2]);
  if (type == nullptr) return nullptr;
  Py_ssize_t dims[NPY_MAXDIMS];
  const Py_ssize_t nd = PyTuple_GET_SIZE(args[0]);
  if (nd > NPY_MAXDIMS) return PyErr_Format(PyExc_ValueError, "gpu_empty(): %zd dimensions are too many", nd);
  for (Py_ssize_t d = 0; d < nd; d++) {
    dims[d] = PyLong_AsSsize_t(PyTuple_GET_ITEM(args[0], d));
    if (dims[d] < 0) return PyErr_Occurred() ? nullptr : PyErr_Format(PyExc_ValueError, "a length below 0");
  }
  return empty(static_cast<int>(nd), dims, nullptr, reinterpret_cast<PyArray_Descr*>(args[1]), type);
}

// The address of the stream that work goes into.
PyObject* gpu_stream(PyObject*, PyObject*) {
  const intptr_t found = current_stream == nullptr ? 0 : current_stream();
  return PyErr_Occurred() != nullptr ? nullptr : PyLong_FromSsize_t(found);
}

PyObject* gpu_trim(PyObject*, PyObject*) { return PyLong_FromSsize_t(trim()); }

}  // namespace

PyObject* empty(int nd, const Py_ssize_t* dims, PyArray_Descr* dtype) { return empty(nd, dims, nullptr, dtype); }

PyObject* empty(int nd, const Py_ssize_t* dims, const Py_ssize_t* strides, PyArray_Descr* dtype, PyTypeObject* type) {
  Py_ssize_t bytes = PyDataType_ELSIZE(dtype);
  if (!grow(&bytes, nd, dims)) return no_memory(nd, dims, dtype->type_num);
  Pointer* data = memory_for(bytes);
  if (data == nullptr && is_short()) {
    trim();
    data = memory_for(bytes);
    if (data == nullptr && is_short()) return no_memory(nd, dims, dtype->type_num);
  }
  return made_of(data, dtype, nd, dims, strides, Py_None, type);
}

PyObject* view_of(CuArray* x, int nd, const Py_ssize_t* dims, const Py_ssize_t* strides, Py_ssize_t offset) {
  static PyObject* const nothing = PyTuple_New(0);
  PyObject* data = offset == 0 ? Py_NewRef(reinterpret_cast<PyObject*>(x->data))
                               : pointer_type->tp_new(pointer_type, nothing, nullptr);
  if (data != nullptr && offset != 0) {
    Pointer* pointer = reinterpret_cast<Pointer*>(data);
    pointer->address = x->data->address + offset;
    pointer->device = x->data->device;
    Py_SETREF(pointer->memory, Py_NewRef(x->data->memory));
  }
  PyObject* base = x->base == Py_None ? reinterpret_cast<PyObject*>(x) : x->base;
  return made_of(reinterpret_cast<Pointer*>(data), x->dtype, nd, dims, strides, base);
}

void* stream() { return reinterpret_cast<void*>(current_stream()); }

PyMethodDef array_methods[] = {
    {"gpu_open", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(gpu_open)), METH_FASTCALL,
     "Whether CuPy's arrays lie in memory as the pack believes; if so, it serves them from now on."},
    {"gpu_close", gpu_close, METH_NOARGS, "Lets CuPy serve its arrays again."},
    {"gpu_empty", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(gpu_empty)), METH_FASTCALL,
     "An array of CuPy's, not filled."},
    {"gpu_narrow", gpu_narrow, METH_O, "Makes the class of arrays of bfloat16 known, if the pack can serve it."},
    {"gpu_seen_as", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(gpu_seen_as)), METH_FASTCALL,
     "An array's memory as an array of another class."},
    {"gpu_stream", gpu_stream, METH_NOARGS, "The address of the stream that work goes into."},
    {"gpu_trim", gpu_trim, METH_NOARGS, "Gives memory that is kept for the next arrays back to CuPy's pool."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rg::gpu
