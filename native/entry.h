// Names of NumPy that the pack serves: a callable that tries its kernel and hands the rest to NumPy's own function.
#pragma once
#include <exception>

#include "array.h"

namespace rg {

// A callable of the namespace. Attributes it has not (`add.at`, `maximum.accumulate`) are NumPy's.
struct Entry {
  PyObject_HEAD
  vectorcallfunc call;
  PyObject* numpy;      // NumPy's function of the same name
  const void* kernels;  // what `call` runs, a table in static memory
  const char* name;
};

using Args = PyObject* const*;

inline Entry* as_entry(PyObject* self) { return reinterpret_cast<Entry*>(self); }

inline PyObject* by_numpy(PyObject* self, Args args, size_t count, PyObject* names) {
  raise_flag();  // NumPy lowers those that its work has raised
  return PyObject_Vectorcall(as_entry(self)->numpy, args, count, names);
}

bool init_entries();  // once, with the module; false with an exception set
bool put_entry(PyObject* module, const char* name, vectorcallfunc call, const void* kernels, const char* numpy);

// Calls a function of the namespace; if there is no memory for its notes (it throws nothing else), Python hears of it.
template <vectorcallfunc call>
PyObject* guarded_call(PyObject* self, Args args, size_t count, PyObject* names) {
  try {
    return call(self, args, count, names);
  } catch (const Interrupted&) {
    return nullptr;
  } catch (const std::exception&) {
    return PyErr_NoMemory();
  }
}

// Puts an entry into the module; `numpy` is the name of NumPy's function, `name` itself if null. False with an
// exception set.
template <vectorcallfunc call>
bool add_entry(PyObject* module, const char* name, const void* kernels, const char* numpy = nullptr) {
  return put_entry(module, name, guarded_call<call>, kernels, numpy);
}

}  // namespace rg
