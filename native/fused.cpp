// Fused elementwise kernels as Python calls them: `kernel(op, g, x, out)` gives a gradient, or NotImplemented where the
// op's plain formula has to serve.
#include "fused.h"

#include <cstring>

#include "array.h"
#include "fused_layout.h"
#include "fused_pass.h"
#include "gpu.h"

namespace rg {

namespace {

struct Kernel {
  PyObject_HEAD
  vectorcallfunc call;
  const FusedKernel* row;
  PyTypeObject* owner;  // the op class whose formulas these are; not that of a class derived from it
  PyObject* params[FUSED_PARAMS];
};

inline Kernel* as_kernel(PyObject* self) { return reinterpret_cast<Kernel*>(self); }

// -- parameters ----------------------------------------------------------------------------------------------------

// Whether a parameter is of a kind; a number is put into `number`.
bool fits(PyObject* value, const char* kind, double* number) {
  if (kind == nullptr) return exact_number(value, number);
  if (*kind == '\0') return value == Py_None;
  return PyUnicode_CheckExact(value) && PyUnicode_CompareWithASCIIString(value, kind) == 0;
}

// The leaf that serves an op's parameters, UNSERVED if none does; -3 with an exception set.
constexpr int FAILED = -3;
int leaf_of(const Kernel* kernel, PyObject* op, double* numbers) {
  const FusedKernel& row = *kernel->row;
  PyObject* values[FUSED_PARAMS] = {};
  int found = UNSERVED, count = 0;
  for (; count < row.param_count; count++) {
    values[count] = PyObject_GetAttr(op, kernel->params[count]);
    if (values[count] == nullptr) break;
  }
  if (count < row.param_count) {
    found = FAILED;
  } else {
    for (int c = row.first_case; c < row.first_case + row.case_count && found == UNSERVED; c++) {
      const FusedCase& which = fused_table.cases[c];
      bool all = true;
      for (int i = 0; i < count && all; i++) all = fits(values[i], which.kinds[i], numbers + i);
      if (all) found = which.lead == nullptr ? which.leaf : which.lead(numbers);
    }
  }
  for (int i = 0; i < count; i++) Py_DECREF(values[i]);
  return found;
}

// -- results -------------------------------------------------------------------------------------------------------

constexpr npy_intp SLOW_LIMIT = 64;  // elements above which NumPy's functions are faster, for all that a call costs

// Computes `results` results by one loop; false if it does not serve the operands, or with an exception set.
bool compute(int number, PyObject* const* operands, const double* params, int results, PyObject** made) {
  const FusedRow& row = fused_table.loops[number];
  Layout layout;
  if (!lay_out(operands, row.used != 0 ? row.used : 1, &layout)) return false;
  Pass& pass = layout.pass;
  if (row.slow && pass.n > SLOW_LIMIT) return false;
  for (int r = 0; r < results; r++) {
    made[r] = layout.new_result();
    if (made[r] == nullptr) return false;
    pass.out[r] = PyArray_DATA(as_array(made[r]));
  }
  pass.loop = (layout.type == NPY_FLOAT ? row.f32 : row.f64).pick();
  pass.params = params;
  pass.results = results;
  try {
    run(pass);
  } catch (const Interrupted&) {
    return false;
  }
  return true;
}

// Lets go of what was made; NotImplemented, unless an exception is set.
PyObject* gave_up(PyObject** made) {
  for (int r = 0; r < FUSED_RESULTS; r++) Py_XDECREF(made[r]);
  if (PyErr_Occurred() != nullptr) return nullptr;
  Py_RETURN_NOTIMPLEMENTED;
}

PyObject* one_result(const FusedLeaf& leaf, PyObject* const* operands, const double* params) {
  if (leaf.single[0] == ITSELF) return Py_NewRef(operands[0]);
  PyObject* made[FUSED_RESULTS] = {};
  return compute(leaf.single[0], operands, params, 1, made) ? made[0] : gave_up(made);
}

// A tuple of as many gradients as the op has operands, None where one is not wanted.
PyObject* several_results(const FusedKernel& row, const FusedLeaf& leaf, PyObject* const* operands,
                          const double* params, long wanted) {
  PyObject* made[FUSED_RESULTS] = {};
  if (wanted == 3 && leaf.both != ITSELF) {
    if (!compute(leaf.both, operands, params, 2, made)) return gave_up(made);
  } else {
    for (int r = 0; r < row.results; r++) {
      if (!(wanted >> r & 1)) continue;
      if (leaf.single[r] == ITSELF)
        made[r] = Py_NewRef(operands[0]);
      else if (!compute(leaf.single[r], operands, params, 1, made + r))
        return gave_up(made);
    }
  }
  PyObject* tuple = PyTuple_New(row.results);
  if (tuple == nullptr) return gave_up(made);
  for (int r = 0; r < row.results; r++) PyTuple_SET_ITEM(tuple, r, made[r] != nullptr ? made[r] : Py_NewRef(Py_None));
  return tuple;
}

// -- calls ---------------------------------------------------------------------------------------------------------

// kernel(op, operands...), and for kernels of several results the wanted ones as bits.
PyObject* call(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
  const Kernel* kernel = as_kernel(self);
  const FusedKernel& row = *kernel->row;
  const Py_ssize_t expected = 1 + row.slots + (row.results > 1);
  if (PyVectorcall_NARGS(flags) != expected || names != nullptr)
    return PyErr_Format(PyExc_TypeError, "%s takes %zd arguments and no keywords", row.key, expected);
  if (Py_TYPE(args[0]) != kernel->owner) Py_RETURN_NOTIMPLEMENTED;
  double params[FUSED_PARAMS] = {};
  int number = row.param_count == 0 ? fused_table.cases[row.first_case].leaf : leaf_of(kernel, args[0], params);
  if (number == FAILED) return nullptr;
  if (number == UNSERVED) Py_RETURN_NOTIMPLEMENTED;
  const long wanted = row.results == 1 ? 1 : PyLong_AsLong(args[1 + row.slots]);
  if (wanted == -1 && PyErr_Occurred() != nullptr) return nullptr;
  if (gpu::has_array(args + 1, row.slots)) return gpu::by_formula(row, number, args[0], args + 1, params, wanted);
  const FusedLeaf& leaf = fused_table.leaves[number];
  if (row.results == 1) return one_result(leaf, args + 1, params);
  return several_results(row, leaf, args + 1, params, wanted);
}

PyObject* new_kernel(const FusedKernel* row);

PyObject* bind(PyObject* self, PyObject* owner) {
  if (!PyType_Check(owner)) return PyErr_Format(PyExc_TypeError, "bind() takes an op class");
  PyTypeObject* type = reinterpret_cast<PyTypeObject*>(owner);
  // Variants of an op share its formulas, and each has a kernel of its own: the first may have this one.
  const bool is_free = as_kernel(self)->owner == nullptr || as_kernel(self)->owner == type;
  Ref bound(is_free ? Py_NewRef(self) : new_kernel(as_kernel(self)->row));
  if (!bound) return nullptr;
  Kernel* kernel = as_kernel(bound.get());
  if (kernel->owner == nullptr) kernel->owner = reinterpret_cast<PyTypeObject*>(Py_NewRef(owner));
  return bound.release();
}

PyObject* represent(PyObject* self) { return PyUnicode_FromFormat("<fused %s>", as_kernel(self)->row->key); }

PyMethodDef kernel_methods[] = {
    {"bind", bind, METH_O, "Makes the kernel serve ops of exactly this class; returns it."},
    {nullptr, nullptr, 0, nullptr}};

PyTypeObject kernel_type = {PyVarObject_HEAD_INIT(nullptr, 0)};

bool init_type() {
  kernel_type.tp_name = "retrograd._native.FusedKernel";
  kernel_type.tp_basicsize = sizeof(Kernel);
  kernel_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL;
  kernel_type.tp_vectorcall_offset = offsetof(Kernel, call);
  kernel_type.tp_call = PyVectorcall_Call;
  kernel_type.tp_repr = represent;
  kernel_type.tp_methods = kernel_methods;
  kernel_type.tp_doc = "One pass that computes what a formula of an op class does.";
  return PyType_Ready(&kernel_type) == 0;
}

// Kernels live as long as the process: nothing here is ever given back.
PyObject* new_kernel(const FusedKernel* row) {
  Kernel* made = PyObject_New(Kernel, &kernel_type);
  if (made == nullptr) return nullptr;
  made->call = call;
  made->row = row;
  made->owner = nullptr;
  for (int i = 0; i < FUSED_PARAMS; i++) {
    made->params[i] = i < row->param_count ? PyUnicode_InternFromString(row->params[i]) : nullptr;
    if (i < row->param_count && made->params[i] == nullptr) return nullptr;
  }
  return reinterpret_cast<PyObject*>(made);
}

PyObject* fused_kernels(PyObject*, PyObject*) {
  static PyObject* all = nullptr;
  if (all != nullptr) return Py_NewRef(all);
  Ref found(PyDict_New());
  if (!found || !init_type()) return nullptr;
  for (int i = 0; i < fused_table.kernel_count; i++) {
    Ref kernel(new_kernel(fused_table.kernels + i));
    if (!kernel || PyDict_SetItemString(found.get(), fused_table.kernels[i].key, kernel.get()) < 0) return nullptr;
  }
  all = found.release();
  return Py_NewRef(all);
}

}  // namespace

PyMethodDef fused_methods[] = {
    {"fused_kernels", fused_kernels, METH_NOARGS, "All fused kernels, by `module.Class.method` of the formula."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rg
