// Random numbers of the CPU: Note [Random numbers of the CPU] in backends/mersenne.py, which has the same in Python.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "rejection.h"
#include "twister.h"

using Index = std::ptrdiff_t;

#define RG_KERNELS "random.inc"
#include "versions.h"

namespace rg {

namespace {

constexpr npy_intp PART = 512;  // normal numbers that are made of as many uniform ones in one go
constexpr npy_intp BLOCK = 16;   // normal numbers that are made together
constexpr double PI2 = 6.283185307179586;

Turn turn() {
  static const auto chosen = Versions<Turn>{RG_VERSIONS(random_turn)}.pick();
  return chosen;
}

template <class T>
void units(Words& words, T* out, npy_intp n) {
  static const auto make = Versions<void (*)(const std::uint32_t*, T*, Index)>{RG_VERSIONS(random_units<T>)}.pick();
  words.fill(out, n, sizeof(T) / 4, make);
}

template <class T>
void uniform(Words& words, T* out, npy_intp n, double low, double width) {
  static const auto make =
      Versions<void (*)(const std::uint32_t*, T*, Index, double, double)>{RG_VERSIONS(random_uniform<T>)}.pick();
  words.fill(out, n, sizeof(T) / 4,
             [=](const std::uint32_t* from, T* to, Index count) { make(from, to, count, low, width); });
}

template <class T>
void exponentials(Words& words, T* out, npy_intp n) {
  static const auto make =
      Versions<void (*)(const std::uint32_t*, T*, Index)>{RG_VERSIONS(random_exponentials<T>)}.pick();
  words.fill(out, n, 2, make);
}

template <class T>
void choices(Words& words, T* out, npy_intp n, double chance, T scale) {
  static const auto make =
      Versions<void (*)(const std::uint32_t*, T*, Index, double, T)>{RG_VERSIONS(random_choices<T>)}.pick();
  words.fill(out, n, 2, [=](const std::uint32_t* from, T* to, Index count) { make(from, to, count, chance, scale); });
}

// At least 16 numbers. With `in_vain`, the uniform numbers that the last block replaces are drawn too.
template <class T>
void normals(Words& words, T* out, npy_intp n, bool in_vain) {
  static const auto make = Versions<void (*)(T*, Index)>{RG_VERSIONS(random_normals<T>)}.pick();
  const npy_intp whole = n - n % BLOCK;
  for (npy_intp begin = 0; begin < whole; begin += PART) {
    const npy_intp count = std::min(PART, whole - begin);
    units(words, out + begin, count);
    make(out + begin, count / BLOCK);
  }
  if (whole == n) return;
  if (in_vain)
    for (npy_intp i = 0; i < (n - whole) * static_cast<npy_intp>(sizeof(T) / 4); i++) words.next();
  units(words, out + n - BLOCK, BLOCK);
  make(out + n - BLOCK, 1);
}

// Integers from `least` on; `count` of them, or all of 64 bits for 0.
void integers(Words& words, std::uint64_t* out, npy_intp n, std::uint64_t count, std::uint64_t least, bool wide) {
  if (!wide && count > 0 && count >> 32 == 0) {
    const auto few = static_cast<std::uint32_t>(count);  // short numbers are divided in a third of the time
    words.fill(out, n, 1, [=](const std::uint32_t* from, std::uint64_t* to, npy_intp many) {
      for (npy_intp i = 0; i < many; i++) to[i] = from[i] % few + least;
    });
    return;
  }
  for (npy_intp i = 0; i < n; i++) {
    const std::uint64_t word = wide ? words.wide() : words.next();
    out[i] = (count == 0 ? word : word % count) + least;
  }
}

// The numbers below n: each place is exchanged with one of those from it on.
void permute(Words& words, npy_int64* out, npy_intp n) {
  for (npy_intp i = 0; i < n; i++) out[i] = i;
  for (npy_intp i = 0; i + 1 < n; i++) std::swap(out[i], out[i + words.next() % static_cast<std::uint64_t>(n - i)]);
}

// Normal numbers one after the other: the second of a pair waits for the next call.
class InTurn {
 public:
  InTurn(Words& words, PyObject* spare) : words_(words), has_(spare != Py_None) {
    if (has_) read_real(spare, &spare_);
  }
  double operator()() {
    has_ = !has_;
    if (!has_) return spare_;
    const double turn = words_.unit(), radius = std::sqrt(-2 * std::log1p(-words_.unit())), angle = PI2 * turn;
    spare_ = radius * std::sin(angle);
    return radius * std::cos(angle);
  }
  // A pair of what was drawn and the number that waits, or None.
  PyObject* pair(Ref& drawn) const {
    return has_ ? Py_BuildValue("(Nd)", drawn.release(), spare_) : Py_BuildValue("(NO)", drawn.release(), Py_None);
  }

 private:
  Words& words_;
  bool has_;
  double spare_ = 0;
};

// A new array of a shape given as a tuple, or null with an exception set.
PyObject* made(PyObject* shape, int type) {
  npy_intp lengths[NPY_MAXDIMS];
  const Py_ssize_t nd = PyTuple_Check(shape) ? PyTuple_GET_SIZE(shape) : NPY_MAXDIMS + 1;
  if (nd > NPY_MAXDIMS || !read_lengths(shape, nd, lengths)) {
    PyErr_SetString(PyExc_TypeError, "a shape is a tuple of lengths");
    return nullptr;
  }
  return new_array(static_cast<int>(nd), lengths, type);
}

void end(PyObject* capsule) { delete twister_of(capsule); }

// A twister that begins with a seed of 32 bits.
PyObject* py_twister(PyObject*, PyObject* seed) {
  const unsigned long number = PyLong_AsUnsignedLong(seed);
  if (PyErr_Occurred()) return nullptr;
  std::unique_ptr<Twister> made(new (std::nothrow) Twister);
  if (!made) return PyErr_NoMemory();
  made->seed(static_cast<std::uint32_t>(number));
  PyObject* capsule = PyCapsule_New(made.get(), TWISTER, end);
  if (capsule) made.release();
  return capsule;
}

// The place of the next word, and the bytes of all words of the state.
PyObject* py_twister_state(PyObject*, PyObject* capsule) {
  const Twister* twister = twister_of(capsule);
  if (!twister) return nullptr;
  return Py_BuildValue("(iy#)", twister->place, reinterpret_cast<const char*>(twister->state),
                       static_cast<Py_ssize_t>(sizeof twister->state));
}

// (twister, place, state): goes to where `twister_state` was asked
PyObject* py_twister_go(PyObject*, Args args, Py_ssize_t count) {
  long place;
  if (count != 3 || !read_whole(args[1], &place)) return PyErr_Occurred() ? nullptr : not_served();
  Twister* twister = twister_of(args[0]);
  if (!twister) return nullptr;
  if (place < 0 || place > TWISTER_WORDS || !PyBytes_Check(args[2]) ||
      PyBytes_GET_SIZE(args[2]) != static_cast<Py_ssize_t>(sizeof twister->state)) {
    PyErr_SetString(PyExc_ValueError, "a twister goes to what twister_state returned");
    return nullptr;
  }
  std::memcpy(twister->state, PyBytes_AS_STRING(args[2]), sizeof twister->state);
  static const auto temper =
      Versions<void (*)(const std::uint32_t*, std::uint32_t*)>{RG_VERSIONS(random_temper)}.pick();
  temper(twister->state, twister->drawn);
  twister->place = static_cast<int>(place);
  return Py_NewRef(Py_None);
}

// What is drawn, and the dtype it is drawn in.
enum Kind { UNIT, NORMAL, NORMAL_OF_HALVES, EXPONENTIAL };

template <class T>
void draw(Words& words, long what, T* out, npy_intp n) {
  if (what == UNIT)
    units(words, out, n);
  else if (what == EXPONENTIAL)
    exponentials(words, out, n);
  else if (n >= BLOCK)
    normals(words, out, n, what == NORMAL);
}

// (twister, kind, shape, whether in double precision)
PyObject* py_draw(PyObject*, Args args, Py_ssize_t count) {
  long what;
  if (count != 4 || !read_whole(args[1], &what)) return PyErr_Occurred() ? nullptr : not_served();
  const int twofold = PyObject_IsTrue(args[3]);
  Words words(args[0], turn());
  if (twofold < 0 || !words) return nullptr;
  Ref out(made(args[2], twofold ? NPY_DOUBLE : NPY_FLOAT));
  if (!out) return nullptr;
  const npy_intp n = size_of(out.get());
  if (what < UNIT || what > EXPONENTIAL || ((what == NORMAL || what == NORMAL_OF_HALVES) && n < BLOCK))
    return not_served();
  if (twofold)
    draw(words, what, data<double>(out.get()), n);
  else
    draw(words, what, data<float>(out.get()), n);
  return out.release();
}

// Fills an array with draws that depend on two numbers; of (generator, shape, whether in double precision, a, b).
template <class Draw>
PyObject* draw_by_two(Args args, Py_ssize_t count, const Draw& draw) {
  double a, b;
  if (count != 5 || !read_real(args[3], &a) || !read_real(args[4], &b))
    return PyErr_Occurred() ? nullptr : not_served();
  const int twofold = PyObject_IsTrue(args[2]);
  Words words(args[0], turn());
  if (twofold < 0 || !words) return nullptr;
  Ref out(made(args[1], twofold ? NPY_DOUBLE : NPY_FLOAT));
  if (!out) return nullptr;
  if (twofold)
    draw(words, data<double>(out.get()), size_of(out.get()), a, b);
  else
    draw(words, data<float>(out.get()), size_of(out.get()), a, b);
  return out.release();
}

// `scale` with probability `chance`, else 0
PyObject* py_draw_choices(PyObject*, Args args, Py_ssize_t count) {
  return draw_by_two(args, count, [](Words& words, auto* out, npy_intp n, double chance, double scale) {
    choices(words, out, n, chance, static_cast<std::remove_pointer_t<decltype(out)>>(scale));
  });
}

// from `low` on, `width` wide
PyObject* py_draw_uniform(PyObject*, Args args, Py_ssize_t count) {
  return draw_by_two(args, count, [](Words& words, auto* out, npy_intp n, double low, double width) {
    uniform(words, out, n, low, width);
  });
}

// (twister, shape, count, least, whether of wide words): integers of 64 bits
PyObject* py_draw_integers(PyObject*, Args args, Py_ssize_t count) {
  if (count != 5) return not_served();
  const unsigned long long many = PyLong_AsUnsignedLongLong(args[2]);
  if (PyErr_Occurred()) return nullptr;
  const unsigned long long least = PyLong_AsUnsignedLongLong(args[3]);
  if (PyErr_Occurred()) return nullptr;
  const int wide = PyObject_IsTrue(args[4]);
  Words words(args[0], turn());
  if (wide < 0 || !words) return nullptr;
  Ref out(made(args[1], NPY_INT64));
  if (!out) return nullptr;
  integers(words, data<std::uint64_t>(out.get()), size_of(out.get()), many, least, wide != 0);
  return out.release();
}

// (twister, shape, whether in double precision, spare): normal numbers one after the other, and the next spare one
PyObject* py_draw_in_turn(PyObject*, Args args, Py_ssize_t count) {
  if (count != 4) return not_served();
  const int twofold = PyObject_IsTrue(args[2]);
  Words words(args[0], turn());
  if (twofold < 0 || !words) return nullptr;
  InTurn normal(words, args[3]);
  if (PyErr_Occurred()) return nullptr;
  Ref out(made(args[1], twofold ? NPY_DOUBLE : NPY_FLOAT));
  if (!out) return nullptr;
  const npy_intp n = size_of(out.get());
  if (twofold)
    std::generate_n(data<double>(out.get()), n, std::ref(normal));
  else
    std::generate_n(data<float>(out.get()), n, [&] { return static_cast<float>(normal()); });
  return normal.pair(out);
}

// An array of parameters in double precision that lies in rows.
bool is_line(PyObject* object) { return is_of(object, NPY_DOUBLE) && PyArray_IS_C_CONTIGUOUS(as_array(object)); }

// (twister, shapes, spare): numbers of gamma distributions, and the next spare normal number
PyObject* py_draw_gamma(PyObject*, Args args, Py_ssize_t count) {
  if (count != 3) return not_served();
  Words words(args[0], turn());
  if (!words) return nullptr;
  InTurn normal(words, args[2]);
  if (PyErr_Occurred()) return nullptr;
  if (!is_line(args[1])) return not_served();
  Ref out(new_like(args[1]));
  if (!out) return nullptr;
  const double* shapes = data<double>(args[1]);
  std::transform(shapes, shapes + size_of(args[1]), data<double>(out.get()), [&](double shape) {
    return gamma_number([&] { return words.unit(); }, std::ref(normal), shape);
  });
  return normal.pair(out);
}

// (twister, rates): numbers of events
PyObject* py_draw_poisson(PyObject*, Args args, Py_ssize_t count) {
  if (count != 2 || !is_line(args[1])) return not_served();
  Words words(args[0], turn());
  if (!words) return nullptr;
  Ref out(new_like(args[1]));
  if (!out) return nullptr;
  const double* rates = data<double>(args[1]);
  std::transform(rates, rates + size_of(args[1]), data<double>(out.get()),
                 [&](double rate) { return poisson_number([&] { return words.unit(); }, rate); });
  return out.release();
}

// (twister, trials, chances), two arrays of one shape: how many succeed
PyObject* py_draw_binomial(PyObject*, Args args, Py_ssize_t count) {
  if (count != 3 || !is_line(args[1]) || !is_line(args[2]) || size_of(args[1]) != size_of(args[2])) return not_served();
  Words words(args[0], turn());
  if (!words) return nullptr;
  Ref out(new_like(args[1]));
  if (!out) return nullptr;
  const double* trials = data<double>(args[1]);
  std::transform(trials, trials + size_of(args[1]), data<double>(args[2]), data<double>(out.get()),
                 [&](double n, double chance) { return binomial_number([&] { return words.unit(); }, n, chance); });
  return out.release();
}

// (twister, count)
PyObject* py_draw_permutation(PyObject*, Args args, Py_ssize_t count) {
  if (count != 2) return not_served();
  Words words(args[0], turn());
  if (!words) return nullptr;
  Ref shape(PyTuple_Pack(1, args[1]));
  if (!shape) return nullptr;
  Ref out(made(shape.get(), NPY_INT64));
  if (!out) return nullptr;
  permute(words, data<npy_int64>(out.get()), size_of(out.get()));
  return out.release();
}

}  // namespace

PyMethodDef random_methods[] = {
    {"twister", py_twister, METH_O, "twister(seed): what the functions that draw take."},
    {"twister_state", py_twister_state, METH_O, "twister_state(twister): where it is, a place and bytes."},
    method<py_twister_go>("twister_go", "twister_go(twister, place, state): goes to where twister_state was asked."),
    method<py_draw>("draw", "draw(twister, kind, shape, double): uniform, normal or exponential numbers."),
    method<py_draw_choices>("draw_choices", "draw_choices(twister, shape, double, chance, scale): scale, else 0."),
    method<py_draw_uniform>("draw_uniform", "draw_uniform(twister, shape, double, low, width): from low on."),
    method<py_draw_integers>("draw_integers", "draw_integers(twister, shape, count, least, wide): integers."),
    method<py_draw_in_turn>("draw_in_turn", "draw_in_turn(twister, shape, double, spare): normal numbers."),
    method<py_draw_gamma>("draw_gamma", "draw_gamma(twister, shapes, spare): numbers of gamma distributions."),
    method<py_draw_poisson>("draw_poisson", "draw_poisson(twister, rates): numbers of events."),
    method<py_draw_binomial>("draw_binomial", "draw_binomial(twister, trials, chances): how many succeed."),
    method<py_draw_permutation>("draw_permutation", "draw_permutation(twister, count): numbers in random order."),
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rg
