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

# The pack's functions by names of their own: to look them up would take as long as a small product.
_layout: Final[Any] = None if PACK is None else PACK.layout
_mm: Final[Any] = None if PACK is None else PACK.mm
_matmul_nt: Final[Any] = None if PACK is None else PACK.matmul_nt
_matmul_tn: Final[Any] = None if PACK is None else PACK.matmul_tn


def product(xp: Any, x: Array, y: Array) -> Array:
    """`x @ y`; half precision is summed in single, as PyTorch does."""
    if x.dtype is float16:
        return xp.matmul(x.astype(float32), y.astype(float32)).astype(float16)
    return x @ y if type(x) is not ndarray and isinstance(x, BatchedArray) else xp.matmul(x, y)


def times_turned(x: Any, y: Any) -> Any:
    """`x @ y.mT` without a view, None where the pack does not serve it."""
    if not (type(x) is ndarray and type(y) is ndarray) and _is_batched(x, y):
        return merging.times_turned(x, y)
    return None if _matmul_nt is None else _matmul_nt(x, y)


def turned_times(x: Any, y: Any) -> Any:
    """`x.mT @ y` without a view, None where the pack does not serve it."""
    if not (type(x) is ndarray and type(y) is ndarray) and _is_batched(x, y):
        return merging.turned_times(x, y)
    return None if _matmul_tn is None else _matmul_tn(x, y)


def _is_batched(x: Any, y: Any) -> bool:
    return isinstance(x, BatchedArray) or isinstance(y, BatchedArray)


def added_product(xp: Any, x: Array, y: Array, z: Array) -> Array | None:
    """`x + y @ z` in one pass, None where the pack does not serve it."""
    if isinstance(y, BatchedArray):
        found: Array | None = merging.added_product(x, y, z)
        return found
    return PACK.addmm(x, y, z) if xp is PACK else None


def matrix_product(x: Any, y: Any) -> Any:
    """`x @ y` of two small matrices, NotImplemented where the pack does not serve it."""
    return NotImplemented if _mm is None else _mm(x, y)


# How two matrices lie in memory whose product is taken, as one number: these, and above them the length they share.
FITS: Final = 1
COLUMNS_0: Final = 2  # the first lies column by column
COLUMNS_1: Final = 4
LENGTH_SHIFT: Final = 3


def layout_of(x: Array, y: Array) -> int:
    """How two matrices lie whose product there is."""
    found = quick_layout(x, y)
    if found:
        return found
    columns = (COLUMNS_0 if _in_columns(x) else 0) | (COLUMNS_1 if _in_columns(y) else 0)
    return int(x.shape[1]) << LENGTH_SHIFT | columns | FITS


def quick_layout(x: Any, y: Any) -> int:
    """The same for float matrices of one dtype whose sizes fit; 0 for everything else: somebody must look closer."""
    found: int = 0 if _layout is None else _layout(x, y)
    return found


def _in_columns(x: Array) -> bool:
    return bool(x.flags.f_contiguous and not x.flags.c_contiguous)
