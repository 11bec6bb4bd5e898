// How windows lie in a plane, at its borders too.
#pragma once
#include <algorithm>

#include "windows.h"

namespace rg {

// The windows of a row that have element `tap` inside the array: [first, last).
struct Reach {
  Index first, last, shift;  // window i has it at i * stride + shift
};

inline Reach reach_of(const Windows& w, int d, Index tap) {
  const Index s = w.stride[d], shift = tap * w.dilation[d] - w.padding[d];
  const Index first = shift < 0 ? (s - 1 - shift) / s : 0;
  const Index last = w.size[d] - shift <= 0 ? 0 : (w.size[d] - shift + s - 1) / s;
  return {std::min(first, w.number[d]), std::clamp(last, std::min(first, w.number[d]), w.number[d]), shift};
}

// The windows of a row that have all their elements along it inside.
inline Reach inner_of(const Windows& w) {
  const Reach left = reach_of(w, 2, 0), right = reach_of(w, 2, w.kernel[2] - 1);
  return {left.first, std::max(left.first, right.last), left.shift};
}

// The elements of a window inside the array, in one dimension: tap k of [first, last) is at start + k * dilation.
struct Span {
  Index start, first, last;
};

inline Span span_of(const Windows& w, int d, Index window) {
  const Index gap = w.dilation[d], start = window * w.stride[d] - w.padding[d], room = w.size[d] - start;
  const Index first = start < 0 ? std::min((gap - 1 - start) / gap, w.kernel[d]) : 0;
  return {start, first, (w.kernel[d] - 1) * gap < room ? w.kernel[d] : std::max(first, (room + gap - 1) / gap)};
}

// What a row of windows has inside, in the dimensions that its windows share.
struct Lines {
  Span z, y;
  bool empty() const { return z.first == z.last || y.first == y.last; }
};

inline Lines lines_of(const Windows& w, Index row) {
  const Index z = row / w.number[1];
  return {span_of(w, 0, z), span_of(w, 1, row - z * w.number[1])};
}

// Where the first element inside is, in one dimension; in a border of its own the last one.
inline Index first_inside(const Windows& w, int d, const Span& s) {
  return s.start + std::min(s.first, w.kernel[d] - 1) * w.dilation[d];
}

// Where the largest element of a window that has none inside is said to be: the first place inside, if there is one.
inline Index start_of(const Windows& w, const Lines& lines, const Span& x) {
  const Index line = first_inside(w, 0, lines.z) * w.size[1] + first_inside(w, 1, lines.y);
  return std::clamp<Index>(line * w.size[2] + first_inside(w, 2, x), 0, w.elements() - 1);
}

// The places that the windows of a plane have inside, as lists one behind the other.
struct Places {
  Index elements, windows, row;  // of a plane, of a plane, of a row
  const Place* at;
  const Place* begin;  // window i's are at[begin[i]] to before at[begin[i + 1]]
  const Place* first;  // where the largest of nothing but negative infinities is said to be
};

}  // namespace rg
