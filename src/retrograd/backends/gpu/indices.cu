// Elements that an index names. I is the type of indices.

// Notes an index that is not from `low` to before `high`.
extern "C" __global__ void check_range(
    const I* __restrict__ index, long long* faults, long long site, long long low, long long high, long long count) {
  for (long long i = blockIdx.x * (long long)THREADS + threadIdx.x; i < count; i += gridDim.x * (long long)THREADS) {
    const long long k = index[i];
    if (k < low || k >= high) note_fault(faults, site, k, high);
  }
}

__device__ __forceinline__ long long clamped(long long k, long long n) {
  if (k < 0) k += n;
  return k < 0 ? 0 : k >= n ? n - 1 : k;  // those out of range have been noted, and must not reach beyond the array
}

// x is (outer, n, inner), index and out are (outer, m, inner).
extern "C" __global__ void take_along(
    const S* __restrict__ x, const I* __restrict__ index, S* __restrict__ out, long long n, long long m, long long inner,
    long long count) {
  const long long i = blockIdx.x * (long long)THREADS + threadIdx.x;
  if (i >= count) return;
  const long long b = i % inner, a = i / inner / m;
  out[i] = x[(a * n + clamped(index[i], n)) * inner + b];
}

// Adds values to out, a thread for each line along the dimension: the order of sums does not change.
extern "C" __global__ void add_along(
    S* __restrict__ out, const I* __restrict__ index, const S* __restrict__ values, long long n, long long m,
    long long inner, long long lines) {
  const long long line = blockIdx.x * (long long)THREADS + threadIdx.x;
  if (line >= lines) return;
  const long long a = line / inner, b = line % inner;
  for (long long k = 0; k < m; ++k) {
    const long long i = (a * m + k) * inner + b;
    S& to = out[(a * n + clamped(index[i], n)) * inner + b];
    to = narrow<S>(wide(to) + wide(values[i]));
  }
}

// Rows of g summed by their index. `order` sorts the indices, so that the rows of one index are read by one block, one
// after the other: the order of sums does not change. Rows of index `padding` are left out.
extern "C" __global__ void __launch_bounds__(THREADS) sum_rows(
    const S* __restrict__ g, const I* __restrict__ index, const long long* __restrict__ order, S* __restrict__ out,
    long long count, long long width, long long rows, long long padding, long long by_frequency) {
  const long long first = blockIdx.x;
  const long long row = clamped(index[order[first]], rows);
  if (row == padding || (first > 0 && clamped(index[order[first - 1]], rows) == row)) return;
  long long end = first + 1;
  while (end < count && clamped(index[order[end]], rows) == row) ++end;
  for (long long j = (long long)threadIdx.x * V; j < width; j += THREADS * V) {
    T sum[V];
#pragma unroll
    for (int i = 0; i < V; ++i) sum[i] = 0;
#pragma unroll 4
    for (long long k = first; k < end; ++k) {
      const PackOf<S, V> pack = load<V>(g + order[k] * width + j);
#pragma unroll
      for (int i = 0; i < V; ++i) sum[i] += wide(pack.v[i]);
    }
    PackOf<S, V> pack;
#pragma unroll
    for (int i = 0; i < V; ++i) pack.v[i] = narrow<S>(by_frequency ? sum[i] / (T)(end - first) : sum[i]);
    store<V>(out + row * width + j, pack);
  }
}
