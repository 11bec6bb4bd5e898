"""How the elements of an array lie in memory: in which order of dimensions, and whether without gaps."""

from __future__ import annotations

from retrograd.backends.base import backend_of
from retrograd.values import Array


def is_dense(array: Array) -> bool:
    """Whether the elements fill a piece of memory, each once, in whatever order of dimensions."""
    flags = array.flags
    if flags.c_contiguous or flags.f_contiguous:
        return True
    step: int = array.itemsize
    for stride, n in sorted((s, n) for s, n in zip(array.strides, array.shape, strict=True) if n != 1):
        if stride != step:
            return False
        step *= n
    return True


def lies_like(array: Array, other: Array) -> bool:
    """Whether an array of the same shape lies in memory as `other` does, or in rows if that has no order to follow."""
    if other.flags.c_contiguous or not is_dense(other):
        rows: bool = array.flags.c_contiguous
        return rows
    return all(
        n == 1 or s * other.itemsize == t * array.itemsize
        for n, s, t in zip(array.shape, array.strides, other.strides, strict=True)
    )


def copied_like(array: Array, other: Array) -> Array:
    """A copy that lies in memory as `other` does if that is dense, else in rows."""
    xp = backend_of(array)
    if other.flags.c_contiguous or array.shape != other.shape or not is_dense(other):
        copy: Array = xp.array(array, order="C", copy=True, subok=True)
        return copy
    made: Array = xp.empty_like(other, dtype=array.dtype, order="K")
    made[...] = array
    return made
