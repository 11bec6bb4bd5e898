"""The incomplete gamma functions P(a, x) and Q(a, x) = 1 - P(a, x), each exact where it is the small one."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import Backend
from retrograd.core.apply import apply2
from retrograd.core.op import Y
from retrograd.core.tensor import Tensor
from retrograd.errors import no_forward_mode
from retrograd.ops.common import deliver, require_tensor
from retrograd.ops.elementwise.binary import Xlogy
from retrograd.ops.elementwise.exponential import Exp
from retrograd.ops.register import public
from retrograd.ops.special.chebyshev_tables import TEMME
from retrograd.ops.special.erf import erfc_array
from retrograd.ops.special.gamma import LARGE, Lgamma, lgamma_array, log_gamma_1p, stirling_rest
from retrograd.ops.special.real import RealBinary, powers
from retrograd.values import Array

EPS = 1e-17
UNIFORM = 200.0  # from here on, Temme's expansion serves where x is near a
ATANH = tuple(1 / k for k in range(3, 37, 2))


def log1p_less(xp: Backend, u: Array) -> Array:
    """log(1 + u) - u, exact near 0."""
    near = xp.abs(u) < 0.5
    v = xp.where(near, u, 0.0)
    r = v / (2 + v)
    # log(1 + u) is 2 artanh r, whose first term is u - u r.
    found = 2 * r * r * r * powers(ATANH, r * r) - v * r
    return xp.where(near, found, xp.log1p(u) - u)


def _front(xp: Backend, a: Array, x: Array) -> Array:
    """x**a * exp(-x) / gamma(a + 1)."""
    large = a >= LARGE
    b = xp.where(large, a, LARGE)
    u = (x - b) / b
    exponent = xp.where(u < -0.5, xp.log(x) - xp.log(b) - u, log1p_less(xp, u))
    high = xp.exp(b * exponent - stirling_rest(b)) / xp.sqrt(2 * np.pi * b)
    c, y = xp.where(large, 1.0, a), xp.minimum(x, 1000.0)
    low = xp.where(x < 1000, y**c * xp.exp(-y) / xp.exp(lgamma_array(xp, c + 1)), 0.0)
    return xp.where(large, high, low)


def _lower_series(xp: Backend, a: Array, x: Array) -> Array:
    """P for x below a + 1: the sum of x**n / ((a + 1) ... (a + n))."""
    term, total = xp.ones_like(x), xp.ones_like(x)
    for n in range(1, 500):
        term = term * (x / (a + n))
        total += term
        if xp.all(term <= EPS * total):
            break
    return _front(xp, a, x) * total


def _upper_series(xp: Backend, a: Array, x: Array) -> Array:
    """Q for a up to 1 and x up to 1.1, where the front of the lower series is near 1: the difference is summed."""
    term, total = xp.ones_like(x), xp.zeros_like(x)
    for n in range(1, 25):
        term = term * (-x / n)
        total += term / (a + n)
    exponent = a * xp.log(x) - log_gamma_1p(a)
    return -xp.expm1(exponent) - xp.exp(exponent) * a * total


def _fraction(xp: Backend, a: Array, x: Array) -> Array:
    """Q for x above a + 1: a continued fraction, from the front (Lentz)."""
    b = x + 1 - a
    d = 1 / b
    c, found = xp.full_like(x, 1e300), d
    for n in range(1, 500):
        k = n * (a - n)
        b = b + 2
        d, c = 1 / (b + k * d), b + k / c
        found = found * (c * d)
        if xp.all(xp.abs(c * d - 1) < 2e-16):
            break
    return _front(xp, a, x) * a * found


def _uniform(xp: Backend, a: Array, x: Array, upper: bool) -> Array:
    """P or Q for large a and x near it, by Temme's expansion: an error function and a correction in 1/a."""
    u = (x - a) / a
    half = -log1p_less(xp, u)
    eta = xp.copysign(xp.sqrt(2 * half), u)
    total = xp.zeros_like(a)
    for coefficients in TEMME[::-1]:
        total = total / a + powers(coefficients, eta)
    rest = xp.exp(-a * half) / xp.sqrt(2 * np.pi * a) * total
    z = eta * xp.sqrt(a / 2)
    return 0.5 * erfc_array(z) + rest if upper else 0.5 * erfc_array(-z) - rest


def _inside(xp: Backend, a: Array, x: Array, upper: bool) -> Array:
    """P or Q for finite positive a and x."""
    out = xp.empty_like(x)
    even = (a >= UNIFORM) & (xp.abs(x - a) < 0.3 * a)
    out[even] = _uniform(xp, a[even], x[even], upper)
    below = ~even & ((x < a + 1) | (x <= 1.1))
    small = below & upper & (a <= 1) & (x <= 1.1)
    for where, function, gives_upper in (
        (below & ~small, _lower_series, False),
        (small, _upper_series, True),
        (~even & ~below, _fraction, True),
    ):
        if where.any():
            found = function(xp, a[where], x[where])
            out[where] = found if gives_upper == upper else 1 - found
    return out


def incomplete(xp: Backend, a: Array, x: Array, upper: bool) -> Array:
    """P(a, x), or Q(a, x); NaN where either is negative, or both are 0 or infinite."""
    out = xp.full_like(x, np.nan)
    right = (a >= 0) & (x >= 0)
    out[right & (a < np.inf) & ((x == np.inf) | ((a == 0) & (x > 0)))] = 0.0 if upper else 1.0
    out[right & (x < np.inf) & ((a == np.inf) | ((x == 0) & (a > 0)))] = 1.0 if upper else 0.0
    inside = (a > 0) & (x > 0) & (a < np.inf) & (x < np.inf)
    out[inside] = _inside(xp, a[inside], x[inside], upper)
    return out


class Igamma(RealBinary):
    """the lower incomplete gamma function P(x, y); its derivative by x is not known to PyTorch either"""

    kernel = "igamma_cpu"
    special = "gammainc"
    keeps0: ClassVar[int] = Y

    def surface(self, xp: Backend, x: Array, y: Array) -> Array:
        return incomplete(xp, x, y, upper=False)

    def slope(self, i: int, x: Any, y: Any, out: Any) -> Any:
        if i == 0:
            raise NotImplementedError(
                f"the derivative for '{self.kernel.removesuffix('_cpu')}: input' is not implemented: there is one by "
                "the second argument only. Detach the first."
            )
        return Exp().on(Xlogy().on(x - 1, y) - y - Lgamma().on(x))

    def jvp(self, tx: Any, ty: Any, x: Any, y: Any, out: Any) -> Any:
        if tx is not None:
            raise no_forward_mode(self.function_name())
        return super().jvp(tx, ty, x, y, out)


class Igammac(Igamma):
    """the upper incomplete gamma function Q(x, y)"""

    kernel = "igammac_cpu"
    special = "gammaincc"

    def surface(self, xp: Backend, x: Array, y: Array) -> Array:
        return incomplete(xp, x, y, upper=True)

    def slope(self, i: int, x: Any, y: Any, out: Any) -> Any:
        return -super().slope(i, x, y, out)


@public("igamma", "special.gammainc", "Tensor.igamma_", method=True)
def igamma(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The regularised lower incomplete gamma function P(`input`, `other`), for each pair of elements.

    >>> import retrograd as rg
    >>> rg.igamma(rg.tensor([1.0]), rg.tensor([2.0]))
    tensor([0.8647])
    """
    require_tensor("igamma", "input", 1, input)
    require_tensor("igamma", "other", 2, other)
    return deliver(apply2(Igamma(), input, other), out)


@public("igammac", "special.gammaincc", "Tensor.igammac_", method=True)
def igammac(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The regularised upper incomplete gamma function Q(`input`, `other`), for each pair of elements."""
    require_tensor("igammac", "input", 1, input)
    require_tensor("igammac", "other", 2, other)
    return deliver(apply2(Igammac(), input, other), out)
