"""Points that fill a cube evenly, as `torch.quasirandom`. SciPy has the table of numbers that they are made of."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from retrograd.backends.dtypes import get_default_dtype
from retrograd.core.tensor import Tensor
from retrograd.ops.random.generator import Generator
from retrograd.ops.random.sampling import randint
from retrograd.ops.tensor.data import as_tensor
from retrograd.values import Array

__all__ = ["SobolEngine"]


def _direction_numbers(dimension: int, bits: int) -> Array:
    """For each dimension the numbers whose bits the points are made of."""
    try:
        qmc: Any = importlib.import_module("scipy.stats.qmc")
    except ImportError:
        raise ImportError(
            "SobolEngine takes its numbers from SciPy, which is not installed: pip install 'retrograd[scipy]'."
        ) from None
    found: Array = qmc.Sobol(dimension, scramble=False, bits=bits)._sv.astype(np.int64)
    return found


def _trailing_zeros(numbers: Array) -> Array:
    """How many zeros are at the end of positive numbers in binary."""
    return np.frexp((numbers & -numbers).astype(np.float64))[1] - 1


class SobolEngine:
    """Draws points of a Sobol sequence from the unit cube.

    Args:
        dimension: of the cube.
        scramble: shuffle the sequence at random, such that it fills the cube as evenly.
        seed: of that; None to take it from the default generator.

    >>> engine = SobolEngine(2)
    >>> engine.draw(3)
    tensor([[0.0000, 0.0000],
            [0.5000, 0.5000],
            [0.7500, 0.2500]])
    >>> engine.draw()
    tensor([[0.2500, 0.7500]])
    """

    dimension: int
    scramble: bool
    seed: int | None
    num_generated: int

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(
                f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}], but got {dimension}"
            )
        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        self.num_generated = 0
        self._steps = _direction_numbers(dimension, self.MAXBIT)
        self._first: Array = np.zeros(dimension, np.int64)
        if scramble:
            self._shuffle(None if seed is None else Generator().manual_seed(seed))

    def _shuffle(self, generator: Generator | None) -> None:
        """Mixes the bits of the sequence by random triangular matrices, and shifts it, as PyTorch does."""
        count, bits = self.dimension, self.MAXBIT
        places = np.arange(bits)
        shift: Array = randint(2, (count, bits), generator=generator).array
        self._first = (shift << places).sum(axis=1)
        mix = np.tril(randint(2, (count, bits, bits), generator=generator).array)
        mix[:, places, places] = 1
        highest_first = places[::-1]
        parts = (self._steps[:, None, :] >> highest_first[None, :, None]) & 1
        self._steps = ((mix @ parts & 1) << highest_first[None, :, None]).sum(axis=1)

    def _points(self, n: int) -> Array:
        """The next points, times 2**30: from one to the next a single step is exchanged, as in a Gray code."""
        begin = self.num_generated
        gray = begin ^ begin >> 1
        points = np.empty((self.dimension, n), np.int64)
        chosen = [place for place in range(self.MAXBIT) if gray >> place & 1]
        points[:, 0] = np.bitwise_xor.reduce(self._steps[:, chosen], axis=1) ^ self._first
        after = np.arange(begin + 1, begin + n, dtype=np.int64)
        points[:, 1:] = self._steps[:, _trailing_zeros(after)]
        return np.bitwise_xor.accumulate(points, axis=1).T

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """The next `n` points, a row each."""
        if n < 0 or n == self.num_generated == 0:
            raise RuntimeError(f"Trying to draw {n} points: draw one at least")
        points = self._points(n) if n else np.empty((0, self.dimension), np.int64)
        self.num_generated += n
        drawn = as_tensor(points / 2.0**self.MAXBIT).to(get_default_dtype() if dtype is None else dtype)
        return drawn if out is None else out.resize_as_(drawn).copy_(drawn)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """The next `2 ** m` points, if as many as a power of two have been drawn then."""
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: n={total - n}+2**{m}={total}. "
                "If you still want to do this, please use 'SobolEngine.draw()' instead."
            )
        return self.draw(n, out=out, dtype=dtype)

    def reset(self) -> SobolEngine:
        """Begins the sequence again."""
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leaves out the next `n` points."""
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        more = ", scramble=True" if self.scramble else ""
        return f"SobolEngine(dimension={self.dimension}{more}{'' if self.seed is None else f', seed={self.seed}'})"
