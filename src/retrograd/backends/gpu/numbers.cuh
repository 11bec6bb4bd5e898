// Kinds of numbers, and packs of them. No header of CUDA's is needed, so that a driver is enough to compile this.
#define INFINITE __longlong_as_double(0x7ff0000000000000LL)

struct Half { unsigned short bits; };
struct BFloat { unsigned short bits; };

__device__ __forceinline__ float wide(float x) { return x; }
__device__ __forceinline__ double wide(double x) { return x; }
__device__ __forceinline__ float wide(Half x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
}
__device__ __forceinline__ float wide(BFloat x) { return __uint_as_float((unsigned int)x.bits << 16); }

template <class S> struct Narrow { template <class T> static __device__ S of(T x) { return (S)x; } };
template <> struct Narrow<Half> {
  static __device__ Half of(float x) {
    Half y;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
    return y;
  }
};
template <> struct Narrow<BFloat> {  // to the nearest, halves to even; a NaN stays one
  static __device__ BFloat of(float x) {
    const unsigned int u = __float_as_uint(x);
    BFloat y;
    y.bits = x != x ? 0x7fc0 : (unsigned short)((u + 0x7fff + (u >> 16 & 1)) >> 16);
    return y;
  }
};
template <class S, class T> __device__ __forceinline__ S narrow(T x) { return Narrow<S>::of(x); }

template <class S, int N> struct alignas(sizeof(S) * N) PackOf { S v[N]; };
template <int N, class S> __device__ __forceinline__ PackOf<S, N> load(const S* from) {
  return *reinterpret_cast<const PackOf<S, N>*>(from);
}
template <int N, class S> __device__ __forceinline__ void store(S* to, const PackOf<S, N>& pack) {
  *reinterpret_cast<PackOf<S, N>*>(to) = pack;
}
