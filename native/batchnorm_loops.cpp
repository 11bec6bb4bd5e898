#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "batchnorm.h"

using Index = std::ptrdiff_t;

#define RG_KERNELS "batchnorm.inc"
#include "versions.h"

namespace rg {

template <class T>
template <class Body>
void BatchLoops<T>::over_planes(const Body& body) const {
  over(s_.outer * s_.count, s_.inner, [&](npy_intp begin, npy_intp end) { body(begin, end - begin); });
}

template <class T>
template <class Body>
void BatchLoops<T>::over_samples(const Body& body) const {
  over(s_.outer, width(), [&](npy_intp begin, npy_intp end) { body(begin * width(), end - begin); });
}

template <class T>
template <class Body>
void BatchLoops<T>::over_parts(const Body& body) const {
  over(parts(), SAMPLES * width(), [&](npy_intp begin, npy_intp end) {
    for (npy_intp part = begin; part < end; part++) body(part, part * SAMPLES * width(), samples_of(part));
  });
}

template <class T>
Line<T> BatchLoops<T>::spread(const Line<T>& channels) const {
  Line<T> columns(static_cast<size_t>(width()));
  for (npy_intp c = 0, j = 0; c < s_.count; c++)
    for (npy_intp i = 0; i < s_.inner; i++) columns[j++] = channels[c];
  return columns;
}

// -- moments -------------------------------------------------------------------------------------------------------

namespace {

// Adds the moments of n more numbers for each of some columns.
template <class T>
void add_moments(Moments* all, double n, const T* mean, const T* square) {
  const double count = all->count, sum = count + n, share = n / sum, factor = count * share;
  for (size_t j = 0; j < all->mean.size(); j++) {
    const double apart = mean[j] - all->mean[j];
    all->mean[j] += apart * share;
    all->square[j] += square[j] + (count == 0 ? 0 : apart * apart * factor);
  }
  all->count = sum;
}

// Those of channels, of whose numbers `inner` columns have a part each.
Moments folded(const Moments& columns, npy_intp inner) {
  if (inner == 1) return columns;
  const size_t channels = columns.mean.size() / static_cast<size_t>(inner);
  Moments found{0, std::vector<double>(channels), std::vector<double>(channels)};
  std::vector<double> mean(channels), square(channels);
  for (npy_intp i = 0; i < inner; i++) {
    for (size_t c = 0; c < channels; c++) {
      mean[c] = columns.mean[c * inner + i];
      square[c] = columns.square[c * inner + i];
    }
    add_moments(&found, columns.count, mean.data(), square.data());
  }
  return found;
}

}  // namespace

template <class T>
Moments BatchLoops<T>::moments(const T* x) const {
  using Run = void (*)(const T*, T*, T*, Index, Index);
  static const auto planes = Versions<Run>{RG_VERSIONS(plane_moments<T>)}.pick();
  static const auto columns = Versions<Run>{RG_VERSIONS(column_moments<T>)}.pick();
  // A line for each sample, or for each part of the batch.
  const npy_intp lines = by_planes() ? s_.outer : parts(), n = by_planes() ? s_.count : width();
  Line<T> mean(static_cast<size_t>(lines * n)), square(mean.size());
  if (by_planes())
    over_planes([&](npy_intp first, npy_intp count) {
      planes(x + first * s_.inner, &mean[first], &square[first], count, s_.inner);
    });
  else
    over_parts([&](npy_intp part, npy_intp at, npy_intp samples) {
      columns(x + at, &mean[part * n], &square[part * n], samples, n);
    });
  Moments found{0, std::vector<double>(static_cast<size_t>(n)), std::vector<double>(static_cast<size_t>(n))};
  for (npy_intp i = 0; i < lines; i++)
    add_moments(&found, static_cast<double>(by_planes() ? s_.inner : samples_of(i)), &mean[i * n], &square[i * n]);
  return folded(found, n / s_.count);
}

// -- sums of gradients ---------------------------------------------------------------------------------------------

template <class T>
Sums<T> BatchLoops<T>::sums(const T* g, const T* x, const Scales<T>& by) const {
  using Planes = void (*)(const T*, const T*, T*, T*, const T*, const T*, Index, Index, Index, Index);
  using Columns = void (*)(const T*, const T*, T*, T*, const T*, const T*, Index, Index);
  static const auto planes = Versions<Planes>{RG_VERSIONS(plane_sums<T>)}.pick();
  static const auto columns = Versions<Columns>{RG_VERSIONS(column_sums<T>)}.pick();
  const size_t channels = static_cast<size_t>(s_.count);
  const npy_intp n = by_planes() ? s_.outer * s_.count : parts() * width();
  Line<T> sum(static_cast<size_t>(n)), dot(static_cast<size_t>(n));
  if (by_planes()) {
    over_planes([&](npy_intp first, npy_intp count) {
      const npy_intp at = first * s_.inner;
      planes(g + at, x + at, &sum[first], &dot[first], by.mean.data(), by.factor.data(), first, count, s_.count,
             s_.inner);
    });
  } else {
    const Line<T> mean = spread(by.mean), factor = spread(by.factor);
    over_parts([&](npy_intp part, npy_intp at, npy_intp samples) {
      const npy_intp to = part * width();
      columns(g + at, x + at, &sum[to], &dot[to], mean.data(), factor.data(), samples, width());
    });
  }
  std::vector<double> sums(channels), dots(channels);
  const npy_intp inner = by_planes() ? 1 : s_.inner;
  for (npy_intp i = 0; i < n;)
    for (npy_intp c = 0; c < s_.count; c++)
      for (npy_intp j = 0; j < inner; j++, i++) {
        sums[c] += sum[i];
        dots[c] += dot[i];
      }
  return {Line<T>(sums.begin(), sums.end()), Line<T>(dots.begin(), dots.end())};
}

// -- results -------------------------------------------------------------------------------------------------------

template <class T>
void BatchLoops<T>::forward(const T* x, const Line<T>& mean, const Line<T>& scale, const Line<T>& shift, T* out) const {
  using Planes = void (*)(const T*, T*, const T*, const T*, const T*, Index, Index, Index, Index);
  using Columns = void (*)(const T*, T*, const T*, const T*, const T*, Index, Index);
  static const auto planes = Versions<Planes>{RG_VERSIONS(plane_forward<T>)}.pick();
  static const auto columns = Versions<Columns>{RG_VERSIONS(column_forward<T>)}.pick();
  if (by_planes()) {
    over_planes([&](npy_intp first, npy_intp count) {
      const npy_intp at = first * s_.inner;
      planes(x + at, out + at, mean.data(), scale.data(), shift.data(), first, count, s_.count, s_.inner);
    });
    return;
  }
  const Line<T> means = spread(mean), scales = spread(scale), shifts = spread(shift);
  over_samples([&](npy_intp at, npy_intp samples) {
    columns(x + at, out + at, means.data(), scales.data(), shifts.data(), samples, width());
  });
}

template <class T>
void BatchLoops<T>::scaled(const T* g, const Line<T>& scale, T* out) const {
  using Planes = void (*)(const T*, T*, const T*, Index, Index, Index, Index);
  using Columns = void (*)(const T*, T*, const T*, Index, Index);
  static const auto planes = Versions<Planes>{RG_VERSIONS(plane_scaled<T>)}.pick();
  static const auto columns = Versions<Columns>{RG_VERSIONS(column_scaled<T>)}.pick();
  if (by_planes()) {
    over_planes([&](npy_intp first, npy_intp count) {
      planes(g + first * s_.inner, out + first * s_.inner, scale.data(), first, count, s_.count, s_.inner);
    });
    return;
  }
  const Line<T> scales = spread(scale);
  over_samples([&](npy_intp at, npy_intp samples) { columns(g + at, out + at, scales.data(), samples, width()); });
}

template <class T>
void BatchLoops<T>::backward(const T* g, const T* x, const Scales<T>& by, const Line<T>& a, const Line<T>& b,
                             const Line<T>& scale, T* out) const {
  using Planes = void (*)(const T*, const T*, T*, const T*, const T*, const T*, const T*, const T*, Index, Index, Index,
                          Index);
  using Columns = void (*)(const T*, const T*, T*, const T*, const T*, const T*, const T*, const T*, Index, Index);
  static const auto planes = Versions<Planes>{RG_VERSIONS(plane_backward<T>)}.pick();
  static const auto columns = Versions<Columns>{RG_VERSIONS(column_backward<T>)}.pick();
  if (by_planes()) {
    over_planes([&](npy_intp first, npy_intp count) {
      const npy_intp at = first * s_.inner;
      planes(g + at, x + at, out + at, by.mean.data(), by.factor.data(), a.data(), b.data(), scale.data(), first, count,
             s_.count, s_.inner);
    });
    return;
  }
  const Line<T> mean = spread(by.mean), factor = spread(by.factor);
  const Line<T> as = spread(a), bs = spread(b), scales = spread(scale);
  over_samples([&](npy_intp at, npy_intp samples) {
    columns(g + at, x + at, out + at, mean.data(), factor.data(), as.data(), bs.data(), scales.data(), samples,
            width());
  });
}

template class BatchLoops<float>;
template class BatchLoops<double>;

}  // namespace rg
