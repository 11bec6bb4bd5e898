"""Large arrays, block by block: what is computed on the way to a result takes no more memory than a block.

The square of a large array takes as much memory as the array, and more time to fetch than to compute. A block of it
stays in the cache until it has been summed. Between two blocks Ctrl-C is answered.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from retrograd.backends.pieces import look
from retrograd.values import Array, Axis, Shape

LIMIT = 1 << 17  # elements of a block
STARTS: Final = {"add": 0.0, "maximum": -math.inf, "minimum": math.inf}
WIDER: Final = {np.dtype("float32"): np.dtype("float64"), np.dtype("float16"): np.dtype("float32")}


def places(shape: Shape, strides: Shape, uncut: Shape = ()) -> list[tuple[slice, ...]]:
    """Indices that cut an array into blocks, along the dimensions whose neighbours lie farthest apart."""
    whole = (slice(None),) * len(shape)
    found, size = [whole], math.prod(shape)
    for _, i in sorted([(-abs(step or sys.maxsize), i) for i, step in enumerate(strides) if i not in uncut]):
        if size <= LIMIT:
            break
        size //= shape[i]
        step = max(1, LIMIT // size)
        cuts = [slice(k, k + step) for k in range(0, shape[i], step)]
        found = [(*at[:i], cut, *at[i + 1 :]) for at in found for cut in cuts]
        size *= step
    return found


def all_true(function: Callable[..., Array], x: Array, y: Array) -> bool:
    """Whether a function of two arrays of one shape is true of all elements; it is not asked about those after a no."""
    return all(bool(function(x[at], y[at]).all()) for at in places(x.shape, x.strides))


def reduced(
    how: str, function: Callable[..., Array], x: Array, axis: Axis, keepdims: bool, beside: Sequence[Array]
) -> Array:
    """`function(x, *beside)` reduced over axes; arrays beside x have its dimensions, or 1 in their place.

    For arrays of more than one block.
    """
    ufunc: Any = getattr(np, how)
    axes = tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else axis
    found: Any = None
    dtype: Any = None
    for at in places(x.shape, x.strides):
        look()
        others = [
            b[tuple([s if n > 1 else slice(None) for n, s in zip(b.shape, at, strict=True)])] for b in beside
        ]
        part = ufunc.reduce(function(x[at], *others), axis=axes, keepdims=True)
        if found is None:
            dtype = part.dtype
            shape = tuple([1 if i in axes else n for i, n in enumerate(x.shape)])
            found = np.full(shape, STARTS[how], WIDER.get(dtype, dtype) if how == "add" else dtype)
        into = found[tuple([slice(None) if i in axes else s for i, s in enumerate(at)])]
        ufunc(into, part, out=into)
    found = found.astype(dtype, copy=False)
    return found if keepdims else found.reshape([n for i, n in enumerate(x.shape) if i not in axes])


def of_lines(xp: Any, function: Callable[..., Array], x: Array, axes: Shape) -> Array:
    """`function(x)`, where lines along the axes, which it may make longer or shorter, know nothing of each other."""
    found: Any = None
    for at in places(x.shape, x.strides, axes):
        look()
        part = function(x[at])
        if found is None:
            shape = tuple([part.shape[i] if i in axes else n for i, n in enumerate(x.shape)])
            found = xp.empty(shape, part.dtype)
        found[tuple([slice(None) if i in axes else s for i, s in enumerate(at)])] = part
    return found


def of_elements(xp: Any, function: Callable[..., Array], xs: Sequence[Array]) -> Array:
    """A function of each element of arrays of one shape."""
    found: Any = None
    for at in places(xs[0].shape, xs[0].strides):
        look()
        part = function(*[x[at] for x in xs])
        if found is None:
            found = xp.empty_like(xs[0], dtype=part.dtype)
        found[at] = part
    return found


def total(function: Callable[..., Array], xs: Sequence[Array]) -> Array:
    """The sum of what a function, of as many results each time, makes of parts of flat arrays."""
    found: Any = 0
    for start in range(0, len(xs[0]), LIMIT):
        look()
        found = found + function(*[x[start : start + LIMIT] for x in xs])
    return found
