"""Complex conjugates, and negatives, which share memory with what they are of. See Note [Mirrors]."""

from __future__ import annotations

from typing import Any, ClassVar

from retrograd.backends.base import Backend, stands_for_many
from retrograd.backends.mirror import mirrored
from retrograd.core.apply import apply1
from retrograd.core.families import Linear, View
from retrograd.core.tensor import Tensor
from retrograd.core.variant import variant
from retrograd.ops.common import deliver, require_tensor
from retrograd.ops.register import public
from retrograd.values import Array


class Conj(View):
    """the complex conjugates, of the same memory"""

    def forward(self, xp: Backend, x: Array) -> Array:
        return mirrored(x, True, False)

    def transpose(self, g: Any) -> Any:
        return g.conj()

    def jvp(self, t: Any, x: Any, out: Any) -> Any:
        return t.conj()


class ConjCopy(Linear):
    """the complex conjugates, in memory of their own"""

    node_name = "ConjBackward0"

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.conjugate(x)

    def transpose(self, g: Any) -> Any:
        return g.conj()

    def jvp(self, t: Any, x: Any, out: Any) -> Any:
        return t.conj()


ConjPhysical = variant(ConjCopy, "ConjPhysicalBackward0", "the complex conjugate, computed at once")


class NegView(View):
    """the negatives, of the same memory"""

    copies: ClassVar[bool] = True  # bits of a bfloat16 have no sign

    def forward(self, xp: Backend, x: Array) -> Array:
        return mirrored(x, False, True)

    def transpose(self, g: Any) -> Any:
        return -g


class NegCopy(Linear):
    """the negatives, in memory of their own"""

    node_name = "NegViewBackward0"

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.negative(x)

    def transpose(self, g: Any) -> Any:
        return -g


@public("conj", method=True)
def conj(input: Tensor) -> Tensor:
    """A view of the complex conjugates: what is written into it arrives, conjugated, in `input`. A real tensor itself.

    >>> import retrograd as rg
    >>> z = rg.tensor([1 + 2j, 3j])
    >>> c = z.conj()
    >>> c[0] = 5 + 5j
    >>> c, z
    (tensor([5.+5.j, 0.-3.j]), tensor([5.-5.j, 0.+3.j]))
    """
    if isinstance(input, Tensor) and input.array.dtype.kind != "c":
        return input
    found: Tensor = apply1(_form(input, Conj, ConjCopy), input)
    return found


@public("Tensor._conj")
def _conj(self: Tensor) -> Tensor:
    """`conj` of a complex tensor."""
    return conj(self)


def _form(x: Any, view: Any, copy: Any) -> Any:
    """The op that shares memory; inside of `vmap` the one that copies."""
    return copy() if isinstance(x, Tensor) and stands_for_many(x.array) else view()


@public("conj_physical", method=True)
def conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex conjugate of each element, in memory of its own; a real tensor itself."""
    if isinstance(input, Tensor) and input.array.dtype.kind != "c":
        return deliver(input, out)
    return deliver(apply1(ConjPhysical(), input), out)


@public("_neg_view", "Tensor._neg_view")
def neg_view(self: Tensor) -> Tensor:
    """A view of the negatives: what is written into it arrives with its sign changed."""
    x = require_tensor("_neg_view", "input", 1, self)
    found: Tensor = apply1(_form(x, NegView, NegCopy), x)
    return found


@public("resolve_conj", method=True)
def resolve_conj(input: Tensor) -> Tensor:
    """`input` itself, or a copy if it shows conjugates of what lies in its memory (`input.is_conj()`)."""
    x: Any = require_tensor("resolve_conj", "input", 1, input)
    found: Tensor = x.clone() if x.is_conj() else x
    return found


@public("resolve_neg", method=True)
def resolve_neg(input: Tensor) -> Tensor:
    """`input` itself, or a copy if it shows negatives of what lies in its memory (`input.is_neg()`)."""
    x: Any = require_tensor("resolve_neg", "input", 1, input)
    found: Tensor = x.clone() if x.is_neg() else x
    return found
