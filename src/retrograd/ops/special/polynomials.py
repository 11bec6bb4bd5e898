"""Orthogonal polynomials of degree n at x, by their recurrences. PyTorch does not differentiate them."""

from __future__ import annotations

from typing import ClassVar

from retrograd.backends.base import Backend
from retrograd.core.apply import apply2
from retrograd.core.tensor import Tensor
from retrograd.ops.common import deliver
from retrograd.ops.register import public
from retrograd.ops.special.real import RealBinary
from retrograd.values import Array, Number


class Polynomial(RealBinary):
    """The polynomial of degree n of a family, 0 for negative n. Owes that of degree 1 and `following`."""

    differentiable: ClassVar[bool] = False
    floats: ClassVar[bool] = True

    def first(self, x: Array) -> Array:
        """The polynomial of degree 1."""
        raise NotImplementedError

    def following(self, k: int, x: Array, last: Array, before: Array) -> Array:
        """The polynomial of degree k + 1 from the two before; as it is for Chebyshev's."""
        return 2 * x * last - before

    def at(self, x: Array) -> Array:
        """Where the recurrence is evaluated."""
        return x

    def function_name(self) -> str:
        return f"special_{self.kernel.removesuffix('_cpu')}"

    def surface(self, xp: Backend, x: Array, y: Array) -> Array:
        degree = xp.where(xp.isfinite(y), xp.trunc(xp.where(xp.isfinite(y), y, 0.0)), -1.0)
        x = self.at(x)
        before, last = xp.ones_like(x), self.first(x)
        out = xp.where(degree >= 1, last, xp.where(degree == 0, 1.0, 0.0))
        for k in range(1, int(degree.max()) if degree.size else 0):
            before, last = last, self.following(k, x, last, before)
            out = xp.where(degree == k + 1, last, out)
        return out


class ChebyshevT(Polynomial):
    """Chebyshev's polynomial of the first kind"""

    kernel = "chebyshev_polynomial_t_cpu"

    def first(self, x: Array) -> Array:
        return x


class ChebyshevU(Polynomial):
    """Chebyshev's polynomial of the second kind"""

    kernel = "chebyshev_polynomial_u_cpu"

    def first(self, x: Array) -> Array:
        return 2 * x


class ChebyshevV(Polynomial):
    """Chebyshev's polynomial of the third kind"""

    kernel = "chebyshev_polynomial_v_cpu"

    def first(self, x: Array) -> Array:
        return 2 * x - 1


class ChebyshevW(Polynomial):
    """Chebyshev's polynomial of the fourth kind"""

    kernel = "chebyshev_polynomial_w_cpu"

    def first(self, x: Array) -> Array:
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


class HermiteH(Polynomial):
    """Hermite's polynomial, as physicists define it"""

    kernel = "hermite_polynomial_h_cpu"

    def first(self, x: Array) -> Array:
        return 2 * x

    def following(self, k: int, x: Array, last: Array, before: Array) -> Array:
        return 2 * x * last - 2 * k * before


class HermiteHe(Polynomial):
    """Hermite's polynomial, as statisticians define it"""

    kernel = "hermite_polynomial_he_cpu"

    def first(self, x: Array) -> Array:
        return x

    def following(self, k: int, x: Array, last: Array, before: Array) -> Array:
        return x * last - k * before


class LaguerreL(Polynomial):
    """Laguerre's polynomial"""

    kernel = "laguerre_polynomial_l_cpu"

    def first(self, x: Array) -> Array:
        return 1 - x

    def following(self, k: int, x: Array, last: Array, before: Array) -> Array:
        return ((2 * k + 1 - x) * last - k * before) / (k + 1)


class LegendreP(Polynomial):
    """Legendre's polynomial"""

    kernel = "legendre_polynomial_p_cpu"

    def first(self, x: Array) -> Array:
        return x

    def following(self, k: int, x: Array, last: Array, before: Array) -> Array:
        return ((2 * k + 1) * x * last - k * before) / (k + 1)


# -- functions -----------------------------------------------------------------------------------------------------


@public("special.chebyshev_polynomial_t")
def chebyshev_polynomial_t(x: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev's polynomial of the first kind, of degree `n` at `x`.

    >>> import retrograd as rg
    >>> rg.special.chebyshev_polynomial_t(rg.tensor([0.5, 2.0]), 2)
    tensor([-0.5000,  7.0000])
    """
    return deliver(apply2(ChebyshevT(), x, n), out)


@public("special.chebyshev_polynomial_u")
def chebyshev_polynomial_u(x: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev's polynomial of the second kind, of degree `n` at `x`."""
    return deliver(apply2(ChebyshevU(), x, n), out)


@public("special.chebyshev_polynomial_v")
def chebyshev_polynomial_v(x: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev's polynomial of the third kind, of degree `n` at `x`."""
    return deliver(apply2(ChebyshevV(), x, n), out)


@public("special.chebyshev_polynomial_w")
def chebyshev_polynomial_w(x: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev's polynomial of the fourth kind, of degree `n` at `x`."""
    return deliver(apply2(ChebyshevW(), x, n), out)


@public("special.shifted_chebyshev_polynomial_t")
def shifted_chebyshev_polynomial_t(
    x: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None
) -> Tensor:
    """Chebyshev's polynomial of the first kind, of degree `n` at `2 x - 1`."""
    return deliver(apply2(ShiftedChebyshevT(), x, n), out)


@public("special.shifted_chebyshev_polynomial_u")
def shifted_chebyshev_polynomial_u(
    x: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None
) -> Tensor:
    """Chebyshev's polynomial of the second kind, of degree `n` at `2 x - 1`."""
    return deliver(apply2(ShiftedChebyshevU(), x, n), out)


@public("special.shifted_chebyshev_polynomial_v")
def shifted_chebyshev_polynomial_v(
    x: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None
) -> Tensor:
    """Chebyshev's polynomial of the third kind, of degree `n` at `2 x - 1`."""
    return deliver(apply2(ShiftedChebyshevV(), x, n), out)


@public("special.shifted_chebyshev_polynomial_w")
def shifted_chebyshev_polynomial_w(
    x: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None
) -> Tensor:
    """Chebyshev's polynomial of the fourth kind, of degree `n` at `2 x - 1`."""
    return deliver(apply2(ShiftedChebyshevW(), x, n), out)


@public("special.hermite_polynomial_h")
def hermite_polynomial_h(x: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Hermite's polynomial as physicists define it, of degree `n` at `x`."""
    return deliver(apply2(HermiteH(), x, n), out)


@public("special.hermite_polynomial_he")
def hermite_polynomial_he(x: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Hermite's polynomial as statisticians define it, of degree `n` at `x`."""
    return deliver(apply2(HermiteHe(), x, n), out)


@public("special.laguerre_polynomial_l")
def laguerre_polynomial_l(x: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Laguerre's polynomial of degree `n` at `x`."""
    return deliver(apply2(LaguerreL(), x, n), out)


@public("special.legendre_polynomial_p")
def legendre_polynomial_p(x: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Legendre's polynomial of degree `n` at `x`."""
    return deliver(apply2(LegendreP(), x, n), out)
