// An array added to another of its shape (n numbers), or to all rows of n numbers of a larger one.
extern "C" __global__ void add_to_rows(S* __restrict__ target, const S* __restrict__ other, long long n, long long packs) {
  const long long p = blockIdx.x * (long long)THREADS + threadIdx.x;
  if (p >= packs) return;
  const long long at = p * V;
  PackOf<S, V> pack = load<V>(target + at);
  const PackOf<S, V> more = load<V>(other + (packs * V == n ? at : packs < 1u << 31 ? (unsigned int)p % (unsigned int)(n / V) * V : at % n));
#pragma unroll
  for (int i = 0; i < V; ++i) pack.v[i] = narrow<S>(wide(pack.v[i]) + wide(more.v[i]));
  store<V>(target + at, pack);
}
