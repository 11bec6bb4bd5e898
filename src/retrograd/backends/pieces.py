"""Ctrl-C between two pieces of what takes long.

This module stays interpreted: between the lines of compiled code no signal is heard.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.values import Array

PIECE = 1 << 22  # numbers; a piece takes some hundredths of a second


def look() -> None:
    """Lets the handlers of signals run, which may raise: Python does so at every call of interpreted code."""


def fill(array: Array, number: Any) -> None:
    """Writes a number everywhere into an array that lies in rows."""
    if type(array) is not np.ndarray or array.size <= PIECE:
        array.fill(number)
        return
    line = array.reshape(-1)
    for begin in range(0, line.size, PIECE):
        line[begin : begin + PIECE] = number
