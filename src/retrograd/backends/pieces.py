"""Ctrl-C between two pieces of what takes long; random numbers, a piece at a time.

This module stays interpreted: between the lines of compiled code no signal is heard.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from retrograd.values import Array, DType, Shape

PIECE = 1 << 22  # numbers; a piece takes some hundredths of a second


def look() -> None:
    """Lets the handlers of signals run, which may raise: Python does so at every call of interpreted code."""


def drawn(rng: Any, draw: Callable[..., Any], shape: Shape, dtype: DType) -> Any:
    """What a method of `rng` draws. A generator of NumPy's gives the same numbers in pieces as at once."""
    count = math.prod(shape)
    if count <= PIECE or type(rng) is not np.random.Generator:
        return draw(shape, dtype)
    found: Array = np.empty(count, dtype)
    for begin in range(0, count, PIECE):
        draw(dtype=dtype, out=found[begin : begin + PIECE])
    return found.reshape(shape)


def drawn_integers(rng: Any, low: int, last: int, shape: Shape, dtype: DType) -> Any:
    """Integers of 64 bits from `low` to `last`, which NumPy draws in pieces as it does at once."""
    count = math.prod(shape)
    if count <= PIECE or type(rng) is not np.random.Generator:
        return rng.integers(low, last, shape, dtype, endpoint=True)
    found: Array = np.empty(count, dtype)
    for begin in range(0, count, PIECE):
        piece = found[begin : begin + PIECE]
        piece[...] = rng.integers(low, last, piece.shape, dtype, endpoint=True)
    return found.reshape(shape)


def fill(array: Array, number: Any) -> None:
    """Writes a number everywhere into an array that lies in rows."""
    if type(array) is not np.ndarray or array.size <= PIECE:
        array.fill(number)
        return
    line = array.reshape(-1)
    for begin in range(0, line.size, PIECE):
        line[begin : begin + PIECE] = number
