"""Products of matrices on bare arrays.

A kernel of the native pack answers None to what it does not serve: then the plain formula is for the caller or NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.backends.native import PACK
from retrograd.values import Array

float16, float32 = np.dtype("float16"), np.dtype("float32")


def product(xp: Any, x: Array, y: Array) -> Array:
    """`x @ y`; half precision is summed in single, as PyTorch does."""
    if x.dtype == float16:
        return xp.matmul(x.astype(float32), y.astype(float32)).astype(float16)
    return xp.matmul(x, y)


def times_turned(x: Any, y: Any) -> Any:
    """`x @ y.mT` without a view, None where the pack does not serve it."""
    return None if PACK is None else PACK.matmul_nt(x, y)


def turned_times(x: Any, y: Any) -> Any:
    """`x.mT @ y` without a view, None where the pack does not serve it."""
    return None if PACK is None else PACK.matmul_tn(x, y)


def added_product(xp: Any, x: Array, y: Array, z: Array) -> Array | None:
    """`x + y @ z` in one pass, None where the pack does not serve it."""
    return PACK.addmm(x, y, z) if xp is PACK else None


def in_columns(x: Array) -> bool:
    """Whether a matrix lies in memory column by column."""
    if PACK is not None and type(x) is np.ndarray:
        return bool(PACK.in_columns(x))
    return bool(x.flags.f_contiguous and not x.flags.c_contiguous)
