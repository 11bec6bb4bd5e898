// Attention as Python calls it.
#include "attention.h"

#include <type_traits>
#include <utility>

#include "convolution.h"
#include "network.h"

namespace rg {

namespace {

constexpr double MOST_SCORES = 1e12;

npy_intp length(PyObject* a, int axis) { return PyArray_DIM(as_array(a), axis); }

// The distance of two neighbours, 0 where there is only one.
Index step(PyObject* a, int axis) {
  return length(a, axis) > 1 ? PyArray_STRIDE(as_array(a), axis) / PyArray_ITEMSIZE(as_array(a)) : 0;
}

// Whether an operand has four dimensions and its columns side by side.
bool suits(PyObject* a, int type) {
  return is_of(a, type) && PyArray_NDIM(as_array(a)) == 4 && (length(a, 3) <= 1 || step(a, 3) == 1);
}

template <class T>
Heads<T> heads_of(PyObject* a) {
  return {data<std::remove_const_t<T>>(a), step(a, 0), step(a, 1), step(a, 2)};
}

// A mask of two or four dimensions that is broadcast to [batch, head, query, key]; false if it is another.
template <class T>
bool read_mask(PyObject* mask, const Attention<T>& a, int type, Mask<T>* m) {
  *m = {nullptr, 0, 0, 0, 0};
  if (mask == Py_None) return true;
  if (!is_of(mask, type)) return false;
  const int nd = PyArray_NDIM(as_array(mask));
  if (nd != 2 && nd != 4) return false;
  const Index sizes[] = {a.batch, a.heads, a.queries, a.keys};
  Index* const steps[] = {&m->batch, &m->head, &m->row, &m->column};
  for (int d = 4 - nd; d < 4; d++) {
    const Index n = length(mask, d - (4 - nd));
    if (n != 1 && n != sizes[d]) return false;
    *steps[d] = step(mask, d - (4 - nd));
  }
  m->at = data<T>(mask);
  return m->column == 0 || m->column == 1;
}

// Whether there is something to work on, and not more than memory could hold: operands may be broadcast.
bool has_scores(Index rows, Index columns) {
  return rows > 0 && columns > 0 && static_cast<double>(rows) * static_cast<double>(columns) < MOST_SCORES;
}

// Arguments query, key, value, mask, whether causal, scale; false if the kernel is not for them.
template <class T>
bool read_attention(Args args, Attention<T>* a) {
  PyObject *q = args[0], *k = args[1], *v = args[2];
  const int type = kind(q);
  if (!suits(q, type) || !suits(k, type) || !suits(v, type) || !same_shape(k, v)) return false;
  if (length(k, 0) != length(q, 0) || length(k, 3) != length(q, 3) || length(k, 1) == 0) return false;
  if (length(q, 1) % length(k, 1) != 0 || !PyFloat_Check(args[5])) return false;
  a->batch = length(q, 0), a->heads = length(q, 1), a->shared = length(q, 1) / length(k, 1);
  a->queries = length(q, 2), a->keys = length(k, 2), a->width = length(q, 3);
  a->causal = args[4] == Py_True;
  a->scale = static_cast<T>(PyFloat_AS_DOUBLE(args[5]));
  a->q = heads_of<const T>(q), a->k = heads_of<const T>(k), a->v = heads_of<const T>(v);
  return has_scores(a->batch, a->heads) && has_scores(a->queries, a->keys) && has_scores(a->width, a->keys) &&
         read_mask(args[3], *a, type, &a->mask);
}

// A new array of the shape of another one; with `turned` in the order batch, row, head, column in memory.
PyObject* new_heads(PyObject* like, bool turned) {
  npy_intp shape[4] = {length(like, 0), length(like, 1), length(like, 2), length(like, 3)};
  if (!turned) return new_array(4, shape, kind(like));
  std::swap(shape[1], shape[2]);
  const Ref made(new_array(4, shape, kind(like)));
  return made ? PyArray_SwapAxes(as_array(made.get()), 1, 2) : nullptr;
}

template <class T>
PyObject* attended(Args args) {
  Attention<T> a;
  if (!read_attention(args, &a)) return not_served();
  Ref out(new_heads(args[0], a.q.head < a.q.row));
  if (!out) return nullptr;
  const Heads<T> to = heads_of<T>(out.get());
  {
    Unlocked unlocked(true, INTERRUPTIBLE);
    attend<T>(a, to);
  }
  return out.release();
}

template <class T>
Heads<T> wanted_heads(const Ref& array) {
  return array.get() == Py_None ? Heads<T>{} : heads_of<T>(array.get());
}

template <class T>
PyObject* attended_back(PyObject* gradient, Args args, long wanted) {
  Attention<T> a;
  if (!suits(gradient, kind(args[0])) || !same_shape(gradient, args[0]) || !read_attention(args, &a)) return not_served();
  const Ref dq(wanted & 1 ? new_heads(args[0], true) : Py_NewRef(Py_None));
  const Ref dk(wanted & 2 ? new_heads(args[1], true) : Py_NewRef(Py_None));
  const Ref dv(wanted & 4 ? new_heads(args[2], true) : Py_NewRef(Py_None));
  if (!dq || !dk || !dv) return nullptr;
  const Gradients<T> to = {heads_of<const T>(gradient), wanted_heads<T>(dq), wanted_heads<T>(dk), wanted_heads<T>(dv)};
  {
    Unlocked unlocked(true, INTERRUPTIBLE);
    attend_back<T>(a, to);
  }
  return PyTuple_Pack(3, dq.get(), dk.get(), dv.get());
}

PyObject* attention(PyObject*, Args args, Py_ssize_t count) {
  if (count != 6 || !is_real(args[0])) return not_served();
  return kind(args[0]) == NPY_FLOAT ? attended<float>(args) : attended<double>(args);
}

PyObject* attention_back(PyObject*, Args args, Py_ssize_t count) {
  if (count != 8) return not_served();
  long wanted;
  if (!read_whole(args[7], &wanted)) return nullptr;
  if (!is_real(args[0]) || !is_real(args[1])) return not_served();
  if (kind(args[1]) == NPY_FLOAT) return attended_back<float>(args[0], args + 1, wanted);
  return attended_back<double>(args[0], args + 1, wanted);
}

}  // namespace

PyMethodDef attention_methods[] = {
    method<attention>("attention", "softmax(scale * q @ k.mT + mask) @ v: (q, k, v, mask, is_causal, scale)."),
    method<attention_back>("attention_back", "Its gradients: (g, q, k, v, mask, is_causal, scale, wanted bits)."),
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rg
