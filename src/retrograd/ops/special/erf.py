"""The error function and its complement, to the last digits of double precision."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import Backend, backend_of
from retrograd.core.apply import apply1
from retrograd.core.families import ElementwiseUnary
from retrograd.core.op import X
from retrograd.core.tensor import Tensor
from retrograd.errors import unsupported_dtype
from retrograd.ops.common import deliver, memory_order
from retrograd.ops.elementwise.exponential import Exp
from retrograd.ops.register import public
from retrograd.ops.special.real import powers
from retrograd.values import Array

TWO_OVER_ROOT_PI = 1.1283791670955126

# erf(x) / x as a polynomial in x**2, for |x| <= 1. Both polynomials are Chebyshev series, computed in 50 digits, cut
# off below 1e-17 and rewritten in powers; the largest relative error found is 7e-16.
_NEAR = (
    1.1283791670955126, -0.3761263890318375, 0.11283791670954882, -0.026866170645077334, 0.005223977624823223,
    -0.0008548326981129666, 0.00012055331122299266, -1.4925595519506043e-05, 1.6461004480962034e-06,
    -1.6350354461959655e-07, 1.4660051998394848e-08, -1.1373902296430911e-09, 5.958930743134941e-11,
)  # fmt: skip

# exp(y**2) * erfc(y) * (y + 3) as a polynomial in (y - 5) / (y + 3), which is in [-1, 1] for y >= 1.
FAR = (
    0.885637101864549, -0.47966144308433484, 0.22387273334256325, -0.08762571665292865, 0.027317987192582105,
    -0.005992101444648031, 0.0005111598748078276, 0.00020565983291438275, -8.285365097926504e-05,
    2.2201334925851605e-06, 6.227274095929632e-06, -1.115539835155743e-06, -4.4449389906874936e-07,
    1.5277939953747662e-07, 3.592315647726054e-08, -1.8556685554008643e-08, -3.621647649520109e-09,
    2.2212991812778053e-09, 4.145778223602259e-10, -2.4416062858086426e-10, -3.431427860687693e-11,
    1.77513129479398e-11,
)  # fmt: skip


def _tail(xp: Backend, y: Array) -> Array:
    """erfc(y) for y >= 1."""
    # A rounded y**2 would cost digits in the exponential: split y so that the larger square is exact.
    top = xp.round(xp.minimum(y, 40.0) * 16) / 16
    return xp.exp(-top * top) * xp.exp(-(y - top) * (y + top)) * scaled_tail(y)


def scaled_tail(y: Array) -> Array:
    """exp(y**2) * erfc(y) for y >= 1."""
    r = 1 / (y + 3)
    return r * powers(FAR, 1 - 8 * r)


def erf_array(x: Array) -> Array:
    """The error function of a real array, in its dtype."""
    xp = backend_of(x)
    wide = x.astype(np.float64, order=memory_order(xp, x), copy=False)
    size = xp.abs(wide)
    far = size > 1
    out = xp.where(far, 0.0, wide)
    out *= powers(_NEAR, out * out)
    if far.any():
        out[far] = xp.copysign(1 - _tail(xp, size[far]), wide[far])
    return out.astype(x.dtype, copy=False)


def erfc_array(x: Array) -> Array:
    """1 - erf(x) of a real array, in its dtype; exact in the right tail, where the difference would cancel."""
    xp = backend_of(x)
    wide = x.astype(np.float64, order=memory_order(xp, x), copy=False)
    size = xp.abs(wide)
    far = size > 1
    out = xp.where(far, 0.0, wide)
    out = xp.asarray(1 - out * powers(_NEAR, out * out))
    if far.any():
        tail = _tail(xp, size[far])
        out[far] = xp.where(wide[far] > 0, tail, 2 - tail)
    return out.astype(x.dtype, copy=False)


def _check_real(function: str, x: Array) -> None:
    if x.dtype.kind == "c":
        raise unsupported_dtype(function, x.dtype, "it takes real tensors. Apply it to x.real.")


class Erf(ElementwiseUnary):
    """the error function"""

    floats: ClassVar[bool] = True
    keeps: ClassVar[int] = X

    def forward(self, xp: Backend, x: Array) -> Array:
        _check_real("erf", x)
        return erf_array(x)

    def slope(self, x: Any, out: Any) -> Any:
        return Exp().on(-(x * x)) * TWO_OVER_ROOT_PI


class Erfc(ElementwiseUnary):
    """1 - erf(x)"""

    floats: ClassVar[bool] = True
    keeps: ClassVar[int] = X

    def forward(self, xp: Backend, x: Array) -> Array:
        _check_real("erfc", x)
        return erfc_array(x)

    def slope(self, x: Any, out: Any) -> Any:
        return Exp().on(-(x * x)) * -TWO_OVER_ROOT_PI


@public("erf", "special.erf", "erf_", method=True)
def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The error function of each element.

    >>> import retrograd as rg
    >>> rg.erf(rg.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8427])
    """
    return deliver(apply1(Erf(), input), out)


@public("erfc", "special.erfc", "erfc_", method=True)
def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`1 - erf(input)`, exact where the difference would cancel."""
    return deliver(apply1(Erfc(), input), out)
