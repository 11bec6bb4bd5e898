"""The random numbers of the CPU, drawn by the native pack: Note [Random numbers of the CPU] in mersenne.py."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from retrograd.backends.mersenne import BLOCK, LONG_RANGE, Mersenne, float32, float64, shape_of, size_of
from retrograd.backends.pack import PACK
from retrograd.backends.pieces import PIECE
from retrograd.values import Array, Shape

# What the pack can draw (native/random.cpp).
UNIT: Final = 0
NORMAL: Final = 1
NORMAL_OF_HALVES: Final = 2
EXPONENTIAL: Final = 3


class NativeMersenne(Mersenne):
    """What draws on the CPU; more than a piece at once is drawn piece by piece, between which Ctrl-C is answered."""

    piece = 1 << 20

    def begin(self, seed: int) -> None:
        self.twister = PACK.twister(seed)
        self.lock = None  # a draw of the pack's is one step to other threads

    def twisted(self) -> tuple[int, bytes]:
        found: tuple[int, bytes] = PACK.twister_state(self.twister)
        return found

    def go_to(self, place: int, words: bytes) -> None:
        PACK.twister_go(self.twister, place, words)

    def words(self, n: int) -> Array:
        return self.integers(0, 1 << 32, (n,), np.uint32)

    def long_words(self, n: int) -> Array:
        return self.integers(0, 1 << 64, (n,), np.uint64)

    def _drawn(self, kind: int, shape: Shape, dtype: Any) -> Array:
        found: Array = PACK.draw(self.twister, kind, shape, dtype == float64)
        return found

    def _unit(self, n: int, dtype: Any) -> Array:
        return self._drawn(UNIT, (n,), dtype)

    def _blocks(self, n: int, dtype: Any) -> Array:
        return self._drawn(NORMAL, (n,), dtype)

    def _in_turn(self, n: int) -> Array:
        return self.normal_in_turn((n,), float64)

    def random(self, size: Any = (), dtype: Any = float64) -> Array:
        shape = shape_of(size)
        return super().random(shape, dtype) if size_of(shape) > PIECE else self._drawn(UNIT, shape, dtype)

    def standard_exponential(self, size: Any = (), dtype: Any = float64) -> Array:
        shape = shape_of(size)
        if size_of(shape) > PIECE:
            return super().standard_exponential(shape, dtype)
        return self._drawn(EXPONENTIAL, shape, dtype)

    def standard_normal(self, size: Any = (), dtype: Any = float64) -> Array:
        shape = shape_of(size)
        n = size_of(shape)
        if n < BLOCK:
            return self.normal_in_turn(shape, dtype)
        return super().standard_normal(shape, dtype) if n > PIECE else self._drawn(NORMAL, shape, dtype)

    def half_normal(self, size: Any = (), dtype: Any = float32) -> Array:
        shape = shape_of(size)
        n = size_of(shape)
        if n < BLOCK or n > PIECE:
            return super().half_normal(shape, dtype)
        return self._drawn(NORMAL_OF_HALVES, shape, dtype)

    def normal_in_turn(self, size: Any = (), dtype: Any = float64) -> Array:
        shape = shape_of(size)
        if size_of(shape) > PIECE:
            return super().normal_in_turn(shape, dtype)
        found, self.spare = PACK.draw_in_turn(self.twister, shape, dtype == float64, self.spare)
        drawn: Array = found
        return drawn

    def integers(
        self, low: int, high: int, size: Any = (), dtype: Any = np.int64, endpoint: bool = False
    ) -> Array:
        shape = shape_of(size)
        if size_of(shape) > PIECE:
            return super().integers(low, high, shape, dtype, endpoint)
        count, kind = int(high) - int(low) + endpoint, np.dtype(dtype)
        wide = count >= LONG_RANGE and kind != np.uint32
        least = int(low) % (1 << 64) if count < 1 << 64 else 0  # all words are taken as they are
        found = PACK.draw_integers(self.twister, shape, count % (1 << 64), least, wide)
        drawn: Array = found
        if kind.kind == "u":
            drawn = drawn.view(np.uint64)
        return drawn if drawn.dtype == kind else drawn.astype(kind)

    def permutation(self, count: int) -> Array:
        found: Array = PACK.draw_permutation(self.twister, count)
        return found

    def _gamma(self, shapes: Array) -> Any:
        found, self.spare = PACK.draw_gamma(self.twister, shapes, self.spare)
        return found

    def _poisson(self, rates: Array) -> Any:
        return PACK.draw_poisson(self.twister, rates)

    def _binomial(self, trials: Array, chances: Array) -> Any:
        return PACK.draw_binomial(self.twister, trials, chances)

    def stretched(self, shape: Shape, dtype: Any, low: float, width: float) -> Array:
        if size_of(shape) > PIECE:
            return super().stretched(shape, dtype, low, width)
        found: Array = PACK.draw_uniform(self.twister, shape, dtype == float64, low, width)
        return found

    def choices(self, shape: Shape, dtype: Any, chance: float, scale: float) -> Array:
        if size_of(shape) > PIECE:
            return super().choices(shape, dtype, chance, scale)
        found: Array = PACK.draw_choices(self.twister, shape, dtype == float64, chance, scale)
        return found
