"""Names of PyTorch's file `torch/optim/optimizer.py` that copies of its optimisers import."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from retrograd.autograd.modes import set_grad_enabled
from retrograd.backends.dtypes import get_default_dtype
from retrograd.core.tensor import Tensor
from retrograd.ops.elementwise.complex_numbers import view_as_real
from retrograd.optim.optimizer import Params

params_t = Params
# Paragraphs that such optimisers add to their docstrings.
_params_doc = "params: the parameters, or groups of them."
_foreach_doc = "foreach (bool, optional): without an effect."
_fused_doc = "fused (bool, optional): without an effect."
_maximize_doc = "maximize (bool, optional): climb instead of descending."
_capturable_doc = "capturable (bool, optional): without an effect."
_differentiable_doc = "differentiable (bool, optional): whether gradients can go through a step."


def _use_grad_for_differentiable(func: Callable[..., Any]) -> Callable[..., Any]:
    """A `step` that is recorded if the optimiser's default `differentiable` is true, and not otherwise."""

    @functools.wraps(func)
    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        with set_grad_enabled(bool(self.defaults.get("differentiable", False))):
            return func(self, *args, **kwargs)

    return step


def _disable_dynamo_if_unsupported(single_tensor_fn: Any = None) -> Callable[[Any], Any]:
    """A decorator that changes nothing: nothing is compiled here."""
    return lambda func: func


def _default_to_fused_or_foreach(
    params: Any, differentiable: bool, use_fused: bool = False
) -> tuple[bool, bool]:
    """Whether to take steps by fused kernels, and by functions on lists: one parameter after the other is as fast."""
    return False, False


def _get_value(x: Any) -> Any:
    """The number in a tensor."""
    return x.item() if isinstance(x, Tensor) else x


def _stack_if_compiling(x: Any) -> Any:
    """The numbers as they are."""
    return x


def _dispatch_sqrt(x: Any) -> Any:
    """The root of a number or a tensor."""
    return x.sqrt() if isinstance(x, Tensor) else x**0.5


def _to_scalar(x: Any) -> Any:
    """A tensor of one element without dimensions; anything else as it is."""
    return x.squeeze() if isinstance(x, Tensor) and x.dim() != 0 else x


def _get_scalar_dtype(is_fused: bool | None = None) -> Any:
    """The dtype that counts steps."""
    return get_default_dtype()


def _view_as_real(params: Any, *states: Any) -> None:
    """Puts real views in the place of complex tensors, in lists of parameters and of their state."""
    for i, p in enumerate(params):
        if p.is_complex():
            params[i] = view_as_real(p)
            for state in states:
                state[i] = view_as_real(state[i])
