#include "entry.h"

#include <cstddef>

namespace rg {

namespace {

void entry_dealloc(PyObject* self) {
  Py_XDECREF(as_entry(self)->numpy);
  Py_TYPE(self)->tp_free(self);
}

PyObject* entry_getattr(PyObject* self, PyObject* name) {
  PyObject* found = PyObject_GenericGetAttr(self, name);
  if (found != nullptr || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  PyErr_Clear();
  return PyObject_GetAttr(as_entry(self)->numpy, name);
}

PyObject* entry_repr(PyObject* self) { return PyUnicode_FromFormat("<kernel '%s'>", as_entry(self)->name); }

PyObject* entry_name(PyObject* self, void*) { return PyUnicode_FromString(as_entry(self)->name); }

PyGetSetDef entry_fields[] = {{"__name__", entry_name, nullptr, nullptr, nullptr},
                              {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyTypeObject entry_type = {PyVarObject_HEAD_INIT(nullptr, 0)};

}  // namespace

bool init_entries() {
  PyTypeObject& type = entry_type;
  type.tp_name = "retrograd._native.Entry";
  type.tp_doc = "A function of NumPy's name that serves plain arrays itself and hands the rest to NumPy.";
  type.tp_basicsize = sizeof(Entry);
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL;
  type.tp_vectorcall_offset = offsetof(Entry, call);
  type.tp_call = PyVectorcall_Call;
  type.tp_dealloc = entry_dealloc;
  type.tp_getattro = entry_getattr;
  type.tp_repr = entry_repr;
  type.tp_getset = entry_fields;
  return PyType_Ready(&type) == 0;
}

bool put_entry(PyObject* module, const char* name, vectorcallfunc call, const void* kernels, const char* numpy) {
  Ref library(PyImport_ImportModule("numpy"));
  if (!library) return false;
  Ref function(PyObject_GetAttrString(library.get(), numpy != nullptr ? numpy : name));
  if (!function) return false;
  Entry* entry = PyObject_New(Entry, &entry_type);
  if (entry == nullptr) return false;
  entry->call = call;
  entry->numpy = function.release();
  entry->kernels = kernels;
  entry->name = name;
  if (PyModule_AddObject(module, name, reinterpret_cast<PyObject*>(entry)) == 0) return true;
  Py_DECREF(entry);
  return false;
}

}  // namespace rg
