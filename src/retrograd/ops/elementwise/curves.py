"""More elementwise functions of one argument: logit, entr, sinc, degrees and radians."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from retrograd.core.apply import apply1
from retrograd.core.op import OUT, X
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError
from retrograd.ops.common import deliver, plain
from retrograd.ops.elementwise.choose import Where
from retrograd.ops.elementwise.exponential import FloatUnary, Log
from retrograd.ops.elementwise.trigonometry import Cos
from retrograd.ops.register import public
from retrograd.ops.special.real import RealUnary
from retrograd.values import Array

PI = 3.141592653589793
SINC_SERIES = (304, 238, 180, 130, 88, 54, 28, 10)  # 2k (2k + 3) from k = 8 down


class Logit(RealUnary):
    """log(x / (1 - x)), where x may first be limited to [eps, 1 - eps]"""

    kernel = "logit_cpu"
    params = ("eps",)
    shown: ClassVar[dict[str, str]] = {"eps": "eps"}

    def __init__(self, eps: float | None) -> None:
        self.eps = eps

    def curve(self, x: Array) -> Array:
        z = x if self.eps is None else np.minimum(np.maximum(x, self.eps), 1 - self.eps)
        # Near 1/2 the quotient would be rounded next to 1; its distance from 1 is exact.
        middle = (z > 0.3) & (z < 0.65)
        return np.where(middle, np.log1p((2 * z - 1) / (1 - z)), np.log(z / (1 - z)))

    def slope(self, x: Any, out: Any) -> Any:
        a = plain(x)
        low, outside = (0.0, np.nan) if self.eps is None else (self.eps, 0.0)
        inside = (a >= low) & (a <= 1 - low)
        safe = Where().on(inside, x + 0.0, 0.5)  # minus zero becomes zero: the slope there is plus infinity
        return Where().on(inside, 1 / (safe * (1 - safe)), np.where(np.isnan(a), np.nan, outside))


class Entr(RealUnary):
    """-x log(x), 0 at 0, and minus infinity on the left"""

    node_name = "SpecialEntrBackward0"
    kernel = "entr_cpu"

    def curve(self, x: Array) -> Array:
        return np.where(x < 0, -np.inf, np.where(x == 0, 0.0, -x * np.log(x)))

    def slope(self, x: Any, out: Any) -> Any:
        return -Log().on(x) - 1


class Sinc(FloatUnary):
    """sin(pi x) / (pi x), and 1 at 0"""

    keeps: ClassVar[int] = X | OUT

    def forward(self, xp: Any, x: Array) -> Array:
        y = xp.where(x == 0, xp.ones_like(x), x * PI)
        return xp.where(x == 0, xp.ones_like(x), xp.sin(y) / y)

    def slope(self, x: Any, out: Any) -> Any:
        near = np.abs(plain(x)) < 0.25
        square = Where().on(near, x, 0.0) * Where().on(near, x, 0.0) * (PI * PI)
        inner: Any = 1.0
        for c in SINC_SERIES:  # the difference below would cancel near 0
            inner = 1 - square * inner / c
        outer = (Cos().on(x * PI) - out) / Where().on(near, 1.0, x)
        return Where().on(near, x * inner * (-PI * PI / 3), outer)


class Deg2rad(FloatUnary):
    """degrees as radians"""

    node_name = "Deg2RadBackward0"

    def forward(self, xp: Any, x: Array) -> Array:
        return x * (PI / 180)

    def slope(self, x: Any, out: Any) -> Any:
        return PI / 180


class Rad2deg(FloatUnary):
    """radians as degrees"""

    node_name = "Rad2DegBackward0"

    def forward(self, xp: Any, x: Array) -> Array:
        return x * (180 / PI)

    def slope(self, x: Any, out: Any) -> Any:
        return 180 / PI


@public("logit", "special.logit", "logit_", method=True)
def logit(input: Any, eps: float | None = None, *, out: Any = None) -> Any:
    """`log(input / (1 - input))`, the inverse of `sigmoid`; with `eps`, of the input limited to [eps, 1 - eps].

    >>> import retrograd as rg
    >>> rg.logit(rg.tensor([0.5, 0.9]))
    tensor([0.0000, 2.1972])
    """
    return deliver(apply1(Logit(eps), input), out)


@public("special.entr")
def entr(input: Any, *, out: Any = None) -> Any:
    """`-input * log(input)`, 0 at 0, and minus infinity where `input` is negative."""
    return deliver(apply1(Entr(), input), out)


@public("sinc", "special.sinc", "sinc_", method=True)
def sinc(input: Any, *, out: Any = None) -> Any:
    """`sin(pi * input) / (pi * input)`, and 1 at 0."""
    return deliver(apply1(Sinc(), input), out)


def _no_complex(function: str, x: Any) -> None:
    if isinstance(x, Tensor) and x.array.dtype.kind == "c":
        raise DtypeError(f"{function} is not supported for complex tensors.")


@public("deg2rad", "deg2rad_", method=True)
def deg2rad(input: Any, *, out: Any = None) -> Any:
    """Degrees as radians, for each element."""
    _no_complex("deg2rad", input)
    return deliver(apply1(Deg2rad(), input), out)


@public("rad2deg", "rad2deg_", method=True)
def rad2deg(input: Any, *, out: Any = None) -> Any:
    """Radians as degrees, for each element."""
    _no_complex("rad2deg", input)
    return deliver(apply1(Rad2deg(), input), out)


# Functions that have their place elsewhere are under `special` too.
