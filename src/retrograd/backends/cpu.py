"""NumPy as the CPU's array library, and how to keep it quiet.

PyTorch computes `log(0)` and `inf - inf` without a word; NumPy warns. `token = hush(QUIET)` switches NumPy's
floating-point warnings off around our own calls, `unhush(token)` restores the user's setting.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from retrograd.backends.batch.array import BatchedArray
from retrograd.backends.native import PACK
from retrograd.values import Array

ndarray: Final[Any] = np.ndarray

try:
    # What np.errstate does inside, at a fifth of its price. Probed, because it is not public.
    from numpy._core.umath import _extobj_contextvar, _make_extobj

    QUIET: Any = _make_extobj(all="ignore")
    hush: Any = _extobj_contextvar.set
    unhush: Any = _extobj_contextvar.reset

except (ImportError, TypeError):  # pragma: no cover - depends on NumPy's internals
    QUIET = "ignore"

    def hush(how: Any) -> Any:
        return np.seterr(all=how)

    def unhush(token: Any) -> None:
        np.seterr(**token)


def owner_of(array: Array) -> Array:
    """The array that owns the memory of `array`."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def memory_of(array: Array) -> Any:
    """What owns the memory of `array`, be it an array or anything else that shows memory as one."""
    while array.base is not None and hasattr(array.base, "__array_interface__"):
        array = array.base
    return array


def extent_of(array: Array) -> tuple[int, int, int]:
    """The addresses of an array's first element, of its first byte, and of the byte behind its last."""
    found = NotImplemented if PACK is None else PACK.extent_of(array)
    if found is not NotImplemented:
        extent: tuple[int, int, int] = found
        return extent
    start = int(array.__array_interface__["data"][0])
    if not array.size:
        return start, start, start
    low, high = np.lib.array_utils.byte_bounds(array)
    return start, int(low), int(high)


def as_array(value: Any) -> Array:
    """An array again: NumPy turns 0-dim results into scalars."""
    if type(value) is ndarray or isinstance(value, BatchedArray):
        return value
    return value if isinstance(value, ndarray) else np.asarray(value)
