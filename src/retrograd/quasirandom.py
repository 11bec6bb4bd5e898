"""Points that fill a cube evenly, as `torch.quasirandom`. SciPy has the table of numbers that they are made of."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

from retrograd.backends.dtypes import get_default_dtype
from retrograd.core.tensor import Tensor
from retrograd.ops.random.generator import Generator, default_generator
from retrograd.ops.tensor.data import as_tensor

__all__ = ["SobolEngine"]


def _qmc() -> Any:
    try:
        return importlib.import_module("scipy.stats.qmc")
    except ImportError:
        raise ImportError(
            "SobolEngine takes its numbers from SciPy, which is not installed: pip install 'retrograd[scipy]'."
        ) from None


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
        source = default_generator if seed is None else Generator().manual_seed(seed)
        self._points = _qmc().Sobol(
            dimension,
            scramble=scramble,
            bits=self.MAXBIT,
            seed=int(source.raw.integers(0, 2**31)) if scramble else 0,
        )

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """The next `n` points, a row each."""
        if n < 0 or n == self.num_generated == 0:
            raise RuntimeError(f"Trying to draw {n} points: draw one at least")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # SciPy's, of a number of points that is no power of two
            points = self._points.random(n)
        self.num_generated += n
        drawn = as_tensor(points).to(get_default_dtype() if dtype is None else dtype)
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
        self._points.reset()
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leaves out the next `n` points."""
        self._points.fast_forward(n)
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        more = ", scramble=True" if self.scramble else ""
        return f"SobolEngine(dimension={self.dimension}{more}{'' if self.seed is None else f', seed={self.seed}'})"
