"""Convolutions on bare arrays, as far as the native pack has kernels for them.

Each function answers None where the pack is missing or does not serve its operands: the caller then goes through
NumPy's matrix products. `windows` is a `Sliding`: how windows slide over the last dimensions.
"""

from __future__ import annotations

from typing import Any

from retrograd.backends.batch import merging
from retrograd.backends.batch.array import BatchedArray
from retrograd.backends.native import PACK
from retrograd.values import Array


def correlated(xp: Any, x: Array, w: Array, b: Array | None, windows: Any, groups: int) -> Array | None:
    """The products of a weight with all windows of an input, plus a bias."""
    if PACK is None:
        return None
    if isinstance(x, BatchedArray) or isinstance(w, BatchedArray):
        return merging.convolved(PACK.conv_correlate, x, w, b, windows, groups)
    return PACK.conv_correlate(x, w, b, windows, groups) if xp is PACK else None


def spread(xp: Any, y: Array, w: Array, b: Array | None, windows: Any, groups: int) -> Array | None:
    """A weight times each output, added up where the windows were, plus a bias."""
    if PACK is None:
        return None
    if isinstance(y, BatchedArray) or isinstance(w, BatchedArray):
        return merging.convolved(PACK.conv_spread, y, w, b, windows, groups)
    return PACK.conv_spread(y, w, b, windows, groups) if xp is PACK else None


def overlapped(xp: Any, x: Array, y: Array, windows: Any, groups: int) -> Array | None:
    """The products of all windows of an input with an output."""
    if PACK is None:
        return None
    if isinstance(x, BatchedArray) or isinstance(y, BatchedArray):
        return merging.overlapped(x, y, windows, groups)
    return PACK.conv_overlap(x, y, windows, groups) if xp is PACK else None


def channel_sums(g: Any) -> Any:
    """The sums over all dimensions but the second."""
    found = None if PACK is None else PACK.conv_channel_sums(g)
    return g.sum(axis=(0, *range(2, g.ndim))) if found is None else found
