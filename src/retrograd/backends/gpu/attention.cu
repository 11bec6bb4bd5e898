// The softmax of attention, between two products of matrices: see attention.py and rows.cuh. Scores are of the type T,
// weights of the type S; where both are the same, the result may take the operand's place. Row r of a chunk belongs to matrix r / queries of it, which is head `first + that` of all.

// Addresses of matrices: number i is sample i / heads, head i % heads, of which `share` heads have one.
extern "C" __global__ void addresses(
    long long* __restrict__ out, long long base, long long count, long long heads, long long share,
    long long of_sample, long long of_head) {
  const long long i = blockIdx.x * (long long)THREADS + threadIdx.x;
  if (i < count) out[i] = base + i / heads * of_sample + i % heads / share * of_head;
}

// A mask, if it is not null, is added; its steps along samples, heads, queries and keys may be 0. A row that sees nothing
// has weights 0.
extern "C" __global__ void __launch_bounds__(THREADS) weights(
    const T* scores, const M* __restrict__ mask, S* out, double scale, long long causal,
    long long rows, long long n, long long queries, long long first_query, long long first, long long heads,
    long long by_sample, long long by_head, long long by_query, long long by_key) {
  const long long r = my_row();
  if (r >= rows) return;
  const long long head = first + r / queries, q = first_query + r % queries;
  if (mask) mask += head / heads * by_sample + head % heads * by_head + q * by_query;
  const long long seen = causal ? min(n, q + 1) : n;
  RowOf<T> row(scores + r * n, n);
  T value = Max::first();
  const auto score = [&](T v, long long j) {
    if (j >= seen) return (T)-INFINITE;
    v *= (T)scale;
    return mask ? v + (T)wide(mask[j * by_key]) : v;
  };
  row.each(n, [&](T v, long long j) { value = Max::of(value, score(v, j)); });
  const T top = together<Max>(value);
  const bool blind = top == (T)-INFINITE;
  T sum = 0;
  row.each(n, [&](T v, long long j) { sum += exp(score(v, j) - top); });
  const T factor = 1 / together<Sum>(sum);
  write_row(out + r * n, n, [&](int k, long long j, T* v) {
    row.read(k, j, v);
#pragma unroll
    for (int i = 0; i < V; ++i) v[i] = blind ? 0 : exp(score(v[i], j + i) - top) * factor;
  });
}

// The gradient of the scores from that of the weights.
extern "C" __global__ void __launch_bounds__(THREADS) weights_backward(
    const T* slopes, const S* __restrict__ weights, S* out, double scale, long long rows,
    long long n) {
  const long long r = my_row();
  if (r >= rows) return;
  const RowOf<T> slope(slopes + r * n, n);
  const RowOf<S> row(weights + r * n, n);
  T sum = 0;
  each_pack(n, [&](int k, long long j) {
    T a[V], b[V];
    slope.read(k, j, a);
    row.read(k, j, b);
#pragma unroll
    for (int i = 0; i < V; ++i) sum += a[i] * b[i];
  });
  sum = together<Sum>(sum);
  write_row(out + r * n, n, [&](int k, long long j, T* v) {
    T b[V];
    slope.read(k, j, v);
    row.read(k, j, b);
#pragma unroll
    for (int i = 0; i < V; ++i) v[i] = b[i] * (v[i] - sum) * (T)scale;
  });
}
