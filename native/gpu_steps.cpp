// Steps of optimisers on a GPU: the parameters of a group in few launches. The kernels are those of backends/gpu/steps.cu.
#include <algorithm>
#include <cmath>

#include "gpu.h"

namespace rg::gpu {

namespace {

// As in steps.cu.
constexpr int ROWS = 48;
constexpr long long CHUNK = 8192;

struct Row {
  void* param;
  const void* grad;
  void *first, *second, *largest;
  long long n;
  double rate, root;
};

struct Rows {
  Row row[ROWS];
  unsigned starts[ROWS + 1];
};

struct Numbers {
  double lr, beta1, beta2, eps, decay;
  int decoupled, nesterov, maximize, amsgrad;
};

PyObject* compiler = nullptr;  // compiler(name, letter of a dtype): a kernel's address

// What parameters are made of (see letter_of), and its size.
constexpr int KINDS = 3;
constexpr char LETTERS[KINDS] = {'f', 'd', 'b'};
constexpr Py_ssize_t BYTES[KINDS] = {4, 8, 2};

void* kernel_of(bool adam, int kind) {
  static void* found[2][KINDS] = {};
  void*& kernel = found[adam][kind];
  if (kernel == nullptr) {
    Ref made(PyObject_CallFunction(compiler, "sC", adam ? "adam" : "sgd", LETTERS[kind]));
    kernel = made ? PyLong_AsVoidPtr(made.get()) : nullptr;
  }
  return kernel;
}

// ---- which parameters are served ------------------------------------------------------------------------------------

bool lie_alike(const CuArray* a, const CuArray* b) {
  return a->dtype == b->dtype && a->shape == b->shape && (a->in_rows ? b->in_rows : a->in_columns && b->in_columns);
}

// Reads the arrays of a row: parameter, gradient, and what is kept, each None where there is none.
bool read(PyObject* const* arrays, int count, Row& row) {
  if (letter_of(arrays[0]) == 0) return false;
  const CuArray* param = as_cupy(arrays[0]);
  void* at[5] = {};
  for (int i = 0; i < count; i++) {
    if (arrays[i] == Py_None && i > 1) continue;
    if (!Py_IS_TYPE(arrays[i], Py_TYPE(arrays[0])) || !lie_alike(param, as_cupy(arrays[i]))) return false;
    at[i] = as_cupy(arrays[i])->address();
  }
  if (!param->in_rows && !param->in_columns) return false;
  row = {at[0], at[1], at[2], at[3], at[4], param->size, 0, 1};
  return true;
}

// Whether two parameters share memory: then the order of steps matters.
bool overlap(std::vector<Row> rows, Py_ssize_t size) {
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.param < b.param; });
  for (size_t i = 1; i < rows.size(); i++)
    if (static_cast<char*>(rows[i - 1].param) + rows[i - 1].n * size > static_cast<char*>(rows[i].param)) return true;
  return false;
}

bool start(const std::vector<Row>& all, bool adam, int kind, const Numbers& numbers) {
  if (all.empty()) return true;
  void* kernel = kernel_of(adam, kind);
  if (kernel == nullptr) return false;
  for (size_t begin = 0; begin < all.size(); begin += ROWS) {
    const size_t count = std::min(all.size() - begin, size_t{ROWS});
    Rows rows;
    unsigned blocks = 0;
    for (size_t i = 0; i < count; i++) {
      rows.row[i] = all[begin + i];
      rows.starts[i] = blocks;
      blocks += static_cast<unsigned>((rows.row[i].n + CHUNK - 1) / CHUNK);
    }
    for (size_t i = count; i <= ROWS; i++) rows.starts[i] = blocks;
    Numbers given = numbers;
    void* arguments[2] = {&rows, &given};
    if (blocks != 0 && !launch(kernel, blocks, 1, THREADS, arguments)) return false;
  }
  return true;
}

// Steps all rows that are served and do not share memory: a list of the others.
template <class Finish>
PyObject* step_all(PyObject* list, int arrays, int length, bool adam, const Numbers& numbers, const Finish& finish) {
  if (!PyList_Check(list)) return PyErr_Format(PyExc_TypeError, "rows are a list");
  if (compiler == nullptr || array_type == nullptr) return Py_NewRef(list);
  Ref left(PyList_New(0)), given_rows(PyList_AsTuple(list));  // a step that is asked for its value may change the list
  if (!left || !given_rows) return nullptr;
  std::vector<Row> sorted[KINDS];
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(given_rows.get()); i++) {
    PyObject* given = PyTuple_GET_ITEM(given_rows.get(), i);
    Row row;
    if (!PyTuple_Check(given) || PyTuple_GET_SIZE(given) != length || !read(&PyTuple_GET_ITEM(given, 0), arrays, row)) {
      if (PyList_Append(left.get(), given) < 0) return nullptr;
      continue;
    }
    finish(row, PyTuple_GET_ITEM(given, length - 1));
    if (PyErr_Occurred() != nullptr) return nullptr;
    const char letter = letter_of(PyTuple_GET_ITEM(given, 0));
    sorted[std::find(LETTERS, LETTERS + KINDS, letter) - LETTERS].push_back(row);
  }
  for (int kind = 0; kind < KINDS; kind++)
    if (overlap(sorted[kind], BYTES[kind])) return Py_NewRef(list);
  for (int kind = 0; kind < KINDS; kind++)
    if (!start(sorted[kind], adam, kind, numbers)) return nullptr;
  return left.release();
}

// gpu_adam_steps(rows, rates), gpu_sgd_steps(rows, rates): see kernels/optimizer_steps.py for both.
PyObject* gpu_adam_steps(PyObject*, PyObject* const* args, Py_ssize_t count) {
  Numbers k = {};
  if (count != 2 || !PyTuple_Check(args[1]) || !PyArg_ParseTuple(args[1], "dddddpp", &k.lr, &k.beta1, &k.beta2, &k.eps, &k.decay, &k.decoupled, &k.maximize))
    return PyErr_Occurred() ? nullptr : PyErr_Format(PyExc_TypeError, "gpu_adam_steps() takes rows and rates");
  // Either all parameters of a group keep the largest mean of squares, or none does.
  if (PyList_Check(args[0]) && PyList_GET_SIZE(args[0]) != 0) {
    PyObject* row = PyList_GET_ITEM(args[0], 0);
    k.amsgrad = PyTuple_Check(row) && PyTuple_GET_SIZE(row) == 6 && PyTuple_GET_ITEM(row, 4) != Py_None;
  }
  return step_all(args[0], 5, 6, true, k, [&](Row& row, PyObject* step) {
    const double n = PyFloat_AsDouble(step);
    row.rate = k.lr / (1 - std::pow(k.beta1, n));
    row.root = std::sqrt(1 - std::pow(k.beta2, n));
  });
}

PyObject* gpu_sgd_steps(PyObject*, PyObject* const* args, Py_ssize_t count) {
  Numbers k = {};
  if (count != 2 || !PyTuple_Check(args[1]) || !PyArg_ParseTuple(args[1], "ddddpp", &k.lr, &k.beta1, &k.beta2, &k.decay, &k.nesterov, &k.maximize))
    return PyErr_Occurred() ? nullptr : PyErr_Format(PyExc_TypeError, "gpu_sgd_steps() takes rows and rates");
  return step_all(args[0], 3, 4, false, k, [](Row& row, PyObject* first) { row.rate = PyObject_IsTrue(first); });
}

PyObject* gpu_steps(PyObject*, PyObject* function) {
  Py_XSETREF(compiler, Py_NewRef(function));
  Py_RETURN_NONE;
}

PyObject* gpu_step_sizes(PyObject*, PyObject*) {
  return Py_BuildValue("{sisLsi}", "ROWS", ROWS, "CHUNK", CHUNK, "THREADS", THREADS);
}

}  // namespace

PyMethodDef step_methods[] = {
    {"gpu_steps", gpu_steps, METH_O, "Sets what compiles the kernels of steps."},
    {"gpu_step_sizes", gpu_step_sizes, METH_NOARGS, "For how many parameters, numbers and threads they are made."},
    {"gpu_adam_steps", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(gpu_adam_steps)), METH_FASTCALL,
     "Steps parameters on a GPU by Adam or AdamW; returns the rows that it does not serve."},
    {"gpu_sgd_steps", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(gpu_sgd_steps)), METH_FASTCALL,
     "Steps parameters on a GPU by gradient descent; returns the rows that it does not serve."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rg::gpu
