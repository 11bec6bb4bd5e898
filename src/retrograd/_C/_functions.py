"""Stands for `torch._C._functions`: classes of nodes, by PyTorch's names, and operations that tests put into graphs."""

from __future__ import annotations

from typing import Any

from retrograd.autograd.function import Function
from retrograd.autograd.once import Error, behind_error
from retrograd.core.accumulate import AccumulateGrad
from retrograd.core.modes import is_grad_enabled
from retrograd.core.tensor import Tensor
from retrograd.core.views import CopySlices

__all__ = ["AccumulateGrad", "CopySlices", "DelayedError", "Error", "UndefinedGrad"]


class DelayedError:
    """Puts an error into the graph: `DelayedError("boom", 1)(x)` is x, and a backward through it raises."""

    def __init__(self, message: str, num_inputs: int) -> None:
        self.message = message
        self.num_inputs = num_inputs

    def __call__(self, *inputs: Tensor) -> Any:
        recorded = is_grad_enabled() and any(x.requires_grad for x in inputs)
        made = behind_error(self.message, inputs) if recorded else tuple(x.detach() for x in inputs)
        return made if len(made) != 1 else made[0]


class _WithoutGradient(Function):
    """Copies of tensors whose gradients are undefined."""

    @staticmethod
    def forward(_: Any, *inputs: Any) -> Any:
        made = tuple(x.clone() for x in inputs)
        return made if len(made) != 1 else made[0]

    @staticmethod
    def backward(_: Any, *grads: Any) -> Any:
        return (None,) * len(grads)


class UndefinedGrad:
    """Puts a gap into the graph: `UndefinedGrad()(x)` is x, and what is behind it gets no gradient."""

    def __call__(self, *inputs: Tensor) -> Any:
        return _WithoutGradient.apply(*inputs)
