// Negative log-likelihood: x has shape (samples, classes, inner), the targets (samples, inner); weights may be null.
// A target that is no class is noted in `faults`, counts as 0, and is told of later: see faults.py.

__device__ __forceinline__ long long class_of(
    const I* target, long long i, long long ignored, long long classes, long long* faults, long long site) {
  const long long t = target[i];
  if (t == ignored) return -1;
  if (t >= 0 && t < classes) return t;
  note_fault(faults, site, t, classes);
  return -1;
}

// One loss for each target.
extern "C" __global__ void nll_each(
    const S* __restrict__ x, const I* __restrict__ target, const S* __restrict__ weight, S* __restrict__ out,
    long long* faults, long long site, long long count, long long classes, long long inner, long long ignored) {
  const long long i = blockIdx.x * (long long)THREADS + threadIdx.x;
  if (i >= count) return;
  const long long t = class_of(target, i, ignored, classes, faults, site);
  const T w = t < 0 ? 0 : weight ? wide(weight[t]) : 1;
  T loss = 0;
  if (w != 0) loss = -wide(x[(i / inner * classes + t) * inner + i % inner]) * w;  // an ignored loss may be infinite
  out[i] = narrow<S>(loss);
}

// Sums of losses and of weights: one pair for each block.
extern "C" __global__ void __launch_bounds__(THREADS) nll_sums(
    const S* __restrict__ x, const I* __restrict__ target, const S* __restrict__ weight, T* __restrict__ parts,
    long long* faults, long long site, long long count, long long classes, long long inner, long long ignored) {
  T sum = 0, weights = 0;
  for (long long i = blockIdx.x * (long long)THREADS + threadIdx.x; i < count; i += gridDim.x * (long long)THREADS) {
    const long long t = class_of(target, i, ignored, classes, faults, site);
    if (t < 0) continue;
    const T w = weight ? wide(weight[t]) : 1;
    if (w != 0) sum -= wide(x[(i / inner * classes + t) * inner + i % inner]) * w;
    weights += w;
  }
  sum = together<Sum>(sum);
  weights = together<Sum>(weights);
  if (threadIdx.x == 0) parts[2 * blockIdx.x] = sum, parts[2 * blockIdx.x + 1] = weights;
}

// The loss of all, and the sum of weights that a mean was divided by.
extern "C" __global__ void __launch_bounds__(THREADS) nll_finish(
    const T* __restrict__ parts, S* __restrict__ out, T* __restrict__ total, long long blocks, long long mean) {
  T sum = 0, weights = 0;
  for (long long k = threadIdx.x; k < blocks; k += THREADS) sum += parts[2 * k], weights += parts[2 * k + 1];
  sum = together<Sum>(sum);
  weights = together<Sum>(weights);
  if (threadIdx.x == 0) out[0] = narrow<S>(mean ? sum / weights : sum), total[0] = weights;
}

__device__ __forceinline__ T slope_of(T g, T w, const T* total) {
  return w == 0 ? 0 : total ? -g * w / total[0] : -g * w;
}

// The gradient of rows of classes, all 0 but for the target's: a block a row. `each` says that g has a number for each.
extern "C" __global__ void __launch_bounds__(THREADS) nll_rows_backward(
    const S* __restrict__ g, const I* __restrict__ target, const S* __restrict__ weight, const T* __restrict__ total,
    S* __restrict__ dx, long long each, long long classes, long long ignored) {
  const long long r = blockIdx.x;
  long long t = target[r];
  if (t == ignored || t < 0 || t >= classes) t = -1;
  const S slope = narrow<S>(t < 0 ? (T)0 : slope_of(wide(g[each ? r : 0]), weight ? wide(weight[t]) : 1, total));
  const S zero = narrow<S>((T)0);
  for (long long j = (long long)threadIdx.x * V; j < classes; j += THREADS * V) {
    PackOf<S, V> pack;
#pragma unroll
    for (int k = 0; k < V; ++k) pack.v[k] = j + k == t ? slope : zero;
    store<V>(dx + r * classes + j, pack);
  }
}

// The same where each class has several places.
extern "C" __global__ void __launch_bounds__(THREADS) nll_places_backward(
    const S* __restrict__ g, const I* __restrict__ target, const S* __restrict__ weight, const T* __restrict__ total,
    S* __restrict__ dx, long long each, long long count, long long classes, long long inner, long long ignored) {
  const long long at = blockIdx.x * (long long)THREADS + threadIdx.x;
  if (at >= count) return;
  const long long line = at / inner, c = line % classes, i = line / classes * inner + at % inner, t = target[i];
  const bool hit = t == c && t != ignored;
  dx[at] = narrow<S>(hit ? slope_of(wide(g[each ? i : 0]), weight ? wide(weight[t]) : 1, total) : (T)0);
}
