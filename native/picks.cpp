// Elements that an index names along a dimension: read, written and added to.
#include "picks.h"

#include <atomic>
#include <cstring>

#include "entry.h"
#include "indices.h"
#include "network.h"
#include "operands.h"
#include "reduce_axes.h"

namespace rg {

namespace {

// (index, low, high): the first index outside, None if there is none; NotImplemented for other kinds of index
PyObject* py_outside(PyObject*, Args args, Py_ssize_t count) {
  if (count != 3) Py_RETURN_NOTIMPLEMENTED;
  const npy_int64 low = PyLong_AsLongLong(args[1]);
  if (low == -1 && PyErr_Occurred()) return nullptr;
  const npy_int64 high = PyLong_AsLongLong(args[2]);
  if (high == -1 && PyErr_Occurred()) return nullptr;
  if (!is_index(args[0])) Py_RETURN_NOTIMPLEMENTED;
  const npy_int64* index = data<npy_int64>(args[0]);
  const npy_intp n = size_of(args[0]);
  for (npy_intp i = 0; i < n; i++) {
    const npy_int64 at = index[i];
    if (at < low || at >= high) return PyLong_FromLongLong(at);
  }
  Py_RETURN_NONE;
}

// -- one element per place of the index ----------------------------------------------------------------------------

// An index of as many dimensions as an array has, and the elements that it names: along the axis those at the indices,
// along the others those at the same place.
class Picks {
 public:
  // False where the index is none for this array.
  bool fit(PyObject* array, PyObject* indices, PyObject* number) {
    if (!is_dense(array) || !is_number(kind(array)) || !is_index(indices)) return false;
    const int axis = axis_of(number, array);
    Array *a = as_array(array), *i = as_array(indices);
    nd_ = PyArray_NDIM(a);
    if (axis < 0 || PyArray_NDIM(i) != nd_) return false;
    npy_intp step = 1;
    for (int d = nd_ - 1; d >= 0; d--) {
      dims_[d] = PyArray_DIM(i, d);
      if (d != axis && dims_[d] > PyArray_DIM(a, d)) return false;
      steps_[d] = d == axis ? 0 : step;
      if (d == axis) along_ = step;
      step *= PyArray_DIM(a, d);
    }
    total_ = size_of(indices);
    index_ = data<npy_int64>(indices);
    length_ = PyArray_DIM(a, axis);
    return true;
  }

  // Whether all indices point inside, as they are now.
  bool inside() const { return are_within(index_, total_, 0, length_); }

  npy_intp rows() const { return total_ == 0 ? 0 : total_ / dims_[nd_ - 1]; }
  npy_intp width() const { return dims_[nd_ - 1]; }

  // Calls body(place in the index, place in the array), both counted in elements, for rows [begin, end) of the index;
  // false if an index points outside. Each is read once: somebody may change it meanwhile.
  template <class Body>
  bool run(npy_intp begin, npy_intp end, const Body& body) const {
    if (begin == end) return true;
    const npy_intp n = width(), step = steps_[nd_ - 1];
    bool inside = true;
    npy_intp at[NPY_MAXDIMS], base = 0, rest = begin;
    for (int d = nd_ - 2; d >= 0; d--) {
      at[d] = rest % dims_[d];
      rest /= dims_[d];
      base += at[d] * steps_[d];
    }
    for (npy_intp row = begin; row < end; row++) {
      for (npy_intp j = 0, i = row * n; j < n; j++, i++) {
        const npy_int64 at = read_index(index_ + i);
        if (is_inside(at, length_))
          body(i, base + j * step + at * along_);
        else
          inside = false;
      }
      for (int d = nd_ - 2; d >= 0; d--) {
        base += steps_[d];
        if (++at[d] < dims_[d]) break;
        base -= dims_[d] * steps_[d];
        at[d] = 0;
      }
    }
    return inside;
  }

 private:
  int nd_ = 0;
  npy_intp dims_[NPY_MAXDIMS], steps_[NPY_MAXDIMS], along_ = 0, length_ = 0, total_ = 0;
  const npy_int64* index_ = nullptr;
};

struct Sixteen {
  npy_uint64 half[2];
};

// Calls body with an element of the size that is given; false where there is none.
template <class Body>
bool of_size(npy_intp size, const Body& body) {
  switch (size) {
    case 1: return body(npy_uint8()), true;
    case 2: return body(npy_uint16()), true;
    case 4: return body(npy_uint32()), true;
    case 8: return body(npy_uint64()), true;
    case 16: return body(Sixteen()), true;
    default: return false;
  }
}

// (x, index, axis): the elements that the index names
PyObject* py_take_along(PyObject*, Args args, Py_ssize_t count) {
  Picks picks;
  if (count != 3 || !picks.fit(args[0], args[1], args[2])) return not_served();
  Array* index = as_array(args[1]);
  Ref out(new_array(PyArray_NDIM(index), PyArray_DIMS(index), kind(args[0])));
  if (!out) return nullptr;
  std::atomic<bool> inside{true};
  const bool done = of_size(PyArray_ITEMSIZE(as_array(args[0])), [&](auto element) {
    using T = decltype(element);
    const T* from = data<T>(args[0]);
    T* to = data<T>(out.get());
    over(picks.rows(), picks.width(), [=, &picks, &inside](npy_intp begin, npy_intp end) {
      if (!picks.run(begin, end, [=](npy_intp i, npy_intp place) { to[i] = from[place]; })) inside = false;
    });
  });
  return done && inside ? out.release() : not_served();
}

// Integers wrap around, as NumPy's do.
template <class T>
T sum(T a, T b) {
  return a + b;
}
npy_int64 sum(npy_int64 a, npy_int64 b) {
  return static_cast<npy_int64>(static_cast<npy_uint64>(a) + static_cast<npy_uint64>(b));
}

// Values for the places of an index: as many as it has, or one number for all; null where they do not fit.
PyObject* values_for(PyObject* values, PyObject* index, int type) {
  if (!is_of(values, type)) return nullptr;
  if (PyArray_NDIM(as_array(values)) > 0 && !same_shape(values, index)) return nullptr;
  PyObject* found = dense(values);
  if (found == nullptr) PyErr_Clear();
  return found;
}

// (out, index, axis, values): writes the values to the elements that the index names; True, or None
PyObject* py_put_along(PyObject*, Args args, Py_ssize_t count) {
  Picks picks;
  if (count != 4 || !picks.fit(args[0], args[1], args[2]) || !PyArray_ISWRITEABLE(as_array(args[0]))) return not_served();
  Ref values(values_for(args[3], args[1], kind(args[0])));
  if (!values || !picks.inside()) return not_served();
  const npy_intp step = PyArray_NDIM(as_array(values.get())) > 0;
  bool inside = true;
  const bool done = of_size(PyArray_ITEMSIZE(as_array(args[0])), [&](auto element) {
    using T = decltype(element);
    const T* from = data<T>(values.get());
    T* to = data<T>(args[0]);
    inside = picks.run(0, picks.rows(), [=](npy_intp i, npy_intp place) { to[place] = from[i * step]; });
  });
  if (!inside) return index_changed();
  return Py_NewRef(done ? Py_True : Py_None);
}

template <class T>
PyObject* add_values(const Picks& picks, PyObject* values, PyObject* out) {
  const T* from = data<T>(values);
  T* to = data<T>(out);
  const npy_intp step = PyArray_NDIM(as_array(values)) > 0;
  const bool inside = picks.run(0, picks.rows(), [=](npy_intp i, npy_intp place) {
    to[place] = sum(to[place], from[i * step]);
  });
  return inside ? Py_NewRef(Py_True) : index_changed();
}

// (out, index, axis, values): adds the values to the elements that the index names; True, or None
PyObject* py_add_along(PyObject*, Args args, Py_ssize_t count) {
  Picks picks;
  if (count != 4 || !picks.fit(args[0], args[1], args[2]) || !PyArray_ISWRITEABLE(as_array(args[0]))) return not_served();
  Ref values(values_for(args[3], args[1], kind(args[0])));
  if (!values || !picks.inside()) return not_served();
  switch (kind(args[0])) {
    case NPY_FLOAT: return add_values<float>(picks, values.get(), args[0]);
    case NPY_DOUBLE: return add_values<double>(picks, values.get(), args[0]);
    case NPY_INT64: return add_values<npy_int64>(picks, values.get(), args[0]);
    default: return not_served();
  }
}

// -- whole slices --------------------------------------------------------------------------------------------------

// `outer` blocks of `count` slices of `bytes`: of each block those at `n` indices, negative ones counted from the end.
struct Slices {
  const char* from;
  npy_intp outer, count, bytes;
  const npy_int64* index;
  npy_intp n;

  template <class Copy>
  bool each(char* to, const Copy& copy) const {
    std::atomic<bool> inside{true};
    over(outer * n, bytes / 4 + 1, [=, &inside, s = *this](npy_intp begin, npy_intp end) {
      const char* block = s.from + begin / s.n * s.count * s.bytes;
      for (npy_intp i = begin, j = begin % s.n; i < end; i++) {
        npy_int64 at = read_index(s.index + j);
        at += at < 0 ? s.count : 0;
        if (is_inside(at, s.count))
          copy(to + i * s.bytes, block + at * s.bytes);
        else
          inside = false;
        if (++j < s.n) continue;
        j = 0;
        block += s.count * s.bytes;
      }
    });
    return inside;
  }

  // False if an index points outside. Each is read once: somebody may change it meanwhile.
  bool read(char* to) const {
    const npy_intp size = bytes;
    if (size == 4) return each(to, [](char* out, const char* in) { std::memcpy(out, in, 4); });
    if (size == 8) return each(to, [](char* out, const char* in) { std::memcpy(out, in, 8); });
    return each(to, [size](char* out, const char* in) { std::memcpy(out, in, static_cast<size_t>(size)); });
  }
};

PyObject* taken(PyObject* x, PyObject* indices, PyObject* number) {
  if (!is_dense(x) || !is_number(kind(x)) || !is_index(indices)) return NOT_SERVED;
  Array *a = as_array(x), *index = as_array(indices);
  const bool flat = number == Py_None;
  const int axis = flat ? 0 : axis_of(number, x), nd = PyArray_NDIM(index);
  if (axis < 0 || nd + PyArray_NDIM(a) > NPY_MAXDIMS) return NOT_SERVED;
  const Split s = flat ? Split{1, size_of(x), 1} : split(x, axis, axis + 1);
  if (s.count == 0) return NOT_SERVED;
  const npy_intp n = size_of(indices);
  npy_intp dims[NPY_MAXDIMS];
  int rank = 0;
  for (int d = 0; d < axis; d++) dims[rank++] = PyArray_DIM(a, d);
  for (int d = 0; d < nd; d++) dims[rank++] = PyArray_DIM(index, d);
  for (int d = axis + 1; !flat && d < PyArray_NDIM(a); d++) dims[rank++] = PyArray_DIM(a, d);
  Ref out(new_array(rank, dims, kind(x)));
  if (!out) return nullptr;
  if (size_of(out.get()) == 0)
    return are_within(data<npy_int64>(indices), n, -s.count, s.count) ? out.release() : NOT_SERVED;
  const Slices slices{data<char>(x), s.outer, s.count, s.inner * PyArray_ITEMSIZE(a), data<npy_int64>(indices), n};
  return slices.read(data<char>(out.get())) ? out.release() : NOT_SERVED;
}

// take(x, indices, axis=None)
PyObject* take_call(PyObject* self, Args args, size_t count, PyObject* names) {
  const Py_ssize_t given = count_of(count), named = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
  const bool axis_named = given == 2 && named == 1 && is_named(PyTuple_GET_ITEM(names, 0), "axis");
  if ((named == 0 && (given == 2 || given == 3)) || axis_named) {
    PyObject* made = taken(args[0], args[1], given + named == 3 ? args[2] : Py_None);
    if (made != NOT_SERVED) return made;
  }
  return by_numpy(self, args, count, names);
}

}  // namespace

PyMethodDef pick_methods[] = {
    method<py_outside>("outside", "outside(index, low, high): the first index that is not within, or None."),
    method<py_take_along>("take_along", "take_along(x, index, axis), or None where the kernel does not serve."),
    method<py_put_along>("put_along", "put_along(out, index, axis, values): writes in place; True, or None."),
    method<py_add_along>("add_along", "add_along(out, index, axis, values): adds in place; True, or None."),
    {nullptr, nullptr, 0, nullptr}};

bool add_picks(PyObject* module) { return add_entry<take_call>(module, "take", nullptr); }

}  // namespace rg
