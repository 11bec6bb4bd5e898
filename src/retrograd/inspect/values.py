"""What is remembered of an array's values: a copy or a sample at the moment, figures when somebody asks.

A recording is to slow a program down as little as it can, so while it is on an array costs a copy if it is small, and
one pass over all elements and a sample if it is not. `figures` does the rest, later.
"""

from __future__ import annotations

import math
import sys
from functools import cache
from typing import Any

import numpy as np

from retrograd.backends.base import backend_of, is_array, whole

SMALL = 256
"""Elements up to which an array is kept whole."""
LOOKED_AT = 1 << 14
"""Elements up to which arrays in another memory are brought here whole, if they are finite."""
BARS = 16
"""Bars of a histogram."""
LARGEST = sys.float_info.max
SHOWN = 12
"""Elements up to which a value is shown in full."""


@cache
def dtype_name(dtype: Any) -> str:
    """`float32`; NumPy takes its time to say so."""
    return str(dtype)


class Sample:
    """Some or all elements of an array."""

    __slots__ = ("elements", "shape", "size", "square")

    def __init__(self, elements: Any, shape: tuple[int, ...], size: int, square: float | None) -> None:
        self.elements: Any = elements  # all of a small array, in its shape; a flat sample of a larger one
        self.shape: tuple[int, ...] = shape
        self.size: int = size
        # The sum of the squares of all elements, not finite if one of them is not; if not all of them are here.
        self.square: float | None = square


def keep(value: Any, everything: bool = False) -> Sample | None:
    """A value (a Tensor or an array) as it is now; None for what has no elements to look at."""
    array = value
    if type(array) is not np.ndarray:
        array = getattr(value, "array", value)
        if not is_array(array):
            return None
        array = whole(array)
        if type(array) is not np.ndarray:
            return _from_elsewhere(array, everything)
    return _of_numpy(array)


def _from_elsewhere(array: Any, everything: bool) -> Sample | None:
    """An array in another memory than NumPy's, or of a dtype that NumPy has not: what is looked at comes here first.

    That is all of a large one only if something in it is not finite, which its sum says.
    """
    shape, size = tuple(array.shape), int(array.size)
    if size > LOOKED_AT and not everything and np.isfinite(_brought(array.sum())):
        array = array[_part(array)]
    here = _brought(array)
    kept = _of_numpy(np.asarray(here))
    if int(np.prod(shape)) == int(here.size):
        return kept
    return Sample(kept.elements.ravel(), shape, size, None)


def _brought(array: Any) -> Any:
    """An array in NumPy's memory, in a dtype that it has."""
    here = backend_of(array).numpy(array)
    return here if here.dtype.kind in "fciub" else here.astype(np.float32)  # bfloat16


def _of_numpy(array: Any) -> Sample:
    size, shape = array.size, array.shape
    if size <= SMALL:
        return Sample(array.copy(), shape, size, None)
    square = _square(array) if array.dtype.kind in "fc" else None
    step = (size // SMALL) | 1  # odd: not always the same column
    return Sample(_flat(array)[::step].copy(), shape, size, square)


def _square(array: Any) -> float:
    """The sum of the squares of all elements: not finite if one of them is not, and else no larger than a float."""
    once = array[tuple(slice(None) if stride else slice(1) for stride in array.strides)]
    flat = once.ravel(order="K")
    if flat.dtype.itemsize == 2:
        flat = flat.astype(np.float32)
    with np.errstate(all="ignore"):
        square = float(np.vdot(flat, flat).real)
        if not math.isfinite(square):  # by what it holds, or by the size of the square
            square = float(np.square(np.abs(flat), dtype=np.float64).sum())
    if not math.isfinite(square):
        return LARGEST if np.isfinite(flat).all() else square
    times = int(array.size) // int(once.size)
    return min(square * times, LARGEST)


def _flat(array: Any) -> Any:
    """All elements in one row, in the order in which they lie if that needs no copy."""
    if array.flags.forc or array.size <= LOOKED_AT:
        return array.ravel(order="K")
    return array[_part(array)].ravel()  # neither order: a large array is not copied for a sample


def _part(array: Any) -> tuple[slice, ...]:
    """The index of a part of each axis."""
    share = max(1, math.ceil((array.size / LOOKED_AT) ** (1 / max(1, array.ndim))))
    return (slice(None, None, share),) * int(array.ndim)


def figures(kept: Sample) -> dict[str, Any]:
    """What a person wants to know of a value: norm, extremes, share of zeros, what is not finite, a small histogram.

    >>> told = figures(keep(np.array([3.0, 0.0, -4.0, 0.0])))
    >>> told["norm"], told["min"], told["max"], told["zeros"]
    (5.0, -4.0, 3.0, 0.5)
    """
    elements = kept.elements.ravel()
    dtype = elements.dtype
    told: dict[str, Any] = {"shape": list(kept.shape), "dtype": dtype_name(dtype), "size": kept.size}
    if kept.size <= SHOWN:
        told["values"] = [_number(v) for v in elements.tolist()]
    if dtype.kind not in "fciub" or not kept.size:
        return told
    if dtype.kind == "c":
        elements = np.abs(elements)
    elements = elements.astype(np.float64)
    fine = np.isfinite(elements)
    told["nan"] = int(np.isnan(elements).sum())
    told["inf"] = int(elements.size - fine.sum()) - told["nan"]
    if elements.size < kept.size:
        told["sampled"] = int(elements.size)
        if kept.square is not None and not np.isfinite(kept.square) and not told["nan"] + told["inf"]:
            told["nan" if np.isnan(kept.square) else "inf"] = 1  # at least: it is not among the sample
    good = elements[fine]
    if good.size:
        told["zeros"] = float((good == 0).sum() / elements.size)
        told["min"], told["max"] = float(good.min()), float(good.max())
        with np.errstate(over="ignore"):
            told["mean"] = _number(float((good / good.size).sum()))
            square = float((good * good).sum()) * kept.size / max(1, elements.size)
        if kept.square is not None and np.isfinite(kept.square):
            square = kept.square
        told["norm"] = _number(math.sqrt(square))
        told["bars"] = _bars(good, told["min"], told["max"])
    if told["nan"] + told["inf"]:
        told["norm"] = "nan" if told["nan"] else "inf"
    return told


def _bars(elements: Any, low: float, high: float) -> list[int]:
    """How many elements fall into each of equal parts of the range."""
    if high == low or not math.isfinite(high - low):
        return [int(elements.size)]
    places = ((elements - low) * (BARS / (high - low))).astype(np.int64)
    return [int(n) for n in np.bincount(np.minimum(places, BARS - 1), minlength=BARS)]


def _number(value: Any) -> Any:
    """A number that JSON has, or its name."""
    if isinstance(value, complex):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value


def is_finite(told: dict[str, Any] | None) -> bool:
    """Whether nothing in a value's figures is NaN or infinite."""
    return told is None or not (told.get("nan") or told.get("inf"))
