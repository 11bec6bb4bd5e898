// The numbers of a row, each thread of a group having some: PACKS packs of V, kept in registers; or, where PACKS is 0
// because the row is too long, read from memory again whenever they are wanted.
constexpr int LANES = GROUP;
constexpr int HELD = PACKS ? PACKS * V : 1;

__device__ __forceinline__ long long my_row() {
  return blockIdx.x * (long long)(THREADS / GROUP) + threadIdx.x / GROUP;
}
__device__ __forceinline__ int my_lane() { return threadIdx.x % GROUP; }

// Calls f(k, j) for each pack k of this thread, which begins at element j of the row.
template <class F> __device__ __forceinline__ void each_pack(long long n, F f) {
  if constexpr (PACKS > 0) {
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
      const long long j = ((long long)k * LANES + my_lane()) * V;
      if (j < n) f(k, j);
    }
  } else {
    for (long long j = (long long)my_lane() * V; j < n; j += LANES * V) f(0, j);
  }
}

template <class X> struct RowOf {
  const X* from;
  T held[HELD];

  __device__ __forceinline__ RowOf(const X* from, long long n) : from(from) {
    if constexpr (PACKS > 0) {
      each_pack(n, [&](int k, long long j) {
        const PackOf<X, V> pack = load<V>(from + j);
#pragma unroll
        for (int i = 0; i < V; ++i) held[k * V + i] = wide(pack.v[i]);
      });
    }
  }
  // Calls f(number, its place) for each number of this thread.
  template <class F> __device__ __forceinline__ void each(long long n, F f) const {
    each_pack(n, [&](int k, long long j) {
      T v[V];
      read(k, j, v);
#pragma unroll
      for (int i = 0; i < V; ++i) f(v[i], j + i);
    });
  }
  __device__ __forceinline__ void read(int k, long long j, T* v) const {
    if constexpr (PACKS > 0) {
#pragma unroll
      for (int i = 0; i < V; ++i) v[i] = held[k * V + i];
    } else {
      const PackOf<X, V> pack = load<V>(from + j);
#pragma unroll
      for (int i = 0; i < V; ++i) v[i] = wide(pack.v[i]);
    }
  }
};
using Row = RowOf<S>;

// Writes a row: f(k, j, v) gives the V numbers of a pack.
template <class F> __device__ __forceinline__ void write_row(S* out, long long n, F f) {
  each_pack(n, [&](int k, long long j) {
    T v[V];
    f(k, j, v);
    PackOf<S, V> pack;
#pragma unroll
    for (int i = 0; i < V; ++i) pack.v[i] = narrow<S>(v[i]);
    store<V>(out + j, pack);
  });
}
