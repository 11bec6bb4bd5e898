#include "gemm.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

#include "parallel.h"
#include "portable.h"

using rg::Index;
using rg::Matrix;
using rg::Sizes;
using rg::Target;

#define RG_KERNELS "gemm.inc"
#include "versions.h"

namespace rg {

namespace {

template <class T>
using Block = void (*)(Sizes, Matrix<T>, Matrix<T>, Target<T>, void*);

template <class T>
const Block<T> multiply_block = Versions<Block<T>>{RG_VERSIONS(multiply_block<T>)}.pick();

template <class T>
const auto block_scratch = Versions<size_t (*)(Sizes)>{RG_VERSIONS(block_scratch<T>)}.pick();

constexpr Index TALL = 128, BROAD = 256;  // the largest block: its rows of a fit into the second cache
constexpr Index FEW = 8;                  // blocks that several threads can share evenly

// How a result is divided: by sizes alone.
Sizes block_of(Sizes s) {
  Sizes block = {std::min(s.m, TALL), std::min(s.n, BROAD), s.k};
  auto count = [&] { return ((s.m + block.m - 1) / block.m) * ((s.n + block.n - 1) / block.n); };
  while (count() < FEW && block.work() > SHARED_WORK) {
    if (block.n >= block.m && block.n > 64)
      block.n = (block.n / 2 + 31) / 32 * 32;
    else if (block.m > 16)
      block.m = (block.m / 2 + 7) / 8 * 8;
    else
      break;
  }
  return block;
}

// Memory that a thread keeps until it ends.
struct Kept {
  void* memory = nullptr;
  size_t bytes = 0;
  ~Kept() { aligned_release(memory); }
};

}  // namespace

void* scratch(int slot, size_t bytes) {
  thread_local Kept kept[4];
  Kept& mine = kept[slot];
  if (mine.bytes < bytes) {
    aligned_release(mine.memory);
    mine.bytes = 0;
    mine.memory = aligned_memory(bytes);
    mine.bytes = bytes;
  }
  return mine.memory;
}

template <class T>
void multiply(Sizes s, Matrix<T> a, Matrix<T> b, Target<T> c) {
  for (Index i = 0; i < s.m; i += TALL) {
    Sizes part = {std::min(TALL, s.m - i), s.n, s.k};
    multiply_block<T>(part, a.from(i, 0), b, c.from(i, 0), scratch(0, block_scratch<T>(part)));
  }
}

template <class T>
void multiply_shared(Sizes s, Matrix<T> a, Matrix<T> b, Target<T> c) {
  if (s.m == 0 || s.n == 0) return;
  Sizes block = block_of(s);
  Index across = (s.n + block.n - 1) / block.n, down = (s.m + block.m - 1) / block.m;
  parallel_for(across * down, 1, [=](Index begin, Index end) {
    for (Index t = begin; t < end; t++) {
      Index i = t / across * block.m, j = t % across * block.n;
      Sizes part = {std::min(block.m, s.m - i), std::min(block.n, s.n - j), s.k};
      multiply_block<T>(part, a.from(i, 0), b.from(0, j), c.from(i, j), scratch(0, block_scratch<T>(part)));
    }
  });
}

template <class T>
Index packed_size(Index k, Index n) {
  static const auto size = Versions<Index (*)(Index, Index)>{RG_VERSIONS(packed_size<T>)}.pick();
  return size(k, n);
}

template <class T>
void pack(Index k, Index n, Matrix<T> b, T* to) {
  static const auto copy = Versions<void (*)(Index, Index, Matrix<T>, T*)>{RG_VERSIONS(pack_right<T>)}.pick();
  copy(k, n, b, to);
}

template <class T>
void multiply_packed(Sizes s, Matrix<T> a, const T* b, Target<T> c) {
  using Packed = void (*)(Sizes, Matrix<T>, const T*, Target<T>, Index, Index, void*);
  static const auto run = Versions<Packed>{RG_VERSIONS(multiply_packed<T>)}.pick();
  static const auto bytes = Versions<size_t (*)(Sizes)>{RG_VERSIONS(packed_scratch<T>)}.pick();
  constexpr Index SHARE = 128;  // columns of a thread, panels of any instruction set
  for (Index i = 0; i < s.m; i += TALL) {
    const Sizes part = {std::min(TALL, s.m - i), s.n, s.k};
    const auto columns = [&](Index begin, Index end) {
      run(part, a.from(i, 0), b, c.from(i, 0), begin * SHARE, std::min(end * SHARE, s.n), scratch(0, bytes(part)));
    };
    const Index shares = (s.n + SHARE - 1) / SHARE;
    if (part.work() < SHARED_WORK)
      columns(0, shares);
    else
      parallel_for(shares, 1, columns);
  }
}

template Index packed_size<float>(Index, Index);
template Index packed_size<double>(Index, Index);
template void pack<float>(Index, Index, Matrix<float>, float*);
template void pack<double>(Index, Index, Matrix<double>, double*);
template void multiply_packed<float>(Sizes, Matrix<float>, const float*, Target<float>);
template void multiply_packed<double>(Sizes, Matrix<double>, const double*, Target<double>);
template void multiply<float>(Sizes, Matrix<float>, Matrix<float>, Target<float>);
template void multiply<double>(Sizes, Matrix<double>, Matrix<double>, Target<double>);
template void multiply_shared<float>(Sizes, Matrix<float>, Matrix<float>, Target<float>);
template void multiply_shared<double>(Sizes, Matrix<double>, Matrix<double>, Target<double>);

}  // namespace rg
