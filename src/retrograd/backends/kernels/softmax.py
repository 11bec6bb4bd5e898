"""Softmax, its logarithm and the logarithm of its denominator."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from retrograd.values import Array, Axis

float16, float32 = np.dtype("float16"), np.dtype("float32")


def softmax(xp: Any, x: Array, axis: int | None) -> Array:
    """exp(x) / sum(exp(x)) along the axis."""
    return _of_lines(xp, _softmax, x, axis)


def _softmax(xp: Any, axis: int | None, x: Array) -> Array:
    out = _centred(xp, x, axis)
    out = xp.exp(out, out=out) if type(out) is np.ndarray else xp.exp(out)
    out /= out.sum(axis=axis, keepdims=True)
    return out.astype(x.dtype, copy=False)


def log_softmax(xp: Any, x: Array, axis: int | None) -> Array:
    """The logarithm of softmax, without overflow."""
    return _of_lines(xp, _log_softmax, x, axis)


def _log_softmax(xp: Any, axis: int | None, x: Array) -> Array:
    out = _centred(xp, x, axis)
    out -= xp.log(xp.reduced("add", xp.exp, out, axis, True))
    return out.astype(x.dtype, copy=False)


def logsumexp(xp: Any, x: Array, axis: Axis) -> Array:
    """log(sum(exp(x))) along the axes, which stay as 1, without overflow."""
    size = x.real
    top = xp.top(size, axis)
    top = xp.where(xp.isfinite(top), top, 0).astype(size.dtype)
    return xp.log(xp.reduced("add", partial(_exp_above, xp), x, axis, True, top)) + top


def _of_lines(xp: Any, function: Any, x: Array, axis: int | None) -> Array:
    """A function of lines: in half precision some at a time, because they are copied to single precision."""
    made = partial(function, xp, axis)
    found: Array = made(x) if axis is None or x.dtype.itemsize > 2 else xp.of_lines(made, x, axis % x.ndim)
    return found


def _exp_above(xp: Any, x: Array, top: Array) -> Array:
    """exp(x - top)"""
    found: Array = xp.exp(x - top)
    return found


def _centred(xp: Any, x: Array, axis: int | None) -> Array:
    """Subtracts the maximum along the axis: a new array, in single precision for float16."""
    a = x.astype(float32) if x.dtype == float16 else x
    return xp.asarray(a - xp.top(a, axis))
