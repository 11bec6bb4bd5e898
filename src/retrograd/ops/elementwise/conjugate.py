"""Complex conjugates."""

from __future__ import annotations

from typing import Any

from retrograd.backends.base import Backend
from retrograd.core.apply import apply1
from retrograd.core.op import Linear
from retrograd.core.tensor import Tensor
from retrograd.core.variant import variant
from retrograd.ops.common import deliver
from retrograd.ops.register import public
from retrograd.values import Array


class Conj(Linear):
    """the complex conjugate"""

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.conjugate(x)

    def transpose(self, g: Any) -> Any:
        return g.conj()

    def jvp(self, t: Any, x: Any, out: Any) -> Any:
        return t.conj()


ConjPhysical = variant(Conj, "ConjPhysicalBackward0", "the complex conjugate, computed at once")


@public("conj", method=True)
def conj(input: Tensor) -> Tensor:
    """The complex conjugate of each element; a real tensor itself."""
    if isinstance(input, Tensor) and input.array.dtype.kind != "c":
        return input
    found: Tensor = apply1(Conj(), input)
    return found


@public("conj_physical", method=True)
def conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex conjugate of each element."""
    if isinstance(input, Tensor) and input.array.dtype.kind == "c":
        return deliver(apply1(ConjPhysical(), input), out)
    return deliver(conj(input), out)


@public("resolve_conj", method=True)
def resolve_conj(input: Tensor) -> Tensor:
    """`input` itself: conjugation is never left pending here."""
    return input
