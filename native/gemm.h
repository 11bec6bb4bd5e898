// Products of matrices, for all kernels that need some.
#pragma once
#include <cstddef>

namespace rg {

using Index = std::ptrdiff_t;

// Numbers anywhere in memory: element (i, j) is at[i * row + j * column].
template <class T>
struct Matrix {
  const T* at;
  Index row, column;

  Matrix turned() const { return {at, column, row}; }
  Matrix from(Index i, Index j) const { return {at + i * row + j * column, row, column}; }
};

// Where a product goes: rows of numbers side by side; `plus` (unless it is null, its columns 0 or 1 apart) is added.
template <class T>
struct Target {
  T* at;
  Index row;
  Matrix<T> plus;

  Target from(Index i, Index j) const { return {at + i * row + j, row, plus.at ? plus.from(i, j) : plus}; }
};

template <class T>
constexpr Matrix<T> NOTHING = {nullptr, 0, 0};

struct Sizes {
  Index m, n, k;  // the result has m × n elements, each a sum of k products

  double work() const { return static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k); }
};

constexpr double SHARED_WORK = 1 << 19;  // products from which a second thread pays

// c = plus + a · b. `multiply` works on the thread that calls it; `multiply_shared` on several if that pays. Each
// element is summed in an order that depends on the sizes alone.
template <class T>
void multiply(Sizes sizes, Matrix<T> a, Matrix<T> b, Target<T> c);
template <class T>
void multiply_shared(Sizes sizes, Matrix<T> a, Matrix<T> b, Target<T> c);

// The right operand of many products, copied once into the order in which tiles read it: `packed_size` numbers.
template <class T>
Index packed_size(Index k, Index n);
template <class T>
void pack(Index k, Index n, Matrix<T> b, T* to);
// c = plus + a · b for a packed b, on several threads if that pays.
template <class T>
void multiply_packed(Sizes sizes, Matrix<T> a, const T* b, Target<T> c);

// Memory of this thread for intermediate values, 64-byte aligned. Valid until its next call with the same slot.
void* scratch(int slot, size_t bytes);

}  // namespace rg
