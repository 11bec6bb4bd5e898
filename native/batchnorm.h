// The loops of batch normalisation over an array (samples, channels, inner), whichever way they go through it.
#pragma once
#include <algorithm>

#include "norm.h"

namespace rg {

// Means and sums of the squares of what differs from them, of `count` numbers each.
struct Moments {
  double count;
  std::vector<double> mean, square;
};

// What normalises a channel: (x - mean) * factor.
template <class T>
struct Scales {
  Line<T> mean, factor;
};

// The sums over each channel of g and of g * (x - mean) * factor.
template <class T>
struct Sums {
  Line<T> of_g, dots;
};

template <class T>
class BatchLoops {
 public:
  explicit BatchLoops(const Split& s) : s_(s) {}
  npy_intp channels() const { return s_.count; }
  npy_intp count() const { return s_.outer * s_.inner; }  // numbers in a channel

  Moments moments(const T* x) const;
  void forward(const T* x, const Line<T>& mean, const Line<T>& scale, const Line<T>& shift, T* out) const;
  Sums<T> sums(const T* g, const T* x, const Scales<T>& by) const;
  void scaled(const T* g, const Line<T>& scale, T* out) const;
  // (g - a - (x - mean) * factor * b) * scale
  void backward(const T* g, const T* x, const Scales<T>& by, const Line<T>& a, const Line<T>& b, const Line<T>& scale,
                T* out) const;

 private:
  static constexpr npy_intp PLANE = 8;     // from so many numbers on a plane is worked on by itself
  static constexpr npy_intp SAMPLES = 32;  // so many samples are added up before others are

  bool by_planes() const { return s_.inner >= PLANE; }
  npy_intp width() const { return s_.count * s_.inner; }
  npy_intp parts() const { return (s_.outer + SAMPLES - 1) / SAMPLES; }
  npy_intp samples_of(npy_intp part) const { return std::min(SAMPLES, s_.outer - part * SAMPLES); }
  Line<T> spread(const Line<T>& channels) const;  // a number for each channel as one for each column
  template <class Body>
  void over_planes(const Body& body) const;  // body(first plane, how many)
  template <class Body>
  void over_samples(const Body& body) const;  // body(place of the first sample, how many)
  template <class Body>
  void over_parts(const Body& body) const;  // body(part, place of its first sample, how many)

  const Split s_;
};

extern template class BatchLoops<float>;
extern template class BatchLoops<double>;

}  // namespace rg
