// Layers of recurrent networks, all times of one direction in a call, and their backward.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "gemm.h"
#include "network.h"

using rg::Index;

#define RG_KERNELS "recurrent.inc"
#include "versions.h"

namespace rg {

namespace {

enum Kind { TANH, RELU, LSTM, GRU, KINDS };
enum Input { DATA, H, C, W_IH, W_HH, B_IH, B_HH, W_HR, INPUTS };
enum Noted { BEFORE_H, BEFORE_C, GATES, CURVE, NOTES };

constexpr double UNLOCKED = 1 << 17;  // products from which the GIL is given up
constexpr Index GRAIN = 1 << 12;      // numbers of a cell that a thread computes at a time

constexpr Index BLOCKS[KINDS] = {1, 1, 4, 3};  // of rows of the weights
constexpr Index KEPT[KINDS] = {1, 1, 4, 4};    // of columns of the gates

struct Time {
  Index begin, n;  // its rows
};

// What a layer is: its kind, its lengths, and its times in the order in which they are computed.
struct Layer {
  int kind = 0, type = 0;
  Index rows = 0, batch = 0, features = 0, width = 0, out = 0;  // out: of the hidden state, `width` unless projected
  std::vector<Time> times;

  Index sums() const { return BLOCKS[kind] * width; }
  Index gates() const { return KEPT[kind] * width; }
  double work() const { return static_cast<double>(rows) * static_cast<double>(sums() * (features + out)); }
};

// The operands: held, and dense. Null where there is none.
struct Operands {
  std::vector<PyObject*> held;
  Operands() = default;
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;
  ~Operands() {
    for (PyObject* object : held) Py_XDECREF(object);
  }
  template <class T>
  T* at(int i) const {
    return held[i] == nullptr ? nullptr : data<T>(held[i]);
  }
  // Takes an operand: an array of the type with `size` numbers, or None. False if it is neither, or with an exception.
  bool take(PyObject* object, int type, Index size, bool optional) {
    if (object == Py_None) {
      held.push_back(nullptr);
      return optional;
    }
    if (!is_of(object, type) || size_of(object) != size) return false;
    held.push_back(dense(object));
    return held.back() != nullptr;
  }
};

// -- arithmetic ------------------------------------------------------------------------------------------------------

// Runs body(first row, number of rows) over n rows of `width` numbers.
template <class Body>
void over_rows(Index n, Index width, const Body& body) {
  parallel_for(n, std::max<Index>(1, GRAIN / width), [&](Index begin, Index end) { body(begin, end - begin); });
}

template <class T>
void copy(T* to, const T* from, Index n) {
  std::memcpy(to, from, static_cast<size_t>(n) * sizeof(T));
}

template <class T>
void add(Index n, const T* a, const T* b, T* sum) {
  static const auto run = Versions<void (*)(Index, const T*, const T*, T*)>{RG_VERSIONS(add_lines<T>)}.pick();
  run(n, a, b, sum);
}

// A weight whose transpose many rows are multiplied with (`turned`), or itself.
template <class T>
struct Weight {
  Line<T> packed;
  Index k, n;
  Weight(const T* at, Index rows, Index columns, bool turned)
      : k(turned ? columns : rows), n(turned ? rows : columns) {
    if (at == nullptr) return;
    packed.resize(static_cast<size_t>(packed_size<T>(k, n)));
    const Matrix<T> matrix = {at, columns, 1};
    pack<T>(k, n, turned ? matrix.turned() : matrix, packed.data());
  }
  // target = plus + x · weight for m rows
  void times(Index m, const T* x, T* target, Matrix<T> plus) const {
    multiply_packed<T>({m, n, k}, {x, k, 1}, packed.data(), {target, n, plus});
  }
};

template <class T>
void cell(const Layer& s, Index n, const T* x, const T* q, const T* before, T* gates, T* c, T* curve, T* h) {
  const Index w = s.width;
  static const auto lstm =
      Versions<void (*)(Index, Index, T*, T*, T*, T*)>{RG_VERSIONS(lstm_cell<T>)}.pick();
  static const auto gru =
      Versions<void (*)(Index, Index, const T*, const T*, const T*, T*, T*)>{RG_VERSIONS(gru_cell<T>)}.pick();
  static const auto bent = Versions<void (*)(Index, T*)>{RG_VERSIONS(tanh_cell<T>)}.pick();
  static const auto cut = Versions<void (*)(Index, T*)>{RG_VERSIONS(relu_cell<T>)}.pick();
  over_rows(n, s.gates(), [&](Index i, Index m) {
    if (s.kind == LSTM) {
      lstm(m, w, gates + i * 4 * w, c + i * w, curve + i * w, h + i * w);
    } else if (s.kind == GRU) {
      gru(m, w, x + i * 3 * w, q + i * 3 * w, before + i * w, gates + i * 4 * w, h + i * w);
    } else {
      (s.kind == TANH ? bent : cut)(m * w, gates + i * w);
      copy(h + i * w, gates + i * w, m * w);
    }
  });
}

// The results: of all rows, and the states, which are moved from time to time; and what the backward wants to know.
template <class T>
void forward(const Layer& s, const Operands& in, T* out, T* h, T* c, T* const* notes) {
  const Index w = s.width, sums = s.sums();
  const bool joined = s.kind != GRU, projected = in.held[W_HR] != nullptr;  // joined: both products are one sum
  const T *b_ih = in.at<T>(B_IH), *b_hh = in.at<T>(B_HH);
  Line<T> x(joined ? 0 : static_cast<size_t>(s.rows * sums)), q(joined ? 0 : static_cast<size_t>(s.batch * sums));
  Line<T> both(joined && b_ih && b_hh ? static_cast<size_t>(sums) : 0);
  Line<T> hidden(projected ? static_cast<size_t>(s.batch * w) : 0);
  if (!both.empty()) add(sums, b_ih, b_hh, both.data());
  const T* bias = !both.empty() ? both.data() : b_ih ? b_ih : joined ? b_hh : nullptr;
  T* products = joined ? notes[GATES] : x.data();
  multiply_shared<T>({s.rows, sums, s.features}, {in.at<T>(DATA), s.features, 1}, {in.at<T>(W_IH), 1, s.features},
                     {products, sums, {bias, 0, 1}});
  const Weight<T> w_hh(in.at<T>(W_HH), sums, s.out, true), w_hr(in.at<T>(W_HR), s.out, w, true);
  copy(h, in.at<T>(H), s.batch * s.out);
  if (c) copy(c, in.at<T>(C), s.batch * w);
  for (const Time& time : s.times) {
    T *before = notes[BEFORE_H] + time.begin * s.out, *gates = notes[GATES] + time.begin * s.gates();
    T *to = out + time.begin * s.out, *sum = joined ? gates : q.data();
    copy(before, h, time.n * s.out);
    if (c) copy(notes[BEFORE_C] + time.begin * w, c, time.n * w);
    w_hh.times(time.n, before, sum, joined ? Matrix<T>{sum, sums, 1} : Matrix<T>{b_hh, 0, 1});
    cell<T>(s, time.n, x.data() + (joined ? 0 : time.begin * sums), q.data(), before, gates, c,
            c ? notes[CURVE] + time.begin * w : nullptr, projected ? hidden.data() : to);
    if (projected) w_hr.times(time.n, hidden.data(), to, NOTHING<T>);
    copy(h, to, time.n * s.out);
  }
}

template <class T>
void cell_back(const Layer& s, Index n, T* const* notes, const T* g, T* gc, T* dx, T* dq, T* direct) {
  const Index w = s.width;
  using Plain = void (*)(Index, const T*, const T*, T*);
  static const auto lstm = Versions<void (*)(Index, Index, const T*, const T*, const T*, const T*, T*, T*)>{
      RG_VERSIONS(lstm_cell_back<T>)}.pick();
  static const auto gru = Versions<void (*)(Index, Index, const T*, const T*, const T*, T*, T*, T*)>{
      RG_VERSIONS(gru_cell_back<T>)}.pick();
  static const auto bent = Versions<Plain>{RG_VERSIONS(tanh_cell_back<T>)}.pick();
  static const auto cut = Versions<Plain>{RG_VERSIONS(relu_cell_back<T>)}.pick();
  over_rows(n, s.gates(), [&](Index i, Index m) {
    const T* gates = notes[GATES] + i * s.gates();
    if (s.kind == LSTM)
      lstm(m, w, gates, notes[CURVE] + i * w, notes[BEFORE_C] + i * w, g + i * w, gc + i * w, dx + i * 4 * w);
    else if (s.kind == GRU)
      gru(m, w, gates, notes[BEFORE_H] + i * w, g + i * w, dx + i * 3 * w, dq + i * 3 * w, direct + i * w);
    else
      (s.kind == TANH ? bent : cut)(m * w, gates, g + i * w, dx + i * w);
  });
}

// The gradients of the sums in all rows, `dx` and `dq` (the same memory unless it is a GRU), and of outputs before their
// projection, `dp`; gh and gc hold those of the last states, and become those of the first ones.
template <class T>
void back_through(const Layer& s, const Operands& in, const T* g_out, T* const* notes, T* gh, T* gc, T* dx, T* dq,
                  T* dp) {
  const Index w = s.width, sums = s.sums();
  const Weight<T> w_hh(in.at<T>(W_HH), sums, s.out, false), w_hr(in.at<T>(W_HR), s.out, w, false);
  Line<T> given(static_cast<size_t>(s.batch * s.out)), hidden(dp ? static_cast<size_t>(s.batch * w) : 0);
  Line<T> direct(s.kind == GRU ? static_cast<size_t>(s.batch * w) : 0);
  for (auto time = s.times.rbegin(); time != s.times.rend(); ++time) {
    const Index at = time->begin, n = time->n;
    T* g = dp ? dp + at * s.out : given.data();
    if (g_out)
      add(n * s.out, gh, g_out + at * s.out, g);
    else
      copy(g, gh, n * s.out);
    if (dp) w_hr.times(n, g, hidden.data(), NOTHING<T>);
    T* const noted[NOTES] = {notes[BEFORE_H] + at * s.out, notes[BEFORE_C] ? notes[BEFORE_C] + at * w : nullptr,
                             notes[GATES] + at * s.gates(), notes[CURVE] ? notes[CURVE] + at * w : nullptr};
    cell_back<T>(s, n, noted, dp ? hidden.data() : g, gc, dx + at * sums, dq + at * sums, direct.data());
    w_hh.times(n, dq + at * sums, gh, direct.empty() ? NOTHING<T> : Matrix<T>{direct.data(), w, 1});
  }
}

// The gradient of a weight: for each row, the products of two lines of numbers.
template <class T>
void outer(Index rows, const T* left, Index m, const T* right, Index n, T* target) {
  multiply_shared<T>({m, n, rows}, {left, 1, m}, {right, n, 1}, {target, n, NOTHING<T>});
}

template <class T>
void backward(const Layer& s, const Operands& in, const T* g_out, T* const* notes, T* const* grads, T* gh, T* gc,
              T* dx, T* dq, T* dp) {
  static const auto sum = Versions<void (*)(Index, Index, const T*, T*)>{RG_VERSIONS(sum_rows<T>)}.pick();
  static const auto project =
      Versions<void (*)(Index, Index, const T*, const T*, T*)>{RG_VERSIONS(lstm_hidden<T>)}.pick();
  const Index sums = s.sums();
  back_through<T>(s, in, g_out, notes, gh, gc, dx, dq, dp);
  if (grads[DATA])
    multiply_shared<T>({s.rows, s.features, sums}, {dx, sums, 1}, {in.at<T>(W_IH), s.features, 1},
                       {grads[DATA], s.features, NOTHING<T>});
  if (grads[W_IH]) outer<T>(s.rows, dx, sums, in.at<T>(DATA), s.features, grads[W_IH]);
  if (grads[W_HH]) outer<T>(s.rows, dq, sums, notes[BEFORE_H], s.out, grads[W_HH]);
  if (grads[B_IH]) sum(s.rows, sums, dx, grads[B_IH]);
  if (grads[B_HH]) sum(s.rows, sums, dq, grads[B_HH]);
  if (grads[W_HR]) {
    Line<T> hidden(static_cast<size_t>(s.rows * s.width));
    project(s.rows, s.width, notes[GATES], notes[CURVE], hidden.data());
    outer<T>(s.rows, dp, s.out, hidden.data(), s.width, grads[W_HR]);
  }
}

// -- reading arguments -----------------------------------------------------------------------------------------------

Index last_length(PyObject* array) {
  const int nd = PyArray_NDIM(as_array(array));
  return nd == 0 ? 0 : PyArray_DIM(as_array(array), nd - 1);
}

// The rows of each time; false if their numbers grow, or are not those of all rows and of the batch.
bool read_times(PyObject* sizes, bool reverse, Layer* s) {
  const Py_ssize_t count = PyTuple_GET_SIZE(sizes);
  Index begin = 0, last = s->batch;
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject* number = PyTuple_GET_ITEM(sizes, i);
    const Index n = PyLong_CheckExact(number) ? PyLong_AsSsize_t(number) : -1;
    if (n == -1 && PyErr_Occurred()) PyErr_Clear();
    if (n < 0 || n > last || n > s->rows - begin || (i == 0 && n != s->batch)) return false;
    if (n > 0) s->times.push_back({begin, n});
    begin += n;
    last = n;
  }
  if (reverse) std::reverse(s->times.begin(), s->times.end());
  return begin == s->rows && !s->times.empty();
}

// The lengths of a layer, as its data, states and weights have them.
bool read_lengths(PyObject* const* xs, Layer* s) {
  for (int i : {DATA, H, W_HH})
    if (!is_real(xs[i])) return false;
  s->type = kind(xs[DATA]);
  s->features = last_length(xs[DATA]);
  s->out = last_length(xs[H]);
  const Index sums = PyArray_NDIM(as_array(xs[W_HH])) == 2 ? PyArray_DIM(as_array(xs[W_HH]), 0) : 0;
  s->width = sums / BLOCKS[s->kind];
  if (s->features == 0 || s->out == 0 || s->width == 0 || sums % BLOCKS[s->kind]) return false;
  s->rows = size_of(xs[DATA]) / s->features;
  s->batch = size_of(xs[H]) / s->out;
  return s->rows > 0 && (xs[W_HR] != Py_None ? s->kind == LSTM : s->out == s->width);
}

// The product of two lengths; -1, which is the size of no array, where that is too large.
Index area(Index a, Index b) { return grow(&a, b) ? a : -1; }

bool read_operands(PyObject* const* xs, const Layer& s, Operands* in) {
  const Index sums = s.sums();
  const Index lengths[INPUTS] = {area(s.rows, s.features), area(s.batch, s.out), area(s.batch, s.width),
                                 area(sums, s.features),   area(sums, s.out),    sums,
                                 sums,                     area(s.out, s.width)};
  for (int i = 0; i < INPUTS; i++) {
    const bool optional = i == B_IH || i == B_HH || i == W_HR || (i == C && s.kind != LSTM);
    if (!in->take(xs[i], s.type, lengths[i], optional)) return false;
  }
  return s.kind == LSTM || in->held[C] == nullptr;
}

// (kind, sizes, reverse, xs): what all calls begin with. False if it is not served, or with an exception set.
bool read_layer(Args args, Layer* s, Ref* xs, Operands* in) {
  long which;
  if (!PyLong_CheckExact(args[0]) || !PyTuple_CheckExact(args[1]) || !PyBool_Check(args[2])) return false;
  if (!read_whole(args[0], &which) || which < 0 || which >= KINDS) return false;
  s->kind = static_cast<int>(which);
  PyObject* const* items = PySequence_Fast_ITEMS(xs->get());
  return PySequence_Fast_GET_SIZE(xs->get()) == INPUTS && read_lengths(items, s) &&
         read_times(args[1], args[2] == Py_True, s) && read_operands(items, *s, in);
}

PyObject* answer() { return PyErr_Occurred() ? nullptr : not_served(); }

// A new array in the shape of another, but for its last length.
PyObject* new_ending(PyObject* like, Index last, int type) {
  npy_intp dims[NPY_MAXDIMS];
  const int nd = PyArray_NDIM(as_array(like));
  std::copy_n(PyArray_DIMS(as_array(like)), nd, dims);
  dims[nd - 1] = last;
  return new_array(nd, dims, type);
}

PyObject* new_rows(Index rows, Index width, int type) {
  const npy_intp dims[2] = {rows, width};
  return new_array(2, dims, type);
}

// -- as Python sees them -----------------------------------------------------------------------------------------------

template <class T>
PyObject* run_forward(const Layer& s, const Operands& in) {
  const bool is_lstm = s.kind == LSTM;
  Ref out(new_ending(in.held[DATA], s.out, s.type)), h(new_like(in.held[H]));
  Ref c(is_lstm ? new_like(in.held[C]) : Py_NewRef(Py_None));
  Ref before_h(new_rows(s.rows, s.out, s.type)), gates(new_rows(s.rows, s.gates(), s.type));
  Ref before_c(is_lstm ? new_rows(s.rows, s.width, s.type) : Py_NewRef(Py_None));
  Ref curve(is_lstm ? new_rows(s.rows, s.width, s.type) : Py_NewRef(Py_None));
  if (!out || !h || !c || !before_h || !gates || !before_c || !curve) return nullptr;
  T* const notes[NOTES] = {data<T>(before_h.get()), is_lstm ? data<T>(before_c.get()) : nullptr,
                           data<T>(gates.get()), is_lstm ? data<T>(curve.get()) : nullptr};
  {
    Unlocked unlocked(s.work() >= UNLOCKED, INTERRUPTIBLE);
    forward<T>(s, in, data<T>(out.get()), data<T>(h.get()), is_lstm ? data<T>(c.get()) : nullptr, notes);
  }
  const char* form = is_lstm ? "(OOO)(OOOO)" : "(OO)(OOOO)";
  if (is_lstm)
    return Py_BuildValue(form, out.get(), h.get(), c.get(), before_h.get(), before_c.get(), gates.get(), curve.get());
  return Py_BuildValue(form, out.get(), h.get(), before_h.get(), before_c.get(), gates.get(), curve.get());
}

// (kind, sizes, reverse, xs): ((out, h) or (out, h, c), notes)
PyObject* py_recurrence(PyObject*, Args args, Py_ssize_t count) {
  if (count != 4 || !(PyTuple_CheckExact(args[3]) || PyList_CheckExact(args[3]))) return not_served();
  Ref xs(PySequence_Tuple(args[3]));
  if (!xs) return nullptr;
  Layer s;
  Operands in;
  if (!read_layer(args, &s, &xs, &in)) return answer();
  return s.type == NPY_FLOAT ? run_forward<float>(s, in) : run_forward<double>(s, in);
}

template <class T>
PyObject* run_backward(const Layer& s, const Operands& in, const Operands& gs, const Operands& noted, long wanted) {
  const bool is_lstm = s.kind == LSTM, projected = in.held[W_HR] != nullptr;
  Ref found(PyTuple_New(INPUTS));
  if (!found) return nullptr;
  T* grads[INPUTS] = {};
  for (int i = 0; i < INPUTS; i++) {
    const bool has = in.held[i] != nullptr && (wanted >> i & 1 || i == H || i == C);  // those of states are moved
    PyObject* made = has ? new_like(in.held[i]) : Py_NewRef(Py_None);
    if (made == nullptr) return nullptr;
    PyTuple_SET_ITEM(found.get(), i, made);
    if (has) grads[i] = data<T>(made);
  }
  Ref dx(new_rows(s.rows, s.sums(), s.type));
  Ref dq(s.kind == GRU ? new_rows(s.rows, s.sums(), s.type) : Py_XNewRef(dx.get()));
  Ref dp(projected ? new_rows(s.rows, s.out, s.type) : Py_NewRef(Py_None));
  if (!dx || !dq || !dp) return nullptr;
  T* const notes[NOTES] = {noted.at<T>(BEFORE_H), noted.at<T>(BEFORE_C), noted.at<T>(GATES), noted.at<T>(CURVE)};
  {
    Unlocked unlocked(s.work() >= UNLOCKED, INTERRUPTIBLE);
    for (int i : {H, C}) {
      if (grads[i] == nullptr) continue;
      const Index n = s.batch * (i == H ? s.out : s.width);
      if (gs.at<T>(i))
        copy(grads[i], gs.at<T>(i), n);
      else
        std::fill_n(grads[i], n, T(0));
    }
    backward<T>(s, in, gs.at<T>(0), notes, grads, grads[H], is_lstm ? grads[C] : nullptr, data<T>(dx.get()),
                data<T>(dq.get()), projected ? data<T>(dp.get()) : nullptr);
  }
  for (int i : {H, C})
    if (!(wanted >> i & 1)) PyTuple_SetItem(found.get(), i, Py_NewRef(Py_None));
  return found.release();
}

// (kind, sizes, reverse, xs, gs, notes, wanted): the gradients of xs, None where `wanted` has no bit
PyObject* py_recurrence_backward(PyObject*, Args args, Py_ssize_t count) {
  if (count != 7 || !PyLong_CheckExact(args[6]) || !PyTuple_Check(args[5])) return not_served();
  for (int i : {3, 4})
    if (!PyTuple_CheckExact(args[i]) && !PyList_CheckExact(args[i])) return not_served();
  long wanted;
  if (!read_whole(args[6], &wanted)) return nullptr;
  Ref xs(PySequence_Tuple(args[3])), given(PySequence_Tuple(args[4]));
  if (!xs || !given) return nullptr;
  Layer s;
  Operands in, gs, noted;
  if (!read_layer(args, &s, &xs, &in)) return answer();
  const Index outputs = area(s.rows, s.out), hidden = area(s.batch, s.out), cells = area(s.batch, s.width);
  const Py_ssize_t results = s.kind == LSTM ? 3 : 2;
  if (PyTuple_GET_SIZE(given.get()) != results || PyTuple_GET_SIZE(args[5]) != NOTES) return not_served();
  for (Py_ssize_t i = 0; i < 3; i++)
    if (!gs.take(i < results ? PyTuple_GET_ITEM(given.get(), i) : Py_None, s.type,
                 i == 0 ? outputs : i == 1 ? hidden : cells, true))
      return answer();
  if (gs.held[0] == nullptr && gs.held[1] == nullptr) return not_served();  // only the cell has a gradient
  const Index lengths[NOTES] = {outputs, area(s.rows, s.width), area(s.rows, s.gates()), area(s.rows, s.width)};
  for (int i = 0; i < NOTES; i++)
    if (!noted.take(PyTuple_GET_ITEM(args[5], i), s.type, lengths[i], s.kind != LSTM && (i == BEFORE_C || i == CURVE)))
      return answer();
  return s.type == NPY_FLOAT ? run_backward<float>(s, in, gs, noted, wanted)
                             : run_backward<double>(s, in, gs, noted, wanted);
}

}  // namespace

PyMethodDef recurrent_methods[] = {
    method<py_recurrence>("recurrence", "recurrence(kind, sizes, reverse, xs): a layer of a recurrent network."),
    method<py_recurrence_backward>(
        "recurrence_backward", "recurrence_backward(kind, sizes, reverse, xs, gs, notes, wanted): its gradients."),
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rg
