// Numbers of the type S as numbers of the type O, and a step of Adam in half precision, computed in single.

extern "C" __global__ void convert(const S* __restrict__ x, O* __restrict__ out, long long n) {
  const long long first = (blockIdx.x * (long long)THREADS + threadIdx.x) * V;
  if (first + V <= n) {
    const PackOf<S, V> pack = load<V>(x + first);
    PackOf<O, V> made;
#pragma unroll
    for (int i = 0; i < V; ++i) made.v[i] = narrow<O>((T)wide(pack.v[i]));
    store<V>(out + first, made);
  } else {
    for (long long i = first; i < n; ++i) out[i] = narrow<O>((T)wide(x[i]));
  }
}

extern "C" __global__ void adam(
    S* __restrict__ param, const S* __restrict__ grad, S* __restrict__ mean, S* __restrict__ square,
    S* __restrict__ largest, double lr, double rate, double beta1, double beta2, double root, double eps, double decay,
    long long decoupled, long long maximize, long long n) {
  const long long i = blockIdx.x * (long long)THREADS + threadIdx.x;
  if (i >= n) return;
  T value = wide(param[i]), g = maximize ? -wide(grad[i]) : wide(grad[i]);
  if (decay != 0) {
    if (decoupled) value *= (T)(1 - lr * decay);
    else g += (T)decay * value;
  }
  const T m = wide(mean[i]) + (g - wide(mean[i])) * (T)(1 - beta1);
  const T v = wide(square[i]) * (T)beta2 + g * g * (T)(1 - beta2);
  T used = v;
  if (largest) {
    used = wide(largest[i]) >= v ? wide(largest[i]) : v;
    largest[i] = narrow<S>(used);
  }
  mean[i] = narrow<S>(m);
  square[i] = narrow<S>(v);
  param[i] = narrow<S>(value - (T)rate * (m / (sqrt(used) / (T)root + (T)eps)));
}
