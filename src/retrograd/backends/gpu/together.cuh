// What the threads of a group have together.
//
// S is how numbers lie in memory (float, double, Half, BFloat), T what is computed with: double for double, else float.
// V numbers are read or written at once. THREADS are the threads of a block, GROUP (32, or all of a block) those that
// work together.
struct Sum {
  static __device__ T first() { return 0; }
  static __device__ T of(T a, T b) { return a + b; }
};
// A NaN wins, as in NumPy.
struct Max {
  static __device__ T first() { return (T)-INFINITE; }
  static __device__ T of(T a, T b) { return (a >= b) | (a != a) ? a : b; }
};
struct Min {
  static __device__ T first() { return (T)INFINITE; }
  static __device__ T of(T a, T b) { return (a <= b) | (a != a) ? a : b; }
};

// What all threads of a group have, put together; every thread gets it.
template <class F> __device__ T together(T value) {
  for (int step = 16; step; step >>= 1) value = F::of(value, __shfl_xor_sync(0xffffffffu, value, step));
  if (GROUP > 32) {
    __shared__ T parts[32];
    __syncthreads();  // the last call's parts have been read
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
    __syncthreads();
    value = parts[0];
    for (int k = 1; k < GROUP / 32; ++k) value = F::of(value, parts[k]);
  }
  return value;
}
