"""The logarithm of the gamma function, its derivatives, and the Hurwitz zeta function they lead to."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Final

import numpy as np

from retrograd.backends.base import Backend
from retrograd.backends.dtypes import python_number
from retrograd.core.apply import apply1
from retrograd.core.inplace import check_writable, write_back
from retrograd.core.op import Y
from retrograd.core.tensor import Tensor
from retrograd.core.variant import variant
from retrograd.ops.common import deliver, int_from, require_tensor
from retrograd.ops.register import public
from retrograd.ops.special.chebyshev_tables import DIGAMMA, DIGAMMA_ROOT, LGAMMA
from retrograd.ops.special.real import RealBinary, RealUnary, chebyshev, of_one, of_two, powers
from retrograd.values import Array, Number

LOG_PI = 1.1447298858494002
HALF_LOG_TWO_PI = 0.9189385332046728
LARGE = 10.0  # from here on the asymptotic series below are exact to the last digit

# With Bernoulli's numbers B:  B_2k / (2k (2k - 1)),  B_2k / 2k  and  B_2k / (2k)!  for k = 1, 2, ...
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)
DIGAMMA_SERIES = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12, -3617 / 8160)
EULER_MACLAURIN = (
    1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600,
    -3617 / 10670622842880000, 43867 / 5109094217170944000, -174611 / 802857662698291200000,
)  # fmt: skip


# -- log gamma -----------------------------------------------------------------------------------------------------


def stirling_rest(x: Array) -> Array:
    """What Stirling's formula leaves of log(gamma(x)), for x >= LARGE."""
    r = 1 / x
    return r * powers(STIRLING, r * r)


def log_gamma_1p(x: Array) -> Array:
    """log(gamma(1 + x)) for x in [0, 2], exact also where it is small."""
    return x * (x - 1) * chebyshev(LGAMMA, x - 1)


def _lgamma_around_zero(xp: Backend, x: Array) -> Array:
    """For x in (-1, 1)."""
    right = x > 0
    u = xp.where(right, x - 1, x)
    inner = u * xp.where(right, x, 1 + x) * chebyshev(LGAMMA, u)
    return inner - xp.log(xp.abs(x)) - xp.log1p(xp.minimum(x, 0))


def _lgamma_above_one(xp: Backend, x: Array) -> Array:
    """For x >= 1: stepped down to [1, 3], or by Stirling's formula."""
    large = x >= LARGE
    z = xp.where(large, 2.0, x)
    product = xp.ones_like(z)
    for _ in range(7):
        high = z > 3
        z = xp.where(high, z - 1, z)
        product = xp.where(high, product * z, product)
    found = (z - 2) * (z - 1) * chebyshev(LGAMMA, z - 2) + xp.log(product)
    y = xp.where(large, x, LARGE)
    return xp.where(large, (y - 0.5) * xp.log(y) - y + HALF_LOG_TWO_PI + stirling_rest(y), found)


def lgamma_array(xp: Backend, x: Array) -> Array:
    """log|gamma(x)|; infinite at 0, at the negative integers and at both infinities."""
    return xp.special("lgamma", _lgamma, x)


def _lgamma(xp: Backend, x: Array) -> Array:
    size = xp.abs(x)
    out = xp.where(xp.isnan(x), x, np.inf)
    near = (size < 1) & (size > 0)
    out[near] = _lgamma_around_zero(xp, x[near])
    far = (size >= 1) & (size < np.inf)
    out[far] = _lgamma_above_one(xp, size[far])
    left = far & (x < 0)
    y = x[left]
    out[left] = LOG_PI - xp.log(xp.abs(y * xp.sin(np.pi * (y - xp.round(y))))) - out[left]
    return out


# -- its derivatives -----------------------------------------------------------------------------------------------


def _digamma_right(xp: Backend, x: Array) -> Array:
    """For x > 0: stepped to [1, 2], or by the asymptotic series."""
    small, large = x < 1, x >= LARGE
    z = xp.where(large, 1.5, xp.where(small, x + 1, x))
    total = xp.where(small, -1 / x, 0.0)
    for _ in range(8):
        high = z > 2
        z = xp.where(high, z - 1, z)
        total += xp.where(high, 1 / z, 0.0)
    found = total + ((z - DIGAMMA_ROOT[0]) - DIGAMMA_ROOT[1]) * chebyshev(DIGAMMA, 2 * z - 3)
    r = 1 / xp.where(large, x, LARGE)
    return xp.where(large, xp.log(x) - 0.5 * r - r * r * powers(DIGAMMA_SERIES, r * r), found)


def digamma_array(xp: Backend, x: Array) -> Array:
    """The derivative of log(gamma(x)); infinite at 0, NaN at the negative integers."""
    return xp.special("digamma", _digamma, x)


def _digamma(xp: Backend, x: Array) -> Array:
    left = x < 0
    found = _digamma_right(xp, xp.where(left, 1 - x, x))
    y = x[left]
    found[left] -= np.pi / xp.tan(np.pi * (y - xp.round(y)))
    found[left & (x == xp.floor(x))] = np.nan
    return xp.where(x == 0, xp.copysign(np.inf, -x), found)


def _zeta_right(s: Array, q: Array) -> Array:
    """The sum of (q + k)**-s over k = 0, 1, ... for q > 0 and s > 1: ten terms, then the Euler-Maclaurin formula."""
    total = q**-s
    for k in range(1, 10):
        total += (q + k) ** -s
    a = q + 10
    p = a**-s
    total += a ** (1 - s) / (s - 1) + 0.5 * p
    term = p * s / a
    for k, c in enumerate(EULER_MACLAURIN):
        total += c * term
        term = term * ((s + (2 * k + 1)) / a) * ((s + (2 * k + 2)) / a)
    return total


def zeta_array(xp: Backend, s: Array, q: Array) -> Array:
    """Hurwitz's zeta function; on the left of 0 for integer s only, elsewhere NaN."""
    return xp.special("zeta", _zeta, s, q)


def _zeta(xp: Backend, s: Array, q: Array) -> Array:
    out = xp.full_like(q, np.nan)
    right = (q > 0) & (s > 1) & (s < np.inf)
    out[right] = _zeta_right(s[right], q[right])
    left = (q < 0) & (s > 1) & (s == xp.floor(s)) & (xp.abs(q) < np.inf) & (s < np.inf)
    t, y = s[left], q[left]
    # The terms left of 0 are those of another zeta function, mirrored: all but the rest of its sum.
    step = xp.floor(y)
    mirrored = _zeta_right(t, step + 1 - y) - _zeta_right(t, 1 - y)
    out[left] = _zeta_right(t, y - step) + xp.where(t % 2 == 0, mirrored, -mirrored)
    out[(s == np.inf) & (q >= 1)] = 0.0
    out[(s == np.inf) & (q == 1)] = 1.0
    out[(s == 1) | ((s > 1) & (q <= 0) & (q == xp.floor(q))) | ((s == np.inf) & (q < 1))] = np.inf
    out[xp.isnan(s) | xp.isnan(q)] = np.nan
    return out


class Lgamma(RealUnary):
    """log|gamma(x)|"""

    kernel = "lgamma_vml_cpu"
    special = "lgamma"

    def curve(self, xp: Backend, x: Array) -> Array:
        return lgamma_array(xp, x)

    def slope(self, x: Any, out: Any) -> Any:
        return Digamma().on(x)


class Digamma(RealUnary):
    """the derivative of log(gamma(x))"""

    kernel = "digamma"
    special = "digamma"

    def curve(self, xp: Backend, x: Array) -> Array:
        return digamma_array(xp, x)

    def slope(self, x: Any, out: Any) -> Any:
        return Polygamma(1).on(x)


class Polygamma(RealUnary):
    """the n-th derivative of digamma"""

    kernel = "polygamma"
    params: ClassVar[tuple[str, ...]] = ("n",)
    shown: ClassVar[dict[str, str]] = {"n": "n"}

    def __init__(self, n: int) -> None:
        self.n = n

    def curve(self, xp: Backend, x: Array) -> Array:
        if self.n == 0:
            return digamma_array(xp, x)
        factor = float(math.factorial(self.n)) if self.n <= 170 else math.inf
        return (factor if self.n % 2 else -factor) * zeta_array(xp, xp.full_like(x, self.n + 1), x)

    def slope(self, x: Any, out: Any) -> Any:
        return Polygamma(self.n + 1).on(x)


PolygammaInPlace = variant(
    Polygamma, "PolygammaBackward1", "the n-th derivative of digamma, in its own memory"
)


MOST_DIMENSIONS: Final = 1 << 20


class Mvlgamma(RealUnary):
    """the logarithm of the gamma function of p dimensions"""

    kernel = "mvlgamma_cpu"
    params: ClassVar[tuple[str, ...]] = ("p",)
    shown: ClassVar[dict[str, str]] = {"p": "p"}

    def __init__(self, p: int) -> None:
        self.p = p

    def curve(self, xp: Backend, x: Array) -> Array:
        total = xp.full_like(x, self.p * (self.p - 1) / 4 * LOG_PI)
        for i in range(self.p):
            total += lgamma_array(xp, x - i / 2)
        return total

    def slope(self, x: Any, out: Any) -> Any:
        total = Digamma().on(x + 0.0)  # minus zero counts as zero
        for i in range(1, self.p):
            total = total + Digamma().on(x - i / 2)
        return total


class Zeta(RealBinary):
    """Hurwitz's zeta function of x and y"""

    node_name = "SpecialZetaBackward0"
    kernel = "zeta_cpu"
    special = "zeta"
    floats: ClassVar[bool] = True
    keeps0: ClassVar[int] = Y

    def surface(self, xp: Backend, x: Array, y: Array) -> Array:
        return zeta_array(xp, x, y)

    def slope(self, i: int, x: Any, y: Any, out: Any) -> Any:
        if i == 0:
            raise no_derivative()
        return -x * Zeta().on(x + 1, y)


class ZetaOfNumber(RealUnary):
    """Hurwitz's zeta function of a number and x"""

    node_name = "SpecialZetaBackward1"
    kernel = "zeta_cpu"
    params: ClassVar[tuple[str, ...]] = ("number",)
    shown: ClassVar[dict[str, str]] = {"self": "number"}

    def __init__(self, number: float) -> None:
        self.number = number

    def curve(self, xp: Backend, x: Array) -> Array:
        return zeta_array(xp, xp.full_like(x, self.number), x)

    def slope(self, x: Any, out: Any) -> Any:
        return -self.number * ZetaOfNumber(self.number + 1).on(x)


class ZetaByNumber(RealUnary):
    """Hurwitz's zeta function of x and a number"""

    node_name = "SpecialZetaBackward2"
    kernel = "zeta_cpu"
    params: ClassVar[tuple[str, ...]] = ("number",)
    keeps: ClassVar[int] = 0

    def __init__(self, number: float) -> None:
        self.number = number

    def curve(self, xp: Backend, x: Array) -> Array:
        return zeta_array(xp, x, xp.full_like(x, self.number))

    def slope(self, x: Any, out: Any) -> Any:
        raise no_derivative()


def no_derivative() -> NotImplementedError:
    """The error for a gradient of the first argument of zeta."""
    return NotImplementedError(
        "the derivative for 'zeta' is not implemented: there is one by the second argument only. Detach the first."
    )


# -- functions -----------------------------------------------------------------------------------------------------


@public("lgamma", "special.gammaln", "Tensor.lgamma_", method=True)
def lgamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the absolute value of the gamma function, for each element.

    >>> import retrograd as rg
    >>> rg.lgamma(rg.tensor([0.5, 1.0, 3.0]))
    tensor([0.5724, 0.0000, 0.6931])
    """
    return deliver(apply1(Lgamma(), input), out)


@public("digamma", "special.digamma", "special.psi", "Tensor.digamma_", method=True)
def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of `lgamma`, for each element."""
    return deliver(apply1(Digamma(), input), out)


@public("polygamma", "special.polygamma")
def polygamma(n: int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The `n`-th derivative of `digamma`, for each element.

    >>> import retrograd as rg
    >>> rg.polygamma(1, rg.tensor([1.0]))
    tensor([1.6449])
    """
    return deliver(apply1(Polygamma(_order(n)), require_tensor("polygamma", "input", 2, input)), out)


def _order(n: Any) -> int:
    order = int_from("polygamma", "n", 1, n)
    if order < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return order


@public("Tensor.polygamma")
def polygamma_method(input: Tensor, n: int) -> Tensor:
    """The `n`-th derivative of `digamma`, for each element."""
    return polygamma(n, input)


@public("Tensor.polygamma_")
def polygamma_(self: Tensor, n: int) -> Tensor:
    """`polygamma`, in place."""
    x = require_tensor("polygamma_", "input", 1, self)
    check_writable(x)
    return write_back(x, apply1(PolygammaInPlace(_order(n)), x))


@public("mvlgamma", "special.multigammaln", "Tensor.mvlgamma_", method=True)
def mvlgamma(input: Tensor, p: int, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the gamma function of `p` dimensions, for each element."""
    x = require_tensor("mvlgamma", "input", 1, input)
    dimensions = int_from("mvlgamma", "p", 2, p)
    if x.array.dtype.kind == "b":
        raise RuntimeError("The input tensor may not be a boolean tensor.")
    if dimensions < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    if dimensions > MOST_DIMENSIONS:
        raise RuntimeError(
            f"mvlgamma: {dimensions} dimensions have as many terms, of which {MOST_DIMENSIONS} are taken"
        )
    return deliver(apply1(Mvlgamma(dimensions), x), out)


@public("special.zeta")
def zeta(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Hurwitz's zeta function: the sum of `(other + k) ** -input` over k = 0, 1, 2, ...

    >>> import retrograd as rg
    >>> rg.special.zeta(rg.tensor([2.0]), 1)
    tensor([1.6449])
    """
    number = (int, float)
    input, other = python_number(input), python_number(other)
    if isinstance(input, number) and isinstance(other, Tensor):
        return of_one(ZetaOfNumber(input), other, out)
    x = require_tensor("special_zeta", "input", 1, input)
    if isinstance(other, number):
        return of_one(ZetaByNumber(other), x, out)
    return of_two(Zeta(), x, other, out)
