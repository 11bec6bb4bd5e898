"""Random numbers on the GPU: a counter that a cipher (Philox) turns into bits, as PyTorch's GPU generator does.

A stream is a seed and a place. Element i of a draw depends on seed, place and i alone, so a draw is one kernel, and a
state is sixteen bytes.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from retrograd.values import Array

# Philox 4x32 with ten rounds: four random words for a key of 64 bits and a counter of 128.
PHILOX: Final = r"""
struct Words {
  unsigned int w[4];
  int used;
  unsigned long long key, at, block;

  __device__ Words(unsigned long long key, unsigned long long at) : used(4), key(key), at(at), block(0) {}

  __device__ void refill() {
    unsigned int c0 = (unsigned int)at, c1 = (unsigned int)(at >> 32);
    unsigned int c2 = (unsigned int)block, c3 = (unsigned int)(block >> 32);
    unsigned int k0 = (unsigned int)key, k1 = (unsigned int)(key >> 32);
    for (int round = 0; round < 10; ++round) {
      unsigned long long p0 = 0xD2511F53ull * c0, p1 = 0xCD9E8D57ull * c2;
      unsigned int n0 = (unsigned int)(p1 >> 32) ^ c1 ^ k0, n2 = (unsigned int)(p0 >> 32) ^ c3 ^ k1;
      c1 = (unsigned int)p1; c3 = (unsigned int)p0; c0 = n0; c2 = n2;
      k0 += 0x9E3779B9u; k1 += 0xBB67AE85u;
    }
    w[0] = c0; w[1] = c1; w[2] = c2; w[3] = c3;
    used = 0; ++block;
  }
  __device__ unsigned int word() { if (used == 4) refill(); return w[used++]; }
  __device__ unsigned long long wide() { unsigned long long high = word(); return high << 32 | word(); }
  __device__ float unit32() { return (word() >> 8) * (1.0f / 16777216.0f); }
  __device__ double unit64() { return (wide() >> 11) * (1.0 / 9007199254740992.0); }
  // Never 0, for logarithms.
  __device__ double open64() { return ((wide() >> 11) + 1) * (1.0 / 9007199254740992.0); }
  __device__ double normal() {
    double r = sqrt(-2.0 * log(open64()));
    return r * cospi(2.0 * unit64());
  }
  __device__ float normal32() {
    float r = sqrtf(-2.0f * logf(((word() >> 8) + 1) * (1.0f / 16777216.0f)));
    return r * cospif(2.0f * unit32());
  }
  __device__ double cauchy() {
    double u = unit64() - 0.5;
    return sinpi(u) / cospi(u);
  }
  // A number of events of rate `rate`: their distances are multiplied up where there are few.
  __device__ double poisson(double rate) {
    if (!(rate > 0)) return rate == 0 ? 0 : nan("");
    if (rate < 30) {
      double limit = exp(-rate), product = unit64();
      double count = 0;
      while (product > limit) { product *= unit64(); ++count; }
      return count;
    }
    // Transformed rejection (W. Hörmann, 1993).
    double b = 0.931 + 2.53 * sqrt(rate), a = -0.059 + 0.02483 * b;
    double inverse = 1.1239 + 1.1328 / (b - 3.4), v = 0.9277 - 3.6224 / (b - 2);
    for (;;) {
      double u = unit64() - 0.5, w = open64(), us = 0.5 - fabs(u);
      double k = floor((2 * a / us + b) * u + rate + 0.43);
      if (us >= 0.07 && w <= v) return k;
      if (k < 0 || (us < 0.013 && w > us)) continue;
      if (log(w) + log(inverse) - log(a / (us * us) + b) <= -rate + k * log(rate) - lgamma(k + 1)) return k;
    }
  }
  __device__ double binomial(double n, double p) {
    if (!(n > 0) || !(p > 0)) return 0;
    if (p >= 1) return n;
    if (p > 0.5) return n - binomial_below(n, 1 - p);
    return binomial_below(n, p);
  }
  __device__ double binomial_below(double n, double p) {
    if (n * p < 10) {  // jump from success to success
      double step = log1p(-p), at = 0, count = -1;
      do { at += ceil(log(open64()) / step); ++count; } while (at <= n);
      return count;
    }
    // Transformed rejection (W. Hörmann, 1993).
    double spread = sqrt(n * p * (1 - p)), b = 1.15 + 2.53 * spread, a = -0.0873 + 0.0248 * b + 0.01 * p;
    double c = n * p + 0.5, v = 0.92 - 4.2 / b, r = p / (1 - p), alpha = (2.83 + 5.1 / b) * spread;
    double m = floor((n + 1) * p);
    for (;;) {
      double u = unit64() - 0.5, w = open64(), us = 0.5 - fabs(u);
      double k = floor((2 * a / us + b) * u + c);
      if (us >= 0.07 && w <= v) return k;
      if (k < 0 || k > n) continue;
      double t = log(w * alpha / (a / (us * us) + b));
      if (t <= (k - m) * log(r) + lgamma(m + 1) + lgamma(n - m + 1) - lgamma(k + 1) - lgamma(n - k + 1)) return k;
    }
  }
};
"""

# What a draw makes of random words, by name: parameters, and an expression for one element.
DRAWS: Final[dict[str, tuple[str, str]]] = {
    "unit32": ("", "words.unit32()"),
    "unit64": ("", "words.unit64()"),
    "normal32": ("", "words.normal32()"),
    "normal64": ("", "words.normal()"),
    "exponential": ("", "-log(words.open64())"),
    "cauchy": ("", "words.cauchy()"),
    "geometric": (", float64 p", "p >= 1 ? 1 : ceil(log(words.open64()) / log1p(-p))"),
    "below": (", uint64 low, uint64 count", "low + (count ? words.wide() % count : words.wide())"),
    "poisson": (", float64 rate", "words.poisson(rate)"),
    "binomial": (", float64 n, float64 p", "words.binomial(n, p)"),
}


class CudaStream:
    """Draws numbers on the GPU, with the methods of `numpy.random.Generator` that formulas call."""

    seed: int
    place: int

    bit_generator = None

    def __init__(self, cupy: Any, seed: int) -> None:
        self.cupy = cupy
        self.seed = seed % (1 << 64)
        self.place = 0
        self.kernels: dict[str, Any] = {}

    def draw(self, how: str, size: Any, dtype: Any, *parameters: Any) -> Array:
        """An array of a size and dtype, or of the parameters' common size."""
        if how not in self.kernels:
            names, value = DRAWS[how]
            self.kernels[how] = self.cupy.ElementwiseKernel(
                "uint64 key, uint64 place" + names,
                "T out",
                f"Words words(key, place + i); out = (T)({value});",
                f"retrograd_{how}",
                preamble=PHILOX,
            )
        out = self.cupy.empty(size, dtype)
        place, self.place = self.place, self.place + out.size
        self.kernels[how](np.uint64(self.seed), np.uint64(place), *parameters, out)
        return out

    def random(self, size: Any = (), dtype: Any = np.float64) -> Array:
        return self.draw("unit32" if np.dtype(dtype) == np.float32 else "unit64", size, dtype)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = ()) -> Array:
        return low + (high - low) * self.random(size)

    def standard_normal(self, size: Any = (), dtype: Any = np.float64) -> Array:
        return self.draw("normal32" if np.dtype(dtype) == np.float32 else "normal64", size, dtype)

    def standard_exponential(self, size: Any = (), dtype: Any = np.float64) -> Array:
        return self.draw("exponential", size, dtype)

    def standard_cauchy(self, size: Any = ()) -> Array:
        return self.draw("cauchy", size, np.float64)

    def lognormal(self, mean: Any = 0.0, sigma: Any = 1.0, size: Any = ()) -> Array:
        return self.cupy.exp(mean + sigma * self.standard_normal(size))

    def geometric(self, p: Any, size: Any = ()) -> Array:
        return self.draw("geometric", size, np.int64, float(p))

    def integers(
        self, low: int, high: int, size: Any = (), dtype: Any = np.int64, endpoint: bool = False
    ) -> Array:
        count = int(high) - int(low) + endpoint
        drawn = self.draw(
            "below", size, np.uint64, np.uint64(int(low) % (1 << 64)), np.uint64(count % (1 << 64))
        )
        return drawn.view(np.int64).astype(dtype, copy=False) if np.dtype(dtype).kind != "u" else drawn

    def permutation(self, count: int) -> Array:
        return self.cupy.argsort(self.draw("unit64", (count,), np.float64)).astype(np.int64)

    def poisson(self, lam: Any) -> Array:
        return self.draw("poisson", lam.shape, np.float64, lam.astype(np.float64))

    def binomial(self, n: Any, p: Any) -> Array:
        shape = np.broadcast_shapes(n.shape, p.shape)
        return self.draw("binomial", shape, np.float64, n.astype(np.float64), p.astype(np.float64))

    def state(self) -> bytes:
        """Seed and place."""
        return self.seed.to_bytes(8, "little") + self.place.to_bytes(8, "little")

    def restore(self, state: bytes) -> None:
        """Puts the stream where it was when `state` was asked."""
        self.seed, self.place = int.from_bytes(state[:8], "little"), int.from_bytes(state[8:], "little")
