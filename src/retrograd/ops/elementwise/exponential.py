"""Elementwise functions of one argument: exponentials, logarithms, roots, trigonometry, absolute value."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import Backend, backend_of
from retrograd.core.apply import apply1
from retrograd.core.families import ElementwiseUnary, conjugate
from retrograd.core.op import OUT, X
from retrograd.core.tensor import Tensor
from retrograd.ops.common import deliver, number_from, plain
from retrograd.ops.elementwise.choose import Where
from retrograd.ops.register import public
from retrograd.ops.special.real import RealUnary
from retrograd.values import Array

LN2 = 0.6931471805599453
LN10 = 2.302585092994046


# -- ops -----------------------------------------------------------------------------------------------------------


class FloatUnary(ElementwiseUnary):
    """A function whose result is floating point, whatever it is given."""

    floats: ClassVar[bool] = True


class Exp(FloatUnary):
    """e ** x"""

    widened: ClassVar[bool] = True
    keeps: ClassVar[int] = OUT

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.exp(x)

    def slope(self, x: Any, out: Any) -> Any:
        return out


class Exp2(FloatUnary):
    """2 ** x"""

    keeps: ClassVar[int] = OUT

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.exp2(x)

    def slope(self, x: Any, out: Any) -> Any:
        return out * LN2


class Expm1(FloatUnary):
    """exp(x) - 1, exact near 0"""

    widened: ClassVar[bool] = True
    keeps: ClassVar[int] = OUT

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.expm1(x)

    def slope(self, x: Any, out: Any) -> Any:
        return out + 1


class Logarithm(FloatUnary):
    """Owes the divisor d of its slope 1 / d: a gradient is divided by it, for 1 / d of a tiny d is infinite."""

    keeps: ClassVar[int] = X

    def divisor(self, x: Any) -> Any:
        """What a change of x is divided by."""
        return x

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        d = self.divisor(x)
        return g / (conjugate(d) if self.out_dtype.kind == "c" else d)

    def jvp(self, t: Any, x: Any, out: Any) -> Any:
        return t / self.divisor(x)


class Log(Logarithm):
    """the natural logarithm"""

    widened: ClassVar[bool] = True

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.log(x)


class Log2(Logarithm):
    """the logarithm to base 2"""

    widened: ClassVar[bool] = True

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.log2(x)

    def divisor(self, x: Any) -> Any:
        return x * LN2


class Log10(Logarithm):
    """the logarithm to base 10"""

    widened: ClassVar[bool] = True

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.log10(x)

    def divisor(self, x: Any) -> Any:
        return x * LN10


class Log1p(Logarithm):
    """log(1 + x), exact near 0"""

    widened: ClassVar[bool] = True
    node_name = "Log1PBackward0"

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.log1p(x)

    def divisor(self, x: Any) -> Any:
        return x + 1


class Sqrt(FloatUnary):
    """the square root"""

    keeps: ClassVar[int] = OUT

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.sqrt(x)

    def slope(self, x: Any, out: Any) -> Any:
        return 0.5 / out


class Rsqrt(FloatUnary):
    """1 / sqrt(x)"""

    widened: ClassVar[bool] = True
    keeps: ClassVar[int] = OUT

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.reciprocal(xp.sqrt(x))

    def slope(self, x: Any, out: Any) -> Any:
        return -0.5 * out * out * out


class Sigmoid(FloatUnary):
    """1 / (1 + exp(-x))"""

    flags_faults: ClassVar[bool] = True
    keeps: ClassVar[int] = OUT

    def forward(self, xp: Backend, x: Array) -> Array:
        if x.dtype.kind == "c":
            return 1 / (1 + xp.exp(-x))
        # Of exp(-|x|), which never overflows: 1 / (1 + e) on the right, e / (1 + e) on the left.
        e = xp.exp(-xp.absolute(x))
        return xp.where(x >= 0, 1, e) / (1 + e)

    def slope(self, x: Any, out: Any) -> Any:
        return out * (1 - out)


class Logit(RealUnary):
    """log(x / (1 - x)), where x may first be limited to [eps, 1 - eps]"""

    kernel = "logit_cpu"
    params: ClassVar[tuple[str, ...]] = ("eps",)
    shown: ClassVar[dict[str, str]] = {"eps": "eps"}

    def __init__(self, eps: float | None) -> None:
        self.eps = eps

    def curve(self, xp: Backend, x: Array) -> Array:
        z = x
        if self.eps is not None:  # the lower limit counts if they have changed places
            z = xp.where(x < self.eps, x.dtype.type(self.eps), xp.minimum(x, 1 - self.eps))
        # Near 1/2 the quotient would be rounded next to 1; its distance from 1 is exact.
        middle = (z > 0.3) & (z < 0.65)
        return xp.where(middle, xp.log1p((2 * z - 1) / (1 - z)), xp.log(z / (1 - z)))

    def slope(self, x: Any, out: Any) -> Any:
        a = plain(x)
        low, outside = (0.0, np.nan) if self.eps is None or self.eps < 0 else (self.eps, 0.0)
        inside = (a >= low) & (a <= 1 - low)
        safe = Where().on(inside, x + 0.0, 0.5)  # minus zero becomes zero: the slope there is plus infinity
        xp = backend_of(a)
        return Where().on(inside, 1 / (safe * (1 - safe)), xp.where(xp.isnan(a), np.nan, outside))


class Entr(RealUnary):
    """-x log(x), 0 at 0, and minus infinity on the left"""

    node_name = "SpecialEntrBackward0"
    kernel = "entr_cpu"

    def curve(self, xp: Backend, x: Array) -> Array:
        return xp.where(x < 0, -np.inf, xp.where(x == 0, 0.0, -x * xp.log(x)))

    def slope(self, x: Any, out: Any) -> Any:
        return -Log().on(x) - 1


# -- functions -----------------------------------------------------------------------------------------------------


@public("exp", "exp_", method=True)
def exp(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """E ** x, for each element."""
    return deliver(apply1(Exp(), input), out)


@public("exp2", "special.exp2", "exp2_", method=True)
def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """2 ** x, for each element."""
    return deliver(apply1(Exp2(), input), out)


@public("expm1", "special.expm1", "expm1_", method=True)
def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Exp(x) - 1, exact near 0, for each element."""
    return deliver(apply1(Expm1(), input), out)


@public("log", "log_", method=True)
def log(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The natural logarithm, for each element."""
    return deliver(apply1(Log(), input), out)


@public("log2", "log2_", method=True)
def log2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm to base 2, for each element."""
    return deliver(apply1(Log2(), input), out)


@public("log10", "log10_", method=True)
def log10(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm to base 10, for each element."""
    return deliver(apply1(Log10(), input), out)


@public("log1p", "special.log1p", "log1p_", method=True)
def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Log(1 + x), exact near 0, for each element."""
    return deliver(apply1(Log1p(), input), out)


@public("sqrt", "sqrt_", method=True)
def sqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The square root, for each element."""
    return deliver(apply1(Sqrt(), input), out)


@public("rsqrt", "rsqrt_", method=True)
def rsqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 / sqrt(x), for each element."""
    return deliver(apply1(Rsqrt(), input), out)


@public("sigmoid", "nn.functional.sigmoid", "special.expit", "sigmoid_", method=True)
def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 / (1 + exp(-x)), for each element."""
    return deliver(apply1(Sigmoid(), input), out)


@public("logit", "special.logit", "logit_", method=True)
def logit(input: Tensor, eps: float | None = None, *, out: Tensor | None = None) -> Tensor:
    """`log(input / (1 - input))`, the inverse of `sigmoid`; with `eps`, of the input limited to [eps, 1 - eps].

    >>> import retrograd as rg
    >>> rg.logit(rg.tensor([0.5, 0.9]))
    tensor([0.0000, 2.1972])
    """
    limit = None if eps is None else number_from("logit", "eps", 2, eps)
    return deliver(apply1(Logit(limit), input), out)


@public("special.entr")
def entr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`-input * log(input)`, 0 at 0, and minus infinity where `input` is negative.

    >>> import retrograd as rg
    >>> rg.special.entr(rg.tensor([0.0, 0.5]))
    tensor([0.0000, 0.3466])
    """
    return deliver(apply1(Entr(), input), out)
