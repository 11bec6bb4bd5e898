// Steps of optimisers: all parameters of a group in one call, each number in one pass, in place.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "network.h"

using Index = std::ptrdiff_t;

// The hyperparameters in the precision of a parameter.
template <class T>
struct SgdNumbers {
  T lr, momentum, kept, decay, sign;  // kept: how much of a new gradient enters the velocity
  bool nesterov;
};

template <class T>
struct AdamNumbers {
  T lr, beta2, new1, new2, eps, decay, shrink, sign, root;  // new: 1 - beta; root: 1 / sqrt(1 - beta2 ** step)
};

// Those of an optimiser that is one formula: of all, and of its rule.
template <class T>
struct RuleNumbers {
  T sign, decay, shrink;  // shrink: what decay that acts on the parameter leaves of it
  T own[7];
};

// What a step does to n numbers of a parameter, with its gradient and up to three arrays of state.
template <class T>
using ByRule = void (*)(T*, const T*, T*, T*, T*, Index, const RuleNumbers<T>&);

#define RG_KERNELS "optim.inc"
#include "versions.h"

namespace rg {

namespace {

constexpr npy_intp PIECE = 1 << 13;  // numbers that one thread moves at a time

// One parameter: its memory, its gradient's and its state's, and the count of its steps.
struct Moved {
  enum { PARAM, GRAD, FIRST, SECOND, THIRD, PLACES };
  char* at[PLACES] = {};  // null where there is none
  npy_intp n = 0;
  int type = 0;
  double step = 0;
  bool first = false;
  double numbers[10] = {};  // of a rule

  template <class T>
  T* from(int place, npy_intp begin) const {
    return at[place] == nullptr ? nullptr : reinterpret_cast<T*>(at[place]) + begin;
  }
};

// -- which parameters are served -----------------------------------------------------------------------------------

// Whether arrays lie in memory alike and without gaps: then they are lines of numbers.
bool are_lines(Array* first, Array* other) {
  const bool c = PyArray_IS_C_CONTIGUOUS(first) && PyArray_IS_C_CONTIGUOUS(other);
  return c || (PyArray_IS_F_CONTIGUOUS(first) && PyArray_IS_F_CONTIGUOUS(other));
}

// Reads the arrays of a row: parameter, gradient, and what is kept, where those from `needed` on may be None.
bool reads_arrays(PyObject* const* arrays, int count, int needed, Moved* moved) {
  PyObject* param = arrays[0];
  if (!is_real(param)) return false;
  for (int i = 0; i < count; i++) {
    PyObject* array = arrays[i];
    if (array == Py_None && i >= needed) continue;
    if (!is_of(array, kind(param)) || !same_shape(array, param) || !are_lines(as_array(param), as_array(array)))
      return false;
    if (i != Moved::GRAD && !PyArray_ISWRITEABLE(as_array(array))) return false;
    moved->at[i] = data<char>(array);
  }
  moved->n = size_of(param);
  moved->type = kind(param);
  return true;
}

struct Range {
  char *begin, *end;
  bool written;
  bool operator<(const Range& other) const { return begin < other.begin; }
};

// Whether memory that is written is also another parameter's (or the same one's, in another place).
bool overlap(const std::vector<Moved>& all) {
  std::vector<Range> ranges;
  for (const Moved& moved : all)
    for (int i = 0; i < Moved::PLACES; i++)
      if (moved.at[i] != nullptr) {
        const npy_intp bytes = moved.n * (moved.type == NPY_FLOAT ? 4 : 8);
        ranges.push_back({moved.at[i], moved.at[i] + bytes, i != Moved::GRAD});
      }
  std::sort(ranges.begin(), ranges.end());
  char *end = nullptr, *end_of_written = nullptr;  // how far those before reach
  for (const Range& range : ranges) {
    if (range.begin < end_of_written || (range.written && range.begin < end)) return true;
    end = std::max(end, range.end);
    if (range.written) end_of_written = std::max(end_of_written, range.end);
  }
  return false;
}

// Runs body(moved, begin, end) over all numbers of all parameters. Memory that several share is never given here.
template <class Body>
void over_all(const std::vector<Moved>& all, const Body& body) {
  struct Piece {
    const Moved* moved;
    npy_intp begin;
  };
  std::vector<Piece> pieces;
  for (const Moved& moved : all)
    for (npy_intp begin = 0; begin < moved.n; begin += PIECE) pieces.push_back({&moved, begin});
  Whole whole;
  over(static_cast<npy_intp>(pieces.size()), PIECE, [&](npy_intp first, npy_intp last) {
    for (npy_intp i = first; i < last; i++)
      body(*pieces[i].moved, pieces[i].begin, std::min(pieces[i].begin + PIECE, pieces[i].moved->n));
  });
}

// Several parameters share memory, or one has it twice: then the order of steps matters, and one follows the other.
template <class Body>
void in_order(const std::vector<Moved>& all, const Body& body) {
  for (const Moved& moved : all) body(moved, 0, moved.n);
}

template <class Body>
void move(const std::vector<Moved>& all, const Body& body) {
  if (overlap(all))
    in_order(all, body);
  else
    over_all(all, body);
}

// -- the algorithms ------------------------------------------------------------------------------------------------

struct SgdRates {
  double lr, momentum, dampening, decay;
  int nesterov, maximize;
};

template <class T>
void sgd(const Moved& moved, npy_intp begin, npy_intp end, const SgdRates& r) {
  using Numbers = SgdNumbers<T>;
  static const auto plain = Versions<void (*)(T*, const T*, Index, const Numbers&)>{RG_VERSIONS(sgd_plain<T>)}.pick();
  static const auto with_momentum =
      Versions<void (*)(T*, const T*, T*, Index, bool, const Numbers&)>{RG_VERSIONS(sgd_momentum<T>)}.pick();
  const T sign = r.maximize ? -1 : 1;
  const Numbers numbers{T(r.lr), T(r.momentum), T(1 - r.dampening), T(r.decay), sign, r.nesterov != 0};
  T *p = moved.from<T>(Moved::PARAM, begin), *v = moved.from<T>(Moved::FIRST, begin);
  const T* g = moved.from<T>(Moved::GRAD, begin);
  if (v == nullptr)
    plain(p, g, end - begin, numbers);
  else
    with_momentum(p, g, v, end - begin, moved.first, numbers);
}

struct AdamRates {
  double lr, beta1, beta2, eps, decay;
  int decoupled, maximize;
};

template <class T>
AdamNumbers<T> numbers_of(const AdamRates& r, double step) {
  return {T(r.lr / (1 - std::pow(r.beta1, step))),
          T(r.beta2),
          T(1 - r.beta1),
          T(1 - r.beta2),
          T(r.eps),
          T(r.decoupled ? 0 : r.decay),
          T(r.decoupled ? 1 - r.lr * r.decay : 1),
          T(r.maximize ? -1 : 1),
          T(1 / std::sqrt(1 - std::pow(r.beta2, step)))};
}

template <class T>
void adam(const Moved& moved, npy_intp begin, npy_intp end, const AdamRates& r) {
  using Numbers = AdamNumbers<T>;
  static const auto plain =
      Versions<void (*)(T*, const T*, T*, T*, Index, const Numbers&)>{RG_VERSIONS(adam<T>)}.pick();
  static const auto largest =
      Versions<void (*)(T*, const T*, T*, T*, T*, Index, const Numbers&)>{RG_VERSIONS(adam_largest<T>)}.pick();
  const Numbers numbers = numbers_of<T>(r, moved.step);
  T *p = moved.from<T>(Moved::PARAM, begin), *m = moved.from<T>(Moved::FIRST, begin);
  T *v = moved.from<T>(Moved::SECOND, begin), *top = moved.from<T>(Moved::THIRD, begin);
  const T* g = moved.from<T>(Moved::GRAD, begin);
  if (top == nullptr)
    plain(p, g, m, v, end - begin, numbers);
  else
    largest(p, g, m, v, top, end - begin, numbers);
}

constexpr int OWN = 7;  // numbers that a rule may have of its own

template <class T>
void by_rule(const Moved& moved, npy_intp begin, npy_intp end, int rule) {
  static const auto choose = Versions<ByRule<T> (*)(int)>{RG_VERSIONS(rule_loop<T>)}.pick();
  const double* given = moved.numbers;
  RuleNumbers<T> numbers{T(given[0]), T(given[1]), T(given[2]), {}};
  for (int i = 0; i < OWN; i++) numbers.own[i] = T(given[3 + i]);
  choose(rule)(moved.from<T>(Moved::PARAM, begin), moved.from<T>(Moved::GRAD, begin), moved.from<T>(Moved::FIRST, begin),
               moved.from<T>(Moved::SECOND, begin), moved.from<T>(Moved::THIRD, begin), end - begin, numbers);
}

// -- as Python sees them -------------------------------------------------------------------------------------------

// The rows that are served; the others go to `left`. False with an exception set. `rows` holds the arrays: other threads
// may run while parameters are moved.
bool read_rows(PyObject* rows, int states, std::vector<Moved>* all, PyObject* left) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(rows); i++) {
    PyObject* row = PyTuple_GET_ITEM(rows, i);
    Moved moved;
    const bool is_row = PyTuple_CheckExact(row) && PyTuple_GET_SIZE(row) == 3 + states;
    if (is_row && !read_real(PyTuple_GET_ITEM(row, 2 + states), &moved.step)) return false;
    if (is_row && reads_arrays(&PyTuple_GET_ITEM(row, 0), 2 + states, 1 + states, &moved)) {
      moved.first = moved.step == 1;
      all->push_back(moved);
    } else if (PyList_Append(left, row) < 0) {
      return false;
    }
  }
  return true;
}

// (rows, rates): rows of (param, grad, velocity or None, which step it is for the velocity); gives the rows left over
PyObject* py_sgd_steps(PyObject*, Args args, Py_ssize_t count) {
  SgdRates r;
  if (count != 2 || !PyList_CheckExact(args[0]) || !PyTuple_Check(args[1])) return not_served();
  if (!PyArg_ParseTuple(args[1], "ddddpp", &r.lr, &r.momentum, &r.dampening, &r.decay, &r.nesterov, &r.maximize))
    return nullptr;
  Ref rows(PyList_AsTuple(args[0])), left(PyList_New(0));
  std::vector<Moved> all;
  if (!rows || !left || !read_rows(rows.get(), 1, &all, left.get())) return nullptr;
  move(all, [&](const Moved& moved, npy_intp begin, npy_intp end) {
    moved.type == NPY_FLOAT ? sgd<float>(moved, begin, end, r) : sgd<double>(moved, begin, end, r);
  });
  return left.release();
}

// (rows, rates): rows of (param, grad, mean, mean square, largest mean square or None, step); gives the rows left over
PyObject* py_adam_steps(PyObject*, Args args, Py_ssize_t count) {
  AdamRates r;
  if (count != 2 || !PyList_CheckExact(args[0]) || !PyTuple_Check(args[1])) return not_served();
  if (!PyArg_ParseTuple(args[1], "dddddpp", &r.lr, &r.beta1, &r.beta2, &r.eps, &r.decay, &r.decoupled, &r.maximize))
    return nullptr;
  Ref rows(PyList_AsTuple(args[0])), left(PyList_New(0));
  std::vector<Moved> all;
  if (!rows || !left || !read_rows(rows.get(), 3, &all, left.get())) return nullptr;
  move(all, [&](const Moved& moved, npy_intp begin, npy_intp end) {
    moved.type == NPY_FLOAT ? adam<float>(moved, begin, end, r) : adam<double>(moved, begin, end, r);
  });
  return left.release();
}

// The numbers of a row, `sign`, `decay`, `shrink` and those of its rule. False with an exception set.
bool read_numbers(PyObject* given, double* numbers) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(given); i++)
    if (!read_real(PyTuple_GET_ITEM(given, i), &numbers[i])) return false;
  return true;
}

// (rule, rows): rows of (param, grad, tuple of state, tuple of numbers, …); gives the rows left over
PyObject* py_rule_steps(PyObject*, Args args, Py_ssize_t count) {
  long rule;
  if (count != 2 || !PyLong_CheckExact(args[0]) || !PyList_CheckExact(args[1])) return not_served();
  if (!read_whole(args[0], &rule)) return nullptr;
  if (rule < 0 || rule >= base::Rules::count) return not_served();
  const int kept = base::Rules::kept(static_cast<int>(rule));
  Ref rows(PyList_AsTuple(args[1])), left(PyList_New(0));
  std::vector<Moved> all;
  if (!rows || !left) return nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(rows.get()); i++) {
    PyObject* row = PyTuple_GET_ITEM(rows.get(), i);
    Moved moved;
    bool served = PyTuple_Check(row) && PyTuple_GET_SIZE(row) >= 4 && PyTuple_CheckExact(PyTuple_GET_ITEM(row, 2)) &&
                  PyTuple_CheckExact(PyTuple_GET_ITEM(row, 3)) && PyTuple_GET_SIZE(PyTuple_GET_ITEM(row, 2)) == kept &&
                  PyTuple_GET_SIZE(PyTuple_GET_ITEM(row, 3)) <= 3 + OWN;
    if (served && !read_numbers(PyTuple_GET_ITEM(row, 3), moved.numbers)) return nullptr;
    if (served) {
      PyObject* arrays[Moved::PLACES] = {PyTuple_GET_ITEM(row, 0), PyTuple_GET_ITEM(row, 1)};
      for (int j = 0; j < kept; j++) arrays[2 + j] = PyTuple_GET_ITEM(PyTuple_GET_ITEM(row, 2), j);
      served = reads_arrays(arrays, 2 + kept, 2 + kept, &moved);
    }
    if (served)
      all.push_back(moved);
    else if (PyList_Append(left.get(), row) < 0)
      return nullptr;
  }
  move(all, [&](const Moved& moved, npy_intp begin, npy_intp end) {
    moved.type == NPY_FLOAT ? by_rule<float>(moved, begin, end, static_cast<int>(rule))
                            : by_rule<double>(moved, begin, end, static_cast<int>(rule));
  });
  return left.release();
}

}  // namespace

PyMethodDef optim_methods[] = {
    method<py_rule_steps>("rule_steps", "rule_steps(rule, rows): steps by one formula; gives the rows left over."),
    method<py_sgd_steps>("sgd_steps", "sgd_steps(rows, rates): steps of gradient descent; gives the rows left over."),
    method<py_adam_steps>("adam_steps", "adam_steps(rows, rates): steps of Adam or AdamW; gives the rows left over."),
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rg
