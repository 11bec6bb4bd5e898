// Pooling: largest and average elements of windows, and their gradients.
#include <algorithm>
#include <atomic>
#include <limits>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "convolution.h"
#include "indices.h"
#include "pool.h"
#include "portable.h"
#include "windows.h"

using rg::Index;
using rg::Lines;
using rg::Places;
using rg::Reach;
using rg::Span;
using rg::Windows;

#define RG_KERNELS "pool.inc"
#include "versions.h"

namespace rg {

namespace {

template <class T>
const auto max_rows = Versions<decltype(&base::max_rows<T>)>{RG_VERSIONS(max_rows<T>)}.pick();
template <class T>
const auto max_planes = Versions<decltype(&base::max_planes<T>)>{RG_VERSIONS(max_planes<T>)}.pick();
template <class T>
const auto put_back_plane = Versions<decltype(&base::put_back_plane<T>)>{RG_VERSIONS(put_back_plane<T>)}.pick();
template <class T>
const auto average_plane = Versions<decltype(&base::average_plane<T>)>{RG_VERSIONS(average_plane<T>)}.pick();
template <class T>
const auto average_planes = Versions<decltype(&base::average_planes<T>)>{RG_VERSIONS(average_planes<T>)}.pick();
template <class T>
const auto spread_plane = Versions<decltype(&base::spread_plane<T>)>{RG_VERSIONS(spread_plane<T>)}.pick();
template <class T>
const auto spread_planes = Versions<decltype(&base::spread_planes<T>)>{RG_VERSIONS(spread_planes<T>)}.pick();
template <class T>
const auto turned_size = Versions<decltype(&base::turned_size<T>)>{RG_VERSIONS(turned_size<T>)}.pick();
template <class T>
const Index lanes = Versions<Index>{RG_VERSIONS(Lanes<T>::count)}.pick();

// A new array of another dtype or size of the last dimensions.
PyObject* with_size(PyObject* like, const Index* sizes, int rank, int type) {
  const int nd = PyArray_NDIM(as_array(like));
  npy_intp shape[NPY_MAXDIMS];
  for (int d = 0; d < nd; d++)
    shape[d] = d < nd - rank ? PyArray_DIM(as_array(like), d) : sizes[SPACE - nd + d];
  return new_array(nd, shape, type);
}

Index planes_of(PyObject* array, int rank) {
  Index count = 1;
  for (int d = 0; d < PyArray_NDIM(as_array(array)) - rank; d++) count *= PyArray_DIM(as_array(array), d);
  return count;
}

// -- planes side by side -------------------------------------------------------------------------------------------

constexpr Index CLOSE = 1 << 17;  // bytes that stay close to the processor

Index groups_of(Index count, Index size) { return (count + size - 1) / size; }

Index most_places(const Windows& w) { return w.windows() * std::min(w.taps(), w.elements()); }

// Whether the same window of several planes fills registers better than the windows of a row do, which at the border,
// or where they lie far apart, are looked at one by one.
template <class T>
bool suits_lanes(const Windows& w, Index planes) {
  const Index W = lanes<T>, n = w.number[2];
  if (w.elements() > CLOSE || most_places(w) > CLOSE) return false;  // so that their products are numbers
  if (std::max<Index>(turned_size<T>(w.elements()) * sizeof(T), most_places(w) * sizeof(Place)) > CLOSE) return false;
  const Reach reach = inner_of(w);
  const Index inner = w.stride[2] > 2 ? 0 : reach.last - reach.first;
  return groups_of(planes, W) * n <= planes * (groups_of(inner, W) + n - inner);
}

// In memory of this thread, which others may read.
Places list_places(const Windows& w) {
  const Index windows = w.windows();
  Place* begin = static_cast<Place*>(scratch(2, static_cast<size_t>(2 * windows + 1 + most_places(w)) * sizeof(Place)));
  Place *first = begin + windows + 1, *at = first + windows;
  Place count = 0;
  for (Index i = 0; i < windows; i++) {
    const Lines lines = lines_of(w, i / w.number[2]);
    const Span x = span_of(w, 2, i % w.number[2]);
    begin[i] = count;
    first[i] = static_cast<Place>(start_of(w, lines, x));
    base::each_place(w, lines, x, [&](Index place) { at[count++] = static_cast<Place>(place); });
  }
  begin[windows] = count;
  return {w.elements(), windows, w.number[2], at, begin, first};
}

// Calls body(places, first plane, how many planes, memory) for all planes, as many at a time as a register has lanes.
template <class T, class Body>
void over_lanes(const Windows& w, Index planes, const Body& body) {
  const Index W = lanes<T>;
  const Places p = list_places(w);
  const Index room = turned_size<T>(p.elements) + 2 * turned_size<T>(p.windows);
  over(groups_of(planes, W), W * p.windows * w.taps(), [&](Index begin, Index end) {
    void* memory = scratch(1, static_cast<size_t>(room) * sizeof(T));
    for (Index plane = begin * W; plane < std::min(planes, end * W); plane += W)
      body(p, plane, std::min(W, planes - plane), memory);
  });
}

// -- the largest ---------------------------------------------------------------------------------------------------

template <class T>
void maxima(const Windows& w, Index planes, const T* x, T* values, std::int64_t* positions) {
  const Index rows = w.number[0] * w.number[1], windows = w.windows();
  if (suits_lanes<T>(w, planes))
    return over_lanes<T>(w, planes, [&](const Places& p, Index plane, Index count, void* memory) {
      max_planes<T>(p, x + plane * p.elements, count, values + plane * windows,
                    positions ? positions + plane * windows : nullptr, memory);
    });
  over(planes * rows, w.number[2] * w.taps(), [&](Index begin, Index end) {
    while (begin < end) {
      const Index plane = begin / rows, first = begin % rows, last = std::min(rows, first + end - begin);
      max_rows<T>(w, x + plane * w.elements(), first, last, values + plane * windows,
                  positions ? positions + plane * windows : nullptr);
      begin += last - first;
    }
  });
}

PyObject* max_pool(PyObject*, Args args, Py_ssize_t count) {
  Windows w;
  if (count != 3 || !is_real(args[0]) || !read_windows(args[1], &w) || !ends_in(args[0], w, w.size))
    return not_served();
  const Ref held(dense(args[0]));
  PyObject* x = held.get();
  if (x == nullptr) return nullptr;
  const bool wanted = args[2] == Py_True;
  Ref values(with_size(x, w.number, w.rank, kind(x)));
  Ref positions(wanted ? with_size(x, w.number, w.rank, NPY_INT64) : Py_NewRef(Py_None));
  if (!values || !positions) return nullptr;
  std::int64_t* where = wanted ? data<std::int64_t>(positions.get()) : nullptr;
  if (kind(x) == NPY_FLOAT)
    maxima<float>(w, planes_of(x, w.rank), data<float>(x), data<float>(values.get()), where);
  else
    maxima<double>(w, planes_of(x, w.rank), data<double>(x), data<double>(values.get()), where);
  return wanted ? PyTuple_Pack(2, values.get(), positions.get()) : values.release();
}

// -- windows of any shape ------------------------------------------------------------------------------------------

// Which elements of one dimension the windows have: [place in the window][window].
struct Cover {
  std::vector<Index> at;
  Index places, windows, size;
};

// Copies what is used without the GIL: another thread might change it.
bool read_cover(PyObject* array, Index size, Cover* c) {
  if (!is_index(array) || PyArray_NDIM(as_array(array)) != 2) return false;
  *c = {{}, PyArray_DIM(as_array(array), 0), PyArray_DIM(as_array(array), 1), size};
  const std::int64_t* from = data<std::int64_t>(array);
  c->at.assign(from, from + size_of(array));
  return c->places > 0 && are_within(c->at.data(), size_of(array), 0, size);
}

template <class T>
void cover_window(const Cover (&c)[SPACE], const T* plane, Index z, Index y, Index x, T* value, std::int64_t* position) {
  bool begun = false;
  for (Index kz = 0; kz < c[0].places; kz++)
    for (Index ky = 0; ky < c[1].places; ky++)
      for (Index kx = 0; kx < c[2].places; kx++) {
        const Index row = c[0].at[kz * c[0].windows + z] * c[1].size + c[1].at[ky * c[1].windows + y];
        const Index at = row * c[2].size + c[2].at[kx * c[2].windows + x];
        if (begun && !(plane[at] > *value || plane[at] != plane[at])) continue;
        begun = true;
        *value = plane[at];
        *position = at;
      }
}

template <class T>
void cover_maxima(const Cover (&c)[SPACE], Index planes, const T* from, T* values, std::int64_t* positions) {
  const Index size = c[0].size * c[1].size * c[2].size, windows = c[0].windows * c[1].windows * c[2].windows;
  over(planes, size, [&](Index begin, Index end) {
    for (Index plane = begin; plane < end; plane++)
      for (Index i = 0; i < windows; i++)
        cover_window<T>(c, from + plane * size, i / c[2].windows / c[1].windows, i / c[2].windows % c[1].windows,
                        i % c[2].windows, values + plane * windows + i, positions + plane * windows + i);
  });
}

PyObject* max_cover(PyObject*, Args args, Py_ssize_t count) {
  if (count != 2 || !is_real(args[0]) || !PyTuple_Check(args[1])) return not_served();
  const Ref held(dense(args[0]));
  PyObject* x = held.get();
  if (x == nullptr) return nullptr;
  const int rank = static_cast<int>(PyTuple_GET_SIZE(args[1])), nd = PyArray_NDIM(as_array(x));
  if (rank < 1 || rank > SPACE || rank > nd) return not_served();
  Cover covers[SPACE] = {{{0}, 1, 1, 1}, {{0}, 1, 1, 1}, {{0}, 1, 1, 1}};
  Index sizes[SPACE];
  for (int d = SPACE - rank; d < SPACE; d++) {
    const Index size = PyArray_DIM(as_array(x), nd - SPACE + d);
    if (!read_cover(PyTuple_GET_ITEM(args[1], d - SPACE + rank), size, &covers[d])) return not_served();
    sizes[d] = covers[d].windows;
  }
  Ref values(with_size(x, sizes, rank, kind(x))), positions(with_size(x, sizes, rank, NPY_INT64));
  if (!values || !positions) return nullptr;
  std::int64_t* where = data<std::int64_t>(positions.get());
  if (size_of(values.get()) == 0) {
    // There is nothing to look for, maybe in very many planes.
  } else if (kind(x) == NPY_FLOAT)
    cover_maxima<float>(covers, planes_of(x, rank), data<float>(x), data<float>(values.get()), where);
  else
    cover_maxima<double>(covers, planes_of(x, rank), data<double>(x), data<double>(values.get()), where);
  return PyTuple_Pack(2, values.get(), positions.get());
}

// -- the gradient of the largest -----------------------------------------------------------------------------------

// Adds each number at its position in a plane of zeros; false if a position is none.
template <class T>
bool put_back(Index planes, Index windows, Index size, const T* g, const std::int64_t* positions, T* out) {
  std::atomic<bool> good{true};
  over(planes, size + windows, [&](Index begin, Index end) {
    for (Index plane = begin; plane < end; plane++)
      if (!put_back_plane<T>(g + plane * windows, positions + plane * windows, windows, out + plane * size, size))
        good = false;
  });
  return good;
}

// Reads the shape that a gradient gets: like that of g but for the last `rank` dimensions.
bool read_shape(PyObject* tuple, PyObject* g, int rank, npy_intp* shape) {
  const int nd = PyArray_NDIM(as_array(g));
  if (rank < 1 || rank > nd || !read_lengths(tuple, nd, shape)) return false;
  return std::equal(shape, shape + nd - rank, PyArray_DIMS(as_array(g)));
}

template <class T>
bool put_back_in(PyObject* g, PyObject* positions, int rank, PyObject* out) {
  const Index planes = planes_of(g, rank);
  if (size_of(out) == 0) return size_of(g) == 0;
  return put_back<T>(planes, size_of(g) / planes, size_of(out) / planes, data<T>(g), data<std::int64_t>(positions),
                     data<T>(out));
}

PyObject* max_pool_back(PyObject*, Args args, Py_ssize_t count) {
  if (count != 4) return not_served();
  long given;
  if (!read_whole(args[3], &given)) return nullptr;
  const int rank = given < 0 || given > NPY_MAXDIMS ? 0 : static_cast<int>(given);
  if (!is_real(args[0]) || !is_of(args[1], NPY_INT64) || !same_shape(args[0], args[1])) return not_served();
  npy_intp shape[NPY_MAXDIMS];
  const int type = kind(args[0]);
  if (!read_shape(args[2], args[0], rank, shape)) return not_served();
  const Ref g(dense(args[0])), positions(dense(args[1]));
  Ref out(new_array(PyArray_NDIM(as_array(args[0])), shape, type));
  if (!g || !positions || !out) return nullptr;
  const auto run = type == NPY_FLOAT ? put_back_in<float> : put_back_in<double>;
  return run(g.get(), positions.get(), rank, out.get()) ? out.release() : not_served();
}

// -- averages ------------------------------------------------------------------------------------------------------

// Whether divisors are of the array's dtype, one for all windows or one for each.
bool suits_divisors(PyObject* divisors, PyObject* x, const Windows& w) {
  return is_dense(divisors) && kind(divisors) == kind(x) && (size_of(divisors) == 1 || size_of(divisors) == w.windows());
}

template <class T>
void averages(const Windows& w, PyObject* array, PyObject* divisors, PyObject* found) {
  const Index planes = planes_of(array, w.rank), step = size_of(divisors) > 1;
  const T *x = data<T>(array), *by = data<T>(divisors);
  T* out = data<T>(found);
  if (suits_lanes<T>(w, planes))
    return over_lanes<T>(w, planes, [&](const Places& p, Index plane, Index count, void* memory) {
      average_planes<T>(p, x + plane * p.elements, count, by, step, out + plane * p.windows, memory);
    });
  over(planes, w.windows() * w.taps(), [&](Index begin, Index end) {
    for (Index plane = begin; plane < end; plane++)
      average_plane<T>(w, x + plane * w.elements(), by, step, out + plane * w.windows());
  });
}

template <class T>
void spread_averages(const Windows& w, PyObject* array, PyObject* divisors, PyObject* found) {
  const Index planes = planes_of(array, w.rank), step = size_of(divisors) > 1;
  const T *g = data<T>(array), *by = data<T>(divisors);
  T* out = data<T>(found);
  if (suits_lanes<T>(w, planes))
    return over_lanes<T>(w, planes, [&](const Places& p, Index plane, Index count, void* memory) {
      spread_planes<T>(p, g + plane * p.windows, count, by, step, out + plane * p.elements, memory);
    });
  over(planes, w.windows() * w.taps(), [&](Index begin, Index end) {
    void* memory = scratch(1, static_cast<size_t>(w.number[2]) * sizeof(T));
    for (Index plane = begin; plane < end; plane++)
      spread_plane<T>(w, g + plane * w.windows(), by, step, out + plane * w.elements(), memory);
  });
}

PyObject* avg_pool(PyObject*, Args args, Py_ssize_t count) {
  Windows w;
  if (count != 3 || !is_real(args[0]) || !read_windows(args[1], &w) || !ends_in(args[0], w, w.size) ||
      !suits_divisors(args[2], args[0], w))
    return not_served();
  const Ref x(dense(args[0]));
  Ref out(with_size(args[0], w.number, w.rank, kind(args[0])));
  if (!x || !out) return nullptr;
  (kind(args[0]) == NPY_FLOAT ? averages<float> : averages<double>)(w, x.get(), args[2], out.get());
  return out.release();
}

PyObject* avg_pool_back(PyObject*, Args args, Py_ssize_t count) {
  Windows w;
  if (count != 3 || !is_real(args[0]) || !read_windows(args[1], &w) || !ends_in(args[0], w, w.number) ||
      !suits_divisors(args[2], args[0], w))
    return not_served();
  const Ref x(dense(args[0]));
  Ref out(with_size(args[0], w.size, w.rank, kind(args[0])));
  if (!x || !out) return nullptr;
  (kind(args[0]) == NPY_FLOAT ? spread_averages<float> : spread_averages<double>)(w, x.get(), args[2], out.get());
  return out.release();
}

}  // namespace

PyMethodDef pool_methods[] = {
    method<avg_pool>("avg_pool", "The average of each window: (x, windows, divisors)."),
    method<avg_pool_back>("avg_pool_back", "The transpose of avg_pool: (g, windows, divisors)."),
    method<max_cover>("max_cover", "The largest elements of windows of any shape, and where they are: (x, covers)."),
    method<max_pool>("max_pool", "The largest element of each window, and if asked where: (x, windows, wanted)."),
    method<max_pool_back>("max_pool_back", "Numbers added at positions of planes: (g, positions, shape, rank)."),
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rg
