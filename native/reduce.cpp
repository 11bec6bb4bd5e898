#include "reduce.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "entry.h"
#include "isa.h"
#include "network.h"
#include "parallel.h"
#include "portable.h"
#include "reduce_axes.h"

namespace rg {

namespace {

#define RG_KERNELS "reduce.inc"
#include "versions.h"

constexpr npy_intp CHUNK = 1 << 15;  // elements of one long run or column block that a thread takes at once

// One step of a reduction: `outer` blocks of `count` rows of `inner` elements become `outer` rows.
struct Step {
  const char* from;
  npy_intp outer, count, inner;
  npy_intp size, out_size;  // of an element of both sides, in bytes
};

template <class Body>
void over(npy_intp n, npy_intp cost, const Body& body) {
  if (n < LARGE && cost < LARGE && n * cost < LARGE) return body(npy_intp(0), n);
  parallel_for(n, std::max<npy_intp>(1, GRAIN / std::max<npy_intp>(cost, 1)), body);
}

// Long runs of which there are few: pieces of them first, then the pieces' results.
void long_runs(const Step& s, const Loops& first, const Loops& then, char* to) {
  const npy_intp pieces = (s.count + CHUNK - 1) / CHUNK;
  std::vector<char> partial(static_cast<size_t>(s.outer * pieces * s.out_size));
  parallel_for(s.outer * pieces, 1, [&](npy_intp begin, npy_intp end) {
    for (npy_intp i = begin; i < end; i++) {
      const npy_intp from = i % pieces * CHUNK;
      first.runs(s.from + (i / pieces * s.count + from) * s.size, 1, std::min(CHUNK, s.count - from),
                 partial.data() + i * s.out_size);
    }
  });
  then.runs(partial.data(), s.outer, pieces, to);
}

void runs(const Step& s, const Loops& first, const Loops& then, char* to) {
  if (s.count > 2 * CHUNK && s.outer < 64) return long_runs(s, first, then, to);
  over(s.outer, s.count, [&](npy_intp begin, npy_intp end) {
    first.runs(s.from + begin * s.count * s.size, end - begin, s.count, to + begin * s.out_size);
  });
}

// Rows [begin, end) of every block, in tiles.
void tiles(const Step& s, const Loops& loops, npy_intp begin, npy_intp end, npy_intp block, npy_intp tile, char* to) {
  const npy_intp from = tile * TILE, n = std::min<npy_intp>(TILE, s.inner - from);
  loops.rows(s.from + ((block * s.count + begin) * s.inner + from) * s.size, end - begin, s.inner, n,
             to + from * s.out_size);
}

// Many rows of few elements: pieces of them first, then the pieces' results.
void long_columns(const Step& s, const Loops& first, const Loops& then, npy_intp piece, char* to) {
  const npy_intp pieces = (s.count + piece - 1) / piece, across = (s.inner + TILE - 1) / TILE;
  std::vector<char> partial(static_cast<size_t>(s.outer * pieces * s.inner * s.out_size));
  parallel_for(s.outer * pieces, 1, [&](npy_intp begin, npy_intp end) {
    for (npy_intp i = begin; i < end; i++) {
      const npy_intp row = i % pieces * piece;
      for (npy_intp tile = 0; tile < across; tile++)
        tiles(s, first, row, std::min(row + piece, s.count), i / pieces, tile,
              partial.data() + i * s.inner * s.out_size);
    }
  });
  const Step rest{partial.data(), s.outer, pieces, s.inner, s.out_size, s.out_size};
  for (npy_intp k = 0; k < s.outer; k++)
    for (npy_intp tile = 0; tile < across; tile++)
      tiles(rest, then, 0, pieces, k, tile, to + k * s.inner * s.out_size);
}

void columns(const Step& s, const Loops& first, const Loops& then, char* to) {
  const npy_intp across = (s.inner + TILE - 1) / TILE, piece = std::max<npy_intp>(16, CHUNK / s.inner);
  if (s.outer * across < 8 && s.count > 2 * piece) return long_columns(s, first, then, piece, to);
  over(s.outer * across, s.count * std::min<npy_intp>(s.inner, TILE), [&](npy_intp begin, npy_intp end) {
    for (npy_intp i = begin; i < end; i++)
      tiles(s, first, 0, s.count, i / across, i % across, to + i / across * s.inner * s.out_size);
  });
}

void step(const Step& s, const Loops& first, const Loops& then, char* to) {
  s.inner == 1 ? runs(s, first, then, to) : columns(s, first, then, to);
}

// All groups of reduced dimensions, the last one first: the array shrinks from behind.
void reduce_into(const ReduceKernel* kernel, int slot, const Axes& axes, const char* from, npy_intp size, char* to,
                 npy_intp out_size) {
  std::vector<char> scratch[2];
  Loops loops = kernel->first[slot];
  npy_intp inner = 1;
  int flip = 0;
  for (int g = axes.groups - 1, left = axes.reduced_groups; left > 0; g--) {
    if (!axes.reduced[g]) {
      inner *= axes.length[g];
      continue;
    }
    npy_intp outer = 1;
    for (int i = 0; i < g; i++) outer *= axes.length[i];
    char* out = to;
    if (--left > 0) {
      scratch[flip].resize(static_cast<size_t>(outer * inner * out_size));
      out = scratch[flip].data();
      flip = 1 - flip;
    }
    step({from, outer, axes.length[g], inner, size, out_size}, loops, kernel->then[slot], out);
    from = out;
    size = out_size;
    loops = kernel->then[slot];
  }
}

void divide(PyObject* out, npy_intp count) {
  const npy_intp n = size_of(out);
  for (npy_intp i = 0; i < n; i++)
    if (kind(out) == NPY_FLOAT)
      data<float>(out)[i] /= static_cast<float>(count);
    else
      data<double>(out)[i] /= static_cast<double>(count);
}

PyObject* reduced(const ReduceKernel* kernel, PyObject* x, PyObject* axis, bool keep) {
  if (!is_plain(x)) return NOT_SERVED;
  const int type = kind(x), slot = slot_of(type);
  if (slot < 0 || kernel->first[slot].runs == nullptr || (kernel->mean && slot > F64)) return NOT_SERVED;
  Axes axes;
  if (!axes.find(x, axis)) return NOT_SERVED;
  Ref out(axes.new_result(x, keep, kernel->truth ? NPY_BOOL : type));
  if (!out) return nullptr;
  {
    const npy_intp size = PyArray_ITEMSIZE(as_array(x)), out_size = PyArray_ITEMSIZE(as_array(out.get()));
    Unlocked unlocked(size_of(x) >= LARGE, INTERRUPTIBLE);
    reduce_into(kernel, slot, axes, data<char>(x), size, data<char>(out.get()), out_size);
    if (kernel->mean) divide(out.get(), axes.count);
  }
  return out.release();
}

PyObject* reduce_call(PyObject* self, Args args, size_t count, PyObject* names) {
  PyObject* axis;
  bool keep;
  if (read_axis(args, count_of(count), names, &axis, &keep)) {
    PyObject* made = reduced(static_cast<const ReduceKernel*>(as_entry(self)->kernels), args[0], axis, keep);
    if (made != NOT_SERVED) return made;
  }
  return by_numpy(self, args, count, names);
}

// The loops of sums and of means, for `quick_reduction`.
const ReduceKernel* sums = nullptr;
const ReduceKernel* means = nullptr;

// sum_of(x, axis, keepdims), mean_of: of an array of floats, without NumPy's keywords; NotImplemented for all else.
template <const ReduceKernel** kernel>
PyObject* quick_reduction(PyObject*, Args args, Py_ssize_t count) {
  if (count != 3 || !PyBool_Check(args[2]) || !is_real(args[0])) Py_RETURN_NOTIMPLEMENTED;
  PyObject* made = reduced(*kernel, args[0], args[1], args[2] == Py_True);
  if (made == NOT_SERVED) Py_RETURN_NOTIMPLEMENTED;
  return made;
}

// -- places of extrema ---------------------------------------------------------------------------------------------

void place_into(const PlaceKernel* kernel, int slot, const Step& s, int64_t* to) {
  if (s.inner == 1) {
    over(s.outer, s.count, [&](npy_intp begin, npy_intp end) {
      kernel->runs[slot](s.from + begin * s.count * s.size, end - begin, s.count, to + begin);
    });
    return;
  }
  const npy_intp across = (s.inner + TILE - 1) / TILE;
  over(s.outer * across, s.count * std::min<npy_intp>(s.inner, TILE), [&](npy_intp begin, npy_intp end) {
    for (npy_intp i = begin; i < end; i++) {
      const npy_intp block = i / across, from = i % across * TILE;
      kernel->rows[slot](s.from + (block * s.count * s.inner + from) * s.size, s.count, s.inner,
                         std::min<npy_intp>(TILE, s.inner - from), to + block * s.inner + from);
    }
  });
}

PyObject* placed(const PlaceKernel* kernel, PyObject* x, PyObject* axis, bool keep) {
  if (!is_dense(x) || !(axis == Py_None || PyLong_CheckExact(axis))) return NOT_SERVED;
  const int slot = slot_of(kind(x));
  if (slot < 0 || kernel->runs[slot] == nullptr) return NOT_SERVED;
  Axes axes;
  if (!axes.find(x, axis) || axes.reduced_groups > 1) return NOT_SERVED;
  if (kind(x) == NPY_FLOAT && axes.count > INT32_MAX) return NOT_SERVED;  // places are as wide as elements
  Ref out(axes.new_result(x, keep, NPY_INT64));
  if (!out) return nullptr;
  Step s{data<char>(x), 1, 1, 1, PyArray_ITEMSIZE(as_array(x)), 8};
  bool seen = false;
  for (int g = 0; g < axes.groups; g++) {
    seen |= axes.reduced[g];
    (axes.reduced[g] ? s.count : seen ? s.inner : s.outer) *= axes.length[g];
  }
  {
    Unlocked unlocked(size_of(x) >= LARGE, INTERRUPTIBLE);
    place_into(kernel, slot, s, data<int64_t>(out.get()));
  }
  return out.release();
}

PyObject* place_call(PyObject* self, Args args, size_t count, PyObject* names) {
  PyObject* axis;
  bool keep;
  if (read_axis(args, count_of(count), names, &axis, &keep)) {
    PyObject* made = placed(static_cast<const PlaceKernel*>(as_entry(self)->kernels), args[0], axis, keep);
    if (made != NOT_SERVED) return made;
  }
  return by_numpy(self, args, count, names);
}

}  // namespace

bool add_reductions(PyObject* module) {
  auto* one = Versions<const ReduceKernel* (*)()>{RG_VERSIONS(reduce_table)}.pick()();
  for (; one->name != nullptr; one++) {
    if (!add_entry<reduce_call>(module, one->name, one)) return false;
    if (strcmp(one->name, "sum") == 0) sums = one;
    if (strcmp(one->name, "mean") == 0) means = one;
  }
  auto* two = Versions<const PlaceKernel* (*)()>{RG_VERSIONS(place_table)}.pick()();
  for (; two->name != nullptr; two++)
    if (!add_entry<place_call>(module, two->name, two)) return false;
  return true;
}

PyMethodDef reduce_methods[] = {
    method<quick_reduction<&means>>("mean_of", "The mean of an array of floats over some axes, or NotImplemented"),
    method<quick_reduction<&sums>>("sum_of", "The sum of an array of floats over some axes, or NotImplemented"),
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rg
