// The noise of dropout: 0 with probability p, else `scale`; a thread draws four numbers, of one counter.
extern "C" __global__ void noise(
    S* __restrict__ out, long long key, long long place, double p, double scale, long long count) {
  const long long i = blockIdx.x * (long long)THREADS + threadIdx.x;
  if (i * 4 >= count) return;
  Words words(key, place + i);
  const S kept = narrow<S>((T)scale), dropped = narrow<S>((T)0);
  for (int k = 0; k < 4 && i * 4 + k < count; ++k) out[i * 4 + k] = words.unit32() >= (float)p ? kept : dropped;
}
