"""Stands for `torch._C._functions`: classes of nodes, by PyTorch's names, and operations that tests put into graphs."""

from __future__ import annotations

from typing import Any

from retrograd.autograd.function import Function
from retrograd.core.accumulate import AccumulateGrad
from retrograd.core.tensor import Tensor
from retrograd.core.views import CopySlices

__all__ = ["AccumulateGrad", "CopySlices", "DelayedError", "UndefinedGrad"]


def _copies(inputs: tuple[Any, ...]) -> Any:
    """A copy of each tensor; alone if there is one."""
    made = tuple(x.clone() for x in inputs)
    return made if len(made) != 1 else made[0]


class Error(Function):
    """Copies of tensors whose backward raises."""

    @staticmethod
    def forward(ctx: Any, message: str, *inputs: Any) -> Any:
        ctx.message = message
        return _copies(inputs)

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        raise RuntimeError(ctx.message)


class DelayedError:
    """Puts an error into the graph: `DelayedError("boom", 1)(x)` is x, and a backward through it raises."""

    def __init__(self, message: str, num_inputs: int) -> None:
        self.message = message
        self.num_inputs = num_inputs

    def __call__(self, *inputs: Tensor) -> Any:
        return Error.apply(self.message, *inputs)


class _WithoutGradient(Function):
    """Copies of tensors whose gradients are undefined."""

    @staticmethod
    def forward(_: Any, *inputs: Any) -> Any:
        return _copies(inputs)

    @staticmethod
    def backward(_: Any, *grads: Any) -> Any:
        return (None,) * len(grads)


class UndefinedGrad:
    """Puts a gap into the graph: `UndefinedGrad()(x)` is x, and what is behind it gets no gradient."""

    def __call__(self, *inputs: Tensor) -> Any:
        return _WithoutGradient.apply(*inputs)
