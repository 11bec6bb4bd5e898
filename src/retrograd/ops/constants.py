"""Inputs of an op that have no derivative: class weights, targets, running statistics."""

from __future__ import annotations

from typing import Any, ClassVar

from retrograd.core.op import Op, Variadic, X
from retrograd.core.saved import constant_of
from retrograd.core.tensor import Tensor
from retrograd.errors import GradientError


class WithConstants(Variadic):
    """An op whose inputs from number `tracked` on have no derivative, but are saved."""

    tracked: ClassVar[int] = 1
    keeps: ClassVar[int] = X


def share_version(op: Op, result: Tensor) -> None:
    """Has an op notice that the caller overwrites a result which is its first constant, too."""
    if op.constants is not None and op.constants[0].counter is None:  # hooks may have packed it
        op.constants = (constant_of(result), *op.constants[1:])


def constant(function: str, argument: str, value: Any) -> Any:
    """A weight, if it does not ask for a gradient that there is none of."""
    if isinstance(value, Tensor) and value.requires_grad:
        raise GradientError(
            f"The function '{function}' is not differentiable with respect to argument '{argument}'. This input cannot "
            "have requires_grad True: detach() it."
        )
    return value
