"""Values that change with x in steps only: their gradient is zero, which is not the same as having none."""

from __future__ import annotations

from typing import Any, ClassVar

from retrograd.backends.base import Backend
from retrograd.core.apply import apply2
from retrograd.core.op import Binary, Op
from retrograd.core.tensor import Tensor
from retrograd.ops.common import zero_like
from retrograd.values import Array


class Tied(Binary):
    """the first operand, on which the second, of its shape, has an influence that is flat"""

    params: ClassVar[tuple[str, ...]] = ("label",)

    def __init__(self, label: str) -> None:
        self.label = label

    def name(self) -> str:
        return self.label

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        return x

    def vjp(self, i: int, g: Any, x: Any, y: Any, out: Any) -> Any:
        return g if i == 0 else zero_like(g)

    def jvp(self, tx: Any, ty: Any, x: Any, y: Any, out: Any) -> Any:
        return zero_like(ty) if tx is None else tx


def tied(value: Any, x: Any, op: Op, stem: str = "") -> Any:
    """`value`, a gradient that `op` computed: where it is recorded it depends on `x`, with slope 0.

    The node is called as PyTorch calls it, `LeakyReluBackwardBackward0`; `stem` is for a name that is not the op's.
    """
    if not isinstance(value, Tensor) or not isinstance(x, Tensor) or not x.requires_grad:
        return value
    return apply2(Tied(f"{stem or op.operation()}BackwardBackward0"), value, x)
