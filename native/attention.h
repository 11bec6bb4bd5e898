// Attention: values averaged with weights that a softmax makes of queries and keys.
#pragma once
#include "gemm.h"

namespace rg {

// One operand [batch, head, row, column]: distances in elements, columns side by side.
template <class T>
struct Heads {
  T* at;
  Index batch, head, row;

  T* of(Index b, Index h, Index i = 0) const { return at + b * batch + h * head + i * row; }
};

// What is added to the scores: [batch, head, query, key], any distance 0; `at` is null where there is nothing.
template <class T>
struct Mask {
  const T* at;
  Index batch, head, row, column;
};

template <class T>
struct Attention {
  Index batch, heads, shared;  // heads of queries, and how many of them share one of keys and values
  Index queries, keys, width;
  bool causal;
  T scale;
  Heads<const T> q, k, v;
  Mask<T> mask;
};

template <class T>
void attend(const Attention<T>& a, Heads<T> out);

// The gradients from that of the output; one whose `at` is null is not wanted.
template <class T>
void attend_back(const Attention<T>& a, Heads<const T> g, Heads<T> dq, Heads<T> dk, Heads<T> dv);

}  // namespace rg
