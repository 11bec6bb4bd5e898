"""Running sums and products."""

from __future__ import annotations

from typing import Any

from retrograd.values import Array


def running(xp: Any, scan: Any, a: Array, axis: int, reverse: bool) -> Array:
    """`scan` along an axis, from the front or, reversed, from the back: then into an array laid out as usual."""
    if a.ndim == 0:
        return a.copy()
    if not reverse:
        return scan(a, axis=axis, dtype=a.dtype)
    out = xp.empty(a.shape, a.dtype)
    scan(xp.flip(a, axis), axis=axis, dtype=a.dtype, out=xp.flip(out, axis))
    return out
