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

// The gradient of the output, and those made of it; one whose `at` is null is not wanted.
template <class T>
struct Gradients {
  Heads<const T> g;
  Heads<T> dq, dk, dv;
};

template <class T>
void attend(const Attention<T>& a, Heads<T> out);
template <class T>
void attend_back(const Attention<T>& a, const Gradients<T>& d);

}  // namespace rg
