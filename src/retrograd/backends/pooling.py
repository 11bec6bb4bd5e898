"""Pooling on bare arrays, as far as the native pack has kernels for it.

Each function answers None where the pack is missing or does not serve its operands. `windows` is a `Sliding`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.backends.batch import merging
from retrograd.backends.batch.array import BatchedArray
from retrograd.backends.native import PACK
from retrograd.values import Array, Shape


def maxima(xp: Any, x: Array, windows: Any, wanted: bool) -> Any:
    """The largest element of each window; with `wanted` a pair of them and of their positions."""
    if PACK is not None and isinstance(x, BatchedArray):
        return merging.pooled(PACK.max_pool, x, len(windows.kernel), windows, wanted)
    return PACK.max_pool(x, windows, wanted) if xp is PACK else None


def maxima_at(xp: Any, x: Array, covers: tuple[Array, ...]) -> Any:
    """The largest elements of windows that are given by what they cover in each dimension, and their positions."""
    return PACK.max_cover(x, covers) if xp is PACK else None


def put_back(g: Array, positions: Array, shape: Shape, rank: int) -> Array | None:
    """Numbers added at their positions among the last `rank` dimensions, flattened, of zeros."""
    if isinstance(g, BatchedArray) or isinstance(positions, BatchedArray):
        found: Array | None = merging.put_back(g, positions, shape, rank)
        return found
    return None if PACK is None else PACK.max_pool_back(g, positions, shape, rank)


def averages(xp: Any, x: Array, windows: Any, divisors: Any) -> Array | None:
    """The sum of each window, divided."""
    if PACK is None:
        return None
    by = np.asarray(divisors, x.dtype)
    if isinstance(x, BatchedArray):
        return merging.pooled(PACK.avg_pool, x, len(windows.kernel), windows, by)
    return PACK.avg_pool(x, windows, by) if xp is PACK else None


def averages_back(xp: Any, g: Array, windows: Any, divisors: Any) -> Array | None:
    """Each number divided, and added to every place of its window."""
    if PACK is None:
        return None
    by = np.asarray(divisors, g.dtype)
    if isinstance(g, BatchedArray):
        return merging.pooled(PACK.avg_pool_back, g, len(windows.kernel), windows, by)
    return PACK.avg_pool_back(g, windows, by) if xp is PACK else None
