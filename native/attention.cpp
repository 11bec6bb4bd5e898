#include "attention.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "network.h"

using rg::Attention;
using rg::Gradients;
using rg::Heads;
using rg::Index;
using rg::Mask;
using rg::Matrix;
using rg::Sizes;

#define RG_KERNELS "attention.inc"
#include "versions.h"

namespace rg {

namespace {

constexpr Index SCORES = 1 << 16;  // that are worked on at a time
constexpr Index MOST = 128, LEAST = 16;  // rows of them
constexpr Index UNITS = 16;              // that several threads can share evenly
constexpr Index GROUP = 16;              // small heads whose lanes are worked on together: a multiple of any register's
constexpr Index SMALL = 4096;            // registers that fit into the second cache

template <class T>
const auto weigh_rows = Versions<decltype(&base::weigh_rows<T>)>{RG_VERSIONS(weigh_rows<T>)}.pick();
template <class T>
const auto weigh_rows_back = Versions<decltype(&base::weigh_rows_back<T>)>{RG_VERSIONS(weigh_rows_back<T>)}.pick();

template <class T>
const auto attend_lanes = Versions<decltype(&base::attend_lanes<T>)>{RG_VERSIONS(attend_lanes<T>)}.pick();
template <class T>
const auto attend_lanes_back =
    Versions<decltype(&base::attend_lanes_back<T>)>{RG_VERSIONS(attend_lanes_back<T>)}.pick();

// Some queries of one head, and the keys they can see.
struct Block {
  Index batch, head, first, rows, keys;
};

// Each product of a block on this thread, or each on several where there are few blocks.
template <class T>
using Product = void (*)(Sizes, Matrix<T>, Matrix<T>, Target<T>);

template <class T>
Index rows_of(const Attention<T>& a) {
  Index rows = std::clamp(SCORES / std::max<Index>(a.keys, 1), LEAST, MOST);
  const Index heads = a.batch * a.heads;
  if (heads * ((a.queries + rows - 1) / rows) < UNITS) rows = std::max(LEAST, a.queries * heads / UNITS);
  return std::min(rows, std::max<Index>(a.queries, 1));
}

template <class T>
Block block_at(const Attention<T>& a, Index head, Index first, Index rows) {
  Block b = {head / a.heads, head % a.heads, first, std::min(rows, a.queries - first), a.keys};
  if (a.causal) b.keys = std::min(a.keys, first + b.rows);
  return b;
}

template <class T>
Matrix<T> rows_at(const Heads<const T>& h, Index batch, Index head, Index first) {
  return {h.of(batch, head, first), h.row, 1};
}

template <class T>
void weigh(const Attention<T>& a, const Block& b, T* weights, Product<T> product) {
  const Matrix<T> q = rows_at(a.q, b.batch, b.head, b.first), k = rows_at(a.k, b.batch, b.head / a.shared, 0);
  product({b.rows, b.keys, a.width}, q, k.turned(), {weights, b.keys, NOTHING<T>});
  const Mask<T>& m = a.mask;
  const T* mask = m.at ? m.at + b.batch * m.batch + b.head * m.head + b.first * m.row : nullptr;
  weigh_rows<T>(weights, b.rows, b.keys, a.scale, mask, m.row, m.column, a.causal ? b.first : -1);
}

// -- backward ------------------------------------------------------------------------------------------------------

// Adds to (or begins) what one block gives to the rows of its keys or values: weightsᵀ · rows.
template <class T>
void give(const Block& b, Index width, const T* weights, Matrix<T> rows, T* to, Index step, bool more,
          Product<T> product) {
  const Matrix<T> turned = {weights, 1, b.keys};
  product({b.keys, width, b.rows}, turned, rows, {to, step, more ? Matrix<T>{to, step, 1} : NOTHING<T>});
}

template <class T>
void block_back(const Attention<T>& a, const Gradients<T>& d, const Block& b, bool more, T* memory, Product<T> product) {
  T *weights = memory, *scores = memory + b.rows * b.keys;
  const Index shared = b.head / a.shared;
  weigh(a, b, weights, product);
  const Matrix<T> g = rows_at(d.g, b.batch, b.head, b.first);
  if (d.dv.at) give(b, a.width, weights, g, d.dv.of(b.batch, shared), d.dv.row, more, product);
  if (!d.dq.at && !d.dk.at) return;
  const Matrix<T> v = rows_at(a.v, b.batch, shared, 0), k = rows_at(a.k, b.batch, shared, 0);
  product({b.rows, b.keys, a.width}, g, v.turned(), {scores, b.keys, NOTHING<T>});
  weigh_rows_back<T>(weights, scores, b.rows, b.keys, a.scale);
  if (d.dq.at)
    product({b.rows, a.width, b.keys}, {scores, b.keys, 1}, k, {d.dq.of(b.batch, b.head, b.first), d.dq.row, NOTHING<T>});
  if (d.dk.at)
    give(b, a.width, scores, rows_at(a.q, b.batch, b.head, b.first), d.dk.of(b.batch, shared), d.dk.row, more, product);
}

template <class T>
void clear(const Heads<T>& h, Index batch, Index head, Index rows, Index width) {
  for (Index i = 0; h.at && i < rows; i++) std::fill(h.of(batch, head, i), h.of(batch, head, i) + width, T(0));
}

// All queries that share a head of keys and values. What no query of a causal mask sees gets zeros.
template <class T>
void head_back(const Attention<T>& a, const Gradients<T>& d, Index batch, Index shared, Product<T> product) {
  const Index rows = rows_of(a);
  T* memory = static_cast<T*>(scratch(2, static_cast<size_t>(2 * rows * a.keys) * sizeof(T)));
  const bool partial = a.causal || a.queries == 0;
  if (partial) {
    clear(d.dk, batch, shared, a.keys, a.width);
    clear(d.dv, batch, shared, a.keys, a.width);
  }
  bool more = partial;
  for (Index h = shared * a.shared; h < (shared + 1) * a.shared; h++)
    for (Index first = 0; first < a.queries; first += rows, more = true)
      block_back(a, d, block_at(a, batch * a.heads + h, first, rows), more, memory, product);
}

// -- small heads ---------------------------------------------------------------------------------------------------

// Registers that `attend_lanes` and `attend_lanes_back` need.
template <class T>
Index registers_of(const Attention<T>& a) {
  return 3 * (a.queries + a.keys) * a.width + 2 * a.queries * a.keys;
}

template <class T>
bool by_lanes(const Attention<T>& a) {
  const bool few = a.queries <= SMALL && a.keys <= SMALL && a.width <= SMALL;  // so that their products are numbers
  return few && a.shared == 1 && a.batch * a.heads >= GROUP / 4 && registers_of(a) <= SMALL;
}

// Calls body(first, count, memory) for groups of heads.
template <class T, class Body>
void in_groups(const Attention<T>& a, double work, const Body& body) {
  const Index heads = a.batch * a.heads, groups = (heads + GROUP - 1) / GROUP;
  parallel_for(groups, static_cast<Index>(SHARED_WORK / 8 / (work * GROUP + 1)) + 1, [&](Index begin, Index end) {
    T* memory = static_cast<T*>(scratch(2, static_cast<size_t>(registers_of(a)) * 64));
    body(begin * GROUP, std::min(end * GROUP, heads) - begin * GROUP, memory);
  });
}

}  // namespace

template <class T>
void attend(const Attention<T>& a, Heads<T> out) {
  const Index rows = rows_of(a), blocks = (a.queries + rows - 1) / rows;
  const double work = static_cast<double>(rows) * static_cast<double>(a.keys) * static_cast<double>(a.width) * 2;
  if (by_lanes(a)) return in_groups(a, work, [&](auto... group) { attend_lanes<T>(a, out, group...); });
  const Index grain = static_cast<Index>(SHARED_WORK / 2 / (work + 1)) + 1;
  parallel_for(a.batch * a.heads * blocks, grain, [&](Index begin, Index end) {
    for (Index i = begin; i < end; i++) {
      const Block b = block_at(a, i / blocks, i % blocks * rows, rows);
      T* weights = static_cast<T*>(scratch(2, static_cast<size_t>(b.rows * b.keys) * sizeof(T)));
      weigh(a, b, weights, multiply<T>);
      multiply<T>({b.rows, a.width, b.keys}, {weights, b.keys, 1}, rows_at(a.v, b.batch, b.head / a.shared, 0),
                  {out.of(b.batch, b.head, b.first), out.row, NOTHING<T>});
    }
  });
}

template <class T>
void attend_back(const Attention<T>& a, const Gradients<T>& d) {
  const Index heads = a.heads / a.shared, units = a.batch * heads;
  const double work = static_cast<double>(a.shared * a.queries) * static_cast<double>(a.keys * a.width) * 5;
  if (by_lanes(a)) return in_groups(a, work, [&](auto... group) { attend_lanes_back<T>(a, d, group...); });
  if (units < UNITS / 2 && work > 4 * SHARED_WORK) {
    for (Index i = 0; i < units; i++) head_back(a, d, i / heads, i % heads, multiply_shared<T>);
    return;
  }
  parallel_for(units, static_cast<Index>(SHARED_WORK / 2 / (work + 1)) + 1, [&](Index begin, Index end) {
    for (Index i = begin; i < end; i++) head_back(a, d, i / heads, i % heads, multiply<T>);
  });
}

template void attend<float>(const Attention<float>&, Heads<float>);
template void attend<double>(const Attention<double>&, Heads<double>);
template void attend_back<float>(const Attention<float>&, const Gradients<float>&);
template void attend_back<double>(const Attention<double>&, const Gradients<double>&);

}  // namespace rg
