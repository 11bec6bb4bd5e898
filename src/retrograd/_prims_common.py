"""What `torch._prims_common` tells of dtypes."""

from __future__ import annotations

from typing import Any

from retrograd.backends.dtypes import as_dtype

__all__ = [
    "dtype_to_type", "is_boolean_dtype", "is_complex_dtype", "is_float_dtype", "is_integer_dtype",
]  # fmt: skip

_TYPES: dict[str, type] = {"b": bool, "i": int, "u": int, "f": float, "c": complex}


def dtype_to_type(dtype: Any) -> type:
    """Python's type of numbers like those of a dtype.

    >>> import retrograd as rg
    >>> dtype_to_type(rg.int8)
    <class 'int'>
    """
    return _TYPES[as_dtype(dtype).kind]


def is_boolean_dtype(dtype: Any) -> bool:
    """Whether it is that of truth values."""
    return dtype_to_type(dtype) is bool


def is_integer_dtype(dtype: Any) -> bool:
    """Whether its numbers are whole."""
    return dtype_to_type(dtype) is int


def is_float_dtype(dtype: Any) -> bool:
    """Whether its numbers are floating point ones."""
    return dtype_to_type(dtype) is float


def is_complex_dtype(dtype: Any) -> bool:
    """Whether its numbers are complex."""
    return dtype_to_type(dtype) is complex
