// The softmax of attention, between two products of matrices: see attention.py and rows.cuh. Scores are of the type T,
// weights of the type S; where both are the same, the result may take the operand's place. Row r of a chunk belongs to matrix r / queries of it, which is head `first + that` of all.

// Addresses of the matrices of several arrays, each told by four numbers: where it begins, how many heads share one of
// its own, and its steps along samples and heads. Number i is sample i / heads, head i % heads.
extern "C" __global__ void addresses(
    long long* __restrict__ out, long long count, long long heads, long long arrays,
    long long at0, long long share0, long long by_sample0, long long by_head0,
    long long at1, long long share1, long long by_sample1, long long by_head1,
    long long at2, long long share2, long long by_sample2, long long by_head2,
    long long at3, long long share3, long long by_sample3, long long by_head3,
    long long at4, long long share4, long long by_sample4, long long by_head4,
    long long at5, long long share5, long long by_sample5, long long by_head5,
    long long at6, long long share6, long long by_sample6, long long by_head6,
    long long at7, long long share7, long long by_sample7, long long by_head7) {
  const long long told[8][4] = {
      {at0, share0, by_sample0, by_head0}, {at1, share1, by_sample1, by_head1}, {at2, share2, by_sample2, by_head2}, {at3, share3, by_sample3, by_head3}, {at4, share4, by_sample4, by_head4}, {at5, share5, by_sample5, by_head5}, {at6, share6, by_sample6, by_head6}, {at7, share7, by_sample7, by_head7}};
  const long long i = blockIdx.x * (long long)THREADS + threadIdx.x;
  if (i >= count) return;
#pragma unroll
  for (int k = 0; k < 8; ++k)
    if (k < arrays) out[k * count + i] = told[k][0] + i / heads * told[k][2] + i % heads / told[k][1] * told[k][3];
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
