"""What new memory holds while algorithms are to be deterministic: a value that is noticed."""

from __future__ import annotations

from math import nan

import numpy as np

from retrograd.backends.dtypes import LIMITS
from retrograd.lazy import load
from retrograd.values import Array


class Unwritten:
    """Whether new memory is filled: `use_deterministic_algorithms` has asked for it."""

    filled: bool = False


UNWRITTEN = Unwritten()


def marked(array: Array) -> Array:
    """New memory; filled with NaN, or with the largest integer, if it is to be the same in every run."""
    if UNWRITTEN.filled and load("retrograd.utils.deterministic").fill_uninitialized_memory:
        kind = array.dtype.kind
        array[...] = np.asarray(True if kind == "b" else LIMITS[array.dtype][1] if kind in "iu" else nan)
    return array
