"""Elementwise functions of one argument: trigonometry, circular and hyperbolic."""

from __future__ import annotations

from typing import Any, ClassVar

from retrograd.core.apply import apply1
from retrograd.core.op import OUT, X
from retrograd.ops.common import deliver
from retrograd.ops.elementwise.exponential import FloatUnary, Rsqrt
from retrograd.ops.register import public
from retrograd.values import Array


class Sin(FloatUnary):
    """the sine"""

    keeps: ClassVar[int] = X

    def forward(self, xp: Any, x: Array) -> Array:
        return xp.sin(x)

    def slope(self, x: Any, out: Any) -> Any:
        return Cos().on(x)


class Cos(FloatUnary):
    """the cosine"""

    keeps: ClassVar[int] = X

    def forward(self, xp: Any, x: Array) -> Array:
        return xp.cos(x)

    def slope(self, x: Any, out: Any) -> Any:
        return -Sin().on(x)


class Tan(FloatUnary):
    """the tangent"""

    keeps: ClassVar[int] = OUT

    def forward(self, xp: Any, x: Array) -> Array:
        return xp.tan(x)

    def slope(self, x: Any, out: Any) -> Any:
        return 1 + out * out


class Asin(FloatUnary):
    """the inverse sine"""

    keeps: ClassVar[int] = X

    def forward(self, xp: Any, x: Array) -> Array:
        return xp.arcsin(x)

    def slope(self, x: Any, out: Any) -> Any:
        return Rsqrt().on(1 - x * x)


class Acos(FloatUnary):
    """the inverse cosine"""

    keeps: ClassVar[int] = X

    def forward(self, xp: Any, x: Array) -> Array:
        return xp.arccos(x)

    def slope(self, x: Any, out: Any) -> Any:
        return -Rsqrt().on(1 - x * x)


class Atan(FloatUnary):
    """the inverse tangent"""

    keeps: ClassVar[int] = X

    def forward(self, xp: Any, x: Array) -> Array:
        return xp.arctan(x)

    def slope(self, x: Any, out: Any) -> Any:
        return 1 / (x * x + 1)


class Sinh(FloatUnary):
    """the hyperbolic sine"""

    keeps: ClassVar[int] = X

    def forward(self, xp: Any, x: Array) -> Array:
        return xp.sinh(x)

    def slope(self, x: Any, out: Any) -> Any:
        return Cosh().on(x)


class Cosh(FloatUnary):
    """the hyperbolic cosine"""

    keeps: ClassVar[int] = X

    def forward(self, xp: Any, x: Array) -> Array:
        return xp.cosh(x)

    def slope(self, x: Any, out: Any) -> Any:
        return Sinh().on(x)


class Tanh(FloatUnary):
    """the hyperbolic tangent"""

    keeps: ClassVar[int] = OUT

    def forward(self, xp: Any, x: Array) -> Array:
        return xp.tanh(x)

    def slope(self, x: Any, out: Any) -> Any:
        return 1 - out * out


class Asinh(FloatUnary):
    """the inverse hyperbolic sine"""

    keeps: ClassVar[int] = X

    def forward(self, xp: Any, x: Array) -> Array:
        return xp.arcsinh(x)

    def slope(self, x: Any, out: Any) -> Any:
        return Rsqrt().on(x * x + 1)


class Acosh(FloatUnary):
    """the inverse hyperbolic cosine"""

    keeps: ClassVar[int] = X

    def forward(self, xp: Any, x: Array) -> Array:
        return xp.arccosh(x)

    def slope(self, x: Any, out: Any) -> Any:
        return Rsqrt().on(x * x - 1)


class Atanh(FloatUnary):
    """the inverse hyperbolic tangent"""

    keeps: ClassVar[int] = X

    def forward(self, xp: Any, x: Array) -> Array:
        return xp.arctanh(x)

    def slope(self, x: Any, out: Any) -> Any:
        return 1 / (1 - x * x)


# -- functions -----------------------------------------------------------------------------------------------------


@public("sin", "sin_", method=True)
def sin(input: Any, *, out: Any = None) -> Any:
    """The sine, for each element."""
    return deliver(apply1(Sin(), input), out)


@public("cos", "cos_", method=True)
def cos(input: Any, *, out: Any = None) -> Any:
    """The cosine, for each element."""
    return deliver(apply1(Cos(), input), out)


@public("tan", "tan_", method=True)
def tan(input: Any, *, out: Any = None) -> Any:
    """The tangent, for each element."""
    return deliver(apply1(Tan(), input), out)


@public("asin", "arcsin", "asin_", "arcsin_", method=True)
def asin(input: Any, *, out: Any = None) -> Any:
    """The inverse sine, for each element."""
    return deliver(apply1(Asin(), input), out)


@public("acos", "arccos", "acos_", "arccos_", method=True)
def acos(input: Any, *, out: Any = None) -> Any:
    """The inverse cosine, for each element."""
    return deliver(apply1(Acos(), input), out)


@public("atan", "arctan", "atan_", "arctan_", method=True)
def atan(input: Any, *, out: Any = None) -> Any:
    """The inverse tangent, for each element."""
    return deliver(apply1(Atan(), input), out)


@public("sinh", "sinh_", method=True)
def sinh(input: Any, *, out: Any = None) -> Any:
    """The hyperbolic sine, for each element."""
    return deliver(apply1(Sinh(), input), out)


@public("cosh", "cosh_", method=True)
def cosh(input: Any, *, out: Any = None) -> Any:
    """The hyperbolic cosine, for each element."""
    return deliver(apply1(Cosh(), input), out)


@public("tanh", "nn.functional.tanh", "tanh_", method=True)
def tanh(input: Any, *, out: Any = None) -> Any:
    """The hyperbolic tangent, for each element."""
    return deliver(apply1(Tanh(), input), out)


@public("asinh", "arcsinh", "asinh_", "arcsinh_", method=True)
def asinh(input: Any, *, out: Any = None) -> Any:
    """The inverse hyperbolic sine, for each element."""
    return deliver(apply1(Asinh(), input), out)


@public("acosh", "arccosh", "acosh_", "arccosh_", method=True)
def acosh(input: Any, *, out: Any = None) -> Any:
    """The inverse hyperbolic cosine, for each element."""
    return deliver(apply1(Acosh(), input), out)


@public("atanh", "arctanh", "atanh_", "arctanh_", method=True)
def atanh(input: Any, *, out: Any = None) -> Any:
    """The inverse hyperbolic tangent, for each element."""
    return deliver(apply1(Atanh(), input), out)
