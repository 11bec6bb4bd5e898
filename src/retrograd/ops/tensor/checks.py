"""Conditions that a program states, under the names that PyTorch's own Python code uses: `torch._check` and kin."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.errors import type_name
from retrograd.ops.register import public

Message = Callable[[], str] | None


@public("_check_with")
def _check_with(error_type: type[Exception], cond: Any, message: Message = None) -> None:
    """Raises an error of that type unless `cond` is true; `message` is called for its text."""
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if message is None:
        raise error_type(
            "Expected cond to be True, but got False: give a message that says what was checked."
        )
    if not callable(message):
        raise TypeError(f"message must be a callable, not {type_name(message)}")
    raise error_type(str(message()))


@public("_check")
def _check(cond: Any, message: Message = None) -> None:
    """Raises a RuntimeError unless `cond` is true."""
    _check_with(RuntimeError, cond, message)


@public("_check_index")
def _check_index(cond: Any, message: Message = None) -> None:
    """Raises an IndexError unless `cond` is true."""
    _check_with(IndexError, cond, message)


@public("_check_value")
def _check_value(cond: Any, message: Message = None) -> None:
    """Raises a ValueError unless `cond` is true."""
    _check_with(ValueError, cond, message)


@public("_check_type")
def _check_type(cond: Any, message: Message = None) -> None:
    """Raises a TypeError unless `cond` is true."""
    _check_with(TypeError, cond, message)


@public("_check_not_implemented")
def _check_not_implemented(cond: Any, message: Message = None) -> None:
    """Raises a NotImplementedError unless `cond` is true."""
    _check_with(NotImplementedError, cond, message)


@public("_check_is_size")
def _check_is_size(i: int, message: Message = None, *, max: int | None = None) -> None:
    """Raises a RuntimeError unless `i` can be the size of a dimension, and is at most `max`."""
    warnings.warn("_check_is_size will be removed: use _check(i >= 0)", FutureWarning, stacklevel=2)
    _check(bool(i >= 0), message)
    if max is not None:
        _check(bool(i <= max), message)


@public("_check_tensor_all_with")
def _check_tensor_all_with(error_type: type[Exception], cond: Any, message: Message = None) -> None:
    """Raises an error of that type unless all elements of a tensor of truth values are true."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.array.dtype != bool:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(error_type, bool(cond.array.all()), message)


@public("_check_tensor_all")
def _check_tensor_all(cond: Any, message: Message = None) -> None:
    """Raises a RuntimeError unless all elements of a tensor of truth values are true."""
    _check_tensor_all_with(RuntimeError, cond, message)


@public("_assert")
def _assert(condition: Any, message: str) -> None:
    """Raises an AssertionError unless the condition holds."""
    if not condition:
        raise AssertionError(message)


@public("_assert_async")
def _assert_async(input: Tensor, assert_msg: str = "") -> None:
    """Raises a RuntimeError unless the one element of a tensor is not zero."""
    if not input:
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")
