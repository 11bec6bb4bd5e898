"""Comparisons and logic. Their results are booleans or integers: nothing here has a gradient."""

from __future__ import annotations

import operator
from functools import partial
from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import Backend, common_backend
from retrograd.backends.dtypes import SCALAR_NAMES, scalar_dtype
from retrograd.backends.kernels import blocks
from retrograd.core.apply import apply1, apply2
from retrograd.core.op import Binary, Unary
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError, broadcast_error, type_name, unsupported_dtype
from retrograd.ops.common import deliver, differ, joint_shape, real_from, require_tensor, tensor_of, wrapped
from retrograd.ops.register import public
from retrograd.values import Array, Number


class Pointwise(Binary):
    """A NumPy function of two operands, by its name."""

    elementwise: ClassVar[bool] = True
    differentiable: ClassVar[bool] = False
    params: ClassVar[tuple[str, ...]] = ("function",)

    def __init__(self, function: str) -> None:
        self.function = function

    def function_name(self) -> str:
        return self.function

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        return getattr(xp, self.function)(*wrapped(x, y))


class PointwiseUnary(Unary):
    """A NumPy function of one operand, by its name."""

    differentiable: ClassVar[bool] = False
    params: ClassVar[tuple[str, ...]] = ("function",)

    def __init__(self, function: str) -> None:
        self.function = function

    def function_name(self) -> str:
        return self.function

    def forward(self, xp: Backend, x: Array) -> Array:
        return getattr(xp, self.function)(x)


@public("eq", method=True)
def eq(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Where `input == other`."""
    return deliver(apply2(Pointwise("equal"), require_tensor("eq", "input", 1, input), other), out)


@public("ne", "not_equal", method=True)
def ne(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Where `input != other`."""
    return deliver(apply2(Pointwise("not_equal"), require_tensor("ne", "input", 1, input), other), out)


def _dtype_of(v: Any) -> Any:
    """The dtype of an operand; None of an integer or a bool that is no tensor, which fit in with any."""
    if isinstance(v, Tensor):
        return v.array.dtype
    if isinstance(v, np.ndarray):
        return v.dtype
    return scalar_dtype(v) if isinstance(v, (float, complex, np.inexact)) else None


def _ordered(function: str, ufunc: str, x: Any, y: Any, out: Any) -> Tensor:
    require_tensor(function, "input", 1, x)
    for v in (x, y):
        if type(v) is not float and type(v) is not int:
            dtype = _dtype_of(v)
            if dtype is not None and dtype.kind == "c":
                raise unsupported_dtype(f"{function}_cpu", dtype)
    return deliver(apply2(Pointwise(ufunc), x, y), out)


@public("lt", "less", method=True)
def lt(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Where `input < other`."""
    return _ordered("lt", "less", input, other, out)


@public("le", "less_equal", method=True)
def le(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Where `input <= other`."""
    return _ordered("le", "less_equal", input, other, out)


@public("gt", "greater", method=True)
def gt(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Where `input > other`."""
    return _ordered("gt", "greater", input, other, out)


@public("ge", "greater_equal", method=True)
def ge(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Where `input >= other`."""
    return _ordered("ge", "greater_equal", input, other, out)


def _logical(function: str, input: Any, other: Any, out: Any) -> Tensor:
    require_tensor(function, "input", 1, input)
    return deliver(apply2(Pointwise(function), input, require_tensor(function, "other", 2, other)), out)


@public("logical_and", method=True)
def logical_and(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where both are non-zero."""
    return _logical("logical_and", input, other, out)


@public("logical_or", method=True)
def logical_or(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where either is non-zero."""
    return _logical("logical_or", input, other, out)


@public("logical_xor", method=True)
def logical_xor(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where exactly one is non-zero."""
    return _logical("logical_xor", input, other, out)


@public("logical_not", method=True)
def logical_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where `input` is zero."""
    return deliver(apply1(PointwiseUnary("logical_not"), input), out)


def _integers(function: str, *operands: Any) -> None:
    if not any(isinstance(v, Tensor) for v in operands):
        given = ", ".join(map(type_name, operands))
        raise TypeError(f"{function}() received an invalid combination of arguments - got ({given})")
    for v in operands:
        dtype = _dtype_of(v)
        if dtype is not None and dtype.kind not in "biu":
            raise unsupported_dtype(f"{function}_cpu", dtype)


@public("bitwise_and", "Tensor.bitwise_and_", method=True)
def bitwise_and(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Bits set in both; logical and for booleans."""
    _integers("bitwise_and", input, other)
    return deliver(apply2(Pointwise("bitwise_and"), input, other), out)


@public("bitwise_or", "Tensor.bitwise_or_", method=True)
def bitwise_or(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Bits set in either; logical or for booleans."""
    _integers("bitwise_or", input, other)
    return deliver(apply2(Pointwise("bitwise_or"), input, other), out)


@public("bitwise_xor", "Tensor.bitwise_xor_", method=True)
def bitwise_xor(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Bits set in exactly one; logical xor for booleans."""
    _integers("bitwise_xor", input, other)
    return deliver(apply2(Pointwise("bitwise_xor"), input, other), out)


@public("bitwise_not", "Tensor.bitwise_not_", method=True)
def bitwise_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """All bits turned; logical not for booleans."""
    _integers("bitwise_not", require_tensor("bitwise_not", "input", 1, input))
    return deliver(apply1(PointwiseUnary("invert"), input), out)


@public("bitwise_left_shift", "Tensor.bitwise_left_shift_", method=True)
def bitwise_left_shift(
    input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None
) -> Tensor:
    """Bits moved up by `other` places."""
    return _shifted("bitwise_left_shift", "lshift_cpu", input, other, out)


@public("bitwise_right_shift", "Tensor.bitwise_right_shift_", method=True)
def bitwise_right_shift(
    input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None
) -> Tensor:
    """Bits moved down by `other` places."""
    return _shifted("bitwise_right_shift", "rshift_cpu", input, other, out)


def _is_bool(v: Any) -> bool:
    dtype = _dtype_of(v)
    return isinstance(v, (bool, np.bool_)) if dtype is None else dtype.kind == "b"


def _shifted(function: str, kernel: str, x: Any, y: Any, out: Any) -> Tensor:
    _integers(kernel.removesuffix("_cpu"), x, y)
    if _is_bool(x) and _is_bool(y):
        raise unsupported_dtype(kernel, np.dtype(bool))
    return deliver(apply2(Pointwise(function.removeprefix("bitwise_")), x, y), out)


@public("isclose", method=True)
def isclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Tensor:
    """Where `|input - other| <= atol + rtol * |other|`.

    >>> import retrograd as rg
    >>> rg.isclose(rg.tensor([1.0, 1.1]), rg.tensor([1.0 + 1e-9, 1.0]))
    tensor([ True, False])
    """
    return tensor_of(_close("isclose", input, other, rtol, atol, equal_nan))


@public("allclose", method=True)
def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Whether all elements are close: `|input - other| <= atol + rtol * |other|`.

    >>> import retrograd as rg
    >>> rg.allclose(rg.tensor([1.0]), rg.tensor([1.0 + 1e-9]))
    True
    """
    if differ(input, other):
        raise RuntimeError(
            "vmap over torch.allclose isn't supported yet: each sample would have its own answer. Use "
            "torch.isclose(a, b).all(), or call it outside of vmap."
        )
    return bool(_close("allclose", input, other, rtol, atol, equal_nan, True))


def _close(function: str, x: Any, y: Any, rtol: Any, atol: Any, equal_nan: bool, whole: bool = False) -> Any:
    """Which elements are close, or whether all are; tolerances are as the user gave them."""
    a = require_tensor(function, "input", 1, x).array
    b = require_tensor(function, "other", 2, y).array
    if a.dtype != b.dtype:
        raise DtypeError(
            f"{SCALAR_NAMES[a.dtype]} did not match {SCALAR_NAMES[b.dtype]}: {function} compares tensors of one dtype. "
            "Convert one with .to()."
        )
    rtol, atol = _tolerance(function, "rtol", 3, rtol), _tolerance(function, "atol", 4, atol)
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if tolerance < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {tolerance:g}")
    try:
        joint_shape(a.shape, b.shape)
    except ValueError:
        raise broadcast_error(a.shape, b.shape) from None
    xp = common_backend((a, b))
    close = partial(_are_close, xp, (rtol, atol, equal_nan))
    if not whole:
        return close(a, b)
    return blocks.all_true(close, a, b) if _in_blocks(xp, a, b) else close(a, b).all()


def _tolerance(function: str, name: str, position: int, given: Any) -> float:
    """A tolerance as a float: it may be a tensor, and NumPy would ask that for its own."""
    if isinstance(given, Tensor) and not given.requires_grad:
        return float(given)
    return float(real_from(function, name, position, given))


def _are_close(xp: Backend, tolerance: tuple[float, float, bool], a: Array, b: Array) -> Any:
    if a.dtype.kind in "iu" and tolerance[0] == tolerance[1] == 0:
        return a == b  # whose difference may be too small beside them for a floating point number
    return xp.isclose(a, b, *tolerance)


def _in_blocks(xp: Backend, a: Array, b: Array) -> bool:
    """Whether two arrays are large enough to be compared a part at a time."""
    return xp.is_plain and a.size > blocks.LIMIT and a.shape == b.shape


@public("equal", method=True)
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and the same elements.

    >>> import retrograd as rg
    >>> rg.equal(rg.tensor([1, 2]), rg.tensor([1, 2])), rg.equal(rg.tensor([1, 2]), rg.tensor([1, 3]))
    (True, False)
    """
    a = require_tensor("equal", "input", 1, input).array
    b = require_tensor("equal", "other", 2, other).array
    if differ(input, other):
        raise RuntimeError(
            "Batching rule not implemented for aten::equal. We could not generate a fallback: each sample would have "
            "its own answer. Use (a == b).all(), or call it outside of vmap."
        )
    xp = common_backend((a, b))
    if _in_blocks(xp, a, b):
        return blocks.all_true(operator.eq, a, b)
    return a.shape == b.shape and bool(xp.all(xp.equal(a, b)).item())
