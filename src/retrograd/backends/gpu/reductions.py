"""Sums, means, extrema and variances over any axes."""

from __future__ import annotations

from math import prod
from typing import Any, Final

from retrograd.backends.gpu.kernels import (
    PROCESSORS,
    STORED,
    THREADS,
    Kernels,
    blocks_for,
    computed,
    empty,
    letter,
    pack_of,
    runs,
    serves,
    types,
)  # fmt: skip
from retrograd.backends.gpu.launch import ROAD
from retrograd.backends.pack import PACK
from retrograd.values import Array, Axis, Shape

SHORT: Final = 1024  # numbers of a row that one warp reduces
ENOUGH: Final = 8 * PROCESSORS  # blocks
LEAST: Final = 4  # packs, or rows, that a thread should have


class Reductions:
    """The kernels of reductions.cu."""

    def __init__(self, kernels: Kernels) -> None:
        self.kernels = kernels

    def serves(self, x: Array, axis: Axis) -> bool:
        """Whether there is a kernel: for numbers in rows, some of which are reduced to each number of the result."""
        return serves(x) and x.size > 0 and (axis is None or axis != ())

    def reduce(
        self, how: str, x: Array, axes: Shape, dtype: Any = None, factor: float = 1.0, centre: Any = None,
        keepdims: bool = True,
    ) -> Array:  # fmt: skip
        """Sum, Max or Min over axes, times a factor; with a centre, of squared differences from it."""
        if ROAD.short and how == "Sum" and centre is None and (dtype is None or dtype == x.dtype):
            found: Array | None = PACK.gpu_sum(x, axes, keepdims, factor)
            if found is not None:
                return found
        shape = tuple(1 if i in axes else n for i, n in enumerate(x.shape) if keepdims or i not in axes)
        out = empty(shape, x.dtype if dtype is None else dtype)
        parts = runs(x.shape, axes)
        count = sum(reduced for _, reduced in parts) or 1
        while count:
            at = max((i for i, (_, reduced) in enumerate(parts) if reduced), default=len(parts))
            n = parts[at][0] if at < len(parts) else 1
            outer, inner = (prod([m for m, _ in part]) for part in (parts[:at], parts[at + 1 :]))
            count -= 1
            target = out if not count else empty((outer, inner), computed(x.dtype))
            self._along(how, x, centre, target, (outer, n, inner), 1.0 if count else factor)
            parts = [*parts[:at], *parts[at + 1 :]]
            x, centre = target, None
        return out

    def variance(self, x: Array, axes: Shape, correction: float) -> Array | None:
        """The variance over axes, which stay as 1; None where they are not neighbours."""
        if sum(reduced for _, reduced in runs(x.shape, axes)) != 1:
            return None
        count = prod(x.shape[i] for i in axes)
        if count - correction <= 0:
            return None
        mean = self.reduce("Sum", x, axes, computed(x.dtype), 1 / count)
        return self.reduce("Sum", x, axes, x.dtype, 1 / (count - correction), mean)

    def _along(
        self, how: str, x: Array, centre: Any, out: Array, sizes: tuple[int, int, int], factor: float
    ) -> None:
        """Reduces an array seen as (outer, n, inner) over n, in two steps where one would leave processors idle."""
        outer, n, inner = sizes
        v = pack_of(n if inner == 1 else inner, x)
        tiles = outer * (1 if inner == 1 else blocks_for(inner, 32 * v))
        most = blocks_for(n, (THREADS * v if inner == 1 else THREADS // 32) * LEAST)
        slices = max(1, min(most, ENOUGH // tiles))
        if slices > 1:
            parts = empty((outer, slices, inner), computed(x.dtype))
            self._launch(how, x, centre, parts, (outer, n, inner), v, slices, 1.0)
            self._along(how, parts, None, out, (outer, slices, inner), factor)
        else:
            self._launch(how, x, centre, out, (outer, n, inner), v, 1, factor)

    def _launch(
        self,
        how: str,
        x: Array,
        centre: Any,
        out: Array,
        sizes: tuple[int, int, int],
        v: int,
        slices: int,
        factor: float,
    ) -> None:
        outer, n, inner = sizes
        short = inner == 1 and n <= SHORT and slices == 1
        name = "reduce_columns" if inner != 1 else "reduce_short_rows" if short else "reduce_rows"
        kernel = self.kernels.get(
            "reductions.cu", name, *types(x.dtype), ("O", STORED[letter(out.dtype)]), ("R", how),
            ("SQUARED", int(centre is not None)), ("V", v),
        )  # fmt: skip
        rest: tuple[int, ...]
        if inner != 1:
            blocks, rest = outer * slices * blocks_for(inner, 32 * v), (slices, n, inner)
        elif short:
            blocks, rest = blocks_for(outer, THREADS // 32), (outer, n)
        else:
            blocks, rest = outer * slices, (slices, n)
        kernel.launch(blocks, THREADS, (x, centre, out, float(factor), *rest))


def axes_of(axis: Axis, ndim: int) -> Shape:
    """Axes counted from the front."""
    if axis is None:
        return tuple(range(ndim))
    return tuple(a % ndim for a in ((axis,) if isinstance(axis, int) else axis))
