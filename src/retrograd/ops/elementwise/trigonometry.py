"""Elementwise functions of one argument: trigonometry, circular and hyperbolic."""

from __future__ import annotations

from typing import Any, ClassVar

from retrograd.backends.base import Backend
from retrograd.core.apply import apply1
from retrograd.core.op import OUT, X
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError
from retrograd.ops.common import deliver, plain
from retrograd.ops.elementwise.choose import Where
from retrograd.ops.elementwise.exponential import FloatUnary, Rsqrt
from retrograd.ops.register import public
from retrograd.values import Array

PI = 3.141592653589793
SINC_SERIES = (304, 238, 180, 130, 88, 54, 28, 10)  # 2k (2k + 3) from k = 8 down


# -- ops -----------------------------------------------------------------------------------------------------------


class Sin(FloatUnary):
    """the sine"""

    keeps: ClassVar[int] = X

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.sin(x)

    def slope(self, x: Any, out: Any) -> Any:
        return Cos().on(x)


class Cos(FloatUnary):
    """the cosine"""

    keeps: ClassVar[int] = X

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.cos(x)

    def slope(self, x: Any, out: Any) -> Any:
        return -Sin().on(x)


class Tan(FloatUnary):
    """the tangent"""

    widened: ClassVar[bool] = True
    keeps: ClassVar[int] = OUT

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.tan(x)

    def slope(self, x: Any, out: Any) -> Any:
        return 1 + out * out


class Asin(FloatUnary):
    """the inverse sine"""

    widened: ClassVar[bool] = True
    keeps: ClassVar[int] = X

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.arcsin(x)

    def slope(self, x: Any, out: Any) -> Any:
        return Rsqrt().on(1 - x * x)


class Acos(FloatUnary):
    """the inverse cosine"""

    widened: ClassVar[bool] = True
    keeps: ClassVar[int] = X

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.arccos(x)

    def slope(self, x: Any, out: Any) -> Any:
        return -Rsqrt().on(1 - x * x)


class Atan(FloatUnary):
    """the inverse tangent"""

    keeps: ClassVar[int] = X

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.arctan(x)

    def slope(self, x: Any, out: Any) -> Any:
        return 1 / (x * x + 1)


class Sinh(FloatUnary):
    """the hyperbolic sine"""

    widened: ClassVar[bool] = True
    keeps: ClassVar[int] = X

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.sinh(x)

    def slope(self, x: Any, out: Any) -> Any:
        return Cosh().on(x)


class Cosh(FloatUnary):
    """the hyperbolic cosine"""

    widened: ClassVar[bool] = True
    keeps: ClassVar[int] = X

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.cosh(x)

    def slope(self, x: Any, out: Any) -> Any:
        return Sinh().on(x)


class Tanh(FloatUnary):
    """the hyperbolic tangent"""

    flags_faults: ClassVar[bool] = True
    keeps: ClassVar[int] = OUT

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.tanh(x)

    def slope(self, x: Any, out: Any) -> Any:
        return 1 - out * out


class Asinh(FloatUnary):
    """the inverse hyperbolic sine"""

    keeps: ClassVar[int] = X

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.arcsinh(x)

    def slope(self, x: Any, out: Any) -> Any:
        return Rsqrt().on(x * x + 1)


class Acosh(FloatUnary):
    """the inverse hyperbolic cosine"""

    keeps: ClassVar[int] = X

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.arccosh(x)

    def slope(self, x: Any, out: Any) -> Any:
        if (
            x.dtype.kind == "c"
        ):  # of two roots: the root of the product has the other sign in half of the plane
            return Rsqrt().on(x + 1) * Rsqrt().on(x - 1)
        return Rsqrt().on(x * x - 1)


class Atanh(FloatUnary):
    """the inverse hyperbolic tangent"""

    keeps: ClassVar[int] = X

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.arctanh(x)

    def slope(self, x: Any, out: Any) -> Any:
        return 1 / (1 - x * x)


class Sinc(FloatUnary):
    """sin(pi x) / (pi x), and 1 at 0"""

    keeps: ClassVar[int] = X

    def forward(self, xp: Backend, x: Array) -> Array:
        y = xp.where(x == 0, xp.ones_like(x), x * PI)
        return xp.where(x == 0, xp.ones_like(x), xp.sin(y) / y)

    def slope(self, x: Any, out: Any) -> Any:
        near = abs(plain(x)) < 0.25
        square = Where().on(near, x, 0.0) * Where().on(near, x, 0.0) * (PI * PI)
        inner: Any = 1.0
        for c in SINC_SERIES:  # the difference below would cancel near 0
            inner = 1 - square * inner / c
        outer = (Cos().on(x * PI) - Sinc().on(x)) / Where().on(near, 1.0, x)
        return Where().on(near, x * inner * (-PI * PI / 3), outer)


class Deg2rad(FloatUnary):
    """degrees as radians"""

    node_name = "Deg2RadBackward0"

    def forward(self, xp: Backend, x: Array) -> Array:
        return x * (PI / 180)

    def slope(self, x: Any, out: Any) -> Any:
        return PI / 180


class Rad2deg(FloatUnary):
    """radians as degrees"""

    node_name = "Rad2DegBackward0"

    def forward(self, xp: Backend, x: Array) -> Array:
        return x * (180 / PI)

    def slope(self, x: Any, out: Any) -> Any:
        return 180 / PI


# -- functions -----------------------------------------------------------------------------------------------------


@public("sin", "sin_", method=True)
def sin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sine, for each element."""
    return deliver(apply1(Sin(), input), out)


@public("cos", "cos_", method=True)
def cos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The cosine, for each element."""
    return deliver(apply1(Cos(), input), out)


@public("tan", "tan_", method=True)
def tan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The tangent, for each element."""
    return deliver(apply1(Tan(), input), out)


@public("asin", "arcsin", "asin_", "arcsin_", method=True)
def asin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse sine, for each element."""
    return deliver(apply1(Asin(), input), out)


@public("acos", "arccos", "acos_", "arccos_", method=True)
def acos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse cosine, for each element."""
    return deliver(apply1(Acos(), input), out)


@public("atan", "arctan", "atan_", "arctan_", method=True)
def atan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse tangent, for each element."""
    return deliver(apply1(Atan(), input), out)


@public("sinh", "sinh_", method=True)
def sinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic sine, for each element."""
    return deliver(apply1(Sinh(), input), out)


@public("cosh", "cosh_", method=True)
def cosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic cosine, for each element."""
    return deliver(apply1(Cosh(), input), out)


@public("tanh", "nn.functional.tanh", "tanh_", method=True)
def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic tangent, for each element."""
    return deliver(apply1(Tanh(), input), out)


@public("asinh", "arcsinh", "asinh_", "arcsinh_", method=True)
def asinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic sine, for each element."""
    return deliver(apply1(Asinh(), input), out)


@public("acosh", "arccosh", "acosh_", "arccosh_", method=True)
def acosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic cosine, for each element."""
    return deliver(apply1(Acosh(), input), out)


@public("atanh", "arctanh", "atanh_", "arctanh_", method=True)
def atanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic tangent, for each element."""
    return deliver(apply1(Atanh(), input), out)


@public("sinc", "special.sinc", "sinc_", method=True)
def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`sin(pi * input) / (pi * input)`, and 1 at 0."""
    return deliver(apply1(Sinc(), input), out)


def _no_complex(function: str, x: Any) -> None:
    if isinstance(x, Tensor) and x.array.dtype.kind == "c":
        raise DtypeError(f"{function} is not supported for complex tensors.")


@public("deg2rad", "deg2rad_", method=True)
def deg2rad(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Degrees as radians, for each element."""
    _no_complex("deg2rad", input)
    return deliver(apply1(Deg2rad(), input), out)


@public("rad2deg", "rad2deg_", method=True)
def rad2deg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Radians as degrees, for each element."""
    _no_complex("rad2deg", input)
    return deliver(apply1(Rad2deg(), input), out)
