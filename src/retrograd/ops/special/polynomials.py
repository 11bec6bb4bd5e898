"""Orthogonal polynomials of degree n at x, by their recurrences. PyTorch does not differentiate them."""

from __future__ import annotations

from math import isnan
from typing import Any, ClassVar, Final, NoReturn

from retrograd.backends.base import Backend
from retrograd.core.tensor import Tensor
from retrograd.ops.register import public
from retrograd.ops.special.real import RealBinary, of_two
from retrograd.values import Array, Number

FEW: Final = 64  # elements up to which one after the other is quicker than all at once
MOST: Final = 1 << 20  # steps of a recurrence


class Polynomial(RealBinary):
    """The polynomial of degree n of a family, 0 for negative n and for what is no degree. Owes that of degree 1."""

    differentiable: ClassVar[bool] = False
    floats: ClassVar[bool] = True

    def first(self, x: Any) -> Any:
        """The polynomial of degree 1."""
        raise NotImplementedError

    def values(self, xp: Backend, x: Array, degree: Array, largest: int) -> Array:
        """Those of degree 2 or higher."""
        raise NotImplementedError

    def at(self, x: Array) -> Array:
        """Where the polynomial is evaluated."""
        return x

    def function_name(self) -> str:
        return f"special_{self.kernel.removesuffix('_cpu')}"

    def surface(self, xp: Backend, x: Array, y: Array) -> Array:
        degree = xp.where(xp.abs(y) < 2.0**63, xp.trunc(y), -1.0)  # NaN is smaller than nothing
        largest = int(degree.max()) if degree.size else 0
        out = xp.where(degree == 0, 1.0, 0.0)
        if largest < 1:
            return out
        x = self.at(x)
        out = xp.where(degree == 1, self.first(x), out)
        return out if largest == 1 else xp.where(degree > 1, self.values(xp, x, degree, largest), out)


class Chebyshev(Polynomial):
    """Chebyshev's four kinds differ in the polynomial of degree 1 alone.

    All are P_n = P_1 U_(n-1) - U_(n-2), and U is found by doubling: as many steps as n has binary digits.
    """

    def values(self, xp: Backend, x: Array, degree: Array, largest: int) -> Array:
        number = xp.maximum(degree - 1, 0.0).astype("int64")
        last, before = xp.ones_like(x), xp.zeros_like(x)  # U_k and U_(k-1), beginning at k = 0
        for place in reversed(range((largest - 1).bit_length())):
            twice = (last - before) * (last + before)
            odd = (number >> place) % 2 == 1
            last, before = (
                xp.where(odd, 2 * last * (x * last - before), twice),
                xp.where(odd, twice, 2 * before * (last - x * before)),
            )
        return self.first(x) * last - before


class ThreeTerms(Polynomial):
    """A family whose recurrence changes from degree to degree: n steps, until the numbers are none any more."""

    def following(self, k: int, x: Any, last: Any, before: Any) -> Any:
        """The polynomial of degree k + 1 from the two before, of arrays and of single numbers."""
        raise NotImplementedError

    def values(self, xp: Backend, x: Array, degree: Array, largest: int) -> Array:
        if x.size <= FEW:
            both = zip(x.tolist(), degree.tolist(), strict=True)
            return xp.asarray([self.single(number, int(n)) for number, n in both])
        before, last = xp.ones_like(x), self.first(x)
        out = last
        for k in range(1, min(largest, MOST)):
            before, last = last, self.following(k, x, last, before)
            out = xp.where(degree > k, last, out)
            if k % 64 == 0 and xp.isnan(last).all():
                return out
        if largest > MOST:
            self.never_ends(largest)
        return out

    def single(self, x: float, n: int) -> float:
        """That of degree n, or 1 for a lower one, at one number: what an array costs is more than the arithmetic."""
        before: float = 1.0
        last: float = self.first(x)
        for k in range(1, min(n, MOST)):
            before, last = last, self.following(k, x, last, before)
            if isnan(last):  # and so are all that follow
                return last
        if n > MOST:
            self.never_ends(n)
        return last

    def never_ends(self, n: int) -> NoReturn:
        raise RuntimeError(
            f"{self.function_name()}: a polynomial of degree {n} takes as many steps, and at most {MOST} are taken."
        )


class ChebyshevT(Chebyshev):
    """Chebyshev's polynomial of the first kind"""

    kernel = "chebyshev_polynomial_t_cpu"

    def first(self, x: Any) -> Any:
        return x


class ChebyshevU(Chebyshev):
    """Chebyshev's polynomial of the second kind"""

    kernel = "chebyshev_polynomial_u_cpu"

    def first(self, x: Any) -> Any:
        return 2 * x


class ChebyshevV(Chebyshev):
    """Chebyshev's polynomial of the third kind"""

    kernel = "chebyshev_polynomial_v_cpu"

    def first(self, x: Any) -> Any:
        return 2 * x - 1


class ChebyshevW(Chebyshev):
    """Chebyshev's polynomial of the fourth kind"""

    kernel = "chebyshev_polynomial_w_cpu"

    def first(self, x: Any) -> Any:
        return 2 * x + 1


class ShiftedChebyshevT(ChebyshevT):
    """Chebyshev's polynomial of the first kind, for x from 0 to 1"""

    kernel = "shifted_chebyshev_polynomial_t_cpu"

    def at(self, x: Array) -> Array:
        return 2 * x - 1


class ShiftedChebyshevU(ChebyshevU):
    """Chebyshev's polynomial of the second kind, for x from 0 to 1"""

    kernel = "shifted_chebyshev_polynomial_u_cpu"

    def at(self, x: Array) -> Array:
        return 2 * x - 1


class ShiftedChebyshevV(ChebyshevV):
    """Chebyshev's polynomial of the third kind, for x from 0 to 1"""

    kernel = "shifted_chebyshev_polynomial_v_cpu"

    def at(self, x: Array) -> Array:
        return 2 * x - 1


class ShiftedChebyshevW(ChebyshevW):
    """Chebyshev's polynomial of the fourth kind, for x from 0 to 1"""

    kernel = "shifted_chebyshev_polynomial_w_cpu"

    def at(self, x: Array) -> Array:
        return 2 * x - 1


class HermiteH(ThreeTerms):
    """Hermite's polynomial, as physicists define it"""

    kernel = "hermite_polynomial_h_cpu"

    def first(self, x: Any) -> Any:
        return 2 * x

    def following(self, k: int, x: Any, last: Any, before: Any) -> Any:
        return 2 * x * last - 2 * k * before


class HermiteHe(ThreeTerms):
    """Hermite's polynomial, as statisticians define it"""

    kernel = "hermite_polynomial_he_cpu"

    def first(self, x: Any) -> Any:
        return x

    def following(self, k: int, x: Any, last: Any, before: Any) -> Any:
        return x * last - k * before


class LaguerreL(ThreeTerms):
    """Laguerre's polynomial"""

    kernel = "laguerre_polynomial_l_cpu"

    def first(self, x: Any) -> Any:
        return 1 - x

    def following(self, k: int, x: Any, last: Any, before: Any) -> Any:
        return ((2 * k + 1 - x) * last - k * before) / (k + 1)


class LegendreP(ThreeTerms):
    """Legendre's polynomial"""

    kernel = "legendre_polynomial_p_cpu"

    def first(self, x: Any) -> Any:
        return x

    def following(self, k: int, x: Any, last: Any, before: Any) -> Any:
        return ((2 * k + 1) * x * last - k * before) / (k + 1)


# -- functions -----------------------------------------------------------------------------------------------------


@public("special.chebyshev_polynomial_t")
def chebyshev_polynomial_t(x: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev's polynomial of the first kind, of degree `n` at `x`.

    >>> import retrograd as rg
    >>> rg.special.chebyshev_polynomial_t(rg.tensor([0.5, 2.0]), 2)
    tensor([-0.5000,  7.0000])
    """
    return of_two(ChebyshevT(), x, n, out)


@public("special.chebyshev_polynomial_u")
def chebyshev_polynomial_u(x: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev's polynomial of the second kind, of degree `n` at `x`."""
    return of_two(ChebyshevU(), x, n, out)


@public("special.chebyshev_polynomial_v")
def chebyshev_polynomial_v(x: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev's polynomial of the third kind, of degree `n` at `x`."""
    return of_two(ChebyshevV(), x, n, out)


@public("special.chebyshev_polynomial_w")
def chebyshev_polynomial_w(x: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev's polynomial of the fourth kind, of degree `n` at `x`."""
    return of_two(ChebyshevW(), x, n, out)


@public("special.shifted_chebyshev_polynomial_t")
def shifted_chebyshev_polynomial_t(
    x: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None
) -> Tensor:
    """Chebyshev's polynomial of the first kind, of degree `n` at `2 x - 1`."""
    return of_two(ShiftedChebyshevT(), x, n, out)


@public("special.shifted_chebyshev_polynomial_u")
def shifted_chebyshev_polynomial_u(
    x: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None
) -> Tensor:
    """Chebyshev's polynomial of the second kind, of degree `n` at `2 x - 1`."""
    return of_two(ShiftedChebyshevU(), x, n, out)


@public("special.shifted_chebyshev_polynomial_v")
def shifted_chebyshev_polynomial_v(
    x: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None
) -> Tensor:
    """Chebyshev's polynomial of the third kind, of degree `n` at `2 x - 1`."""
    return of_two(ShiftedChebyshevV(), x, n, out)


@public("special.shifted_chebyshev_polynomial_w")
def shifted_chebyshev_polynomial_w(
    x: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None
) -> Tensor:
    """Chebyshev's polynomial of the fourth kind, of degree `n` at `2 x - 1`."""
    return of_two(ShiftedChebyshevW(), x, n, out)


@public("special.hermite_polynomial_h")
def hermite_polynomial_h(x: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Hermite's polynomial as physicists define it, of degree `n` at `x`."""
    return of_two(HermiteH(), x, n, out)


@public("special.hermite_polynomial_he")
def hermite_polynomial_he(x: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Hermite's polynomial as statisticians define it, of degree `n` at `x`."""
    return of_two(HermiteHe(), x, n, out)


@public("special.laguerre_polynomial_l")
def laguerre_polynomial_l(x: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Laguerre's polynomial of degree `n` at `x`."""
    return of_two(LaguerreL(), x, n, out)


@public("special.legendre_polynomial_p")
def legendre_polynomial_p(x: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Legendre's polynomial of degree `n` at `x`."""
    return of_two(LegendreP(), x, n, out)
