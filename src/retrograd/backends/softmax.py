"""Softmax, its logarithm and the logarithm of its denominator, on bare arrays.

A kernel of the native pack answers None to what it does not serve: then NumPy computes it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.backends.batch import merging
from retrograd.backends.batch.array import BatchedArray
from retrograd.backends.native import PACK
from retrograd.values import Array, Axis

float16, float32 = np.dtype("float16"), np.dtype("float32")


def softmax(xp: Any, x: Array, axis: int | None) -> Array:
    """exp(x) / sum(exp(x)) along the axis."""
    found = PACK.softmax(x, counted(axis, x)) if xp is PACK else None
    if found is not None:
        return found
    out = xp.exp(_centred(x, axis))
    out /= out.sum(axis=axis, keepdims=True)
    return out.astype(x.dtype, copy=False)


def log_softmax(xp: Any, x: Array, axis: int | None) -> Array:
    """The logarithm of softmax, without overflow."""
    found = PACK.log_softmax(x, counted(axis, x)) if xp is PACK else None
    if found is not None:
        return found
    out = _centred(x, axis)
    out -= xp.log(xp.exp(out).sum(axis=axis, keepdims=True))
    return out.astype(x.dtype, copy=False)


def counted(axis: int | None, x: Array) -> int | None:
    """An axis as the pack wants it, counted from the front."""
    return axis if axis is None or axis >= 0 else axis + x.ndim


def _centred(x: Array, axis: int | None) -> Array:
    """Subtracts the maximum along the axis: a new array, in single precision for float16."""
    a = x.astype(float32) if x.dtype == float16 else x
    return np.asarray(a - a.max(axis=axis, keepdims=True, initial=-np.inf))


def logsumexp(xp: Any, x: Array, axis: Axis) -> Array:
    """log(sum(exp(x))) along the axes, which stay as 1, without overflow."""
    found = PACK.logsumexp(x, single(axis)) if xp is PACK else None
    if found is not None:
        return found
    size = x.real
    top = size.max(axis=axis, keepdims=True, initial=-np.inf)
    top = xp.where(xp.isfinite(top), top, 0).astype(size.dtype)
    return xp.log(xp.exp(x - top).sum(axis=axis, keepdims=True)) + top


def single(axis: Axis) -> int | None:
    """An axis given alone or as a tuple of one; None for any other."""
    if isinstance(axis, tuple):
        return axis[0] if len(axis) == 1 else None
    return axis


# -- gradients: None where the formula has to compute them ---------------------------------------------------------


def softmax_backward(g: Any, out: Any, axis: int | None) -> Array | None:
    """The gradient of softmax's input."""
    if PACK is not None and isinstance(g, BatchedArray):
        return merging.along(PACK.softmax_backward, g, out, axis)
    return None if PACK is None else PACK.softmax_backward(g, out, axis)


def log_softmax_backward(g: Any, out: Any, axis: int | None) -> Array | None:
    """The gradient of log_softmax's input."""
    if PACK is not None and isinstance(g, BatchedArray):
        return merging.along(PACK.log_softmax_backward, g, out, axis)
    return None if PACK is None else PACK.log_softmax_backward(g, out, axis)


def logsumexp_backward(g: Any, x: Any, out: Any, axis: Axis) -> Array | None:
    """The gradient of logsumexp's input."""
    return None if PACK is None else PACK.logsumexp_backward(g, x, out, single(axis))
