// Arrays of shape (samples, channels, places), normalised by channel. A block works on one channel (sums) or on one
// sample of one (elementwise), and reads V places at once. Moments are behind each other for all channels: means, scales
// and variances.

// Calls f(place in memory) for each pack of a channel that is this thread's, in the slice of this block.
template <class F> __device__ __forceinline__ void each_of_channel(
    long long c, long long slice, long long slices, long long samples, long long channels, long long places, F f) {
  const unsigned int packs = places / V;
  const unsigned int all = samples * packs, each = (all + slices - 1) / slices;
  const unsigned int end = min(all, (unsigned int)(slice + 1) * each);
  for (unsigned int i = slice * each + threadIdx.x; i < end; i += THREADS) {
    const unsigned int sample = i / packs;
    f((sample * channels + c) * places + (long long)(i - sample * packs) * V, sample);
  }
}

// Sums of differences from the channel's first number, and of their squares: one pair for each slice of a channel.
extern "C" __global__ void __launch_bounds__(THREADS) channel_moments(
    const S* __restrict__ x, T* __restrict__ parts, long long slices, long long samples, long long channels,
    long long places) {
  const long long c = blockIdx.x / slices, slice = blockIdx.x % slices;
  const T first = wide(x[c * places]);
  T sum = 0, squares = 0;
  each_of_channel(c, slice, slices, samples, channels, places, [&](long long at, unsigned int) {
    const PackOf<S, V> pack = load<V>(x + at);
#pragma unroll
    for (int i = 0; i < V; ++i) {
      const T d = wide(pack.v[i]) - first;
      sum += d;
      squares += d * d;
    }
  });
  sum = together<Sum>(sum);
  squares = together<Sum>(squares);
  if (threadIdx.x == 0) parts[2 * blockIdx.x] = sum, parts[2 * blockIdx.x + 1] = squares;
}

// Moments of all channels of their slices; running statistics, where there are any, move towards them.
extern "C" __global__ void finish_moments(
    const S* __restrict__ x, const T* __restrict__ parts, T* __restrict__ moments, W* __restrict__ running_mean,
    W* __restrict__ running_var, double momentum, double eps, long long slices, long long samples, long long channels,
    long long places) {
  const long long c = blockIdx.x * (long long)THREADS + threadIdx.x;
  if (c >= channels) return;
  double sum = 0, squares = 0;
  for (long long k = c * slices; k < (c + 1) * slices; ++k) sum += parts[2 * k], squares += parts[2 * k + 1];
  const double count = (double)samples * places;
  const double away = sum / count, mean = away + wide(x[c * places]);
  double variance = squares / count - away * away;
  if (variance < 0) variance = 0;
  moments[c] = mean;
  moments[channels + c] = 1 / sqrt(variance + eps);
  moments[2 * channels + c] = variance;
  if (!running_mean) return;
  running_mean[c] = narrow<W>((T)(momentum * mean + (1 - momentum) * wide(running_mean[c])));
  running_var[c] = narrow<W>((T)(momentum * variance * (count / (count - 1)) + (1 - momentum) * wide(running_var[c])));
}

// Moments that are given.
extern "C" __global__ void given_moments(
    const W* __restrict__ mean, const W* __restrict__ variance, T* __restrict__ moments, double eps, long long channels) {
  const long long c = blockIdx.x * (long long)THREADS + threadIdx.x;
  if (c >= channels) return;
  moments[c] = wide(mean[c]);
  moments[channels + c] = 1 / sqrt(wide(variance[c]) + (T)eps);
  moments[2 * channels + c] = wide(variance[c]);
}

extern "C" __global__ void __launch_bounds__(THREADS) channel_norm(
    const S* __restrict__ x, const W* __restrict__ weight, const W* __restrict__ bias, const T* __restrict__ moments,
    S* __restrict__ out, long long channels, long long places, long long slices) {
  const long long plane = blockIdx.x / slices, c = plane % channels;
  const T w = weight ? wide(weight[c]) : 1, factor = moments[channels + c] * w;
  const T shift = (bias ? wide(bias[c]) : 0) - moments[c] * factor;
  for (long long j = (blockIdx.x % slices * THREADS + threadIdx.x) * V; j < places; j += slices * THREADS * V) {
    PackOf<S, V> pack = load<V>(x + plane * places + j);
#pragma unroll
    for (int i = 0; i < V; ++i) pack.v[i] = narrow<S>(wide(pack.v[i]) * factor + shift);
    store<V>(out + plane * places + j, pack);
  }
}

// Sums of the gradient, and of the gradient times the normalised x: one pair for each slice of a channel. Moments are of
// channels (samples_each is 0), or of the rows of group norm, in pairs: samples_each groups a sample, `share` channels each.
extern "C" __global__ void __launch_bounds__(THREADS) channel_sums(
    const S* __restrict__ g, const S* __restrict__ x, const T* __restrict__ moments, T* __restrict__ parts,
    long long slices, long long samples, long long channels, long long places, long long samples_each, long long share) {
  const long long c = blockIdx.x / slices, slice = blockIdx.x % slices;
  T mean = 0, scale = 0, sum = 0, along = 0;
  if (!samples_each) mean = moments[c], scale = moments[channels + c];
  each_of_channel(c, slice, slices, samples, channels, places, [&](long long at, unsigned int sample) {
    if (samples_each) {
      const long long row = sample * samples_each + c / share;
      mean = moments[2 * row], scale = moments[2 * row + 1];
    }
    const PackOf<S, V> slope = load<V>(g + at), pack = load<V>(x + at);
#pragma unroll
    for (int i = 0; i < V; ++i) {
      const T v = wide(slope.v[i]);
      sum += v;
      along += v * (wide(pack.v[i]) - mean) * scale;
    }
  });
  sum = together<Sum>(sum);
  along = together<Sum>(along);
  if (threadIdx.x == 0) parts[2 * blockIdx.x] = sum, parts[2 * blockIdx.x + 1] = along;
}

// The gradients of bias and weight of their slices, as T for the gradient of x and as W for the caller.
extern "C" __global__ void finish_sums(
    const T* __restrict__ parts, T* __restrict__ sums, W* __restrict__ dweight, W* __restrict__ dbias, long long slices,
    long long channels) {
  const long long c = blockIdx.x * (long long)THREADS + threadIdx.x;
  if (c >= channels) return;
  double sum = 0, along = 0;
  for (long long k = c * slices; k < (c + 1) * slices; ++k) sum += parts[2 * k], along += parts[2 * k + 1];
  sums[c] = sum, sums[channels + c] = along;
  dweight[c] = narrow<W>((T)along);
  dbias[c] = narrow<W>((T)sum);
}

// The gradient of x; `count` is how many numbers a channel has, or 0 where the statistics were given.
extern "C" __global__ void __launch_bounds__(THREADS) channel_norm_backward(
    const S* __restrict__ g, const S* __restrict__ x, const W* __restrict__ weight, const T* __restrict__ moments,
    const T* __restrict__ sums, S* __restrict__ dx, long long count, long long channels, long long places,
    long long slices) {
  const long long plane = blockIdx.x / slices, c = plane % channels;
  const T mean = moments[c], scale = moments[channels + c];
  const T factor = scale * (weight ? wide(weight[c]) : 1);
  const T shift = count ? sums[c] / count : 0, along = count ? sums[channels + c] / count * scale : 0;
  for (long long j = (blockIdx.x % slices * THREADS + threadIdx.x) * V; j < places; j += slices * THREADS * V) {
    const long long at = plane * places + j;
    PackOf<S, V> slope = load<V>(g + at);
    const PackOf<S, V> pack = load<V>(x + at);
#pragma unroll
    for (int i = 0; i < V; ++i)
      slope.v[i] = narrow<S>((wide(slope.v[i]) - shift - (wide(pack.v[i]) - mean) * along) * factor);
    store<V>(dx + at, slope);
  }
}
