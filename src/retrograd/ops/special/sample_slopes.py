"""How samples of the gamma and beta distributions move with their parameters while their probability stays the same.

The distribution function F(x; a) of a sample x does not change, so dx / da = -(dF / da) / (dF / dx). The series and
continued fractions of the incomplete functions are summed together with their derivatives by the parameter.
"""

from __future__ import annotations

import numpy as np

from retrograd.backends.base import Backend
from retrograd.ops.special.chebyshev_tables import TEMME
from retrograd.ops.special.gamma import digamma_array, stirling_rest
from retrograd.ops.special.incomplete_gamma import UNIFORM, log1p_less
from retrograd.ops.special.real import powers
from retrograd.values import Array

ENOUGH = 1e-15
MOST = 2000  # steps; those that are used grow with the root of the parameters
NORMAL = 1e5  # from here on, a beta distribution is normal in both parameters

# -- gamma ---------------------------------------------------------------------------------------------------------


def _gamma_series(xp: Backend, a: Array, x: Array) -> Array:
    """For x below a: P is x**a exp(-x) / gamma(a + 1) times the sum of x**n / ((a + 1) ... (a + n))."""
    term, inverses = xp.ones_like(x), xp.zeros_like(x)
    total, change = xp.ones_like(x), xp.zeros_like(x)
    for n in range(1, MOST):
        term = term * (x / (a + n))
        inverses = inverses + 1 / (a + n)
        total += term
        change -= term * inverses
        if xp.all(term * inverses <= ENOUGH * total):
            break
    return -x / a * ((xp.log(x) - digamma_array(xp, a + 1)) * total + change)


def _gamma_fraction(xp: Backend, a: Array, x: Array) -> Array:
    """For x above a: Q is x**a exp(-x) / gamma(a) times a continued fraction (Lentz); d before a name: by a."""
    b, db = x + 1 - a, -1.0
    d, dd = 1 / b, 1 / (b * b)
    c, dc = xp.full_like(x, 1e300), xp.zeros_like(x)
    found, change = d, dd
    for n in range(1, MOST):
        k = n * (a - n)
        b = b + 2
        bottom, dbottom = b + k * d, db + n * d + k * dd
        d, dd = 1 / bottom, -dbottom / (bottom * bottom)
        c, dc = b + k / c, db + n / c - k * dc / (c * c)
        ratio, dratio = c * d, dc * d + c * dd
        found, change = found * ratio, change * ratio + found * dratio
        if xp.all(xp.abs(ratio - 1) + xp.abs(dratio) < ENOUGH):
            break
    return x * ((xp.log(x) - digamma_array(xp, a)) * found + change)


def _gamma_uniform(xp: Backend, a: Array, x: Array) -> Array:
    """For large a and x near it: Temme's expansion, differentiated."""
    mu = (x - a) / a
    eta = xp.copysign(xp.sqrt(-2 * log1p_less(xp, mu)), mu)
    even = mu / xp.where(mu == 0, 1.0, eta) + (mu == 0)
    total, by_eta, by_a = xp.zeros_like(a), xp.zeros_like(a), xp.zeros_like(a)
    for k, coefficients in reversed(list(enumerate(TEMME))):
        value = powers(coefficients, eta)
        total = total / a + value
        by_eta = by_eta / a + powers([n * c for n, c in enumerate(coefficients)][1:], eta)
        by_a = by_a / a - k / a * value
    change = even * (1 + eta * total - by_eta / a) - eta / 2 - (eta * eta + 1 / a) / 2 * total + by_a
    return x / a * xp.exp(stirling_rest(a)) * change


def gamma_slope(xp: Backend, a: Array, x: Array) -> Array:
    """D x / d a of samples x of the gamma distribution with shape a and scale 1."""
    out = xp.where((a > 0) & (x == 0), 0.0, xp.full_like(x, np.nan))
    inside = (a > 0) & (x > 0) & (a < np.inf) & (x < np.inf)
    near = inside & (a >= UNIFORM) & (xp.abs(x - a) < 0.3 * a)
    below = inside & ~near & ((x < a + 1) | (x <= 1.5))
    for where, function in (
        (near, _gamma_uniform),
        (below, _gamma_series),
        (inside & ~near & ~below, _gamma_fraction),
    ):
        if where.any():
            out[where] = function(xp, a[where], x[where])
    return out


# -- beta ----------------------------------------------------------------------------------------------------------


class _Fraction:
    """The continued fraction of the incomplete beta function at x, and its derivatives by a and by b.

    A step multiplies by 1 + k d, where k is the step's coefficient: each number is kept with both derivatives.
    """

    def __init__(self, xp: Backend, x: Array) -> None:
        self.xp = xp
        one, zero = xp.ones_like(x), xp.zeros_like(x)
        self.c = (1e150 * one, zero, zero)  # as good as infinite
        self.d = (one, zero, zero)
        self.found = (one, zero, zero)
        self.change: Array = zero

    def step(self, k: Array, by_a: Array, by_b: Array) -> None:
        """One more coefficient, with its derivatives."""
        c, d, found = self.c, self.d, self.found
        bottom = 1 + k * d[0]
        self.d = (
            1 / bottom,
            -(by_a * d[0] + k * d[1]) / (bottom * bottom),
            -(by_b * d[0] + k * d[2]) / (bottom * bottom),
        )
        squared = c[0] * c[0]
        self.c = (1 + k / c[0], by_a / c[0] - k * c[1] / squared, by_b / c[0] - k * c[2] / squared)
        ratio = self.c[0] * self.d[0]
        slopes = [self.c[i] * self.d[0] + self.c[0] * self.d[i] for i in (1, 2)]
        self.found = (
            found[0] * ratio,
            found[1] * ratio + found[0] * slopes[0],
            found[2] * ratio + found[0] * slopes[1],
        )
        absolute = self.xp.abs
        self.change = absolute(ratio - 1) + absolute(slopes[0]) + absolute(slopes[1])


def _beta_fraction(xp: Backend, x: Array, a: Array, b: Array) -> _Fraction:
    """For x below (a + 1) / (a + b + 2): what stands behind x**a (1 - x)**b / (a B(a, b))."""
    fraction = _Fraction(xp, x)
    total = a + b
    for m in range(1, MOST):
        n = m - 1  # the odd coefficient of n, then the even one of m
        low, high = a + 2 * n, a + 2 * n + 1
        k = -(a + n) * (total + n) / (low * high) * x
        fraction.step(k, k * (1 / (a + n) + 1 / (total + n) - 1 / low - 1 / high), k / (total + n))
        low, high = a + 2 * m - 1, a + 2 * m
        k = m * (b - m) / (low * high) * x
        fraction.step(k, -k * (1 / low + 1 / high), m / (low * high) * x)
        if xp.all(fraction.change < ENOUGH):
            break
    return fraction


def _beta_below(xp: Backend, x: Array, a: Array, b: Array) -> Array:
    found, by_a, _ = _beta_fraction(xp, x, a, b).found
    front = xp.log(x) - digamma_array(xp, a + 1) + digamma_array(xp, a + b)
    return -x * (1 - x) / a * (front * found + by_a)


def _beta_above(xp: Backend, x: Array, a: Array, b: Array) -> Array:
    """By the other tail, in which a is the second parameter."""
    found, _, by_second = _beta_fraction(xp, 1 - x, b, a).found
    front = xp.log(x) - digamma_array(xp, a) + digamma_array(xp, a + b)
    return x * (1 - x) / b * (front * found + by_second)


def _beta_normal(xp: Backend, x: Array, a: Array, b: Array) -> Array:
    """For large a and b: mean and deviation move, and the sample with them."""
    total = a + b
    return b / (total * total) + (x - a / total) * (1 / a - 3 / total) / 2


def beta_slope(xp: Backend, x: Array, a: Array, b: Array) -> Array:
    """D x / d a of samples x of the beta distribution with a and b."""
    out = xp.where((x == 0) | (x == 1), 0.0, xp.full_like(x, np.nan))
    inside = (x > 0) & (x < 1) & (a > 0) & (b > 0)
    normal = inside & (a > NORMAL) & (b > NORMAL)
    below = inside & ~normal & (x * (a + b + 2) < a + 1)
    for where, function in (
        (normal, _beta_normal),
        (below, _beta_below),
        (inside & ~normal & ~below, _beta_above),
    ):
        if where.any():
            out[where] = function(xp, x[where], a[where], b[where])
    return out
