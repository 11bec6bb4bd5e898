// Elementwise formulas on a GPU: which kernel serves operands, and its launch. Kernels are written and compiled by
// backends/gpu/formulas.py when they are first needed; here they are found again.
#include <algorithm>
#include <unordered_map>

#include "fused_layout.h"
#include "gpu.h"

namespace rg::gpu {

namespace {

constexpr int BYTES = 16;     // of an array that a thread reads at once
constexpr int MOST_DIMS = 8;  // of operands that do not all lie in rows

// How an operand lies with regard to the result: as formulas.py spells them.
enum Kind { FLAT, SINGLE, NUMBER, SPREAD };
constexpr char SPELLED[] = "fsnb";

struct Loop {
  int slots[FUSED_SLOTS];
  int count = 0, results = 0;
};

// The loops of a leaf: one for each result, and one for all.
struct Leaf {
  int each[FUSED_RESULTS] = {UNSERVED, UNSERVED, UNSERVED};
  int all = ITSELF;
};

std::vector<Loop> loops;
std::unordered_map<size_t, Leaf> leaves;      // by kernel and leaf of the CPU's table
std::unordered_map<uint64_t, void*> kernels;  // by loop, dtype, kinds, counts
int sum_loop = -1, copy_loop = -1;            // those that add two operands, and that copy one
PyObject *leaf_finder = nullptr, *compiler = nullptr;

// ---- operands -------------------------------------------------------------------------------------------------------

struct Operands {
  CuArray* arrays[FUSED_SLOTS] = {};  // null for numbers
  double numbers[FUSED_SLOTS];
  CuArray* leader = nullptr;  // the first array
  int nd = 0;
  Py_ssize_t shape[NPY_MAXDIMS];
  Kind kinds[FUSED_SLOTS];
  bool spread = false;
  const Py_ssize_t* strides = nullptr;  // of results that do not lie in rows

  bool fills(const CuArray* a) const { return a->nd() == nd && std::equal(shape, shape + nd, a->shape.begin()); }
};

// Sorts operands into arrays of one type and numbers; None may stand for one that no formula uses.
bool sort(PyObject* const* given, int count, Operands& operands) {
  for (int s = 0; s < count; s++) {
    if (is_array(given[s])) {
      CuArray* a = operands.arrays[s] = as_cupy(given[s]);
      if (operands.leader == nullptr) operands.leader = a;
      if (a->dtype != operands.leader->dtype) return false;
    } else if (given[s] != Py_None && !exact_number(given[s], operands.numbers + s)) {
      return false;
    }
  }
  const CuArray* leader = operands.leader;
  return leader != nullptr && (leader->type() == NPY_FLOAT || leader->type() == NPY_DOUBLE) &&
         PyArray_ISNBO(leader->dtype->byteorder);
}

// The shape that all arrays are broadcast to.
bool broadcast(Operands& operands) {
  for (const CuArray* a : operands.arrays) {
    if (a == nullptr) continue;
    if (a->nd() > operands.nd) {
      std::copy_backward(operands.shape, operands.shape + operands.nd, operands.shape + a->nd());
      std::fill(operands.shape, operands.shape + (a->nd() - operands.nd), 1);
      operands.nd = a->nd();
    }
    Py_ssize_t* end = operands.shape + operands.nd;
    for (int d = 1; d <= a->nd(); d++) {
      const Py_ssize_t n = a->shape[a->nd() - d];
      if (end[-d] == 1) end[-d] = n;
      else if (n != 1 && n != end[-d]) return false;
    }
  }
  return true;
}

// Whether an array repeats elements along some dimension.
bool is_stretched(const CuArray* a) {
  for (int d = 0; d < a->nd(); d++)
    if (a->strides[d] == 0 && a->shape[d] > 1) return true;
  return false;
}

// Whether all elements are one.
bool is_single(const CuArray* a) {
  if (a->size == 1) return true;
  for (int d = 0; d < a->nd(); d++)
    if (a->strides[d] != 0 && a->shape[d] > 1) return false;
  return a->size > 0;
}

// Whether elements lie side by side, in any order of dimensions.
bool is_packed(const CuArray* a) {
  Py_ssize_t low = a->size * a->itemsize(), high = a->itemsize();
  for (int d = 0; d < a->nd(); d++) {
    if (a->shape[d] == 1) continue;
    if (a->strides[d] <= 0) return false;
    low = std::min(low, a->strides[d]);
    high += a->strides[d] * (a->shape[d] - 1);
  }
  return high == a->size * a->itemsize() && low == a->itemsize() && a->size > 0;
}

// Arrays of the whole shape that lie alike, in columns say, are gone through as lines; so are their results.
bool lie_alike(const Operands& operands) {
  const CuArray* first = nullptr;
  for (const CuArray* a : operands.arrays) {
    if (a == nullptr || (a->size == 1 && !operands.fills(a))) continue;
    if (!operands.fills(a)) return false;
    if (first == nullptr) first = a;
    if (a->strides != first->strides) return false;
  }
  return first != nullptr && is_packed(first);
}

// How each operand lies; false where CuPy has to say how the result does.
bool lay_out(Operands& operands) {
  bool some_in_rows = false, others = false;
  for (int s = 0; s < FUSED_SLOTS; s++) {
    const CuArray* a = operands.arrays[s];
    if (a == nullptr) {
      operands.kinds[s] = NUMBER;
    } else if (operands.fills(a) && a->in_rows) {
      operands.kinds[s] = FLAT;
      some_in_rows = true;
    } else if (is_single(a)) {
      operands.kinds[s] = SINGLE;
    } else {
      operands.kinds[s] = SPREAD;
      operands.spread = true;
      others = others || (operands.fills(a) && !is_stretched(a));
    }
  }
  if (!operands.spread) return true;
  if (others && !some_in_rows) {
    if (!lie_alike(operands)) return false;
    operands.spread = false;
    for (int s = 0; s < FUSED_SLOTS; s++)
      if (operands.kinds[s] == SPREAD) {
        operands.kinds[s] = FLAT;
        operands.strides = operands.arrays[s]->strides.data();
      }
  }
  return operands.nd <= MOST_DIMS;
}

// ---- kernels --------------------------------------------------------------------------------------------------------

// The kernel of a loop for these operands; null with an exception set.
void* kernel_of(int number, const Operands& operands, int param_count) {
  const Loop& loop = loops[static_cast<size_t>(number)];
  const bool wide = operands.leader->type() == NPY_DOUBLE;
  const int nd = operands.spread ? operands.nd : 0;
  uint64_t key = static_cast<uint64_t>(number) << 32 | static_cast<uint64_t>(param_count) << 28 |
                 static_cast<uint64_t>(nd) << 20 | (wide ? 1u << 15 : 0);
  char kinds[FUSED_SLOTS + 1] = {};
  for (int i = 0; i < loop.count; i++) {
    const Kind kind = operands.kinds[loop.slots[i]];
    kinds[i] = SPELLED[kind];
    key |= static_cast<uint64_t>(kind) << 2 * i;
  }
  const auto found = kernels.find(key);
  if (found != kernels.end()) return found->second;
  Ref made(PyObject_CallFunction(compiler, "iCsii", number, wide ? 'd' : 'f', kinds, param_count, nd));
  void* function = made ? PyLong_AsVoidPtr(made.get()) : nullptr;
  if (function != nullptr) kernels[key] = function;
  return function;
}

constexpr int MOST_ARGUMENTS = 2 * FUSED_SLOTS + FUSED_PARAMS + FUSED_RESULTS + (FUSED_SLOTS + 1) * MOST_DIMS + 1;

union Slot {
  const void* pointer;
  double real;
  long long whole;
};

// What a kernel is given: see `source_of` in formulas.py.
struct Arguments {
  Slot slots[MOST_ARGUMENTS];
  void* pointers[MOST_ARGUMENTS];
  int count = 0;

  Slot& next() {
    pointers[count] = &slots[count];
    return slots[count++];
  }
};

bool run(int number, const Operands& operands, const double* params, int param_count, PyObject* const* outs) {
  const Loop& loop = loops[static_cast<size_t>(number)];
  void* function = kernel_of(number, operands, param_count);
  if (function == nullptr) return false;
  const CuArray* out = as_cupy(outs[0]);
  if (out->size == 0) return true;
  Arguments args;
  for (int i = 0; i < loop.count; i++) {
    const int s = loop.slots[i];
    if (operands.kinds[s] == NUMBER) args.next().real = operands.numbers[s];
    else args.next().pointer = operands.arrays[s]->address();
  }
  for (int r = 0; r < loop.results; r++) args.next().pointer = as_cupy(outs[r])->address();
  for (int k = 0; k < param_count; k++) args.next().real = params[k];
  if (operands.spread) {
    for (int d = 0; d < operands.nd; d++) args.next().whole = operands.shape[d];
    for (int i = 0; i < loop.count; i++) {
      if (operands.kinds[loop.slots[i]] != SPREAD) continue;
      const CuArray* a = operands.arrays[loop.slots[i]];
      for (int d = a->nd() - operands.nd; d < a->nd(); d++)
        args.next().whole = d < 0 || a->shape[d] == 1 ? 0 : a->strides[d] / a->itemsize();
    }
  }
  args.next().whole = out->size;
  const Py_ssize_t each = THREADS * (BYTES / out->itemsize());
  return launch(function, static_cast<unsigned>((out->size + each - 1) / each), 1, THREADS, args.pointers);
}

// Whether a loop has all its operands.
bool has_all(int number, const Operands& operands, PyObject* const* given) {
  const Loop& loop = loops[static_cast<size_t>(number)];
  for (int i = 0; i < loop.count; i++)
    if (operands.arrays[loop.slots[i]] == nullptr && given[loop.slots[i]] == Py_None) return false;
  return true;
}

// Results of a loop, in new arrays. False if it does not serve, or with an exception set.
bool compute(int number, const Operands& operands, PyObject* const* given, const double* params, int param_count, PyObject** made) {
  if (number < 0 || !has_all(number, operands, given)) return false;
  for (int r = 0; r < loops[static_cast<size_t>(number)].results; r++) {
    made[r] = empty(operands.nd, operands.shape, operands.strides, operands.leader->dtype);
    if (made[r] == nullptr) return false;
  }
  return run(number, operands, params, param_count, made);
}

// Whether a loop has so many results, of operands that are among the first ones.
bool suits(const Loop& loop, int operands, int results) {
  return loop.results == results && std::all_of(loop.slots, loop.slots + loop.count, [=](int s) { return s < operands; });
}

// ---- leaves ---------------------------------------------------------------------------------------------------------

// The loops that serve an op; null with an exception set.
const Leaf* leaf_of(const FusedKernel& row, int number, PyObject* op) {
  const size_t key = static_cast<size_t>(&row - fused_table.kernels) << 16 | static_cast<size_t>(number);
  const auto found = leaves.find(key);
  if (found != leaves.end()) return &found->second;
  Ref numbers(PyObject_CallFunction(leaf_finder, "sO", row.key, op));
  if (!numbers) return nullptr;
  Leaf leaf;
  if (PyTuple_Check(numbers.get()))
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(numbers.get()) && i <= FUSED_RESULTS; i++) {
      const long value = PyLong_AsLong(PyTuple_GET_ITEM(numbers.get(), i));
      if (value == -1 && PyErr_Occurred() != nullptr) return nullptr;
      const bool known = value < static_cast<long>(loops.size()) &&
                         (value < 0 || suits(loops[static_cast<size_t>(value)], row.slots, i == 0 ? row.results : 1));
      (i == 0 ? leaf.all : leaf.each[i - 1]) = known ? static_cast<int>(value) : UNSERVED;
    }
  if (PyErr_Occurred() != nullptr) return nullptr;
  return &(leaves[key] = leaf);
}

PyObject* gave_up(PyObject** made) {
  for (int r = 0; r < FUSED_RESULTS; r++) Py_XDECREF(made[r]);
  if (PyErr_Occurred() != nullptr) return nullptr;
  Py_RETURN_NOTIMPLEMENTED;
}

// A whole number from `low` to before `end`; false with an exception set.
bool read_within(PyObject* object, Py_ssize_t low, Py_ssize_t end, int& number) {
  const Py_ssize_t found = PyLong_Check(object) ? PyLong_AsSsize_t(object) : end;
  if (PyErr_Occurred() != nullptr) return false;
  number = static_cast<int>(found);
  if (found >= low && found < end) return true;
  PyErr_Format(PyExc_ValueError, "gpu_formulas(): %R is no number from %zd to before %zd", object, low, end);
  return false;
}

bool read_loop(PyObject* pair, Loop& loop) {
  if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2 || !PyTuple_Check(PyTuple_GET_ITEM(pair, 0)) ||
      PyTuple_GET_SIZE(PyTuple_GET_ITEM(pair, 0)) > FUSED_SLOTS) {
    PyErr_Format(PyExc_TypeError, "gpu_formulas(): a loop is a tuple of up to %d slots, and a count of results", FUSED_SLOTS);
    return false;
  }
  PyObject* slots = PyTuple_GET_ITEM(pair, 0);
  loop.count = static_cast<int>(PyTuple_GET_SIZE(slots));
  for (int s = 0; s < loop.count; s++)
    if (!read_within(PyTuple_GET_ITEM(slots, s), 0, FUSED_SLOTS, loop.slots[s])) return false;
  return read_within(PyTuple_GET_ITEM(pair, 1), 1, FUSED_RESULTS + 1, loop.results);
}

// gpu_formulas(loops, leaf_finder, compiler, sum_loop, copy_loop): loops are pairs of slots and a count of results.
PyObject* gpu_formulas(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 5 || !PyList_Check(args[0])) return PyErr_Format(PyExc_TypeError, "gpu_formulas() takes loops, two functions and two numbers");
  std::vector<Loop> read(static_cast<size_t>(PyList_GET_SIZE(args[0])));
  for (size_t i = 0; i < read.size(); i++)
    if (!read_loop(PyList_GET_ITEM(args[0], static_cast<Py_ssize_t>(i)), read[i])) return nullptr;
  const Py_ssize_t end = static_cast<Py_ssize_t>(read.size());
  int sum, copy;
  if (!read_within(args[3], -1, end, sum) || !read_within(args[4], -1, end, copy)) return nullptr;
  if ((sum >= 0 && !suits(read[static_cast<size_t>(sum)], 2, 1)) || (copy >= 0 && !suits(read[static_cast<size_t>(copy)], 1, 1)))
    return PyErr_Format(PyExc_ValueError, "gpu_formulas(): sums take two operands, copies one, and both have one result");
  sum_loop = sum, copy_loop = copy;
  loops.swap(read);
  leaves.clear();
  kernels.clear();
  Py_XSETREF(leaf_finder, Py_NewRef(args[1]));
  Py_XSETREF(compiler, Py_NewRef(args[2]));
  Py_RETURN_NONE;
}

// gpu_add_into(target, other): whether it has added them.
PyObject* gpu_add_into(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 2) return PyErr_Format(PyExc_TypeError, "gpu_add_into() takes two arrays");
  const int done = add_into(args[0], args[1]);
  return done < 0 ? nullptr : PyBool_FromLong(done);
}

// gpu_copy(x): a copy in rows; None where it is not served.
PyObject* gpu_copy(PyObject*, PyObject* x) {
  Operands operands;
  if (copy_loop < 0 || !is_array(x) || !sort(&x, 1, operands) || !broadcast(operands) || operands.nd > MOST_DIMS) Py_RETURN_NONE;
  operands.kinds[0] = as_cupy(x)->in_rows ? FLAT : is_single(as_cupy(x)) ? SINGLE : SPREAD;
  operands.spread = operands.kinds[0] == SPREAD;
  Ref out(empty_like(as_cupy(x)));
  PyObject* const outs[1] = {out.get()};
  return out && run(copy_loop, operands, nullptr, 0, outs) ? out.release() : nullptr;
}

}  // namespace

PyObject* by_formula(const FusedKernel& row, int number, PyObject* op, PyObject* const* given, const double* params, long wanted) {
  PyObject* made[FUSED_RESULTS] = {};
  Operands operands;
  if (loops.empty() || !sort(given, row.slots, operands) || !broadcast(operands) || !lay_out(operands)) return gave_up(made);
  const Leaf* leaf = leaf_of(row, number, op);
  if (leaf == nullptr) return nullptr;
  if (row.results == 1) {
    if (leaf->each[0] == ITSELF) return Py_NewRef(given[0]);
    return compute(leaf->each[0], operands, given, params, row.param_count, made) ? made[0] : gave_up(made);
  }
  if (wanted == (1L << row.results) - 1 && leaf->all != ITSELF) {
    if (!compute(leaf->all, operands, given, params, row.param_count, made)) return gave_up(made);
  } else {
    for (int r = 0; r < row.results; r++) {
      if (!(wanted >> r & 1)) continue;
      if (leaf->each[r] == ITSELF) made[r] = Py_NewRef(given[0]);
      else if (!compute(leaf->each[r], operands, given, params, row.param_count, made + r)) return gave_up(made);
    }
  }
  PyObject* tuple = PyTuple_New(row.results);
  if (tuple == nullptr) return gave_up(made);
  for (int r = 0; r < row.results; r++) PyTuple_SET_ITEM(tuple, r, made[r] != nullptr ? made[r] : Py_NewRef(Py_None));
  return tuple;
}

int add_into(PyObject* target, PyObject* other) {
  if (sum_loop < 0 || !is_array(target) || !is_array(other)) return 0;
  PyObject* const given[2] = {target, other};
  Operands operands;
  if (!sort(given, 2, operands) || !broadcast(operands) || !lay_out(operands)) return 0;
  if (operands.kinds[0] != FLAT || operands.strides != nullptr) return 0;
  return run(sum_loop, operands, nullptr, 0, given) ? 1 : -1;
}

PyMethodDef formula_methods[] = {
    {"gpu_formulas", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(gpu_formulas)), METH_FASTCALL,
     "Says which loops there are, and who finds and compiles them."},
    {"gpu_copy", gpu_copy, METH_O, "A copy of an array on a GPU, in rows; None where that is not served."},
    {"gpu_add_into", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(gpu_add_into)), METH_FASTCALL,
     "Adds an array on a GPU to another, in place, if that can be done at once."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rg::gpu
