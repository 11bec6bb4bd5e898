// Products of matrices on a GPU: small ones by a kernel of our own (backends/gpu/products.cu), the rest by NVIDIA's
// cuBLASLt, which is found when the first is asked for. A plan, which has what cuBLASLt wants to know and the algorithm
// that it advises, is made once for each kind of product.
#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>

#include "gpu.h"
#include "portable.h"

#if RG_WINDOWS
#include <windows.h>
#elif RG_POSIX
#include <dlfcn.h>
#endif

namespace rg::gpu {

namespace {

// ---- cuBLASLt, as cublasLt.h declares it ------------------------------------------------------------------------------

enum DataType { R_32F = 0, R_64F = 1, R_16F = 2, R_16BF = 14 };
enum Compute { COMPUTE_32F = 68, COMPUTE_64F = 70, COMPUTE_32F_FAST_TF32 = 77 };
enum DescAttribute { TRANSA = 3, TRANSB = 4, EPILOGUE = 7, BIAS_POINTER = 8 };
enum LayoutAttribute { BATCH_COUNT = 5, BATCH_STRIDE = 6 };
enum PreferenceAttribute { MAX_WORKSPACE = 1, ALIGNMENT_A = 5 };
constexpr int EPILOGUE_BIAS = 4;

struct Advice {
  uint64_t algorithm[8];
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
};

struct Library {
  int (*create)(void** handle);
  int (*desc_create)(void** desc, int compute, int scale);
  int (*desc_set)(void* desc, int attribute, const void* value, size_t size);
  int (*layout_create)(void** layout, int type, uint64_t rows, uint64_t columns, int64_t ld);
  int (*layout_set)(void* layout, int attribute, const void* value, size_t size);
  int (*preference_create)(void** preference);
  int (*preference_set)(void* preference, int attribute, const void* value, size_t size);
  int (*preference_destroy)(void* preference);
  int (*advise)(void* handle, void* desc, void* a, void* b, void* c, void* d, void* preference, int wanted, Advice* found,
                int* count);
  int (*multiply)(void* handle, void* desc, const void* alpha, const void* a, void* a_layout, const void* b, void* b_layout,
                  const void* beta, const void* c, void* c_layout, void* d, void* d_layout, const uint64_t* algorithm,
                  void* workspace, size_t workspace_size, void* stream);
  void* handle = nullptr;
};

Library cublas;
bool is_open = false;
PyObject* allocate_bytes = nullptr;

#if RG_WINDOWS
void* open_library(const char* path) { return reinterpret_cast<void*>(LoadLibraryA(path)); }
void* symbol(void* library, const char* name) {
  return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(library), name));
}
#elif RG_POSIX
void* open_library(const char* path) { return dlopen(path, RTLD_LAZY | RTLD_LOCAL); }
void* symbol(void* library, const char* name) { return dlsym(library, name); }
#else
void* open_library(const char*) { return nullptr; }
void* symbol(void*, const char*) { return nullptr; }
#endif

template <class F>
bool find(void* library, const char* name, F*& function) {
  function = reinterpret_cast<F*>(symbol(library, name));
  return function != nullptr;
}

bool load(const char* path) {
  void* library = open_library(path);
  return library != nullptr && find(library, "cublasLtCreate", cublas.create) &&
         find(library, "cublasLtMatmulDescCreate", cublas.desc_create) &&
         find(library, "cublasLtMatmulDescSetAttribute", cublas.desc_set) &&
         find(library, "cublasLtMatrixLayoutCreate", cublas.layout_create) &&
         find(library, "cublasLtMatrixLayoutSetAttribute", cublas.layout_set) &&
         find(library, "cublasLtMatmulPreferenceCreate", cublas.preference_create) &&
         find(library, "cublasLtMatmulPreferenceSetAttribute", cublas.preference_set) &&
         find(library, "cublasLtMatmulPreferenceDestroy", cublas.preference_destroy) &&
         find(library, "cublasLtMatmulAlgoGetHeuristic", cublas.advise) && find(library, "cublasLtMatmul", cublas.multiply) &&
         cublas.create(&cublas.handle) == 0;
}

// ---- operands -------------------------------------------------------------------------------------------------------

// A matrix, or a batch of them at equal distances, as lines of `length` numbers that begin every `ld` numbers. cuBLASLt
// calls lines columns.
struct Matrix {
  CuArray* array;
  Py_ssize_t rows, columns, batch, apart;
  Py_ssize_t ld;
  bool in_rows;

  // False if it does not lie so. `turned` takes it for its transpose.
  bool of(CuArray* a, bool turned) {
    array = a;
    const int nd = a->nd();
    if (nd < 2) return false;
    const Py_ssize_t size = a->itemsize();
    const int r = turned ? nd - 1 : nd - 2, c = turned ? nd - 2 : nd - 1;
    rows = a->shape[r], columns = a->shape[c];
    const Py_ssize_t down = a->strides[r] / size, along = a->strides[c] / size;
    if ((along == 1 || columns == 1) && (down >= columns || rows == 1)) {
      in_rows = true;
      ld = std::max(rows == 1 ? 0 : down, columns);
    } else if ((down == 1 || rows == 1) && (along >= rows || columns == 1)) {
      in_rows = false;
      ld = std::max(columns == 1 ? 0 : along, rows);
    } else {
      return false;
    }
    batch = 1, apart = 0;
    for (int d = nd - 3; d >= 0; d--) {  // dimensions before the last two must be one
      if (a->shape[d] == 1) continue;
      if (batch == 1) apart = a->strides[d] / size;
      else if (a->strides[d] / size != apart * batch) return false;
      batch *= a->shape[d];
    }
    return rows > 0 && columns > 0 && apart >= 0;
  }
};

// The largest power of two, up to 256, that divides addresses.
int alignment(uintptr_t addresses) {
  int found = 256;
  while (found > 1 && addresses % static_cast<uintptr_t>(found) != 0) found /= 2;
  return found;
}

int data_type(PyObject* array) {
  const CuArray* a = as_cupy(array);
  if (is_narrow(array)) return R_16BF;
  if (a->type() == NPY_FLOAT) return R_32F;
  if (a->type() == NPY_DOUBLE) return R_64F;
  return a->type() == NPY_HALF ? R_16F : -1;
}

// ---- small products -------------------------------------------------------------------------------------------------

PyObject* compiler = nullptr;         // compiler(name, letter of a dtype): a kernel's address
constexpr Py_ssize_t SMALL = 1 << 24;  // multiplications
constexpr int TILE_ROWS = 16, TILE_COLUMNS = 32, TILE_THREADS = 128;  // as in products.cu

bool is_small(const Matrix& x, const Matrix& y) {
  const int type = x.array->type();
  const Py_ssize_t most = type == NPY_FLOAT ? SMALL : SMALL / 4;
  return compiler != nullptr && (type == NPY_FLOAT || type == NPY_DOUBLE) && x.rows <= 4096 && y.columns <= 4096 &&
         x.batch <= 4096 && x.columns <= 4096 && x.rows * y.columns * x.columns * x.batch <= most &&
         x.batch * ((x.rows + TILE_ROWS - 1) / TILE_ROWS) < 65536;
}

// False with an exception set.
bool multiply_small(const Matrix& x, const Matrix& y, const CuArray* bias, CuArray* out) {
  static void* kernels[2] = {};
  void*& kernel = kernels[x.array->type() == NPY_DOUBLE];
  if (kernel == nullptr) {
    Ref made(PyObject_CallFunction(compiler, "sC", "product", x.array->type() == NPY_DOUBLE ? 'd' : 'f'));
    kernel = made ? PyLong_AsVoidPtr(made.get()) : nullptr;
    if (kernel == nullptr) return false;
  }
  const void *px = x.array->address(), *py = y.array->address(), *pb = bias == nullptr ? nullptr : bias->address();
  void* to = out->address();
  long long m = x.rows, n = y.columns, depth = x.columns, x_batch = x.apart, y_batch = y.apart;
  long long x_row = x.in_rows ? x.ld : 1, x_column = x.in_rows ? 1 : x.ld;
  long long y_row = y.in_rows ? y.ld : 1, y_column = y.in_rows ? 1 : y.ld;
  void* arguments[] = {&px, &py, &pb, &to, &m, &n, &depth, &x_row, &x_column, &x_batch, &y_row, &y_column, &y_batch};
  return launch(kernel, static_cast<unsigned>((n + TILE_COLUMNS - 1) / TILE_COLUMNS),
                static_cast<unsigned>(x.batch * ((m + TILE_ROWS - 1) / TILE_ROWS)), TILE_THREADS, arguments);
}

// ---- plans ----------------------------------------------------------------------------------------------------------

// Type, precision, alignment, what is added; rows, columns, length; how operands lie; the batch.
using Key = std::tuple<int, bool, int, bool, int64_t, int64_t, int64_t, int, int64_t, int64_t, int64_t, int64_t, int64_t>;

struct Plan {
  void *desc = nullptr, *a = nullptr, *b = nullptr, *d = nullptr;
  Advice advice = {};
  bool serves = false;
};

std::map<Key, Plan> plans;
constexpr size_t MOST_WORKSPACE = size_t{32} << 20;
std::map<void*, PyObject*> workspaces;  // a pointer of CuPy's for each stream
std::map<void*, size_t> workspace_sizes;

bool set_batch(void* layout, int64_t count, int64_t apart) {
  const int number = static_cast<int>(count);
  return count == 1 || (cublas.layout_set(layout, BATCH_COUNT, &number, sizeof number) == 0 &&
                        cublas.layout_set(layout, BATCH_STRIDE, &apart, sizeof apart) == 0);
}

bool lay_out(void** layout, int type, bool turned, int64_t rows, int64_t columns, int64_t ld, int64_t count, int64_t apart) {
  return cublas.layout_create(layout, type, static_cast<uint64_t>(turned ? columns : rows),
                              static_cast<uint64_t>(turned ? rows : columns), ld) == 0 &&
         set_batch(*layout, count, apart);
}

bool advise(Plan& plan, int aligned) {
  void* preference = nullptr;
  if (cublas.preference_create(&preference) != 0) return false;
  bool good = cublas.preference_set(preference, MAX_WORKSPACE, &MOST_WORKSPACE, sizeof MOST_WORKSPACE) == 0;
  const uint32_t bytes = static_cast<uint32_t>(aligned);
  for (int operand = 0; operand < 4; operand++)
    good = good && cublas.preference_set(preference, ALIGNMENT_A + operand, &bytes, sizeof bytes) == 0;
  int count = 0;
  good = good && cublas.advise(cublas.handle, plan.desc, plan.a, plan.b, plan.d, plan.d, preference, 1, &plan.advice, &count) == 0;
  cublas.preference_destroy(preference);
  return good && count > 0 && plan.advice.state == 0;
}

// x @ y in rows is, in columns, the transpose of y times that of x: cuBLASLt's A is y.
Plan& plan_of(const Matrix& x, const Matrix& y, bool biased, bool tf32, int aligned) {
  const int type = data_type(reinterpret_cast<PyObject*>(x.array));
  const Key key{type, tf32, aligned, biased, x.rows, y.columns, x.columns, (x.in_rows ? 1 : 0) | (y.in_rows ? 2 : 0),
                x.ld, y.ld, x.batch, x.apart, y.apart};
  const auto found = plans.find(key);
  if (found != plans.end()) return found->second;
  Plan& plan = plans[key];
  const int compute = type == R_64F ? COMPUTE_64F : type == R_32F && tf32 ? COMPUTE_32F_FAST_TF32 : COMPUTE_32F;
  const int turn_a = y.in_rows ? 0 : 1, turn_b = x.in_rows ? 0 : 1;
  bool good = cublas.desc_create(&plan.desc, compute, type == R_64F ? R_64F : R_32F) == 0 &&
              cublas.desc_set(plan.desc, TRANSA, &turn_a, sizeof turn_a) == 0 &&
              cublas.desc_set(plan.desc, TRANSB, &turn_b, sizeof turn_b) == 0;
  if (biased) good = good && cublas.desc_set(plan.desc, EPILOGUE, &EPILOGUE_BIAS, sizeof EPILOGUE_BIAS) == 0;
  good = good && lay_out(&plan.a, type, turn_a, y.columns, y.rows, y.ld, x.batch, y.apart) &&
         lay_out(&plan.b, type, turn_b, x.columns, x.rows, x.ld, x.batch, x.apart) &&
         lay_out(&plan.d, type, false, y.columns, x.rows, y.columns, x.batch, x.rows * y.columns);
  plan.serves = good && advise(plan, aligned);
  return plan;
}

// Memory for an algorithm to work in: one piece for each stream, as large as was ever needed there.
bool workspace(size_t bytes, void* where, void** found) {
  if (bytes == 0) {
    *found = nullptr;
    return true;
  }
  PyObject*& held = workspaces[where];
  size_t& size = workspace_sizes[where];
  if (size < bytes) {
    PyObject* made = PyObject_CallFunction(allocate_bytes, "n", static_cast<Py_ssize_t>(bytes));
    if (made == nullptr) return false;
    if (Py_TYPE(made)->tp_basicsize != sizeof(Pointer)) {
      Py_DECREF(made);
      PyErr_SetString(PyExc_TypeError, "an allocator of CuPy's has given no pointer of CuPy's");
      return false;
    }
    Py_XSETREF(held, made);
    size = bytes;
  }
  *found = reinterpret_cast<void*>(reinterpret_cast<Pointer*>(held)->address);
  return true;
}

// ---- calls ----------------------------------------------------------------------------------------------------------

constexpr long TURN_X = 1, TURN_Y = 2, TURN_RESULT = 4, TF32 = 8;

// Lets the last two dimensions change places; nobody has seen the array yet, so it is no view of another.
void turn(CuArray* a) {
  const size_t last = a->shape.size() - 1;
  std::swap(a->shape[last], a->shape[last - 1]);
  std::swap(a->strides[last], a->strides[last - 1]);
  std::swap(a->in_rows, a->in_columns);
  if (last > 1) a->in_rows = a->in_columns = 0;
}

bool is_bias(const CuArray* b, const CuArray* x, Py_ssize_t columns) {
  return b->dtype == x->dtype && b->in_rows && b->nd() == 1 && b->shape[0] == columns;
}

// gpu_product(x, y, bias, how): x @ y + bias, None where it is not served. `how` has bits: operands and results whose
// last two dimensions change places, and whether float32 may be rounded on the way.
PyObject* gpu_product(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 4) return PyErr_Format(PyExc_TypeError, "gpu_product() takes x, y, a bias or None, and how");
  const long how = PyLong_AsLong(args[3]);
  if (how == -1 && PyErr_Occurred()) return nullptr;
  PyTypeObject* type = Py_TYPE(args[0]);
  if (!(is_array(args[0]) || is_narrow(args[0])) || !Py_IS_TYPE(args[1], type)) Py_RETURN_NONE;
  Matrix x, y;
  CuArray *first = as_cupy(args[0]), *second = as_cupy(args[1]);
  if (first->dtype != second->dtype || data_type(args[0]) < 0 || first->nd() != second->nd()) Py_RETURN_NONE;
  if (!x.of(first, how & TURN_X) || !y.of(second, how & TURN_Y) || x.columns != y.rows || x.batch != y.batch) Py_RETURN_NONE;
  if (!std::equal(first->shape.begin(), first->shape.end() - 2, second->shape.begin())) Py_RETURN_NONE;
  CuArray* bias = args[2] != Py_None && Py_IS_TYPE(args[2], type) ? as_cupy(args[2]) : nullptr;
  if (args[2] != Py_None && (bias == nullptr || !is_bias(bias, first, y.columns))) Py_RETURN_NONE;
  Py_ssize_t shape[NPY_MAXDIMS];
  std::copy(first->shape.begin(), first->shape.end(), shape);
  shape[first->nd() - 2] = x.rows, shape[first->nd() - 1] = y.columns;
  if (is_small(x, y)) {
    Ref out(empty(first->nd(), shape, first->dtype));
    if (!out || !multiply_small(x, y, bias, as_cupy(out.get()))) return nullptr;
    if (how & TURN_RESULT) turn(as_cupy(out.get()));
    return out.release();
  }
  if (!is_open) Py_RETURN_NONE;
  uintptr_t addresses = reinterpret_cast<uintptr_t>(first->address()) | reinterpret_cast<uintptr_t>(second->address());
  if (bias != nullptr) addresses |= reinterpret_cast<uintptr_t>(bias->address());
  Plan& plan = plan_of(x, y, bias != nullptr, how & TF32, alignment(addresses));
  if (!plan.serves) Py_RETURN_NONE;
  Ref out(empty(first->nd(), shape, nullptr, first->dtype, type));
  void *space, *where = stream();
  if (!out || !workspace(plan.advice.workspace, where, &space)) return nullptr;
  if (bias != nullptr) {
    const void* address = bias->address();
    cublas.desc_set(plan.desc, BIAS_POINTER, &address, sizeof address);
  }
  const double one64 = 1, zero64 = 0;
  const float one32 = 1, zero32 = 0;
  const bool wide = first->type() == NPY_DOUBLE;
  void* result = as_cupy(out.get())->address();
  const int status = cublas.multiply(cublas.handle, plan.desc, wide ? static_cast<const void*>(&one64) : &one32,
                                     second->address(), plan.a, first->address(), plan.b,
                                     wide ? static_cast<const void*>(&zero64) : &zero32, result, plan.d, result, plan.d,
                                     plan.advice.algorithm, space, plan.advice.workspace, where);
  if (status != 0) Py_RETURN_NONE;  // a thread that has not used the GPU before: CuPy makes it known, or says what is wrong
  if (how & TURN_RESULT) turn(as_cupy(out.get()));
  return out.release();
}

// gpu_products(path, allocate, compiler): whether cuBLASLt could be loaded.
PyObject* gpu_products(PyObject*, PyObject* const* args, Py_ssize_t count) {
  const char* path = count == 3 ? PyUnicode_AsUTF8(args[0]) : nullptr;
  if (path == nullptr) return PyErr_Occurred() ? nullptr : PyErr_Format(PyExc_TypeError, "gpu_products() takes a path, an allocator and a compiler");
  Py_XSETREF(allocate_bytes, Py_NewRef(args[1]));
  Py_XSETREF(compiler, Py_NewRef(args[2]));
  is_open = is_open || load(path);
  return PyBool_FromLong(is_open);
}

}  // namespace

PyMethodDef product_methods[] = {
    {"gpu_products", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(gpu_products)), METH_FASTCALL,
     "Loads cuBLASLt; says whether it could."},
    {"gpu_product", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(gpu_product)), METH_FASTCALL,
     "The product of matrices on a GPU, plus a bias; None where that is not served."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rg::gpu
