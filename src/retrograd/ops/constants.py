"""Inputs of an op that have no derivative: class weights, targets, running statistics."""

from __future__ import annotations

from typing import Any, ClassVar

from retrograd.core.op import Variadic, X
from retrograd.core.tensor import Tensor
from retrograd.errors import GradientError


class WithConstants(Variadic):
    """An op whose inputs from number `tracked` on have no derivative, but are saved."""

    tracked: ClassVar[int] = 1
    keeps: ClassVar[int] = X


def constant(function: str, argument: str, value: Any) -> Any:
    """A weight, if it does not ask for a gradient that there is none of."""
    if isinstance(value, Tensor) and value.requires_grad:
        raise GradientError(
            f"The function '{function}' is not differentiable with respect to argument '{argument}'. This input cannot "
            "have requires_grad True: detach() it."
        )
    return value
