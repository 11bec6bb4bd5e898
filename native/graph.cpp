// What the hot paths of the graph ask for at every operation, without making a Python object each time: the line of the
// user's program that runs, the metadata of an array, the state of this thread. Each is looked up in a small table of
// objects that Python code made once.
#include "array.h"

#if PY_VERSION_HEX < 0x030D0000
// The frame of the running function, without the frame object that CPython would make for us.
#define RG_FRAMES 1
#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE
#endif
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE
#else
#define RG_FRAMES 0
#endif

#include <algorithm>

#include "gpu.h"
#include "graph.h"

namespace rg {

namespace {

// ---- places -------------------------------------------------------------------------------------------------------

PyObject* is_ours = nullptr;  // asked once per code object whether it belongs to retrograd

struct Spot {
  PyCodeObject* code = nullptr;
  int lasti = 0;
  PyObject* pair = nullptr;  // (code, lasti), or None for code of ours
};

constexpr size_t SPOTS = 4096;
Spot spots[SPOTS];

size_t spot_index(const PyCodeObject* code, int lasti) {
  return ((reinterpret_cast<size_t>(code) >> 4) * 31 + static_cast<size_t>(lasti) * 2654435761u) % SPOTS;
}

// The entry for a place in the code, filled if it is new. Null with an exception set if that failed.
Spot* look_up(PyCodeObject* code, int lasti) {
  Spot* entry = &spots[spot_index(code, lasti)];
  if (entry->code == code && entry->lasti == lasti) return entry;
  Ref answer(is_ours == nullptr ? Py_NewRef(Py_False)
                                : PyObject_CallOneArg(is_ours, reinterpret_cast<PyObject*>(code)));
  if (!answer) return nullptr;
  PyObject* pair = answer.get() == Py_True ? Py_NewRef(Py_None) : Py_BuildValue("(Oi)", code, lasti);
  if (pair == nullptr) return nullptr;
  Ref old_pair(entry->pair), old_code(reinterpret_cast<PyObject*>(entry->code));
  entry->code = reinterpret_cast<PyCodeObject*>(Py_NewRef(reinterpret_cast<PyObject*>(code)));
  entry->lasti = lasti;
  entry->pair = pair;
  return entry;
}

// The place of what is called by no Python function: a thread may start with one of ours, written in C.
PyObject* nowhere() {
  static PyObject* pair = nullptr;
  if (pair == nullptr) pair = Py_BuildValue("(Ni)", PyCode_NewEmpty("<no Python file>", "<thread>", 1), 0);
  return Py_XNewRef(pair);
}

#if RG_FRAMES
PyObject* spot(PyObject*, PyObject*) {
  _PyInterpreterFrame* frame = PyThreadState_Get()->cframe->current_frame;
  PyObject* found = nullptr;
  for (; frame != nullptr; frame = frame->previous) {
#if PY_VERSION_HEX >= 0x030C0000
    if (frame->owner == FRAME_OWNED_BY_CSTACK) continue;
#endif
    if (_PyFrame_IsIncomplete(frame)) continue;
    Spot* entry = look_up(frame->f_code, _PyInterpreterFrame_LASTI(frame) * static_cast<int>(sizeof(_Py_CODEUNIT)));
    if (entry == nullptr) return nullptr;
    found = entry->pair;
    if (found != Py_None) return Py_NewRef(found);
  }
  return found == nullptr ? nowhere() : Py_NewRef(found);
}
#else
PyObject* spot(PyObject*, PyObject*) {
  PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
  while (frame != nullptr) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    Spot* entry = look_up(code, PyFrame_GetLasti(frame));
    Py_DECREF(code);
    PyFrameObject* outer = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = outer;
    if (entry == nullptr || entry->pair != Py_None) {
      Py_XDECREF(frame);
      return entry == nullptr ? nullptr : Py_NewRef(entry->pair);
    }
  }
  return nowhere();
}
#endif

PyObject* set_owner_test(PyObject*, PyObject* test) {
  Py_XSETREF(is_ours, Py_NewRef(test));
  Py_RETURN_NONE;
}

// ---- metadata -----------------------------------------------------------------------------------------------------

PyObject* maker = nullptr;  // makes an InputMetadata

constexpr int MOST_DIMS = 6;  // arrays of more dimensions are not kept
constexpr size_t METAS = 1024;

// What the metadata of an array depends on, wherever it lives.
struct Looks {
  PyArray_Descr* descr;
  int nd;
  const npy_intp* dims;
  bool on_gpu;
  bool owns;  // its memory

  bool of(PyObject* object) {
    if (Py_IS_TYPE(object, &PyArray_Type)) {
      Array* array = as_array(object);
      descr = PyArray_DESCR(array);
      nd = PyArray_NDIM(array);
      dims = PyArray_DIMS(array);
      on_gpu = false;
      owns = PyArray_BASE(array) == nullptr;
    } else if (gpu::is_array(object)) {
      const gpu::CuArray* array = gpu::as_cupy(object);
      descr = array->dtype;
      nd = array->nd();
      dims = array->shape.data();
      on_gpu = true;
      owns = array->base == Py_None;
    } else {
      return false;
    }
    return nd <= MOST_DIMS;
  }
};

struct Meta {
  PyArray_Descr* descr = nullptr;
  int nd = 0;
  npy_intp dims[MOST_DIMS] = {};
  bool on_gpu = false;
  PyObject* object = nullptr;
};

Meta metas[METAS];

Meta* meta_entry(const Looks& looks) {
  size_t hash = (reinterpret_cast<size_t>(looks.descr) >> 4) + looks.on_gpu;
  for (int i = 0; i < looks.nd; i++) hash = hash * 1000003u + static_cast<size_t>(looks.dims[i]) + 1;
  return &metas[hash % METAS];
}

bool describes(const Meta* entry, const Looks& looks) {
  if (entry->descr != looks.descr || entry->nd != looks.nd || entry->on_gpu != looks.on_gpu) return false;
  for (int i = 0; i < looks.nd; i++)
    if (entry->dims[i] != looks.dims[i]) return false;
  return true;
}

PyObject* metadata_of(PyObject*, PyObject* object) {
  if (maker == nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "set_metadata_maker() comes first");
    return nullptr;
  }
  Looks looks;
  if (!looks.of(object)) return PyObject_CallOneArg(maker, object);
  Meta* entry = meta_entry(looks);
  if (describes(entry, looks)) return Py_NewRef(entry->object);
  PyObject* made = PyObject_CallOneArg(maker, object);
  if (made == nullptr) return nullptr;
  if (!looks.of(object) || meta_entry(looks) != entry) return made;  // somebody has reshaped it meanwhile
  Ref old(entry->object), old_descr(reinterpret_cast<PyObject*>(entry->descr));
  entry->descr = looks.descr;
  Py_INCREF(entry->descr);
  entry->nd = looks.nd;
  entry->on_gpu = looks.on_gpu;
  std::copy_n(looks.dims, entry->nd, entry->dims);
  entry->object = made;
  return Py_NewRef(made);
}

// 0: the array is not known to be as the metadata says; else 1, and 2 besides if its memory is its own.
PyObject* fit_of(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 2) {
    PyErr_SetString(PyExc_TypeError, "fit_of(): needs an array and its metadata");
    return nullptr;
  }
  Looks looks;
  if (!looks.of(args[0])) return PyLong_FromLong(0);
  const Meta* entry = meta_entry(looks);
  if (entry->object != args[1] || !describes(entry, looks)) return PyLong_FromLong(0);
  return PyLong_FromLong(looks.owns ? 3 : 1);
}

PyObject* set_metadata_maker(PyObject*, PyObject* function) {
  Py_XSETREF(maker, Py_NewRef(function));
  Py_RETURN_NONE;
}

// ---- this thread's state ------------------------------------------------------------------------------------------

// Borrowed from a capsule in the thread's own dictionary, which takes it back when Python is done with the thread.
thread_local PyObject* state = nullptr;

constexpr const char* STATE = "retrograd.thread_state";

PyObject* thread_state(PyObject*, PyObject*) { return Py_NewRef(state == nullptr ? Py_None : state); }

void take_back(PyObject* capsule) {
  auto* object = static_cast<PyObject*>(PyCapsule_GetPointer(capsule, STATE));
  if (state == object) state = nullptr;
  Py_XDECREF(object);
}

PyObject* set_thread_state(PyObject*, PyObject* object) {
  PyObject* dict = PyThreadState_GetDict();
  if (dict == nullptr) Py_RETURN_NONE;
  Ref capsule(PyCapsule_New(object, STATE, take_back));
  if (!capsule) return nullptr;
  Py_INCREF(object);
  if (PyDict_SetItemString(dict, STATE, capsule.get()) < 0) return nullptr;
  state = object;
  Py_RETURN_NONE;
}

// ---- shapes -------------------------------------------------------------------------------------------------------

PyObject* size_class = nullptr;  // the subclass of tuple that shapes are shown in

// Python's own look at whether a class may be made of a tuple this way is taken once, here.
PyObject* set_size_class(PyObject*, PyObject* cls) {
  Ref nothing(PyTuple_New(0));
  if (!nothing) return nullptr;
  Ref made(PyObject_CallMethod(reinterpret_cast<PyObject*>(&PyTuple_Type), "__new__", "OO", cls, nothing.get()));
  if (!made) return nullptr;
  Py_XSETREF(size_class, Py_NewRef(cls));
  Py_RETURN_NONE;
}

PyObject* size_of_shape(PyObject*, PyObject* shape) {
  if (size_class == nullptr || !PyTuple_Check(shape))
    return PyErr_Format(PyExc_TypeError, "size_of() takes a tuple, once there is a class for it");
  Ref arguments(PyTuple_Pack(1, shape));
  if (!arguments) return nullptr;
  return PyTuple_Type.tp_new(reinterpret_cast<PyTypeObject*>(size_class), arguments.get(), nullptr);
}

// ---- the cyclic collector -----------------------------------------------------------------------------------------

// Whether an object is of a class written in Python, or compiled from it. Python's own types (generators, functions)
// take it for granted, when an object dies, that the collector still knows it.
bool is_of_a_class(PyObject* object) {
  const unsigned long flags = Py_TYPE(object)->tp_flags;
  return (flags & Py_TPFLAGS_HEAPTYPE) && !(flags & Py_TPFLAGS_IMMUTABLETYPE) && PyObject_IS_GC(object);
}

PyObject* untrack(PyObject*, PyObject* object) {
  if (is_of_a_class(object)) PyObject_GC_UnTrack(object);
  Py_RETURN_NONE;
}

PyObject* track(PyObject*, PyObject* object) {
  if (is_of_a_class(object) && !PyObject_GC_IsTracked(object)) PyObject_GC_Track(object);
  Py_RETURN_NONE;
}

// instances(types...): all objects of these classes that the collector knows. No other thread runs meanwhile: it would
// find references to tuples that it has not finished.
PyObject* instances(PyObject*, PyObject* const* types, Py_ssize_t count) {
  for (Py_ssize_t t = 0; t < count; t++)
    if (!PyType_Check(types[t])) return PyErr_Format(PyExc_TypeError, "instances() takes classes");
  Ref gc(PyImport_ImportModuleLevel("gc", nullptr, nullptr, nullptr, 0)), found(PyList_New(0));
  if (!gc || !found) return nullptr;
  Ref all(PyObject_CallMethod(gc.get(), "get_objects", nullptr));
  if (!all) return nullptr;
  if (!PyList_Check(all.get())) return PyErr_Format(PyExc_TypeError, "gc.get_objects() has given no list");
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(all.get()); i++) {
    PyObject* object = PyList_GET_ITEM(all.get(), i);
    for (Py_ssize_t t = 0; t < count; t++) {
      if (!PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(types[t]))) continue;
      if (PyList_Append(found.get(), object) < 0) return nullptr;
      break;
    }
  }
  return found.release();
}

}  // namespace

PyMethodDef graph_methods[] = {
    {"spot", spot, METH_O, "Code and offset of the innermost running function that is not retrograd's."},
    {"set_owner_test", set_owner_test, METH_O, "Sets the function that says whether a code object is retrograd's."},
    {"metadata_of", metadata_of, METH_O, "The InputMetadata of an array."},
    {"fit_of", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(fit_of)), METH_FASTCALL,
     "Whether an array is as its metadata says (1), with memory of its own (3); 0 if that is not known."},
    {"set_metadata_maker", set_metadata_maker, METH_O, "Sets the function that makes an InputMetadata."},
    {"thread_state", thread_state, METH_NOARGS, "This thread's state, or None."},
    {"set_thread_state", set_thread_state, METH_O, "Remembers this thread's state."},
    {"set_size_class", set_size_class, METH_O, "Sets the class of shapes."},
    {"size_of", size_of_shape, METH_O, "A shape in that class, whose `__new__` is not called."},
    {"untrack", untrack, METH_O, "Takes an object from the cyclic collector."},
    {"instances", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(instances)), METH_FASTCALL,
     "All objects of some classes that the cyclic collector knows."},
    {"track", track, METH_O, "Gives an object to the cyclic collector."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rg
