"""Inputs of an op that have no derivative: class weights, targets, running statistics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from retrograd.core.node import Edge
from retrograd.core.op import Variadic, X
from retrograd.core.tensor import Tensor
from retrograd.errors import GradientError


class WithConstants(Variadic):
    """An op whose inputs from number `tracked` on have no derivative: they are saved, but have no edge."""

    tracked: ClassVar[int] = 1
    keeps: ClassVar[int] = X

    def set_next_edges(self, edges: Sequence[Edge]) -> None:
        super().set_next_edges(edges[: self.tracked])

    def edge(self, i: int) -> Edge:
        return super().edge(i) if i < self.tracked else Edge(None, 0)


def constant(function: str, argument: str, value: Any) -> Any:
    """A weight, if it does not ask for a gradient that there is none of."""
    if isinstance(value, Tensor) and value.requires_grad:
        raise GradientError(
            f"The function '{function}' is not differentiable with respect to argument '{argument}'. This input cannot "
            "have requires_grad True: detach() it."
        )
    return value
