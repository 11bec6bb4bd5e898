"""Random numbers inside of vmap: refused, drawn once for all samples, or for each sample."""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.backends.batch.array import Level, all_samples, batches, levels_among, levels_of, on_levels

REFUSED = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
    "randomness flags on vmap or perform the randomness operation out of vmap"
)


def check_draw(levels: tuple[Level, ...]) -> None:
    """What is drawn once for all samples is not drawn by parameters that each sample has for itself."""
    if any(level.randomness == "same" for level in levels):
        raise RuntimeError(
            "Vmap does not currently support same randomness with a batched tensor input: samples of different "
            "distributions do not share their random numbers. Use randomness='different', or draw from a distribution "
            "of no parameters, as by rand() or randn(), and transform what it gives."
        )


def check_target(levels: tuple[Level, ...], target: Any) -> None:
    """Numbers of its own for each sample need a tensor that each has for itself."""
    has = levels_of(target)
    if any(level.randomness == "different" and level not in has for level in levels):
        raise RuntimeError(
            "vmap: Cannot ask for different inplace randomness on an unbatched tensor. All samples share it: write "
            "into one made from a vmapped tensor, as by zeros_like()."
        )


class BatchedStream:
    """NumPy's generator as functions inside of some levels see it; it has the methods that they use."""

    def __init__(self, stream: np.random.Generator, levels: tuple[Level, ...]) -> None:
        if any(level.randomness == "error" for level in levels):
            raise RuntimeError(REFUSED)
        self.stream = stream
        self.levels: tuple[Level, ...] = tuple(
            [level for level in reversed(levels) if level.randomness == "different"]
        )

    def _sized(self, draw: Any, size: Any, *args: Any, **kwargs: Any) -> Any:
        """Numbers in a given size, for each sample."""
        sizes = () if size is None else (size,) if hasattr(size, "__index__") else tuple(size)
        drawn = draw(*args, size=(*batches(self.levels), *sizes), **kwargs)
        return on_levels(np.asarray(drawn), self.levels)

    def _by(self, draw: Any, *parameters: Any) -> Any:
        """Numbers by parameters, which may differ between samples."""
        levels = levels_among((parameters, on_levels(np.zeros((1,) * len(self.levels)), self.levels)))
        shape = np.broadcast_shapes(*[np.shape(p) for p in parameters])
        room = np.zeros((*batches(levels), *shape), bool)
        wide = [all_samples(np.where(on_levels(room, levels), 0, p)) for p in parameters]
        return on_levels(np.asarray(draw(*wide)), levels)

    def random(self, size: Any = None, dtype: Any = np.float64) -> Any:
        return self._sized(self.stream.random, size, dtype=dtype)

    def standard_normal(self, size: Any = None, dtype: Any = np.float64) -> Any:
        return self._sized(self.stream.standard_normal, size, dtype=dtype)

    def standard_exponential(self, size: Any = None, dtype: Any = np.float64) -> Any:
        return self._sized(self.stream.standard_exponential, size, dtype=dtype)

    def standard_cauchy(self, size: Any = None) -> Any:
        return self._sized(self.stream.standard_cauchy, size)

    def integers(
        self, low: Any, high: Any, size: Any = None, dtype: Any = np.int64, endpoint: bool = False
    ) -> Any:
        return self._sized(self.stream.integers, size, low, high, dtype=dtype, endpoint=endpoint)

    def uniform(self, low: Any, high: Any, size: Any = None) -> Any:
        return self._sized(self.stream.uniform, size, low, high)

    def lognormal(self, mean: Any, sigma: Any, size: Any = None) -> Any:
        return self._sized(self.stream.lognormal, size, mean, sigma)

    def geometric(self, p: Any, size: Any = None) -> Any:
        return self._sized(self.stream.geometric, size, p)

    def permutation(self, n: int) -> Any:
        rows = np.broadcast_to(np.arange(n), (*batches(self.levels), n))
        return on_levels(self.stream.permuted(rows, axis=-1), self.levels)

    def binomial(self, n: Any, p: Any) -> Any:
        return self._by(self.stream.binomial, n, p)

    def poisson(self, lam: Any) -> Any:
        return self._by(self.stream.poisson, lam)

    def standard_gamma(self, shape: Any) -> Any:
        return self._by(self.stream.standard_gamma, shape)
