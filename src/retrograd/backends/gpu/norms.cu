// Normalisation of rows, with a weight and a bias of the type W, which may be null: see rows.cuh. A row is a sample of
// layer norm, whose weights are one for each place, or (inner > 0) a group of channels with `inner` places each; then
// `groups` of them are a sample. Mean and scale of each row are noted for the backward; where CENTRED is 0 the mean
// counts as 0 (RMS norm).

__device__ __forceinline__ void read_weights(
    const W* weight, long long r, long long j, long long n, long long inner, long long groups, T* v) {
  if (!inner) {
    const PackOf<W, V> pack = load<V>(weight + j);
#pragma unroll
    for (int i = 0; i < V; ++i) v[i] = wide(pack.v[i]);
  } else {
#pragma unroll
    for (int i = 0; i < V; ++i) v[i] = wide(weight[(r % groups * n + j + i) / inner]);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS) row_norm(
    const S* __restrict__ x, const W* __restrict__ weight, const W* __restrict__ bias, S* __restrict__ out,
    T* __restrict__ moments, double eps, long long rows, long long n, long long inner, long long groups) {
  const long long r = my_row();
  if (r >= rows) return;
  const Row row(x + r * n, n);
  T mean = 0, sum = 0;
  if (CENTRED) {
    row.each(n, [&](T v, long long) { sum += v; });
    mean = together<Sum>(sum) / n;
    sum = 0;
  }
  row.each(n, [&](T v, long long) { sum += (v - mean) * (v - mean); });
  const T scale = 1 / sqrt(together<Sum>(sum) / n + (T)eps);
  if (my_lane() == 0) moments[2 * r] = mean, moments[2 * r + 1] = scale;
  write_row(out + r * n, n, [&](int k, long long j, T* v) {
    T w[V], b[V];
    row.read(k, j, v);
    if (weight) read_weights(weight, r, j, n, inner, groups, w);
    if (bias) read_weights(bias, r, j, n, inner, groups, b);
#pragma unroll
    for (int i = 0; i < V; ++i) {
      v[i] = (v[i] - mean) * scale;
      if (weight) v[i] *= w[i];
      if (bias) v[i] += b[i];
    }
  });
}

// The gradient of x; and, where `parts` is not null and the rows are kept in registers, what a group's rows add to the
// gradients of weight and bias: two sums for each place, behind each other for each group of threads.
extern "C" __global__ void __launch_bounds__(THREADS) row_norm_backward(
    const S* __restrict__ g, const S* __restrict__ x, const W* __restrict__ weight, const T* __restrict__ moments,
    S* __restrict__ dx, T* __restrict__ parts, long long rows, long long n, long long inner, long long groups) {
  const long long step = gridDim.x * (long long)(THREADS / GROUP);
  T by_weight[HELD], by_bias[HELD];
#pragma unroll
  for (int i = 0; i < HELD; ++i) by_weight[i] = by_bias[i] = 0;
  for (long long r = my_row(); r < rows; r += step) {
    const T mean = moments[2 * r], scale = moments[2 * r + 1];
    const Row slope(g + r * n, n), row(x + r * n, n);
    T sum = 0, along = 0;
    each_pack(n, [&](int k, long long j) {
      T a[V], b[V], w[V];
      slope.read(k, j, a);
      row.read(k, j, b);
      if (weight) read_weights(weight, r, j, n, inner, groups, w);
#pragma unroll
      for (int i = 0; i < V; ++i) {
        const T hat = (b[i] - mean) * scale;
        if (PACKS > 0 && parts) by_weight[PACKS ? k * V + i : 0] += a[i] * hat, by_bias[PACKS ? k * V + i : 0] += a[i];
        const T v = weight ? a[i] * w[i] : a[i];
        sum += v;
        along += v * hat;
      }
    });
    if (!dx) continue;
    sum = CENTRED ? together<Sum>(sum) / n : 0;
    along = together<Sum>(along) / n;
    write_row(dx + r * n, n, [&](int k, long long j, T* v) {
      T b[V], w[V];
      slope.read(k, j, v);
      row.read(k, j, b);
      if (weight) read_weights(weight, r, j, n, inner, groups, w);
#pragma unroll
      for (int i = 0; i < V; ++i) {
        if (weight) v[i] *= w[i];
        v[i] = (v[i] - sum - (b[i] - mean) * scale * along) * scale;
      }
    });
  }
  if (PACKS > 0 && parts) {
    T* to = parts + my_row() * 2 * n;
    each_pack(n, [&](int k, long long j) {
#pragma unroll
      for (int i = 0; i < V; ++i) {
        to[j + i] = by_weight[PACKS ? k * V + i : 0];
        to[n + j + i] = by_bias[PACKS ? k * V + i : 0];
      }
    });
  }
}
