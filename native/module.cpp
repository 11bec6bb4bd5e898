// retrograd._native: collects the kernels of all files.
#define RG_IMPORTS_NUMPY
#include "array.h"

#include "isa.h"
#include "parallel.h"

namespace {

PyObject* instruction_set(PyObject*, PyObject*) { return PyUnicode_FromString(rg::isa_name()); }

PyMethodDef own_methods[] = {
    {"instruction_set", instruction_set, METH_NOARGS, "The instruction set that kernels use on this processor."},
    {nullptr, nullptr, 0, nullptr}};

PyMethodDef* const families[] = {
    own_methods,
    rg::memory_methods,
    rg::parallel_methods,
};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_native", "Hot loops of retrograd.", -1, nullptr,
                          nullptr,               nullptr,   nullptr,                   nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__native() {
  import_array();
  if (!rg::init_memory()) return nullptr;
  PyObject* module = PyModule_Create(&definition);
  if (module == nullptr) return nullptr;
  for (PyMethodDef* methods : families)
    if (PyModule_AddFunctions(module, methods) < 0) return nullptr;
  return module;
}
