"""Elementwise functions of one argument: exponentials, logarithms, roots, trigonometry, absolute value."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from retrograd.backends.dtypes import real_of
from retrograd.core.apply import apply1
from retrograd.core.op import OUT, ElementwiseUnary, Linear, Unary, X, conjugate
from retrograd.core.tensor import Tensor
from retrograd.core.variant import variant
from retrograd.errors import unsupported_dtype
from retrograd.ops.common import deliver, plain, require_tensor, zero_like
from retrograd.ops.register import public
from retrograd.values import Array

LN2 = 0.6931471805599453
LN10 = 2.302585092994046


class FloatUnary(ElementwiseUnary):
    """A function whose result is floating point, whatever it is given."""

    floats: ClassVar[bool] = True


class Exp(FloatUnary):
    """e ** x"""

    keeps: ClassVar[int] = OUT

    def forward(self, xp: Any, x: Array) -> Array:
        return xp.exp(x)

    def slope(self, x: Any, out: Any) -> Any:
        return out


class Exp2(FloatUnary):
    """2 ** x"""

    keeps: ClassVar[int] = OUT

    def forward(self, xp: Any, x: Array) -> Array:
        return xp.exp2(x)

    def slope(self, x: Any, out: Any) -> Any:
        return out * LN2


class Expm1(FloatUnary):
    """exp(x) - 1, exact near 0"""

    keeps: ClassVar[int] = OUT

    def forward(self, xp: Any, x: Array) -> Array:
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

    def forward(self, xp: Any, x: Array) -> Array:
        return xp.log(x)


class Log2(Logarithm):
    """the logarithm to base 2"""

    def forward(self, xp: Any, x: Array) -> Array:
        return xp.log2(x)

    def divisor(self, x: Any) -> Any:
        return x * LN2


class Log10(Logarithm):
    """the logarithm to base 10"""

    def forward(self, xp: Any, x: Array) -> Array:
        return xp.log10(x)

    def divisor(self, x: Any) -> Any:
        return x * LN10


class Log1p(Logarithm):
    """log(1 + x), exact near 0"""

    node_name = "Log1PBackward0"

    def forward(self, xp: Any, x: Array) -> Array:
        return xp.log1p(x)

    def divisor(self, x: Any) -> Any:
        return x + 1


class Sqrt(FloatUnary):
    """the square root"""

    keeps: ClassVar[int] = OUT

    def forward(self, xp: Any, x: Array) -> Array:
        return xp.sqrt(x)

    def slope(self, x: Any, out: Any) -> Any:
        return 0.5 / out


class Rsqrt(FloatUnary):
    """1 / sqrt(x)"""

    keeps: ClassVar[int] = OUT

    def forward(self, xp: Any, x: Array) -> Array:
        return xp.reciprocal(xp.sqrt(x))

    def slope(self, x: Any, out: Any) -> Any:
        return -0.5 * out * out * out


class Sigmoid(FloatUnary):
    """1 / (1 + exp(-x))"""

    keeps: ClassVar[int] = OUT

    def forward(self, xp: Any, x: Array) -> Array:
        if x.dtype.kind == "c":
            return 1 / (1 + xp.exp(-x))
        # Of exp(-|x|), which never overflows: 1 / (1 + e) on the right, e / (1 + e) on the left.
        e = xp.exp(-xp.absolute(x))
        return xp.where(x >= 0, 1, e) / (1 + e)

    def slope(self, x: Any, out: Any) -> Any:
        return out * (1 - out)


class Abs(Unary):
    """the absolute value; its slope at 0 is 0"""

    keeps: ClassVar[int] = X

    def forward(self, xp: Any, x: Array) -> Array:
        return xp.absolute(x)

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        return g * Sgn().on(x)

    def jvp(self, t: Any, x: Any, out: Any) -> Any:
        return (t * Sgn().on(x).conj()).real


def _real_sign(x: Array) -> Array:
    """-1, 0 or 1; 0 for NaN, where NumPy says NaN. Booleans stay as they are."""
    if x.dtype.kind == "b":
        return x.copy()
    return (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype)


class Sgn(Unary):
    """x / |x|, and 0 at 0; the sign for real numbers"""

    keeps: ClassVar[int] = X | OUT

    def forward(self, xp: Any, x: Array) -> Array:
        return xp.sign(x) if x.dtype.kind == "c" else _real_sign(x)

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        if self.out_dtype.kind != "c":
            return zero_like(g)
        # The part of g along the circle, divided by the radius; nothing at the origin.
        safe = Abs().on(x) + (plain(x) == 0).astype(real_of(plain(x).dtype))
        return (g / safe - (out * (g * out.conj()).real) / safe) * (plain(x) != 0).astype(
            real_of(plain(x).dtype)
        )

    def jvp(self, t: Any, x: Any, out: Any) -> Any:
        return self.vjp(t, x, out)


class Sign(ElementwiseUnary):
    """-1, 0 or 1"""

    def forward(self, xp: Any, x: Array) -> Array:
        if x.dtype.kind == "c":
            raise NotImplementedError(
                "Unlike NumPy, sign is not intended to support complex numbers: use sgn(), which gives x / |x|."
            )
        return _real_sign(x)

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        return zero_like(g)

    def slope(self, x: Any, out: Any) -> Any:
        return 0.0


class Conj(Linear):
    """the complex conjugate"""

    def forward(self, xp: Any, x: Array) -> Array:
        return xp.conjugate(x)

    def transpose(self, g: Any) -> Any:
        return g.conj()

    def jvp(self, t: Any, x: Any, out: Any) -> Any:
        return t.conj()


ConjPhysical = variant(Conj, "ConjPhysicalBackward0", "the complex conjugate, computed at once")


class Angle(Unary):
    """the argument of a complex number; 0 or pi for a real one"""

    floats: ClassVar[bool] = True
    keeps: ClassVar[int] = X

    def forward(self, xp: Any, x: Array) -> Array:
        found = xp.angle(x).astype(real_of(x.dtype), copy=False)
        return found if x.dtype.kind == "c" else xp.where(xp.isnan(x) | (x == 0), xp.absolute(x), found)

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        if plain(x).dtype.kind != "c":
            return zero_like(g)
        # d angle = (re d im - im d re) / |x|^2, which is g * i x / |x|^2 as a gradient; 0 at the origin.
        size = x.real * x.real + x.imag * x.imag + (plain(x) == 0).astype(real_of(plain(x).dtype))
        return x * (g / size) * 1j

    def jvp(self, t: Any, x: Any, out: Any) -> Any:
        if plain(x).dtype.kind != "c":
            return zero_like(t)
        size = x.real * x.real + x.imag * x.imag + (plain(x) == 0).astype(real_of(plain(x).dtype))
        return (x.real * t.imag - x.imag * t.real) / size


# -- functions -----------------------------------------------------------------------------------------------------


@public("exp", "exp_", method=True)
def exp(input: Any, *, out: Any = None) -> Any:
    """E ** x, for each element."""
    return deliver(apply1(Exp(), input), out)


@public("exp2", "special.exp2", "exp2_", method=True)
def exp2(input: Any, *, out: Any = None) -> Any:
    """2 ** x, for each element."""
    return deliver(apply1(Exp2(), input), out)


@public("expm1", "special.expm1", "expm1_", method=True)
def expm1(input: Any, *, out: Any = None) -> Any:
    """Exp(x) - 1, exact near 0, for each element."""
    return deliver(apply1(Expm1(), input), out)


@public("log", "log_", method=True)
def log(input: Any, *, out: Any = None) -> Any:
    """The natural logarithm, for each element."""
    return deliver(apply1(Log(), input), out)


@public("log2", "log2_", method=True)
def log2(input: Any, *, out: Any = None) -> Any:
    """The logarithm to base 2, for each element."""
    return deliver(apply1(Log2(), input), out)


@public("log10", "log10_", method=True)
def log10(input: Any, *, out: Any = None) -> Any:
    """The logarithm to base 10, for each element."""
    return deliver(apply1(Log10(), input), out)


@public("log1p", "special.log1p", "log1p_", method=True)
def log1p(input: Any, *, out: Any = None) -> Any:
    """Log(1 + x), exact near 0, for each element."""
    return deliver(apply1(Log1p(), input), out)


@public("sqrt", "sqrt_", method=True)
def sqrt(input: Any, *, out: Any = None) -> Any:
    """The square root, for each element."""
    return deliver(apply1(Sqrt(), input), out)


@public("rsqrt", "rsqrt_", method=True)
def rsqrt(input: Any, *, out: Any = None) -> Any:
    """1 / sqrt(x), for each element."""
    return deliver(apply1(Rsqrt(), input), out)


@public("sigmoid", "nn.functional.sigmoid", "special.expit", "sigmoid_", method=True)
def sigmoid(input: Any, *, out: Any = None) -> Any:
    """1 / (1 + exp(-x)), for each element."""
    return deliver(apply1(Sigmoid(), input), out)


@public("sgn", "Tensor.sgn_", method=True)
def sgn(input: Any, *, out: Any = None) -> Any:
    """X / |x|, and 0 at 0, for each element."""
    return deliver(apply1(Sgn(), input), out)


@public("sign", "Tensor.sign_", method=True)
def sign(input: Any, *, out: Any = None) -> Any:
    """-1, 0 or 1 by the sign, for each element."""
    return deliver(apply1(Sign(), input), out)


@public("angle", method=True)
def angle(input: Any, *, out: Any = None) -> Any:
    """The argument of complex numbers, in radians, for each element."""
    return deliver(apply1(Angle(), input), out)


@public("abs", "absolute", method=True)
def abs(input: Any, *, out: Any = None) -> Any:
    """The absolute value of each element."""
    if isinstance(input, Tensor) and input.array.dtype.kind == "b":
        raise unsupported_dtype("abs_cpu", input.array.dtype, "booleans are never negative.")
    return deliver(apply1(Abs(), input), out)


@public("conj", method=True)
def conj(input: Any) -> Any:
    """The complex conjugate of each element; a real tensor itself."""
    if isinstance(input, Tensor) and input.array.dtype.kind != "c":
        return input
    return apply1(Conj(), input)


@public("conj_physical", method=True)
def conj_physical(input: Any, *, out: Any = None) -> Any:
    """The complex conjugate of each element."""
    if isinstance(input, Tensor) and input.array.dtype.kind == "c":
        return deliver(apply1(ConjPhysical(), input), out)
    return deliver(conj(input), out)


@public("resolve_conj", method=True)
def resolve_conj(input: Any) -> Any:
    """`input` itself: conjugation is never left pending here."""
    return input


@public("isnan", method=True)
def isnan(input: Tensor) -> Tensor:
    """Where elements are not a number."""
    return Tensor(np.isnan(require_tensor("isnan", "input", 1, input).array))


@public("isinf", method=True)
def isinf(input: Tensor) -> Tensor:
    """Where elements are infinite."""
    return Tensor(np.isinf(require_tensor("isinf", "input", 1, input).array))


@public("isfinite", method=True)
def isfinite(input: Tensor) -> Tensor:
    """Where elements are neither infinite nor not a number."""
    return Tensor(np.isfinite(require_tensor("isfinite", "input", 1, input).array))
