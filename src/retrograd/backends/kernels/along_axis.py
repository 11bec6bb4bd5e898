"""Elements that an index names along a dimension.

Note [Positions]
~~~~~~~~~~~~~~~~
`gather` and `scatter` along a dimension point at elements; `positions` says where those elements lie in the flattened
array. Reading, writing and adding at positions of one dimension is what NumPy does fastest.
"""

from __future__ import annotations

from typing import Any

from retrograd.values import Array, Shape

WHOLE = slice(None)


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


def take_along(xp: Any, x: Array, index: Array, dim: int) -> Array:
    """The elements of x that an index names."""
    return xp.take(x, positions(xp, index, dim, x.shape))


def put_along(xp: Any, out: Array, index: Array, dim: int, values: Array) -> None:
    """Writes values, one for each place of the index or one for all, into a contiguous array."""
    out.reshape(-1)[positions(xp, index, dim, out.shape).reshape(-1)] = values.reshape(-1)


def add_along(xp: Any, out: Array, index: Array, dim: int, values: Array) -> None:
    """Adds values, one for each place of the index, to a contiguous array; an element named twice gets both."""
    xp.add.at(out.reshape(-1), positions(xp, index, dim, out.shape).reshape(-1), values.reshape(-1))


def outside(xp: Any, index: Array, low: int, high: int) -> Any:
    """The first index that is not from `low` to before `high`; None if there is none."""
    index = xp.whole(index)
    wrong = (index < low) | (index >= high)
    return index[wrong].reshape(-1)[0] if wrong.any() else None


def is_index(array: Array) -> bool:
    """Whether an array holds integers of 32 or 64 bits, which may be used as indices."""
    return bool(array.dtype.kind == "i" and array.dtype.itemsize >= 4)


def lonely_axis(key: tuple[Any, ...]) -> int:
    """Where the one index array of a key is; -1 if there are several, or it is a mask."""
    last = len(key) - 1
    for i in range(last):
        if key[i] is not WHOLE:
            return -1
    return -1 if key[last].dtype.kind == "b" else last


def add_at(xp: Any, out: Array, key: tuple[Any, ...], x: Array) -> Array:
    """Adds `x` to the elements of a contiguous `out` that `key` points at; one that comes twice gets both."""
    axis = lonely_axis(key)
    if axis < 0 and sum([i is not WHOLE for i in key]) == 1:
        out[key] += x  # a mask names no element twice
        return out
    if x.size <= 256:
        xp.add.at(out, key, x)
        return out
    # `add.at` is many times faster on one dimension.
    if len(key) == 1:
        width = out[:1].size
        rows = xp.where(key[0] < 0, key[0] + len(out), key[0]).reshape(-1, 1)
        where = rows * width + xp.arange(width)
    else:
        where = xp.arange(out.size).reshape(out.shape)[key]
    xp.add.at(out.reshape(-1), where.reshape(-1), x.reshape(-1))
    return out
