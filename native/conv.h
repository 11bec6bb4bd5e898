// How a convolution, its transpose and their gradients run: sums of products over places of a padded array.
//
// Each output is a sum over k of source[place + offset[k]] * weight[k][channel]. A convolution has one table of places and
// one of offsets. Its transpose has one of each per phase, the remainder of a position by the stride: positions of one
// phase meet the same elements of the kernel. So both read, and nothing has to be added up in memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gemm.h"
#include "windows.h"

namespace rg {

// An array with a border. Along the last dimension, elements `apart` from each other lie side by side.
struct Bordered {
  Index size[SPACE], before[SPACE], lengths[SPACE];
  Index apart = 1;

  bool plain() const;                                       // whether it is the array itself
  Index line() const { return (lengths[2] + apart - 1) / apart * apart; }  // elements of a row
  Index channel() const { return lengths[0] * lengths[1] * line(); }
};

// Rows of places: of the source, and of the result, where they are `step` apart.
struct Row {
  Place from, to;
};

// One table of places and one of offsets.
struct Phase {
  std::vector<Row> rows;
  Index width = 0, step = 1;     // places in a row; distance of two in the result
  std::vector<Place> offsets;    // by channel of the source, then by tap
  std::vector<Index> taps;       // which elements of the kernel they are
};

// A whole convolution: result [sample, group, channels, elements] from source [sample, group, inputs, …].
struct Plan {
  Bordered source;
  Index samples, groups, inputs, channels, elements;
  std::vector<Phase> phases;
};

struct Channels {
  Index samples, groups, inputs, channels;  // the last two per group
};

// Rows of the result by a kernel for registers of one size.
template <class T>
using Rows = void (*)(const Phase& phase, Index first, Index last, const T* base, const T* weights, Index channels,
                      const T* bias, T* out, Index apart);

template <class T>
struct Registers {
  Index lanes, few;       // numbers in a register; up to how many channels it may hold places instead of channels
  Rows<T> places, channels;
  void (*pack)(Index k, Index channels, const T* from, Index column, T* to);  // weights for `channels`
};

// False where there is nothing to add up, or positions are too large for the tables.
bool plan_correlate(const Windows& w, Channels c, Plan* plan);
bool plan_spread(const Windows& w, Channels c, Plan* plan);

// Weights by group, output channel, input channel and tap, any distance apart.
template <class T>
struct Weights {
  const T* at;
  Index group, channel, input;  // taps lie side by side
};

template <class T>
struct Convolution {
  const Plan* plan;
  const T* source;
  Weights<T> weights;
  const T* bias;  // one number per channel of all groups, or null
  T* result;
  T* padded;  // memory for samples with their border
  T* packed;  // memory for weights in the order that kernels read them
};

Index samples_at_once(const Plan& plan, size_t itemsize);  // how many samples `padded` has to hold
Index packed_size(const Plan& plan, size_t itemsize);      // elements of `packed`

template <class T>
void convolve(const Convolution<T>& c);

// The gradient of a weight: sums over samples and places of source[place + offset[k]] * gradient[channel].
template <class T>
struct Overlap {
  const Plan* plan;
  const T* source;
  const T* gradient;
  T* result;  // [group, channel, input, tap]
  T* padded;
  T* partial;
};

Index partial_size(const Plan& plan, size_t itemsize);  // elements of `partial`

template <class T>
void overlap(const Overlap<T>& o);

// The sums of [samples, channels, elements] over all but the channels.
template <class T>
void channel_sums(const T* values, Index samples, Index channels, Index elements, T* sums);

}  // namespace rg
