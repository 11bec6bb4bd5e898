"""Arrays in another dtype, and which backend makes arrays of a dtype."""

from __future__ import annotations

from typing import Any

from retrograd.backends.base import BACKENDS, Backend, backend_of, is_array
from retrograd.backends.device import CPU, device
from retrograd.backends.dtype_class import bfloat16
from retrograd.backends.dtype_class import dtype as DtypeClass
from retrograd.backends.dtypes import as_dtype
from retrograd.lazy import load
from retrograd.values import Array, DType


def cast(array: Array, dtype: DType, order: str = "K", copy: bool = True) -> Array:
    """An array in a dtype, which may be bfloat16: NumPy's `astype` knows its own dtypes only."""
    if type(dtype) is DtypeClass:
        if dtype is bfloat16:
            return of_bfloat16().cast(array, order, copy)
        dtype = as_dtype(dtype)
    return array.astype(dtype, order=order, copy=copy)


def reinterpreted(array: Array, dtype: DType) -> Array:
    """The same memory as elements of another dtype, of a size that fits."""
    if type(dtype) is DtypeClass:
        if dtype is bfloat16:
            of_bfloat16()
            return backend_of(array).seen_as_bfloat16(array)
        dtype = as_dtype(dtype)
    return array.view(dtype)


def maker_of(dtype: DType, where: device | None = None) -> Any:
    """The backend that makes arrays of a dtype on a device."""
    if dtype is bfloat16:
        return of_bfloat16() if where is None or where is CPU else BACKENDS.on(where).maker(dtype)
    return BACKENDS.on(where)


def of_bfloat16() -> Any:
    """The backend of bfloat16, loaded when somebody first wants it."""
    found: Backend | None = BACKENDS.of_bfloat16
    if found is None:
        load("retrograd.backends.bfloat16")
        found = BACKENDS.of_bfloat16
    return found


def stays_bfloat16(values: Any, options: dict[str, Any]) -> bool:
    """Whether a result of these operands is bfloat16: no dtype was asked for, and no array has a wider one."""
    if options.get("dtype") is not None:
        return bool(options["dtype"] == bfloat16)
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if isinstance(value, (tuple, list)):
            waiting.extend(value)
        elif is_array(value) and value.dtype is not bfloat16 and value.dtype.kind in "fc" and value.ndim:
            return False
    return True
