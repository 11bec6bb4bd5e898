// Sums of small arrays, arrays of one number, and losses of predictions and targets. S is how numbers lie in memory, T
// (float or double) what is computed with; losses are of T. All launches are those of native/gpu_sums.cpp.

constexpr int WARP = 32;

__device__ __forceinline__ T warp_sum(T v) {
  for (int step = WARP / 2; step > 0; step /= 2) v += __shfl_xor_sync(0xffffffffu, v, step);
  return v;
}

// The sum over all threads of a block, which the first of them gets.
__device__ __forceinline__ T block_sum(T v) {
  __shared__ T parts[WARP];
  v = warp_sum(v);
  if (threadIdx.x % WARP == 0) parts[threadIdx.x / WARP] = v;
  __syncthreads();
  if (threadIdx.x >= WARP) return v;
  return warp_sum(threadIdx.x < blockDim.x / WARP ? parts[threadIdx.x] : T(0));
}

// Each block sums a row of n numbers.
extern "C" __global__ void sum_rows(const S* __restrict__ x, S* __restrict__ out, double factor, long long n) {
  const S* row = x + blockIdx.x * n;
  T sum = 0;
#pragma unroll 4
  for (long long i = threadIdx.x; i < n; i += blockDim.x) sum += wide(row[i]);
  sum = block_sum(sum);
  if (threadIdx.x == 0) out[blockIdx.x] = narrow<S>(sum * (T)factor);
}

// Each block sums n numbers of each of 32 columns; x is (outer, n, inner).
extern "C" __global__ void sum_columns(
    const S* __restrict__ x, S* __restrict__ out, double factor, long long n, long long inner) {
  __shared__ T parts[8][WARP + 1];
  const int lane = threadIdx.x % WARP, line = threadIdx.x / WARP;
  const long long column = blockIdx.x * (long long)WARP + lane;
  const S* from = x + blockIdx.y * n * inner + column;
  T sum = 0;
  if (column < inner) {
#pragma unroll 4
    for (long long i = line; i < n; i += 8) sum += wide(from[i * inner]);
  }
  parts[line][lane] = sum;
  __syncthreads();
  if (line != 0 || column >= inner) return;
  for (int k = 1; k < 8; ++k) sum += parts[k][lane];
  out[blockIdx.y * inner + column] = narrow<S>(sum * (T)factor);
}

extern "C" __global__ void fill(S* __restrict__ out, double value, long long n) {
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) out[i] = narrow<S>((T)value);
}

// ---- losses: by the numbers that difference_loss.py gives them -------------------------------------------------------

__device__ __forceinline__ T between(T v, T low, T high) { return v < low ? low : v > high ? high : v; }
__device__ __forceinline__ T at_least(T v, T low) { return v < low ? low : v; }

__device__ __forceinline__ T height(int kind, T x, T t, T p) {
  const T d = x - t, size = fabs(d);
  switch (kind) {
    case 0: return d * d;
    case 1: return size < p ? d * d * (T(0.5) / p) : size - T(0.5) * p;
    case 2: return size < p ? d * d * T(0.5) : (size - T(0.5) * p) * p;
    case 3: return (t - 1) * at_least(log1p(-x), T(-100)) - t * at_least(log(x), T(-100));
    default: return (1 - t) * x - ((x > 0 ? T(0) : x) - log1p(exp(-fabs(x))));
  }
}

__device__ __forceinline__ T slope(int kind, T x, T t, T p) {
  const T d = x - t;
  switch (kind) {
    case 0: return d * 2;
    case 1: return p == 0 ? (d > 0 ? T(1) : d < 0 ? T(-1) : d) : between(d / p, T(-1), T(1));
    case 2: return between(d, -p, p);
    case 3: return d / at_least((1 - x) * x, T(1e-12));
    default: return 1 / (1 + exp(-x)) - t;
  }
}

// The sum of the losses that a block looks at.
extern "C" __global__ void loss(
    const T* __restrict__ x, const T* __restrict__ t, T* __restrict__ out, long long kind, double p, double factor,
    long long n) {
  T sum = 0;
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += gridDim.x * (long long)blockDim.x)
    sum += height((int)kind, x[i], t[i], (T)p);
  sum = block_sum(sum);
  if (threadIdx.x == 0) out[blockIdx.x] = sum * (T)factor;
}

// The gradient of predictions; g is one number for all if `single`.
extern "C" __global__ void loss_backward(
    const T* __restrict__ g, const T* __restrict__ x, const T* __restrict__ t, T* __restrict__ out, long long kind,
    double p, double share, long long single, long long n) {
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) out[i] = slope((int)kind, x[i], t[i], (T)p) * g[single ? 0 : i] * (T)share;
}
