"""The normal distribution and what belongs to it: the scaled and the inverse error function, ndtr, ndtri, log_ndtr."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import Backend
from retrograd.core.apply import apply1
from retrograd.core.op import OUT, X
from retrograd.core.tensor import Tensor
from retrograd.ops.common import deliver, require_tensor
from retrograd.ops.elementwise.exponential import Exp
from retrograd.ops.reduce.calculus import times
from retrograd.ops.register import public
from retrograd.ops.special.chebyshev_tables import ERFCINV, ERFCINV_RANGE, ERFINV
from retrograd.ops.special.erf import TWO_OVER_ROOT_PI, Erfc, erfc_array, scaled_tail
from retrograd.ops.special.real import RealUnary, chebyshev, of_one
from retrograd.values import Array

ROOT_TWO = 1.4142135623730951
ROOT_HALF = 0.7071067811865476
ROOT_TWO_PI = 2.5066282746310002
ROOT_TWO_OVER_PI = 0.7978845608028654
HALF_ROOT_PI = 0.886226925452758

# -- numbers: each takes a flat array of float64 -------------------------------------------------------------------


def _exp_square(xp: Backend, x: Array) -> Array:
    """exp(x**2), without the rounding of the square."""
    size = xp.abs(x)
    top = xp.round(xp.minimum(size, 40.0) * 16) / 16
    return xp.exp(top * top) * xp.exp((size - top) * (size + top))


def erfcx_array(xp: Backend, x: Array) -> Array:
    """exp(x**2) * erfc(x)"""
    size = xp.abs(x)
    tail = scaled_tail(xp.maximum(size, 1.0))
    found = xp.where(x <= -1, 2 * _exp_square(xp, x) - tail, tail)
    near = xp.where(size < 1, x, 0.0)
    return xp.where(size < 1, xp.exp(near * near) * erfc_array(near), found)


def log_ndtr_array(xp: Backend, x: Array) -> Array:
    """The logarithm of the normal distribution function."""
    left = xp.minimum(x, -1.0)
    tail = xp.log(0.5 * erfcx_array(xp, left * -ROOT_HALF)) - 0.5 * left * left
    return xp.where(x < -1, tail, xp.log1p(-0.5 * erfc_array(x * ROOT_HALF)))


def _erfcinv_tail(xp: Backend, q: Array) -> Array:
    """The y with erfc(y) = q, for q up to 1/4; infinite at 0."""
    w = xp.sqrt(-xp.log(q))
    first, last = ERFCINV_RANGE
    return w * chebyshev(ERFCINV, 2 * (1 / (w + 4) - first) / (last - first) - 1)


def erfinv_array(xp: Backend, x: Array) -> Array:
    """The inverse of the error function; infinite at -1 and 1, NaN beyond."""
    size = xp.abs(x)
    out = xp.where(size <= 1, xp.copysign(np.inf, x), np.nan)
    near = size <= 0.75
    y = x[near]
    out[near] = y * chebyshev(ERFINV, y * y / 0.28125 - 1)
    far = (size > 0.75) & (size < 1)
    out[far] = xp.copysign(_erfcinv_tail(xp, 1 - size[far]), x[far])
    return out


def ndtri_array(xp: Backend, x: Array) -> Array:
    """The inverse of the normal distribution function; infinite at 0 and 1, NaN beyond."""
    out = xp.full_like(x, np.nan)
    out[x == 0], out[x == 1] = -np.inf, np.inf
    middle = (x >= 0.125) & (x <= 0.875)
    out[middle] = ROOT_TWO * erfinv_array(xp, 2 * x[middle] - 1)
    left, right = (x > 0) & (x < 0.125), (x > 0.875) & (x < 1)
    out[left] = -ROOT_TWO * _erfcinv_tail(xp, 2 * x[left])
    out[right] = ROOT_TWO * _erfcinv_tail(xp, 2 * (1 - x[right]))
    return out


# -- ops -----------------------------------------------------------------------------------------------------------


class Erfcx(RealUnary):
    """exp(x**2) * erfc(x)"""

    node_name = "SpecialErfcxBackward0"
    kernel = "erfcx_cpu"
    special = "erfcx"
    keeps: ClassVar[int] = X | OUT

    def curve(self, xp: Backend, x: Array) -> Array:
        return erfcx_array(xp, x)

    def slope(self, x: Any, out: Any) -> Any:
        return 2 * x * out - TWO_OVER_ROOT_PI


class Erfinv(RealUnary):
    """the inverse of the error function"""

    widened: ClassVar[bool] = True
    kernel = "erfinv_vml_cpu"
    special = "erfinv"
    keeps: ClassVar[int] = X

    def curve(self, xp: Backend, x: Array) -> Array:
        return erfinv_array(xp, x)

    def slope(self, x: Any, out: Any) -> Any:
        y = Erfinv().on(x)
        return Exp().on(y * y) * HALF_ROOT_PI


class Ndtri(RealUnary):
    """the inverse of the normal distribution function"""

    node_name = "SpecialNdtriBackward0"
    kernel = "ndtri_cpu"
    special = "ndtri"
    keeps: ClassVar[int] = OUT

    def curve(self, xp: Backend, x: Array) -> Array:
        return ndtri_array(xp, x)

    def slope(self, x: Any, out: Any) -> Any:
        return Exp().on(out * out * 0.5) * ROOT_TWO_PI


class LogNdtr(RealUnary):
    """the logarithm of the normal distribution function"""

    node_name = "SpecialLogNdtrBackward0"
    kernel = "log_ndtr_cpu"
    special = "log_ndtr"

    def curve(self, xp: Backend, x: Array) -> Array:
        return log_ndtr_array(xp, x)

    def slope(self, x: Any, out: Any) -> Any:
        return ROOT_TWO_OVER_PI / Erfcx().on(x * -ROOT_HALF)


# -- functions -----------------------------------------------------------------------------------------------------


@public("erfinv", "special.erfinv", "Tensor.erfinv_", method=True)
def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of the error function, for each element.

    >>> import retrograd as rg
    >>> rg.erfinv(rg.tensor([0.0, 0.5]))
    tensor([0.0000, 0.4769])
    """
    return deliver(apply1(Erfinv(), input), out)


@public("special.erfcx")
def erfcx(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`exp(input ** 2) * erfc(input)`, without overflow or underflow on the right."""
    return of_one(Erfcx(), input, out)


@public("special.ndtr")
def ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The probability that a normal variable is below each element.

    >>> import retrograd as rg
    >>> rg.special.ndtr(rg.tensor([0.0, 1.96]))
    tensor([0.5000, 0.9750])
    """
    x: Any = require_tensor("special_ndtr", "input", 1, input)
    return deliver(times(Erfc().on(x * -ROOT_HALF), 0.5), out)


@public("special.ndtri")
def ndtri(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The number below which a normal variable is with the probability in each element."""
    return of_one(Ndtri(), input, out)


@public("special.log_ndtr")
def log_ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of `ndtr`, exact where that underflows."""
    return of_one(LogNdtr(), input, out)
