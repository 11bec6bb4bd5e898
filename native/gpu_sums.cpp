// Sums of small arrays on a GPU, losses of predictions and targets, and views. The kernels are those of
// backends/gpu/sums.cu.
#include <algorithm>
#include <map>
#include <string>

#include "gpu.h"
#include "network.h"

namespace rg::gpu {

namespace {

PyObject* compiler = nullptr;  // compiler(name, letter of a dtype): a kernel's address

void* kernel_of(const char* name, char letter) {
  static std::map<std::pair<std::string, char>, void*> found;
  void*& kernel = found[{name, letter}];
  if (kernel == nullptr) {
    Ref made(compiler == nullptr ? nullptr : PyObject_CallFunction(compiler, "sC", name, letter));
    kernel = made ? PyLong_AsVoidPtr(made.get()) : nullptr;
  }
  return kernel;
}

bool serves(PyObject* object) {
  return compiler != nullptr && letter_of(object) != 0 && as_cupy(object)->in_rows && as_cupy(object)->size > 0;
}

PyObject* empty_beside(PyObject* x, int nd, const Py_ssize_t* dims) {
  return empty(nd, dims, nullptr, as_cupy(x)->dtype, Py_TYPE(x));
}

// ---- sums -----------------------------------------------------------------------------------------------------------

// Axes that are neighbours: from `first` to before `end`. False for all others.
bool read_axes(PyObject* axis, int nd, int& first, int& end) {
  first = 0, end = nd;
  if (axis == Py_None) return true;
  bool chosen[NPY_MAXDIMS] = {};
  const Py_ssize_t count = PyTuple_Check(axis) ? PyTuple_GET_SIZE(axis) : 1;
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject* number = PyTuple_Check(axis) ? PyTuple_GET_ITEM(axis, i) : axis;
    if (!PyLong_Check(number)) return false;
    long a = PyLong_AsLong(number);
    if (a == -1 && PyErr_Occurred()) {
      PyErr_Clear();
      return false;
    }
    if (a < 0) a += nd;
    if (a < 0 || a >= nd || chosen[a]) return false;
    chosen[a] = true;
  }
  while (first < nd && !chosen[first]) first++;
  end = first;
  while (end < nd && chosen[end]) end++;
  return end - first == count && count > 0;
}

constexpr Py_ssize_t LONG = 1 << 16;   // numbers of a row that one block may sum
constexpr Py_ssize_t TALL = 1 << 12;   // rows that one block may go through
constexpr int COLUMNS = 32;            // of a block

// x as (outer, n, inner), summed over n into `out`. 1, 0 if it is not served, -1 with an exception set.
int sum_into(PyObject* x, Py_ssize_t outer, Py_ssize_t n, Py_ssize_t inner, double factor, CuArray* out) {
  const void *from = as_cupy(x)->address(), *to = out->address();
  if (inner == 1) {
    void* kernel = kernel_of("sum_rows", letter_of(x));
    void* arguments[] = {&from, &to, &factor, &n};
    const unsigned threads = n > 4096 ? 1024 : n > 128 ? 256 : 64;
    return kernel != nullptr && launch(kernel, static_cast<unsigned>(outer), 1, threads, arguments) ? 1 : -1;
  }
  void* kernel = kernel_of("sum_columns", letter_of(x));
  void* arguments[] = {&from, &to, &factor, &n, &inner};
  const unsigned blocks = static_cast<unsigned>((inner + COLUMNS - 1) / COLUMNS);
  return kernel != nullptr && launch(kernel, blocks, static_cast<unsigned>(outer), 256, arguments) ? 1 : -1;
}

// gpu_sum(x, axis, keepdims, factor): the sum times a factor; None where it is not served.
PyObject* gpu_sum(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 4) return PyErr_Format(PyExc_TypeError, "gpu_sum() takes an array, axes, whether they stay, and a factor");
  int first, end;
  double factor;
  if (!read_real(args[3], &factor)) return nullptr;
  if (!serves(args[0]) || !read_axes(args[1], as_cupy(args[0])->nd(), first, end)) Py_RETURN_NONE;
  const CuArray* x = as_cupy(args[0]);
  Py_ssize_t outer = 1, n = 1, inner = 1, shape[NPY_MAXDIMS];
  int nd = 0;
  const bool keep = args[2] == Py_True;
  for (int d = 0; d < x->nd(); d++) {
    (d < first ? outer : d < end ? n : inner) *= x->shape[d];
    if (d < first || d >= end) shape[nd++] = x->shape[d];
    else if (keep) shape[nd++] = 1;
  }
  const bool many_short = n < 32 && outer > 4096;
  if (inner == 1 ? n > LONG || many_short : n > TALL || outer > 65535) Py_RETURN_NONE;
  Ref out(empty_beside(args[0], nd, shape));
  if (!out || sum_into(args[0], outer, n, inner, factor, as_cupy(out.get())) < 0) return nullptr;
  return out.release();
}

// gpu_filled(x, value): an array like x, full of a number; None where it is not served.
PyObject* gpu_filled(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 2) return PyErr_Format(PyExc_TypeError, "gpu_filled() takes an array and a number");
  double value;
  if (!serves(args[0])) Py_RETURN_NONE;
  if (!read_real(args[1], &value)) return nullptr;
  const CuArray* x = as_cupy(args[0]);
  Ref out(empty_beside(args[0], x->nd(), x->shape.data()));
  void* kernel = kernel_of("fill", letter_of(args[0]));
  if (!out || kernel == nullptr) return nullptr;
  long long n = x->size;
  const void* to = as_cupy(out.get())->address();
  void* arguments[] = {&to, &value, &n};
  return launch(kernel, static_cast<unsigned>((n + THREADS - 1) / THREADS), 1, THREADS, arguments) ? out.release() : nullptr;
}

// ---- losses ---------------------------------------------------------------------------------------------------------

bool is_pair(PyObject* x, PyObject* t) {
  return serves(x) && serves(t) && !is_narrow(x) && as_cupy(x)->dtype == as_cupy(t)->dtype && as_cupy(x)->shape == as_cupy(t)->shape;
}

constexpr unsigned MANY = 1024;  // threads of a block
enum Reduction { NONE, MEAN, SUM };

// gpu_loss(kind, x, target, parameter, reduction): the mean or the sum; None where it is not served.
PyObject* gpu_loss(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 5) return PyErr_Format(PyExc_TypeError, "gpu_loss() takes a kind, two arrays, a number and a reduction");
  long which, reduction;
  double parameter;
  if (!read_whole(args[0], &which) || !read_real(args[3], &parameter) || !read_whole(args[4], &reduction)) return nullptr;
  if (!is_pair(args[1], args[2]) || reduction == NONE) Py_RETURN_NONE;
  const CuArray *x = as_cupy(args[1]), *t = as_cupy(args[2]);
  long long n = x->size, kind = which;
  const Py_ssize_t blocks = n <= LONG ? 1 : std::min<Py_ssize_t>(1024, n / (LONG / 4));
  double last = reduction == MEAN ? 1.0 / static_cast<double>(n) : 1.0, factor = blocks == 1 ? last : 1.0;
  Ref out(empty(0, nullptr, x->dtype)), parts(blocks == 1 ? nullptr : empty(1, &blocks, x->dtype));
  void* kernel = kernel_of("loss", letter_of(args[1]));
  if (!out || (blocks != 1 && !parts) || kernel == nullptr) return nullptr;
  PyObject* target = blocks == 1 ? out.get() : parts.get();
  const void *px = x->address(), *pt = t->address(), *to = as_cupy(target)->address();
  void* arguments[] = {&px, &pt, &to, &kind, &parameter, &factor, &n};
  if (!launch(kernel, static_cast<unsigned>(blocks), 1, MANY, arguments)) return nullptr;
  if (blocks != 1 && sum_into(target, 1, blocks, 1, last, as_cupy(out.get())) < 0) return nullptr;
  return out.release();
}

// gpu_loss_backward(kind, g, x, target, parameter, share)
PyObject* gpu_loss_backward(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 6) return PyErr_Format(PyExc_TypeError, "gpu_loss_backward() takes a kind, three arrays and two numbers");
  long which;
  double parameter, share;
  if (!read_whole(args[0], &which) || !read_real(args[4], &parameter) || !read_real(args[5], &share)) return nullptr;
  if (!serves(args[1]) || !is_pair(args[2], args[3])) Py_RETURN_NONE;
  const CuArray *g = as_cupy(args[1]), *x = as_cupy(args[2]), *t = as_cupy(args[3]);
  if (g->dtype != x->dtype || (g->size != 1 && g->shape != x->shape)) Py_RETURN_NONE;
  Ref out(empty_like(x));
  void* kernel = kernel_of("loss_backward", letter_of(args[2]));
  if (!out || kernel == nullptr) return nullptr;
  long long n = x->size, kind = which, single = g->size == 1;
  const void *pg = g->address(), *px = x->address(), *pt = t->address(), *to = as_cupy(out.get())->address();
  void* arguments[] = {&pg, &px, &pt, &to, &kind, &parameter, &share, &single, &n};
  return launch(kernel, static_cast<unsigned>((n + THREADS - 1) / THREADS), 1, THREADS, arguments) ? out.release() : nullptr;
}

// ---- views ----------------------------------------------------------------------------------------------------------

bool read_shape(PyObject* shape, std::vector<Py_ssize_t>& dims) {
  if (!PyTuple_Check(shape) || PyTuple_GET_SIZE(shape) > NPY_MAXDIMS) return false;
  for (Py_ssize_t d = 0; d < PyTuple_GET_SIZE(shape); d++) {
    dims.push_back(PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, d)));
    if (dims.back() < 0) return false;
  }
  return true;
}

// gpu_stretch(x, shape): x broadcast to a shape; None where it is not served.
PyObject* gpu_stretch(PyObject*, PyObject* const* args, Py_ssize_t count) {
  std::vector<Py_ssize_t> dims, strides;
  if (count != 2 || !is_array(args[0]) || !read_shape(args[1], dims)) {
    if (PyErr_Occurred()) return nullptr;
    Py_RETURN_NONE;
  }
  CuArray* x = as_cupy(args[0]);
  const int lead = static_cast<int>(dims.size()) - x->nd();
  if (lead < 0) Py_RETURN_NONE;
  for (int d = 0; d < static_cast<int>(dims.size()); d++) {
    const Py_ssize_t n = d < lead ? 1 : x->shape[d - lead];
    if (n != 1 && n != dims[d]) Py_RETURN_NONE;
    strides.push_back(n == 1 ? 0 : x->strides[d - lead]);
  }
  return view_of(x, static_cast<int>(dims.size()), dims.data(), strides.data(), 0);
}

PyObject* gpu_sums(PyObject*, PyObject* function) {
  Py_XSETREF(compiler, Py_NewRef(function));
  Py_RETURN_NONE;
}

#define FAST(f) reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f)), METH_FASTCALL

}  // namespace

PyMethodDef sum_methods[] = {
    {"gpu_sums", gpu_sums, METH_O, "Sets what compiles the kernels of sums."},
    {"gpu_sum", FAST(gpu_sum), "The sum of a small array on a GPU over neighbouring axes; None where that is not served."},
    {"gpu_filled", FAST(gpu_filled), "An array on a GPU, full of a number; None where that is not served."},
    {"gpu_loss", FAST(gpu_loss), "The mean or the sum of losses on a GPU; None where that is not served."},
    {"gpu_loss_backward", FAST(gpu_loss_backward), "Its gradient; None where that is not served."},
    {"gpu_stretch", FAST(gpu_stretch), "An array on a GPU, broadcast to a shape; None where that is not served."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rg::gpu
