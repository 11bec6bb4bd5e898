"""Comparisons and logic. Their results are booleans or integers: nothing here has a gradient."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from retrograd.backends.dtypes import scalar_dtype
from retrograd.core.apply import apply1, apply2
from retrograd.core.op import Binary, Unary
from retrograd.core.tensor import Tensor
from retrograd.errors import unsupported_dtype
from retrograd.ops.common import deliver
from retrograd.values import Array


class Pointwise(Binary):
    """A NumPy function of two operands, by its name."""

    differentiable: ClassVar[bool] = False
    params = ("function",)

    def __init__(self, function: str) -> None:
        self.function = function

    def function_name(self) -> str:
        return self.function

    def forward(self, xp: Any, x: Array, y: Array) -> Array:
        return getattr(xp, self.function)(x, y)


class PointwiseUnary(Unary):
    """A NumPy function of one operand, by its name."""

    differentiable: ClassVar[bool] = False
    params = ("function",)

    def __init__(self, function: str) -> None:
        self.function = function

    def function_name(self) -> str:
        return self.function

    def forward(self, xp: Any, x: Array) -> Array:
        return getattr(xp, self.function)(x)


def eq(input: Any, other: Any, *, out: Any = None) -> Any:
    """Where `input == other`."""
    return deliver(apply2(Pointwise("equal"), input, other), out)


def ne(input: Any, other: Any, *, out: Any = None) -> Any:
    """Where `input != other`."""
    return deliver(apply2(Pointwise("not_equal"), input, other), out)


def _ordered(function: str, ufunc: str, x: Any, y: Any, out: Any) -> Any:
    for v in (x, y):
        dtype = (
            v.array.dtype if isinstance(v, Tensor) else scalar_dtype(v) if isinstance(v, complex) else None
        )
        if dtype is not None and dtype.kind == "c":
            raise unsupported_dtype(f"{function}_cpu", dtype)
    return deliver(apply2(Pointwise(ufunc), x, y), out)


def lt(input: Any, other: Any, *, out: Any = None) -> Any:
    """Where `input < other`."""
    return _ordered("lt", "less", input, other, out)


def le(input: Any, other: Any, *, out: Any = None) -> Any:
    """Where `input <= other`."""
    return _ordered("le", "less_equal", input, other, out)


def gt(input: Any, other: Any, *, out: Any = None) -> Any:
    """Where `input > other`."""
    return _ordered("gt", "greater", input, other, out)


def ge(input: Any, other: Any, *, out: Any = None) -> Any:
    """Where `input >= other`."""
    return _ordered("ge", "greater_equal", input, other, out)


def logical_and(input: Any, other: Any, *, out: Any = None) -> Any:
    """Where both are non-zero."""
    return deliver(apply2(Pointwise("logical_and"), input, other), out)


def logical_or(input: Any, other: Any, *, out: Any = None) -> Any:
    """Where either is non-zero."""
    return deliver(apply2(Pointwise("logical_or"), input, other), out)


def logical_xor(input: Any, other: Any, *, out: Any = None) -> Any:
    """Where exactly one is non-zero."""
    return deliver(apply2(Pointwise("logical_xor"), input, other), out)


def logical_not(input: Any, *, out: Any = None) -> Any:
    """Where `input` is zero."""
    return deliver(apply1(PointwiseUnary("logical_not"), input), out)


def _integers(function: str, *operands: Any) -> None:
    for v in operands:
        dtype = (
            v.array.dtype
            if isinstance(v, Tensor)
            else scalar_dtype(v)
            if isinstance(v, (float, complex))
            else None
        )
        if dtype is not None and dtype.kind not in "biu":
            raise unsupported_dtype(f"{function}_cpu", dtype)


def bitwise_and(input: Any, other: Any, *, out: Any = None) -> Any:
    """Bits set in both; logical and for booleans."""
    _integers("bitwise_and", input, other)
    return deliver(apply2(Pointwise("bitwise_and"), input, other), out)


def bitwise_or(input: Any, other: Any, *, out: Any = None) -> Any:
    """Bits set in either; logical or for booleans."""
    _integers("bitwise_or", input, other)
    return deliver(apply2(Pointwise("bitwise_or"), input, other), out)


def bitwise_xor(input: Any, other: Any, *, out: Any = None) -> Any:
    """Bits set in exactly one; logical xor for booleans."""
    _integers("bitwise_xor", input, other)
    return deliver(apply2(Pointwise("bitwise_xor"), input, other), out)


def bitwise_not(input: Any, *, out: Any = None) -> Any:
    """All bits turned; logical not for booleans."""
    _integers("bitwise_not", input)
    return deliver(apply1(PointwiseUnary("invert"), input), out)


def bitwise_left_shift(input: Any, other: Any, *, out: Any = None) -> Any:
    """Bits moved up by `other` places."""
    _integers("bitwise_left_shift", input, other)
    return deliver(apply2(Pointwise("left_shift"), input, other), out)


def bitwise_right_shift(input: Any, other: Any, *, out: Any = None) -> Any:
    """Bits moved down by `other` places."""
    _integers("bitwise_right_shift", input, other)
    return deliver(apply2(Pointwise("right_shift"), input, other), out)


def isclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Tensor:
    """Where `|input - other| <= atol + rtol * |other|`."""
    return Tensor(np.asarray(np.isclose(input.array, other.array, rtol, atol, equal_nan)))


def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Whether all elements are close: `|input - other| <= atol + rtol * |other|`."""
    return bool(np.allclose(input.array, other.array, rtol, atol, equal_nan))


def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and the same elements."""
    return input.array.shape == other.array.shape and bool((input.array == other.array).all())


FUNCTIONS = (
    eq, ne, lt, le, gt, ge, logical_and, logical_or, logical_xor, logical_not, bitwise_and, bitwise_or, bitwise_xor,
    bitwise_not, bitwise_left_shift, bitwise_right_shift, isclose, allclose, equal,
)  # fmt: skip
ALIASES = {
    "not_equal": ne, "less": lt, "less_equal": le, "greater": gt, "greater_equal": ge,
}  # fmt: skip
