// Reductions of arrays of shape (outer, n, inner) over n. R is Sum, Max or Min; the result is of the type O and is
// multiplied by `factor` (not by 1 where it would round). Where
// SQUARED is 1, what is summed are squares of differences from a centre.

__device__ __forceinline__ T prepared(T v, T centre) { return SQUARED ? (v - centre) * (v - centre) : v; }

// inner is 1: a block reduces one slice of a row.
extern "C" __global__ void __launch_bounds__(THREADS) reduce_rows(
    const S* __restrict__ x, const T* __restrict__ centre, O* __restrict__ out, double factor, long long slices,
    long long n) {
  const long long r = blockIdx.x / slices, slice = blockIdx.x % slices;
  const long long packs = n / V, each = (packs + slices - 1) / slices;
  const long long end = min(packs, (slice + 1) * each);
  const T c = centre ? centre[r] : 0;
  T value[V];
#pragma unroll
  for (int i = 0; i < V; ++i) value[i] = R::first();
#pragma unroll 4
  for (long long k = slice * each + threadIdx.x; k < end; k += THREADS) {
    const PackOf<S, V> pack = load<V>(x + r * n + k * V);
#pragma unroll
    for (int i = 0; i < V; ++i) value[i] = R::of(value[i], prepared(wide(pack.v[i]), c));
  }
  T all = value[0];
#pragma unroll
  for (int i = 1; i < V; ++i) all = R::of(all, value[i]);
  all = together<R>(all);
  if (threadIdx.x == 0) out[blockIdx.x] = narrow<O>(factor == 1 ? all : all * (T)factor);
}

// A warp reduces a short row.
extern "C" __global__ void __launch_bounds__(THREADS) reduce_short_rows(
    const S* __restrict__ x, const T* __restrict__ centre, O* __restrict__ out, double factor, long long rows,
    long long n) {
  const long long r = blockIdx.x * (long long)(THREADS / 32) + threadIdx.x / 32;
  if (r >= rows) return;
  const T c = centre ? centre[r] : 0;
  T all = R::first();
  for (long long j = threadIdx.x % 32 * V; j < n; j += 32 * V) {
    const PackOf<S, V> pack = load<V>(x + r * n + j);
#pragma unroll
    for (int i = 0; i < V; ++i) all = R::of(all, prepared(wide(pack.v[i]), c));
  }
  for (int step = 16; step; step >>= 1) all = R::of(all, __shfl_xor_sync(0xffffffffu, all, step));
  if (threadIdx.x % 32 == 0) out[r] = narrow<O>(factor == 1 ? all : all * (T)factor);
}

// inner is not 1: 32 threads side by side take V columns each, the others of the block other rows of them; a block does
// one slice of the rows.
extern "C" __global__ void __launch_bounds__(THREADS) reduce_columns(
    const S* __restrict__ x, const T* __restrict__ centre, O* __restrict__ out, double factor, long long slices,
    long long n, long long inner) {
  constexpr int LINES = THREADS / 32;
  __shared__ T parts[LINES][32 * V];
  const long long tiles = (inner + 32 * V - 1) / (32 * V);
  const long long tile = blockIdx.x % tiles, slice = blockIdx.x / tiles % slices, a = blockIdx.x / tiles / slices;
  const int side = threadIdx.x % 32, line = threadIdx.x / 32;
  const long long j = tile * 32 * V + side * V;
  const long long each = (n + slices - 1) / slices, end = min(n, (slice + 1) * each);
  T value[V], c[V];
#pragma unroll
  for (int i = 0; i < V; ++i) value[i] = R::first(), c[i] = centre && j < inner ? centre[a * inner + j + i] : 0;
  if (j < inner) {
#pragma unroll 4
    for (long long k = slice * each + line; k < end; k += LINES) {
      const PackOf<S, V> pack = load<V>(x + (a * n + k) * inner + j);
#pragma unroll
      for (int i = 0; i < V; ++i) value[i] = R::of(value[i], prepared(wide(pack.v[i]), c[i]));
    }
  }
#pragma unroll
  for (int i = 0; i < V; ++i) parts[line][side * V + i] = value[i];
  __syncthreads();
  for (int p = threadIdx.x; p < 32 * V; p += THREADS) {
    T all = parts[0][p];
    for (int k = 1; k < LINES; ++k) all = R::of(all, parts[k][p]);
    const long long column = tile * 32 * V + p;
    if (column < inner) out[(a * slices + slice) * inner + column] = narrow<O>(factor == 1 ? all : all * (T)factor);
  }
}
