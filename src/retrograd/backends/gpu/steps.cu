// Steps of optimisers: many parameters in one launch. S is how numbers lie in memory, T (float or double) what is computed
// with, ROWS how many parameters there can be, CHUNK how many numbers a block moves. native/gpu_steps.cpp fills the
// structures.

struct Row {
  S* param;
  const S* grad;
  S *first, *second, *largest;  // what is kept from step to step; null where there is none
  long long n;
  double rate, root;  // what depends on the count of steps
};

struct Rows {
  Row row[ROWS];
  unsigned starts[ROWS + 1];  // the first block of each row, and the end of the last
};

struct Numbers {
  double lr, beta1, beta2, eps, decay;  // momentum and dampening stand in the place of both betas
  int decoupled, nesterov, maximize, amsgrad;
};

constexpr int V = 16 / sizeof(S);

// N neighbouring numbers of an array that may not be there.
template <int N> struct Part {
  T v[N] = {};

  __device__ __forceinline__ Part(const S* from, long long i) {
    if (from == nullptr) return;
    const PackOf<S, N> pack = load<N>(from + i);
#pragma unroll
    for (int j = 0; j < N; ++j) v[j] = wide(pack.v[j]);
  }
  __device__ __forceinline__ void write(S* to, long long i) const {
    if (to == nullptr) return;
    PackOf<S, N> pack;
#pragma unroll
    for (int j = 0; j < N; ++j) pack.v[j] = narrow<S>(v[j]);
    store<N>(to + i, pack);
  }
};

struct Adam {
  static __device__ __forceinline__ void step(const Row& row, const Numbers& k, T& param, T g, T& mean, T& square, T& largest) {
    if (k.maximize) g = -g;
    if (k.decay != 0) {
      if (k.decoupled) param *= (T)(1 - k.lr * k.decay);
      else g += (T)k.decay * param;
    }
    mean += (g - mean) * (T)(1 - k.beta1);
    square = square * (T)k.beta2 + g * g * (T)(1 - k.beta2);
    T used = square;
    if (k.amsgrad) used = largest = largest >= square ? largest : square;
    param -= (T)row.rate * (mean / (sqrt(used) / (T)row.root + (T)k.eps));
  }
};

struct Sgd {
  static __device__ __forceinline__ void step(const Row& row, const Numbers& k, T& param, T g, T& velocity, T&, T&) {
    if (k.maximize) g = -g;
    if (k.decay != 0) g += (T)k.decay * param;
    if (k.beta1 != 0) {
      velocity = row.rate != 0 ? g : velocity * (T)k.beta1 + g * (T)(1 - k.beta2);  // rate: whether it is the first step
      g = k.nesterov ? g + velocity * (T)k.beta1 : velocity;
    }
    param -= g * (T)k.lr;
  }
};

// Steps N neighbouring numbers of a row.
template <class How, int N>
__device__ __forceinline__ void step(const Row& row, const Numbers& k, long long i) {
  Part<N> p(row.param, i), g(row.grad, i), a(row.first, i), b(row.second, i), c(row.largest, i);
#pragma unroll
  for (int j = 0; j < N; ++j) How::step(row, k, p.v[j], g.v[j], a.v[j], b.v[j], c.v[j]);
  p.write(row.param, i);
  a.write(row.first, i);
  b.write(row.second, i);
  c.write(row.largest, i);
}

template <class How>
__device__ __forceinline__ void move(const Rows& rows, const Numbers& k) {
  int r = 0;
  while (blockIdx.x >= rows.starts[r + 1]) ++r;
  const Row& row = rows.row[r];
  const long long begin = (long long)(blockIdx.x - rows.starts[r]) * CHUNK;
  const long long end = begin + CHUNK < row.n ? begin + CHUNK : row.n;
  const size_t places = (size_t)row.param | (size_t)row.grad | (size_t)row.first | (size_t)row.second | (size_t)row.largest;
  const long long packed = places % 16 == 0 ? begin + (end - begin) / V * V : begin;
  for (long long i = begin + threadIdx.x * V; i < packed; i += THREADS * V) step<How, V>(row, k, i);
  for (long long i = packed + threadIdx.x; i < end; i += THREADS) step<How, 1>(row, k, i);
}

extern "C" __global__ void __launch_bounds__(THREADS) adam(const Rows rows, const Numbers k) { move<Adam>(rows, k); }
extern "C" __global__ void __launch_bounds__(THREADS) sgd(const Rows rows, const Numbers k) { move<Sgd>(rows, k); }
