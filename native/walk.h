// Going through several arrays of one broadcast shape together, row by row.
#pragma once
#include "operands.h"
#include "parallel.h"

namespace rg {

constexpr int MOST_DIMS = 8;               // arrays of more dimensions are left to NumPy
constexpr std::ptrdiff_t GRAIN = 1 << 14;  // elements that a thread takes at once
constexpr std::ptrdiff_t STRETCH = 512;    // elements that are gathered at once where they do not lie side by side

// One side of a formula: an array, or a number (which has no dimensions).
struct Operand {
  const char* data;
  int nd;
  const npy_intp *dims, *strides;
  npy_intp size;  // of an element, in bytes
};

inline Operand operand(PyObject* array) {
  Array* a = as_array(array);
  return {PyArray_BYTES(a), PyArray_NDIM(a), PyArray_DIMS(a), PyArray_STRIDES(a), PyArray_ITEMSIZE(a)};
}

// N operands and their common shape; `fit` joins dimensions that lie behind each other in all of them.
template <int N>
class Walk {
 public:
  int nd = 0;                 // of the result
  npy_intp shape[MOST_DIMS];  // of the result
  npy_intp total = 1;

  // False where NumPy has to say what is wrong, or (unless any order will do) would not lay out the result in C order.
  bool fit(const Operand* operands, bool any_order = false) {
    for (int k = 0; k < N; k++) nd = operands[k].nd > nd ? operands[k].nd : nd;
    if (nd > MOST_DIMS) return false;
    for (int i = 0; i < nd; i++) shape[i] = 1;
    for (int k = 0; k < N; k++)
      if (!widen(operands[k])) return false;
    for (int k = 0; k < N; k++) spread(operands[k], k);
    return (any_order || in_order()) && join();
  }

  // The dimensions after joining, and the strides of operand k, in bytes.
  int joined() const { return count_; }
  npy_intp length(int i) const { return dims_[i]; }
  npy_intp stride(int k, int i) const { return strides_[k][i]; }

  // Calls body(pointers, steps, first, count) for stretches of the result: `pointers` to the operands' elements, which
  // are side by side (step 1) or one and the same (step 0; never all), `first` the stretch's place in the result.
  template <class Body>
  void run(const Body& body, Signals signals = INTERRUPTIBLE) const {
    if (total == 0) return;
    if (total < LARGE) return go(0, total / dims_[count_ - 1], 0, dims_[count_ - 1], body);
    run_large(body, signals);
  }

 private:
  template <class Body>
  void run_large(const Body& body, Signals signals) const {
    const npy_intp inner = dims_[count_ - 1], rows = total / inner, parts = (inner + GRAIN - 1) / GRAIN;
    Unlocked unlocked(true, signals);
    if (parts > 1) {
      parallel_for(rows * parts, 1, [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
        for (std::ptrdiff_t i = begin; i < end; i++) {
          const npy_intp from = i % parts * GRAIN, to = from + GRAIN < inner ? from + GRAIN : inner;
          go(i / parts, i / parts + 1, from, to, body);
        }
      });
    } else {
      parallel_for(rows, (GRAIN + inner - 1) / inner,
                   [&](std::ptrdiff_t begin, std::ptrdiff_t end) { go(begin, end, 0, inner, body); });
    }
  }

  bool widen(const Operand& x) {
    npy_intp* out = shape + nd - x.nd;
    for (int i = 0; i < x.nd; i++) {
      if (x.dims[i] == 1 || x.dims[i] == out[i]) continue;
      if (out[i] != 1) return false;
      out[i] = x.dims[i];
    }
    return true;
  }

  void spread(const Operand& x, int k) {
    base_[k] = x.data;
    size_[k] = x.size;
    for (int i = 0; i < nd; i++) {
      const int own = i - (nd - x.nd);
      strides_[k][i] = own >= 0 && x.dims[own] != 1 ? x.strides[own] : 0;
    }
  }

  // NumPy lays a result out like its operands. It is in C order if all of them are (as far as they have the dimensions),
  // or if one is that has all dimensions.
  bool in_order() const {
    bool all = true;
    for (int k = 0; k < N; k++) {
      bool ordered = true, full = true;
      npy_intp last = NPY_MAX_INTP;
      for (int i = 0; i < nd; i++) {
        if (shape[i] == 1) continue;
        const npy_intp stride = strides_[k][i] < 0 ? -strides_[k][i] : strides_[k][i];
        if (stride == 0) {
          full = false;
          continue;
        }
        ordered &= stride <= last;
        last = stride;
      }
      if (ordered && full) return true;
      all &= ordered;
    }
    return all;
  }

  // False where the shape, which may be that of no array yet, is too large for any.
  bool join() {
    count_ = 0;
    npy_intp all = 1;
    for (int i = 0; i < nd; i++) {
      if (shape[i] == 1) continue;
      if (!grow(&all, shape[i])) return false;
      if (count_ > 0 && joins(i)) {
        dims_[count_ - 1] *= shape[i];
        for (int k = 0; k < N; k++) strides_[k][count_ - 1] = strides_[k][i];
      } else {
        dims_[count_] = shape[i];
        for (int k = 0; k < N; k++) strides_[k][count_] = strides_[k][i];
        count_++;
      }
    }
    total = all;
    if (count_ > 0) return true;
    dims_[0] = count_ = 1;
    for (int k = 0; k < N; k++) strides_[k][0] = size_[k];
    return true;
  }

  bool joins(int i) const {
    for (int k = 0; k < N; k++)
      if (strides_[k][count_ - 1] != strides_[k][i] * shape[i]) return false;
    return true;
  }

  // Rows [begin, end), of each the elements [from, to).
  template <class Body>
  void go(npy_intp begin, npy_intp end, npy_intp from, npy_intp to, const Body& body) const {
    npy_intp index[MOST_DIMS];
    const char* at[N];
    for (int k = 0; k < N; k++) at[k] = base_[k] + from * strides_[k][count_ - 1];
    npy_intp rest = begin;
    for (int i = count_ - 2; i >= 0; i--) {
      index[i] = rest % dims_[i];
      rest /= dims_[i];
      for (int k = 0; k < N; k++) at[k] += index[i] * strides_[k][i];
    }
    for (npy_intp row = begin; row < end; row++) {
      one_row(at, row * dims_[count_ - 1] + from, to - from, body);
      for (int i = count_ - 2; i >= 0; i--) {
        for (int k = 0; k < N; k++) at[k] += strides_[k][i];
        if (++index[i] < dims_[i]) break;
        for (int k = 0; k < N; k++) at[k] -= dims_[i] * strides_[k][i];
        index[i] = 0;
      }
    }
  }

  template <class Body>
  void one_row(const char* const* at, npy_intp first, npy_intp n, const Body& body) const {
    std::ptrdiff_t steps[N];
    bool apart = false, moves = false;
    for (int k = 0; k < N; k++) {
      const npy_intp stride = strides_[k][count_ - 1];
      steps[k] = stride != 0;
      moves |= stride != 0;
      apart |= stride != 0 && stride != size_[k];
    }
    if (moves && !apart) return body(at, steps, first, n);
    steps[0] |= !moves;  // one number for the whole row in all operands: the first is repeated
    alignas(64) char gathered[N][STRETCH * 8];
    const char* here[N];
    for (npy_intp begin = 0; begin < n; begin += STRETCH) {
      const npy_intp count = n - begin < STRETCH ? n - begin : STRETCH;
      for (int k = 0; k < N; k++) {
        const npy_intp stride = strides_[k][count_ - 1];
        here[k] = at[k] + begin * stride;
        if (steps[k] == 0 || stride == size_[k]) continue;
        gather(here[k], stride, size_[k], count, gathered[k]);
        here[k] = gathered[k];
      }
      body(here, steps, first + begin, count);
    }
  }

  template <class T>
  static void gather_as(const char* from, npy_intp stride, npy_intp n, char* to) {
    T* out = reinterpret_cast<T*>(to);
    for (npy_intp i = 0; i < n; i++) out[i] = *reinterpret_cast<const T*>(from + i * stride);
  }

  static void gather(const char* from, npy_intp stride, npy_intp size, npy_intp n, char* to) {
    if (size == 8)
      gather_as<int64_t>(from, stride, n, to);
    else if (size == 4)
      gather_as<int32_t>(from, stride, n, to);
    else
      gather_as<char>(from, stride, n, to);
  }

  int count_ = 0;  // dimensions after joining
  npy_intp dims_[MOST_DIMS], strides_[N][MOST_DIMS], size_[N];
  const char* base_[N];
};

}  // namespace rg
