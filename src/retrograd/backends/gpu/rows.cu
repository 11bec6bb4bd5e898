// Softmax and normalisation of rows: see rows.cuh.

__device__ __forceinline__ T sum_of_powers(const Row& x, long long n, T& top) {
  T value = Max::first();
  x.each(n, [&](T v, long long) { value = Max::of(value, v); });
  top = together<Max>(value);
  T sum = 0;
  x.each(n, [&](T v, long long) { sum += exp(v - top); });
  return together<Sum>(sum);
}

extern "C" __global__ void __launch_bounds__(THREADS) softmax(
    const S* __restrict__ x, S* __restrict__ out, long long rows, long long n) {
  const long long r = my_row();
  if (r >= rows) return;
  const Row row(x + r * n, n);
  T top;
  const T factor = 1 / sum_of_powers(row, n, top);
  write_row(out + r * n, n, [&](int k, long long j, T* v) {
    row.read(k, j, v);
#pragma unroll
    for (int i = 0; i < V; ++i) v[i] = exp(v[i] - top) * factor;
  });
}

extern "C" __global__ void __launch_bounds__(THREADS) log_softmax(
    const S* __restrict__ x, S* __restrict__ out, long long rows, long long n) {
  const long long r = my_row();
  if (r >= rows) return;
  const Row row(x + r * n, n);
  T top;
  const T size = log(sum_of_powers(row, n, top));
  write_row(out + r * n, n, [&](int k, long long j, T* v) {
    row.read(k, j, v);
#pragma unroll
    for (int i = 0; i < V; ++i) v[i] = v[i] - top - size;
  });
}

// One number for each row; rows of nothing but minus infinity have that sum.
extern "C" __global__ void __launch_bounds__(THREADS) logsumexp(
    const S* __restrict__ x, S* __restrict__ out, long long rows, long long n) {
  const long long r = my_row();
  if (r >= rows) return;
  const Row row(x + r * n, n);
  T value = Max::first();
  row.each(n, [&](T v, long long) { value = Max::of(value, v); });
  T top = together<Max>(value);
  if (top - top != 0) top = 0;  // infinite, or not a number
  T sum = 0;
  row.each(n, [&](T v, long long) { sum += exp(v - top); });
  sum = together<Sum>(sum);
  if (my_lane() == 0) out[r] = narrow<S>(log(sum) + top);
}

extern "C" __global__ void __launch_bounds__(THREADS) softmax_backward(
    const S* __restrict__ g, const S* __restrict__ out, S* __restrict__ dx, long long rows, long long n) {
  const long long r = my_row();
  if (r >= rows) return;
  const Row slope(g + r * n, n), row(out + r * n, n);
  T sum = 0;
  each_pack(n, [&](int k, long long j) {
    T a[V], b[V];
    slope.read(k, j, a);
    row.read(k, j, b);
#pragma unroll
    for (int i = 0; i < V; ++i) sum += a[i] * b[i];
  });
  sum = together<Sum>(sum);
  write_row(dx + r * n, n, [&](int k, long long j, T* v) {
    T b[V];
    slope.read(k, j, v);
    row.read(k, j, b);
#pragma unroll
    for (int i = 0; i < V; ++i) v[i] = b[i] * (v[i] - sum);
  });
}

extern "C" __global__ void __launch_bounds__(THREADS) log_softmax_backward(
    const S* __restrict__ g, const S* __restrict__ out, S* __restrict__ dx, long long rows, long long n) {
  const long long r = my_row();
  if (r >= rows) return;
  const Row slope(g + r * n, n), row(out + r * n, n);
  T sum = 0;
  slope.each(n, [&](T v, long long) { sum += v; });
  sum = together<Sum>(sum);
  write_row(dx + r * n, n, [&](int k, long long j, T* v) {
    T b[V];
    slope.read(k, j, v);
    row.read(k, j, b);
#pragma unroll
    for (int i = 0; i < V; ++i) v[i] = v[i] - exp(b[i]) * sum;
  });
}
