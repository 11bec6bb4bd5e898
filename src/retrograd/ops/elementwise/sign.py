"""Absolute value and sign."""

from __future__ import annotations

from typing import Any, ClassVar

from retrograd.backends.base import Backend
from retrograd.backends.dtypes import real_of
from retrograd.core.apply import apply1
from retrograd.core.families import ElementwiseUnary
from retrograd.core.op import OUT, Unary, X
from retrograd.core.tensor import Tensor
from retrograd.errors import unsupported_dtype
from retrograd.ops.common import deliver, plain, zero_like
from retrograd.ops.register import public
from retrograd.values import Array


class Abs(Unary):
    """the absolute value; its slope at 0 is 0"""

    keeps: ClassVar[int] = X

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.absolute(x)

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        return g * Sgn().on(x)

    def jvp(self, t: Any, x: Any, out: Any) -> Any:
        return (t * Sgn().on(x).conj()).real


def _real_sign(x: Array) -> Array:
    """-1, 0 or 1; 0 for NaN, where NumPy says NaN. Booleans stay as they are."""
    if x.dtype.kind == "b":
        return x.copy()
    return (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype)


class Sgn(Unary):
    """x / |x|, and 0 at 0; the sign for real numbers"""

    keeps: ClassVar[int] = X | OUT

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.sign(x) if x.dtype.kind == "c" else _real_sign(x)

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        if self.out_dtype.kind != "c":
            return zero_like(g)
        # The part of g along the circle, divided by the radius; nothing at the origin.
        safe = Abs().on(x) + (plain(x) == 0).astype(real_of(plain(x).dtype))
        return (g / safe - (out * (g * out.conj()).real) / safe) * (plain(x) != 0).astype(
            real_of(plain(x).dtype)
        )

    def jvp(self, t: Any, x: Any, out: Any) -> Any:
        return self.vjp(t, x, out)


class Sign(ElementwiseUnary):
    """-1, 0 or 1"""

    def forward(self, xp: Backend, x: Array) -> Array:
        if x.dtype.kind == "c":
            raise NotImplementedError(
                "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead, "
                "which gives x / |x|."
            )
        return _real_sign(x)

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        return zero_like(g)

    def slope(self, x: Any, out: Any) -> Any:
        return 0.0


@public("sgn", "Tensor.sgn_", method=True)
def sgn(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """X / |x|, and 0 at 0, for each element.

    >>> import retrograd as rg
    >>> rg.sgn(rg.tensor([3 + 4j, 0]))
    tensor([0.6000+0.8000j, 0.0000+0.0000j])
    """
    return deliver(apply1(Sgn(), input), out)


@public("sign", "Tensor.sign_", method=True)
def sign(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """-1, 0 or 1 by the sign, for each element."""
    return deliver(apply1(Sign(), input), out)


@public("abs", "absolute", method=True)
def abs(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The absolute value of each element."""
    if isinstance(input, Tensor) and input.array.dtype.kind == "b":
        raise unsupported_dtype("abs_cpu", input.array.dtype, "booleans are never negative.")
    return deliver(apply1(Abs(), input), out)
