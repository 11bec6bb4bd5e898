"""Rounding: floor, ceil, round, trunc, and division that rounds, flat everywhere; and the rests: frac, fmod."""

from __future__ import annotations

from typing import Any, ClassVar

from retrograd.backends.base import Backend
from retrograd.backends.dtypes import python_number, result_with_scalar
from retrograd.core.apply import apply1, apply2
from retrograd.core.families import ElementwiseBinary, ElementwiseUnary
from retrograd.core.op import X, Y
from retrograd.core.tensor import Tensor
from retrograd.core.variant import variant
from retrograd.errors import unsupported_dtype
from retrograd.ops.common import (
    check_division,
    deliver,
    int_from,
    memory_order,
    require_tensor,
    require_word,
    wrapped,
    zero_like,
)
from retrograd.ops.register import public
from retrograd.ops.tensor.convert import convert
from retrograd.values import Array, Number


class Flat(ElementwiseUnary):
    """A step function: its slope is zero wherever it has one."""

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        return zero_like(g)

    def slope(self, x: Any, out: Any) -> Any:
        return 0.0


class Floor(Flat):
    """the largest integer not above x"""

    def forward(self, xp: Backend, x: Array) -> Array:
        return x.copy(memory_order(xp, x)) if x.dtype.kind in "iu" else xp.floor(_no_bool("floor", x))


class Ceil(Flat):
    """the smallest integer not below x"""

    def forward(self, xp: Backend, x: Array) -> Array:
        return x.copy(memory_order(xp, x)) if x.dtype.kind in "iu" else xp.ceil(_no_bool("ceil", x))


class Trunc(Flat):
    """x without its fraction"""

    def forward(self, xp: Backend, x: Array) -> Array:
        return x.copy(memory_order(xp, x)) if x.dtype.kind in "iu" else xp.trunc(_no_bool("trunc", x))


class Round(Flat):
    """the nearest number with so many decimals; halves go to the even one"""

    params: ClassVar[tuple[str, ...]] = ("decimals",)

    def __init__(self, decimals: int) -> None:
        self.decimals = decimals

    def forward(self, xp: Backend, x: Array) -> Array:
        return (
            x.copy(memory_order(xp, x))
            if x.dtype.kind in "iu"
            else xp.round(_no_bool("round", x), self.decimals)
        )


RoundDecimals = variant(Round, "RoundBackward1", "the nearest number with so many decimals")


class Frac(ElementwiseUnary):
    """the fraction that trunc cuts off"""

    def forward(self, xp: Backend, x: Array) -> Array:
        if x.dtype.kind != "f":
            raise unsupported_dtype("frac_cpu", x.dtype)
        return xp.subtract(x, xp.trunc(x))

    def slope(self, x: Any, out: Any) -> Any:
        return 1


class DivRounded(ElementwiseBinary):
    """x / y rounded: towards zero ("trunc") or down ("floor")"""

    node_name = "DivBackward2"
    params: ClassVar[tuple[str, ...]] = ("mode",)
    shown: ClassVar[dict[str, str]] = {"rounding_mode": "mode"}
    keeps0: ClassVar[int] = 0

    def __init__(self, mode: str) -> None:
        self.mode = mode

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        x, y = wrapped(x, y)
        check_division(f"div_{self.mode}_cpu", x, y)
        if self.mode == "floor":
            return xp.floor_divide(x, y)
        quotient = xp.true_divide(x, y)
        if xp.result_type(x, y).kind == "f":
            return xp.trunc(quotient)
        return xp.floor_divide(xp.subtract(x, xp.fmod(x, y)), y)

    def vjp(self, i: int, g: Any, x: Any, y: Any, out: Any) -> Any:
        return zero_like(g)

    def slope(self, i: int, x: Any, y: Any, out: Any) -> Any:
        return 0.0


def _checked_fmod(xp: Backend, x: Array, y: Any) -> Array:
    """The remainder with the sign of x."""
    x, y = wrapped(x, y)
    check_division("fmod_cpu", x, y)
    return xp.fmod(x, y)


class Fmod(ElementwiseBinary):
    """x modulo y, with the sign of x"""

    node_name = "FmodBackward1"
    keeps1: ClassVar[int] = X | Y

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        return _checked_fmod(xp, x, y)

    def slope(self, i: int, x: Any, y: Any, out: Any) -> Any:
        return 1 if i == 0 else -DivRounded("trunc").on(x, y)


class FmodNumber(ElementwiseUnary):
    """x modulo a number, with the sign of x"""

    node_name = "FmodBackward0"
    params: ClassVar[tuple[str, ...]] = ("number",)

    def __init__(self, number: Any) -> None:
        self.number = number

    def forward(self, xp: Backend, x: Array) -> Array:
        return _checked_fmod(xp, x, self.number)

    def slope(self, x: Any, out: Any) -> Any:
        return 1


def rounded_division(x: Any, y: Any, rounding_mode: Any) -> Any:
    """`div` with a rounding mode."""
    mode = require_word("div", "rounding_mode", rounding_mode)
    if mode not in ("trunc", "floor"):
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{mode}'"
        )
    return apply2(DivRounded(mode), x, y)


def _no_bool(kernel: str, x: Array) -> Array:
    if x.dtype.kind == "b":
        raise unsupported_dtype(f"{kernel}_vml_cpu", x.dtype)
    return x


def _no_complex(function: str, x: Any) -> None:
    if getattr(getattr(x, "array", x), "dtype", None) is not None and x.array.dtype.kind == "c":
        raise NotImplementedError(f"{function} is not supported for complex inputs")


@public("floor", "floor_", method=True)
def floor(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The largest integer not above each element."""
    _no_complex("floor", input)
    return deliver(apply1(Floor(), input), out)


@public("ceil", "ceil_", method=True)
def ceil(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smallest integer not below each element."""
    _no_complex("ceil", input)
    return deliver(apply1(Ceil(), input), out)


@public("trunc", "fix", "trunc_", "fix_", method=True)
def trunc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Each element without its fraction."""
    _no_complex("trunc", input)
    return deliver(apply1(Trunc(), input), out)


@public("round", "round_", method=True)
def round(input: Tensor, *, decimals: int | None = None, out: Tensor | None = None) -> Tensor:
    """Each element rounded to `decimals` places, 0 if none are given; halves go to the even neighbour.

    >>> import retrograd as rg
    >>> rg.round(rg.tensor([0.5, 1.5, 2.345])), rg.round(rg.tensor([2.345]), decimals=1)
    (tensor([0., 2., 2.]), tensor([2.3000]))
    """
    if decimals is not None:
        return special_round(input, decimals=decimals, out=out)
    _no_complex("round", input)
    return deliver(apply1(Round(0), input), out)


@public("special.round")
def special_round(input: Tensor, *, decimals: int = 0, out: Tensor | None = None) -> Tensor:
    """Each element of a floating point tensor rounded to `decimals` places."""
    _no_complex("round", input)
    x = require_tensor("round", "input", 1, input)
    decimals = int_from("special_round", "decimals", 2, decimals)
    if x.array.dtype.kind != "f":
        raise unsupported_dtype("round_cpu" if decimals else "round_vml_cpu", x.array.dtype)
    # 10 to the 400 is infinite; NumPy multiplies as often as it is told.
    return deliver(apply1(RoundDecimals(max(-400, min(decimals, 400))), x), out)


@public("frac", "frac_", method=True)
def frac(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The fraction of each element, with its sign.

    >>> import retrograd as rg
    >>> rg.frac(rg.tensor([1.25, -1.25]))
    tensor([ 0.2500, -0.2500])
    """
    return deliver(apply1(Frac(), input), out)


@public("fmod", "Tensor.fmod_", method=True)
def fmod(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """`input` modulo `other`, a tensor or a number, with the sign of `input`.

    >>> import retrograd as rg
    >>> rg.fmod(rg.tensor([-3.0, 5.0]), 2)
    tensor([-1.,  1.])
    """
    x, other = require_tensor("fmod", "input", 1, input), python_number(other)
    if isinstance(other, (int, float, complex)):
        dtype = result_with_scalar(x.array.dtype, other)
        return deliver(apply1(FmodNumber(other), x if dtype == x.array.dtype else convert(x, dtype)), out)
    return deliver(apply2(Fmod(), x, other), out)
