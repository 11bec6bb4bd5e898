// retrograd._native: collects the kernels of all files.
#define RG_IMPORTS_NUMPY
#include "array.h"

#include "convolution.h"
#include "elementwise.h"
#include "entry.h"
#include "fused.h"
#include "gpu.h"
#include "graph.h"
#include "isa.h"
#include "join.h"
#include "launch.h"
#include "matmul.h"
#include "network.h"
#include "notes.h"
#include "parallel.h"
#include "picks.h"
#include "reduce.h"
#include "views.h"

namespace {

PyObject* instruction_set(PyObject*, PyObject*) { return PyUnicode_FromString(rg::isa_name()); }

PyObject* instruction_sets(PyObject*, PyObject*) {
  return RG_X86 ? Py_BuildValue("(sss)", "base", "avx2", "avx512") : Py_BuildValue("(s)", "base");
}

PyMethodDef own_methods[] = {
    {"instruction_set", instruction_set, METH_NOARGS, "The instruction set that kernels use on this processor."},
    {"instruction_sets", instruction_sets, METH_NOARGS, "Those that kernels are compiled for."},
    {nullptr, nullptr, 0, nullptr}};

PyMethodDef* const families[] = {
    own_methods,
    rg::attention_methods,
    rg::conv_methods,
    rg::pool_methods,
    rg::fused_methods,
    rg::gpu::array_methods,
    rg::gpu::formula_methods,
    rg::gpu::product_methods,
    rg::gpu::step_methods,
    rg::gpu::sum_methods,
    rg::graph_methods,
    rg::view_methods,
    rg::join_methods,
    rg::launch_methods,
    rg::matmul_methods,
    rg::memory_methods,
    rg::notes_methods,
    rg::parallel_methods,
    rg::softmax_methods,
    rg::loss_methods,
    rg::likelihood_methods,
    rg::norm_methods,
    rg::batchnorm_methods,
    rg::optim_methods,
    rg::recurrent_methods,
    rg::reduce_methods,
    rg::random_methods,
    rg::embedding_methods,
    rg::pick_methods,
    rg::number_methods,
    rg::factor_methods,
    rg::resample_methods,
    rg::scan_methods,
    rg::search_methods,
    rg::special_methods,
    rg::variance_methods,
};

// Those that put functions under NumPy's names into the module.
bool (*const entries[])(PyObject*) = {
    rg::add_elementwise, rg::add_choices, rg::add_copies, rg::add_reductions, rg::add_matmul, rg::add_picks,
    rg::add_triangles,
};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_native", "Hot loops of retrograd.", -1, nullptr,
                          nullptr,               nullptr,   nullptr,                   nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__native() {
  import_array();
  if (!rg::init_memory() || !rg::init_parallel()) return nullptr;
  PyObject* module = PyModule_Create(&definition);
  if (module == nullptr) return nullptr;
  for (PyMethodDef* methods : families)
    if (PyModule_AddFunctions(module, methods) < 0) return nullptr;
  if (!rg::init_entries()) return nullptr;
  for (bool (*add)(PyObject*) : entries)
    if (!add(module)) return nullptr;
  return module;
}
