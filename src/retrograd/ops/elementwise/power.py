"""Powers: by a number, of a number, of two tensors."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import Backend
from retrograd.backends.dtypes import python_number
from retrograd.core.apply import apply1, apply2
from retrograd.core.autocast import autocasting_on_gpu, in_float32
from retrograd.core.families import ElementwiseBinary, ElementwiseUnary, conjugate
from retrograd.core.op import OUT, X, Y
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError
from retrograd.ops.common import deliver, deliver_exact, plain, wrapped, zero_like
from retrograd.ops.elementwise.arithmetic import MulByNumber, for_number, no_bools
from retrograd.ops.elementwise.choose import Where
from retrograd.ops.elementwise.exponential import Log
from retrograd.ops.register import public
from retrograd.ops.tensor.convert import convert
from retrograd.ops.tensor.data import narrowed
from retrograd.values import Array, Number


class Pow(ElementwiseUnary):
    """x ** exponent, the exponent a number"""

    widened: ClassVar[bool] = True
    params: ClassVar[tuple[str, ...]] = ("exponent",)
    shown: ClassVar[dict[str, str]] = {"exponent": "exponent"}
    keeps: ClassVar[int] = X

    def __init__(self, exponent: Any) -> None:
        self.exponent = exponent

    def forward(self, xp: Backend, x: Array) -> Array:
        if x.dtype.kind == "b":
            return x.copy() if self.exponent else xp.ones_like(x)
        if x.dtype.kind in "iu":
            if self.exponent < 0:
                raise DtypeError("Integers to negative integer powers are not allowed.")
            return x ** narrowed(np.asarray(self.exponent), x.dtype).item()
        if self.exponent == -0.5 and x.dtype.kind == "f":
            return 1 / xp.sqrt(x)  # as PyTorch: C's power differs at -0.0 and -Inf
        return x**self.exponent

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        return zero_like(g) if self.exponent == 0 else super().vjp(g, x, out)

    def slope(self, x: Any, out: Any) -> Any:
        if self.exponent == 0:
            return zero_like(x)
        # PyTorch's formula to the letter when it is recorded: each order keeps its place in the graph.
        if isinstance(x, Tensor):
            return MulByNumber().on(Pow(self.exponent - 1).on(x), self.exponent)
        return self.exponent * (x if self.exponent == 2 else Pow(self.exponent - 1).on(x))


def _power(xp: Backend, x: Any, y: Array) -> Array:
    """X ** y; a negative power of an integer is rounded towards zero, so that only 1 and -1 leave something."""
    if y.dtype.kind != "i" or not (y < 0).any():
        return xp.power(x, y)
    whole = xp.power(x, xp.where(y < 0, y & 1, y))
    return xp.where((y < 0) & (xp.abs(x) != 1), y.dtype.type(0), whole)


class PowTensor(ElementwiseBinary):
    """x ** y"""

    node_name = "PowBackward1"
    keeps0: ClassVar[int] = X | Y
    keeps1: ClassVar[int] = X | Y | OUT
    shown: ClassVar[dict[str, str]] = {"exponent": "y"}

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        no_bools("pow", x, y)
        return _power(xp, x, y)

    def vjp(self, i: int, g: Any, x: Any, y: Any, out: Any) -> Any:
        if i or not isinstance(x, Tensor):
            return super().vjp(i, g, x, y, out)
        slope = y * x ** (y - 1)
        return Where().on(plain(y) == 0, 0.0, g * (conjugate(slope) if self.out_dtype.kind == "c" else slope))

    def slope(self, i: int, x: Any, y: Any, out: Any) -> Any:
        if i == 0:
            zero = plain(y) == 0
            return Where().on(zero, 0.0, y * x ** (y - 1))
        # At x = 0 the power does not depend on a non-negative exponent; the logarithm there must not poison it.
        flat = (plain(x) == 0) & (plain(y).real >= 0)
        return Where().on(flat, 0.0, out * Log().on(Where().on(flat, 1.0, x)))


class PowOfNumber(ElementwiseUnary):
    """number ** x"""

    widened: ClassVar[bool] = True
    in_rows: ClassVar[bool] = True
    node_name = "PowBackward2"
    params: ClassVar[tuple[str, ...]] = ("number",)
    shown: ClassVar[dict[str, str]] = {"self": "number"}
    keeps: ClassVar[int] = OUT

    def __init__(self, number: Any) -> None:
        self.number = number

    def forward(self, xp: Backend, x: Array) -> Array:
        no_bools("pow", x)
        return xp.ones_like(x) if self.number == 1 else _power(xp, *wrapped(self.number, x))

    def slope(self, x: Any, out: Any) -> Any:
        return out * np.log(complex(self.number) if self.out_dtype.kind == "c" else self.number).item()


class PowOfZero(PowOfNumber):
    """0 ** x, which falls from infinity to 0 where x is no longer negative"""

    node_name = "PowBackward2"
    keeps: ClassVar[int] = X | OUT

    def slope(self, x: Any, out: Any) -> Any:
        flat = plain(x).real >= 0
        return Where().on(flat, 0.0, Where().on(flat, 1.0, out) * -np.inf)


@public("pow", "Tensor.pow_", method=True)
def pow(input: Tensor | Number, exponent: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """`input ** exponent`; either may be a number.

    >>> import retrograd as rg
    >>> rg.pow(2, rg.tensor([1.0, 3.0]))
    tensor([2., 8.])
    """
    return deliver(power(input, exponent), out)


def power(x: Any, y: Any) -> Any:
    """The three kinds of power: by a number, of a number, and of two tensors."""
    if isinstance(y, (bool, int, float, complex, np.generic)):
        number = python_number(y)
        return apply1(Pow(number), for_number(x, number))
    if isinstance(x, (bool, int, float, complex, np.generic)):
        number = python_number(x)
        return apply1((PowOfNumber if number else PowOfZero)(number), for_number(y, number))
    if autocasting_on_gpu(x):
        return in_float32(apply2, PowTensor(), x, y)
    return apply2(PowTensor(), x, y)


@public("square", "square_", method=True)
def square(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`input ** 2`."""
    return deliver(power(input, 2), out)


@public("float_power", method=True)
def float_power(input: Tensor | Number, exponent: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """`input ** exponent`, computed in double precision."""

    def wide(v: Any) -> Any:
        return (
            convert(v, "complex128" if v.array.dtype.kind == "c" else "float64")
            if isinstance(v, Tensor)
            else v
        )

    words = (
        "the output given to float_power has dtype {given} but the operation's result requires dtype {wanted}"
    )
    return deliver_exact(power(wide(input), wide(exponent)), out, words)
