"""The operands of an op: their class, their device, and the dtype that they promote to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from retrograd.backends.base import BACKENDS, is_array, is_writable, mixed_devices, where_of
from retrograd.backends.casts import cast
from retrograd.backends.device import device
from retrograd.backends.dtypes import (
    check_element,
    get_default_dtype,
    is_number,
    python_number,
    result_of_arrays,
    result_with_scalar,
)
from retrograd.core.op import Binary, Op
from retrograd.core.tensor import Tensor
from retrograd.errors import OperandError, broadcast_error, operand_error
from retrograd.values import Array, DType


def operand_of(op: Op, i: int, value: Any) -> Any:
    """A Tensor, a number or an array as an operand of a binary op; anything else is an error that names it."""
    if isinstance(value, Tensor):
        return value
    kind = type(value)
    if kind is float or kind is int or kind is bool or kind is complex:
        return value
    if isinstance(value, np.generic) and is_number(value):
        return python_number(value)
    if is_array(value):
        check_element(value.dtype)
        return Tensor(value, share=True)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, complex):
        return complex(value)
    raise operand_error(op.function_name(), "input" if i == 0 else "other", i + 1, value)


def result_class(op: Op, operands: Sequence[Any]) -> Any:
    """The Tensor subclass of the result, None for Tensor itself; an operand that is no Tensor at all is an error."""
    cls: Any = None
    found = False
    for i, value in enumerate(operands):
        if isinstance(value, Tensor):
            found = True
            kind = type(value)
            if kind is Tensor or not value._keeps_class or getattr(kind, "_asks", False):
                continue
            if cls is None or issubclass(kind, cls):
                cls = kind
            elif not issubclass(cls, kind):
                raise OperandError(
                    f"{op.function_name()}(): operands of the unrelated classes {cls.__name__} and {kind.__name__}; "
                    "convert one with as_subclass()"
                )
        elif value is not None and not isinstance(op, Binary):
            raise operand_error(op.function_name(), "input", i + 1, value)
    if not found:
        raise operand_error(op.function_name(), "input", 1, operands[0])
    return cls


def common_device(arrays: Sequence[Any]) -> device | None:
    """The one device of all operands, None for the CPU; single numbers may come from the CPU."""
    if not BACKENDS.foreign:
        return None
    home = BACKENDS.homes.get(type(arrays[0]))
    if home is not None and _are_of_class(arrays, type(arrays[0])):
        return home
    found = {where_of(a) for a in arrays if is_array(a) and (a.ndim or where_of(a) is not None)}
    if len(found) > 1:
        raise mixed_devices(["cpu" if where is None else str(where) for where in found])
    return found.pop() if found else None


def _are_of_class(arrays: Sequence[Any], cls: Any) -> bool:
    """Whether all operands are numbers, missing, or arrays of one class."""
    for a in arrays:
        if type(a) is not cls and a is not None and type(a) is not float and type(a) is not int:
            return False
    return True


def check_broadcast(shape: Any, other: Any) -> None:
    """Operands of an elementwise op must broadcast against each other."""
    if shape == other:
        return
    for n, m in zip(reversed(shape), reversed(other), strict=False):
        if n not in (m, 1) and m != 1:
            raise broadcast_error(shape, other)


def promoted_pair(a: Any, b: Any, a_is_array: bool, b_is_array: bool, floats: bool) -> tuple[Any, Any]:
    """Two operands in the dtype that they promote to; numbers stay as they are."""
    if a_is_array and b_is_array:
        if a.dtype is not b.dtype:
            a, b = _promoted(a, b)
    elif a_is_array:
        a = _for_scalar(a, b)
    else:
        b = _for_scalar(b, a)
    return (floated(a), floated(b)) if floats else (a, b)


def _promoted(a: Array, b: Array) -> tuple[Array, Array]:
    dtype = result_of_arrays(a, b)
    return _cast(a, dtype), _cast(b, dtype)


def _for_scalar(a: Array, number: Any) -> Array:
    """The array in the dtype that it and a Python number promote to."""
    if a.dtype.kind == "f" and type(number) is not complex:
        return a
    return _cast(a, result_with_scalar(a.dtype, number))


def floated(a: Any) -> Any:
    """Integers as default floats, for ops that compute in floating point."""
    if not isinstance(a, (int, float, complex)) and a.dtype.kind in "biu":
        return _cast(a, get_default_dtype())
    return a


def _cast(a: Array, dtype: DType) -> Array:
    """The array in a dtype. Where dimensions share memory, which cannot be written, the copy lies in rows."""
    return cast(a, dtype, "K" if is_writable(a) else "C", False)
