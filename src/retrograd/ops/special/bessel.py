"""Bessel functions of order 0 and 1 of every kind, and Airy's function: Chebyshev series near 0 and far away."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from retrograd.backends.base import Backend
from retrograd.backends.limits import finfo
from retrograd.core.apply import apply1
from retrograd.core.op import OUT, X
from retrograd.core.tensor import Tensor
from retrograd.ops.common import deliver, plain
from retrograd.ops.elementwise.choose import Where
from retrograd.ops.elementwise.sign import Sgn
from retrograd.ops.register import public
from retrograd.ops.special import chebyshev_tables as tables
from retrograd.ops.special.real import RealUnary, Underived, chebyshev, of_one
from retrograd.values import Array

TWO_OVER_PI = 0.6366197723675814

# -- numbers: each takes a flat array of float64 -------------------------------------------------------------------


def i0e_array(xp: Backend, x: Array) -> Array:
    """exp(-|x|) I0(x)"""
    size = xp.abs(x)
    near = size <= 8
    far = xp.where(near, 8.0, size)
    inner = chebyshev(tables.I0_NEAR, xp.where(near, size, 8.0) / 4 - 1)
    return xp.where(near, inner, chebyshev(tables.I0_FAR, 16 / far - 1) / xp.sqrt(far))


def i1e_array(xp: Backend, x: Array) -> Array:
    """exp(-|x|) I1(x)"""
    size = xp.abs(x)
    near = size <= 8
    far = xp.where(near, 8.0, size)
    inner = x * chebyshev(tables.I1_NEAR, xp.where(near, size, 8.0) / 4 - 1)
    outer = xp.copysign(chebyshev(tables.I1_FAR, 16 / far - 1) / xp.sqrt(far), x)
    return xp.where(near, inner, outer)


def i0_array(xp: Backend, x: Array) -> Array:
    """The modified Bessel function I0."""
    return xp.where(xp.isinf(x), np.inf, xp.exp(xp.abs(x)) * i0e_array(xp, x))


def i1_array(xp: Backend, x: Array) -> Array:
    """The modified Bessel function I1."""
    return xp.where(xp.isinf(x), x, xp.exp(xp.abs(x)) * i1e_array(xp, x))


def _without(xp: Backend, roots: Any, x: Array) -> Array:
    """The product of x**2 - r**2 over the roots, exact also near them."""
    product = xp.ones_like(x)
    for high, low in roots:
        product *= ((x - high) - low) * (x + high)
    return product


def _waves(xp: Backend, order: int, x: Array) -> tuple[Array, Array]:
    """J and Y for x > 8, where both are waves that slowly decay; 0 at infinity."""
    finite = xp.where(xp.isinf(x), 8.0, x)
    t = 128 / (finite * finite) - 1
    p = chebyshev(tables.P1 if order else tables.P0, t)
    q = chebyshev(tables.Q1 if order else tables.Q0, t) / finite
    # The cosine and the sine of x less pi/4, or less 3 pi/4, without the rounding of the difference.
    c, s = xp.cos(finite), xp.sin(finite)
    cosine, sine = (s - c, -(s + c)) if order else (s + c, s - c)
    scale = xp.where(xp.isinf(x), 0.0, 1 / xp.sqrt(np.pi * finite))
    return (p * cosine - q * sine) * scale, (p * sine + q * cosine) * scale


def j0_array(xp: Backend, x: Array) -> Array:
    """The Bessel function J0."""
    size = xp.abs(x)
    z = xp.where(size > 8, 8.0, size)
    near = _without(xp, tables.J0_ROOTS, z) * chebyshev(tables.J0, z * z / 32 - 1)
    return xp.where(size > 8, _waves(xp, 0, xp.maximum(size, 8.0))[0], near)


def j1_array(xp: Backend, x: Array) -> Array:
    """The Bessel function J1."""
    size = xp.abs(x)
    z = xp.where(size > 8, 8.0, size)
    near = z * _without(xp, tables.J1_ROOTS, z) * chebyshev(tables.J1, z * z / 32 - 1)
    return xp.copysign(1.0, x) * xp.where(size > 8, _waves(xp, 1, xp.maximum(size, 8.0))[0], near)


def _right_only(xp: Backend, x: Array, found: Array, at_zero: float) -> Array:
    """NaN on the left of 0, and a pole at 0."""
    return xp.where(x > 0, found, xp.where(x == 0, at_zero, np.nan))


def y0_array(xp: Backend, x: Array) -> Array:
    """The Bessel function Y0."""
    z = xp.minimum(x, 8.0)
    near = chebyshev(tables.Y0, z * z / 32 - 1) + TWO_OVER_PI * xp.log(z) * j0_array(xp, z)
    return _right_only(xp, x, xp.where(x > 8, _waves(xp, 0, xp.maximum(x, 8.0))[1], near), -np.inf)


def y1_array(xp: Backend, x: Array) -> Array:
    """The Bessel function Y1."""
    z = xp.minimum(x, 8.0)
    near = z * chebyshev(tables.Y1, z * z / 32 - 1) + TWO_OVER_PI * (xp.log(z) * j1_array(xp, z) - 1 / z)
    return _right_only(xp, x, xp.where(x > 8, _waves(xp, 1, xp.maximum(x, 8.0))[1], near), -np.inf)


def _k(xp: Backend, order: int, x: Array, scaled: bool) -> Array:
    """K0 or K1, times exp(x) where wanted."""
    z, far = xp.minimum(x, 2.0), xp.maximum(x, 2.0)
    if order == 0:
        near = chebyshev(tables.K0_NEAR, z * z / 2 - 1) - xp.log(z / 2) * i0_array(xp, z)
    else:
        near = chebyshev(tables.K1_NEAR, z * z / 2 - 1) / z + xp.log(z / 2) * i1_array(xp, z)
    outer = chebyshev(tables.K1_FAR if order else tables.K0_FAR, 4 / far - 1) / xp.sqrt(far)
    if scaled:
        return _right_only(xp, x, xp.where(x > 2, outer, near * xp.exp(z)), np.inf)
    return _right_only(xp, x, xp.where(x > 2, outer * xp.exp(-far), near), np.inf)


def k0_array(xp: Backend, x: Array) -> Array:
    """The modified Bessel function K0."""
    return _k(xp, 0, x, False)


def k1_array(xp: Backend, x: Array) -> Array:
    """The modified Bessel function K1."""
    return _k(xp, 1, x, False)


def k0e_array(xp: Backend, x: Array) -> Array:
    """exp(x) K0(x)"""
    return _k(xp, 0, x, True)


def k1e_array(xp: Backend, x: Array) -> Array:
    """exp(x) K1(x)"""
    return _k(xp, 1, x, True)


def spherical_j0_array(xp: Backend, x: Array) -> Array:
    """sin(x) / x; 1 at 0, and 0 at both infinities."""
    finite = xp.where(xp.isinf(x) | (x == 0), 1.0, x)
    return xp.where(xp.isinf(x), 0.0, xp.where(x == 0, 1.0, xp.sin(finite) / finite))


def airy_array(xp: Backend, x: Array) -> Array:
    """Airy's function Ai."""
    out = xp.where(xp.isinf(x), 0.0, x)
    middle = (x >= -8) & (x <= 2)
    out[middle] = chebyshev(tables.AIRY, (x[middle] + 3) / 5)
    right = (x > 2) & (x < np.inf)
    z = x[right]
    zeta = z * xp.sqrt(z) / 1.5
    first = 2 * math.sqrt(2) / 1.5  # zeta at 2, where the series begins
    out[right] = (
        chebyshev(tables.AIRY_RIGHT, 2 * first / zeta - 1)
        * xp.exp(-zeta)
        / (2 * math.sqrt(math.pi) * xp.sqrt(xp.sqrt(z)))
    )
    left = (x < -8) & (x > -np.inf)
    out[left] = _airy_left(xp, -x[left])
    return out


def _airy_left(xp: Backend, z: Array) -> Array:
    """Ai(-z) for z > 8: a wave."""
    zeta = z * xp.sqrt(z) / 1.5
    t = 2 * 512 / (2.25 * zeta * zeta) - 1  # 8**3 / 1.5**2 is the square of zeta at 8
    p, q = chebyshev(tables.AIRY_LEFT_P, t), chebyshev(tables.AIRY_LEFT_Q, t) / zeta
    c, s = xp.cos(zeta), xp.sin(zeta)
    return (p * (c + s) + q * (s - c)) / xp.sqrt(2 * np.pi * xp.sqrt(z))


def _at_zero(x: Any) -> Array:
    """Where x is so near 0 that its square is nothing next to 1: slopes there are those at 0."""
    a = plain(x)
    return abs(a) < finfo(a.dtype).eps


# -- ops -----------------------------------------------------------------------------------------------------------


class I0(RealUnary):
    """the modified Bessel function I0"""

    kernel = "i0_vml_cpu"
    special = "i0"

    def curve(self, xp: Backend, x: Array) -> Array:
        return i0_array(xp, x)

    def slope(self, x: Any, out: Any) -> Any:
        return I1().on(x)


class I1(RealUnary):
    """the modified Bessel function I1"""

    node_name = "SpecialI1Backward0"
    kernel = "i1_cpu"
    special = "i1"
    keeps = X | OUT

    def curve(self, xp: Backend, x: Array) -> Array:
        return i1_array(xp, x)

    def slope(self, x: Any, out: Any) -> Any:
        at_zero = _at_zero(x)
        return Where().on(at_zero, 0.5, I0().on(x) - out / Where().on(at_zero, 1.0, x))


class I0e(RealUnary):
    """exp(-|x|) I0(x)"""

    node_name = "SpecialI0EBackward0"
    kernel = "i0e_cpu"
    special = "i0e"
    keeps = X | OUT

    def curve(self, xp: Backend, x: Array) -> Array:
        return i0e_array(xp, x)

    def slope(self, x: Any, out: Any) -> Any:
        return I1e().on(x) - Sgn().on(x) * out


class I1e(RealUnary):
    """exp(-|x|) I1(x)"""

    node_name = "SpecialI1EBackward0"
    kernel = "i1e_cpu"
    special = "i1e"
    keeps = X | OUT

    def curve(self, xp: Backend, x: Array) -> Array:
        return i1e_array(xp, x)

    def slope(self, x: Any, out: Any) -> Any:
        at_zero = _at_zero(x)
        rest = out * (Sgn().on(x) + 1 / Where().on(at_zero, 1.0, x))
        return Where().on(at_zero, 0.5, I0e().on(x) - rest)


# -- functions -----------------------------------------------------------------------------------------------------


@public("i0", "special.i0", "i0_", method=True)
def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function I0, for each element.

    >>> import retrograd as rg
    >>> rg.i0(rg.tensor([0.0, 1.0]))
    tensor([1.0000, 1.2661])
    """
    return deliver(apply1(I0(), input), out)


@public("special.i0e")
def i0e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`exp(-|input|) * i0(input)`, for each element."""
    return deliver(apply1(I0e(), input), out)


@public("special.i1")
def i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function I1, for each element."""
    return deliver(apply1(I1(), input), out)


@public("special.i1e")
def i1e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`exp(-|input|) * i1(input)`, for each element."""
    return deliver(apply1(I1e(), input), out)


@public("special.bessel_j0")
def bessel_j0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the first kind J0, for each element; the result has no gradient, as in PyTorch."""
    return of_one(Underived("bessel_j0_cpu", j0_array, "j0"), input, out)


@public("special.bessel_j1")
def bessel_j1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the first kind J1, for each element; the result has no gradient, as in PyTorch."""
    return of_one(Underived("bessel_j1_cpu", j1_array, "j1"), input, out)


@public("special.bessel_y0")
def bessel_y0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the second kind Y0, for each element; the result has no gradient, as in PyTorch."""
    return of_one(Underived("bessel_y0_cpu", y0_array, "y0"), input, out)


@public("special.bessel_y1")
def bessel_y1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the second kind Y1, for each element; the result has no gradient, as in PyTorch."""
    return of_one(Underived("bessel_y1_cpu", y1_array, "y1"), input, out)


@public("special.modified_bessel_i0")
def modified_bessel_i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function I0, for each element, without a gradient; `i0` has one."""
    return of_one(Underived("modified_bessel_i0_cpu", i0_array, "i0"), input, out)


@public("special.modified_bessel_i1")
def modified_bessel_i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function I1, for each element, without a gradient; `i1` has one."""
    return of_one(Underived("modified_bessel_i1_cpu", i1_array, "i1"), input, out)


@public("special.modified_bessel_k0")
def modified_bessel_k0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function K0, for each element; the result has no gradient, as in PyTorch."""
    return of_one(Underived("modified_bessel_k0_cpu", k0_array, "k0"), input, out)


@public("special.modified_bessel_k1")
def modified_bessel_k1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function K1, for each element; the result has no gradient, as in PyTorch."""
    return of_one(Underived("modified_bessel_k1_cpu", k1_array, "k1"), input, out)


@public("special.scaled_modified_bessel_k0")
def scaled_modified_bessel_k0(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`exp(input)` times the modified Bessel function K0; the result has no gradient, as in PyTorch."""
    return of_one(Underived("scaled_modified_bessel_k0_cpu", k0e_array, "k0e"), x, out)


@public("special.scaled_modified_bessel_k1")
def scaled_modified_bessel_k1(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`exp(input)` times the modified Bessel function K1; the result has no gradient, as in PyTorch."""
    return of_one(Underived("scaled_modified_bessel_k1_cpu", k1e_array, "k1e"), x, out)


@public("special.spherical_bessel_j0")
def spherical_bessel_j0(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`sin(input) / input`, for each element; the result has no gradient, as in PyTorch."""
    return of_one(Underived("spherical_bessel_j0_cpu", spherical_j0_array), x, out)


@public("special.airy_ai")
def airy_ai(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Airy's function Ai, for each element; the result has no gradient, as in PyTorch."""
    return of_one(Underived("airy_ai_cpu", airy_array), x, out)
