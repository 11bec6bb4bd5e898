// Kernels on the rows of a matrix: one block a row. T is float or double, and sums are of that type.

constexpr int THREADS = 256;

struct Sum {
  static __device__ T first() { return 0; }
  static __device__ T of(T a, T b) { return a + b; }
};
// A NaN wins, as in NumPy.
struct Max {
  static __device__ T first() { return (T)-INFINITE; }
  static __device__ T of(T a, T b) { return (a >= b) | (a != a) ? a : b; }
};

// What all threads of the block have, put together; every thread gets it.
template <class F> __device__ T together(T value) {
  __shared__ T parts[THREADS / 32];
  for (int step = 16; step; step >>= 1) value = F::of(value, __shfl_xor_sync(0xffffffffu, value, step));
  __syncthreads();  // the last call's parts have been read
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  T all = parts[0];
  for (int k = 1; k < THREADS / 32; ++k) all = F::of(all, parts[k]);
  return all;
}

#define EACH for (long long j = threadIdx.x; j < n; j += THREADS)

__device__ T log_of_sum(const T* x, long long n, T& top) {
  T value = Max::first();
  EACH value = Max::of(value, x[j]);
  top = together<Max>(value);
  T sum = 0;
  EACH sum += exp(x[j] - top);
  return together<Sum>(sum);
}

extern "C" __global__ void softmax(const T* __restrict__ x, T* __restrict__ out, long long n) {
  x += blockIdx.x * n, out += blockIdx.x * n;
  T top;
  const T factor = 1 / log_of_sum(x, n, top);
  EACH out[j] = exp(x[j] - top) * factor;
}

extern "C" __global__ void log_softmax(const T* __restrict__ x, T* __restrict__ out, long long n) {
  x += blockIdx.x * n, out += blockIdx.x * n;
  T top;
  const T size = log(log_of_sum(x, n, top));
  EACH out[j] = x[j] - top - size;
}

extern "C" __global__ void softmax_backward(const T* __restrict__ g, const T* __restrict__ out, T* __restrict__ dx, long long n) {
  g += blockIdx.x * n, out += blockIdx.x * n, dx += blockIdx.x * n;
  T sum = 0;
  EACH sum += g[j] * out[j];
  sum = together<Sum>(sum);
  EACH dx[j] = out[j] * (g[j] - sum);
}

extern "C" __global__ void log_softmax_backward(const T* __restrict__ g, const T* __restrict__ out, T* __restrict__ dx, long long n) {
  g += blockIdx.x * n, out += blockIdx.x * n, dx += blockIdx.x * n;
  T sum = 0;
  EACH sum += g[j];
  sum = together<Sum>(sum);
  EACH dx[j] = g[j] - exp(out[j]) * sum;
}

// Weight and bias may be null. Mean and scale of each row are noted for the backward.
extern "C" __global__ void layer_norm(
    const T* __restrict__ x, const T* __restrict__ weight, const T* __restrict__ bias, T* __restrict__ out,
    T* __restrict__ moments, double eps, long long n) {
  x += blockIdx.x * n, out += blockIdx.x * n;
  T sum = 0;
  EACH sum += x[j];
  const T mean = together<Sum>(sum) / n;
  sum = 0;
  EACH sum += (x[j] - mean) * (x[j] - mean);
  const T scale = 1 / sqrt(together<Sum>(sum) / n + (T)eps);
  if (threadIdx.x == 0) moments[2 * blockIdx.x] = mean, moments[2 * blockIdx.x + 1] = scale;
  EACH {
    T value = (x[j] - mean) * scale;
    if (weight) value *= weight[j];
    out[j] = bias ? value + bias[j] : value;
  }
}

extern "C" __global__ void layer_norm_backward(
    const T* __restrict__ g, const T* __restrict__ x, const T* __restrict__ weight, const T* __restrict__ moments,
    T* __restrict__ dx, long long n) {
  g += blockIdx.x * n, x += blockIdx.x * n, dx += blockIdx.x * n;
  const T mean = moments[2 * blockIdx.x], scale = moments[2 * blockIdx.x + 1];
  T sum = 0, along = 0;
  EACH {
    const T v = weight ? g[j] * weight[j] : g[j];
    sum += v;
    along += v * (x[j] - mean);
  }
  sum = together<Sum>(sum) / n;
  along = together<Sum>(along) * scale * scale / n;
  EACH {
    const T v = weight ? g[j] * weight[j] : g[j];
    dx[j] = (v - sum - (x[j] - mean) * along) * scale;
  }
}

// Sums over rows, of which a block takes every gridDim.y-th: of g times the normalised x, and of g.
extern "C" __global__ void layer_norm_columns(
    const T* __restrict__ g, const T* __restrict__ x, const T* __restrict__ moments, T* __restrict__ dweight,
    T* __restrict__ dbias, long long rows, long long n) {
  const long long j = blockIdx.x * (long long)THREADS + threadIdx.x;
  if (j >= n) return;
  T sum = 0, along = 0;
  for (long long r = blockIdx.y; r < rows; r += gridDim.y) {
    const T v = g[r * n + j];
    sum += v;
    along += v * (x[r * n + j] - moments[2 * r]) * moments[2 * r + 1];
  }
  dweight[blockIdx.y * n + j] = along;
  dbias[blockIdx.y * n + j] = sum;
}
