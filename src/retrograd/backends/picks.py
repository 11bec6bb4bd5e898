"""Elements that an index names along a dimension, on bare arrays: the pack's kernels or NumPy's functions.

Note [Positions]
~~~~~~~~~~~~~~~~
`gather` and `scatter` along a dimension point at elements; `positions` says where those elements lie in the flattened
array. Reading, writing and adding at positions of one dimension is what NumPy does fastest.
"""

from __future__ import annotations

from typing import Any

from retrograd.backends.batch.array import all_samples
from retrograd.backends.native import PACK
from retrograd.values import Array, Shape


def positions(xp: Any, index: Array, dim: int, shape: Shape) -> Array:
    """Where the elements that `index` names along `dim` lie in a flattened array of `shape`."""
    if not shape or not index.ndim:
        return index
    found: Any = 0
    stride = 1
    for d in range(len(shape) - 1, -1, -1):
        if d == dim:
            found = found + index * stride
        elif d < index.ndim:
            line = [1] * index.ndim
            line[d] = index.shape[d]
            found = found + (xp.arange(index.shape[d]) * stride).reshape(line)
        stride *= shape[d]
    return found


def taken(xp: Any, x: Array, index: Array, dim: int) -> Array:
    """The elements of x that an index names."""
    found = PACK.take_along(x, index, dim) if xp is PACK else None
    return xp.take(x, positions(xp, index, dim, x.shape)) if found is None else found


def put(xp: Any, out: Array, index: Array, dim: int, values: Array) -> None:
    """Writes values, one for each place of the index or one for all, into a contiguous array."""
    if xp is not PACK or PACK.put_along(out, index, dim, values) is None:
        out.reshape(-1)[positions(xp, index, dim, out.shape).reshape(-1)] = values.reshape(-1)


def add(xp: Any, out: Array, index: Array, dim: int, values: Array) -> None:
    """Adds values, one for each place of the index, to a contiguous array; an element named twice gets both."""
    if xp is not PACK or PACK.add_along(out, index, dim, values) is None:
        xp.add.at(out.reshape(-1), positions(xp, index, dim, out.shape).reshape(-1), values.reshape(-1))


def is_index(array: Array) -> bool:
    """Whether an array holds integers of 32 or 64 bits, which may be used as indices."""
    return bool(array.dtype.kind == "i" and array.dtype.itemsize >= 4)


def outside(index: Array, low: int, high: int) -> Any:
    """The first index that is not from `low` to before `high`; None if there is none."""
    found = NotImplemented if PACK is None else PACK.outside(index, low, high)
    if found is not NotImplemented:
        return found
    index = all_samples(index)
    wrong = (index < low) | (index >= high)
    return index[wrong].flat[0] if wrong.any() else None
