"""Variances on bare arrays: kernels of the native pack for small ones, which answer None to what they do not serve."""

from __future__ import annotations

from typing import Any

from retrograd.backends.native import PACK
from retrograd.values import Array, Axis


def variance(xp: Any, x: Any, axis: Axis, correction: Any, keepdims: bool, root: bool) -> Array | None:
    """The variance, or its root, computed in double precision."""
    return PACK.variance(x, axis, correction, keepdims, root) if xp is PACK else None


def variance_backward(g: Any, x: Any, axis: Axis, factor: float) -> Array | None:
    """`factor` times the distance of each element from the mean, times the gradient that belongs to it."""
    return None if PACK is None else PACK.variance_backward(g, x, axis, factor)
