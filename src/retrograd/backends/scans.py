"""Running sums and products on bare arrays: the pack's kernels or NumPy's functions."""

from __future__ import annotations

from typing import Any

from retrograd.backends.native import PACK
from retrograd.values import Array


def cumsum(xp: Any, a: Array, axis: int, reverse: bool) -> Array:
    """The running sum along an axis, from the front or, reversed, from the back."""
    found = PACK.scan(a, axis, reverse, False) if xp is PACK else None
    return _scanned(xp, xp.cumsum, a, axis, reverse) if found is None else found


def cumprod(xp: Any, a: Array, axis: int, reverse: bool) -> Array:
    """The running product along an axis, from the front or, reversed, from the back."""
    found = PACK.scan(a, axis, reverse, True) if xp is PACK else None
    return _scanned(xp, xp.cumprod, a, axis, reverse) if found is None else found


def _scanned(xp: Any, scan: Any, a: Array, axis: int, reverse: bool) -> Array:
    """Written into an array laid out as usual also when it runs from the back."""
    if a.ndim == 0:
        return a.copy()
    if not reverse:
        return scan(a, axis=axis, dtype=a.dtype)
    out = xp.empty(a.shape, a.dtype)
    scan(xp.flip(a, axis), axis=axis, dtype=a.dtype, out=xp.flip(out, axis))
    return out
