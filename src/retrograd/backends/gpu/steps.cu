// Steps of optimisers: many parameters in one launch. T is float or double, ROWS how many parameters there can be, CHUNK
// how many numbers a block moves. native/gpu_steps.cpp fills the structures.

struct Row {
  T* param;
  const T* grad;
  T *first, *second, *largest;  // what is kept from step to step; null where there is none
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

constexpr int V = 16 / sizeof(T);
struct alignas(16) Pack { T v[V]; };

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

__device__ __forceinline__ Pack load(const T* from) { return from == nullptr ? Pack() : *(const Pack*)from; }
__device__ __forceinline__ void store(T* to, const Pack& pack) { if (to != nullptr) *(Pack*)to = pack; }
__device__ __forceinline__ T* moved(T* p, long long i) { return p == nullptr ? p : p + i; }

template <class How>
__device__ __forceinline__ void move(const Rows& rows, const Numbers& k) {
  int r = 0;
  while (blockIdx.x >= rows.starts[r + 1]) ++r;
  const Row& row = rows.row[r];
  const long long begin = (long long)(blockIdx.x - rows.starts[r]) * CHUNK;
  const long long end = begin + CHUNK < row.n ? begin + CHUNK : row.n;
  const size_t places = (size_t)row.param | (size_t)row.grad | (size_t)row.first | (size_t)row.second | (size_t)row.largest;
  const long long packed = places % sizeof(Pack) == 0 ? begin + (end - begin) / V * V : begin;
  for (long long i = begin + threadIdx.x * V; i < packed; i += THREADS * V) {
    Pack p = load(row.param + i), g = load(row.grad + i), a = load(moved(row.first, i)), b = load(moved(row.second, i)),
         c = load(moved(row.largest, i));
#pragma unroll
    for (int j = 0; j < V; ++j) How::step(row, k, p.v[j], g.v[j], a.v[j], b.v[j], c.v[j]);
    store(row.param + i, p);
    store(moved(row.first, i), a);
    store(moved(row.second, i), b);
    store(moved(row.largest, i), c);
  }
  for (long long i = packed + threadIdx.x; i < end; i += THREADS) {
    T none = 0;
    T &a = row.first ? row.first[i] : none, &b = row.second ? row.second[i] : none, &c = row.largest ? row.largest[i] : none;
    How::step(row, k, row.param[i], row.grad[i], a, b, c);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS) adam(const Rows rows, const Numbers k) { move<Adam>(rows, k); }
extern "C" __global__ void __launch_bounds__(THREADS) sgd(const Rows rows, const Numbers k) { move<Sgd>(rows, k); }
