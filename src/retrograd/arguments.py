"""What users pass where a number is declared.

Python does not mind if a NumPy integer comes where `int` is declared, or 1 where `bool` is; compiled code does. So the
compiled form of each function that users call begins by taking what stands for a number as Python's
(`tools/compiling/loosen.py` writes that). What stands for none is left as it is, for the function itself to judge.
"""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np


def as_int(value: Any) -> Any:
    """An integer of NumPy's, or a tensor of one, as Python's.

    >>> as_int(np.int64(3)), as_int("3"), as_int(None)
    (3, '3', None)
    """
    if value is None or isinstance(value, int) or not hasattr(value, "__index__"):
        return value
    try:
        return index(value)
    except Exception:  # noqa: BLE001 - an array of several elements, a batch: no number, whatever it says
        return value


def as_bool(value: Any) -> Any:
    """Any number as a truth value.

    >>> as_bool(1), as_bool(np.False_), as_bool("")
    (True, False, '')
    """
    if value is None or isinstance(value, bool):
        return value
    return bool(value) if isinstance(value, (int, float, np.generic)) else value


def as_float(value: Any) -> Any:
    """A number of NumPy's, or a tensor of one that requires no gradient, as Python's.

    >>> as_float(np.float32(0.5)), as_float(1)
    (0.5, 1)
    """
    if value is None or isinstance(value, (float, int)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if getattr(value, "requires_grad", None) is False and value.ndim == 0 and not value.dtype.is_complex:
        try:
            return value.item()
        except Exception:  # noqa: BLE001 - a batch: no number
            return value
    return value
