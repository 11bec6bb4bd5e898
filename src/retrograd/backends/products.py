"""Products of matrices on bare arrays.

A kernel of the native pack answers None to what it does not serve: then the plain formula is for the caller or NumPy.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from retrograd.backends.batch import merging
from retrograd.backends.batch.array import BatchedArray
from retrograd.backends.native import PACK
from retrograd.values import Array

float16: Final = np.dtype("float16")
float32: Final = np.dtype("float32")
ndarray: Final[Any] = np.ndarray


def product(xp: Any, x: Array, y: Array) -> Array:
    """`x @ y`; half precision is summed in single, as PyTorch does."""
    if x.dtype is float16:
        return xp.matmul(x.astype(float32), y.astype(float32)).astype(float16)
    return x @ y if type(x) is not ndarray and isinstance(x, BatchedArray) else xp.matmul(x, y)


def times_turned(x: Any, y: Any) -> Any:
    """`x @ y.mT` without a view, None where the pack does not serve it."""
    if not (type(x) is ndarray and type(y) is ndarray) and _is_batched(x, y):
        return merging.times_turned(x, y)
    return None if PACK is None else PACK.matmul_nt(x, y)


def turned_times(x: Any, y: Any) -> Any:
    """`x.mT @ y` without a view, None where the pack does not serve it."""
    if not (type(x) is ndarray and type(y) is ndarray) and _is_batched(x, y):
        return merging.turned_times(x, y)
    return None if PACK is None else PACK.matmul_tn(x, y)


def _is_batched(x: Any, y: Any) -> bool:
    return isinstance(x, BatchedArray) or isinstance(y, BatchedArray)


def added_product(xp: Any, x: Array, y: Array, z: Array) -> Array | None:
    """`x + y @ z` in one pass, None where the pack does not serve it."""
    if isinstance(y, BatchedArray):
        found: Array | None = merging.added_product(x, y, z)
        return found
    return PACK.addmm(x, y, z) if xp is PACK else None


def are_matrices(x: Array, y: Array) -> bool:
    """Whether `x @ y` is a product of two matrices of one dtype whose sizes fit; if not, somebody must look closer."""
    return PACK is not None and bool(PACK.are_matrices(x, y))


def in_columns(x: Array) -> bool:
    """Whether a matrix lies in memory column by column."""
    if PACK is not None and type(x) is ndarray:
        return bool(PACK.in_columns(x))
    return bool(x.flags.f_contiguous and not x.flags.c_contiguous)
