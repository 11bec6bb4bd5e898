"""Models as functions of their parameters and buffers, which are given apart from them."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.func.modules import functional_call
from retrograd.nn.module import Module
from retrograd.ops.shape.join import stack

Tensors = tuple[Tensor, ...]


class FunctionalModuleWithBuffers(Module):
    """A model that gets its parameters and buffers with each call: `model(params, buffers, x)`."""

    param_names: tuple[str, ...]
    buffer_names: tuple[str, ...]

    def __init__(self, model: Module, param_names: tuple[str, ...], buffer_names: tuple[str, ...]) -> None:
        super().__init__()
        self.stateless_model = model
        self.param_names, self.buffer_names = param_names, buffer_names

    def forward(self, params: Sequence[Tensor], buffers: Sequence[Tensor], *args: Any, **named: Any) -> Any:
        """What the model gives with these."""
        names = (*self.param_names, *self.buffer_names)
        given = dict(zip(names, (*params, *buffers), strict=True))
        return functional_call(self.stateless_model, given, args, named)


class FunctionalModule(FunctionalModuleWithBuffers):
    """A model without buffers that gets its parameters with each call: `model(params, x)`."""

    def forward(self, params: Sequence[Tensor], *args: Any, **named: Any) -> Any:
        """What the model gives with these."""
        return super().forward(params, (), *args, **named)


def _parts(model: Module, untracked: bool) -> tuple[Module, dict[str, Any], dict[str, Any]]:
    """A copy of a model, its parameters and its buffers, by their first names."""
    made = copy.deepcopy(model)
    parameters = dict(made.named_parameters())
    if untracked:
        for parameter in parameters.values():
            parameter.requires_grad_(False)
    return made, parameters, dict(made.named_buffers())


def functional_model(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModule, Tensors]:
    """A function of a model's parameters, and the parameters: what `make_functional` gives."""
    made, parameters, buffers = _parts(model, disable_autograd_tracking)
    if buffers:
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead."
        )
    return FunctionalModule(made, tuple(parameters), ()), tuple(parameters.values())


def functional_model_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, Tensors, Tensors]:
    """A function of a model's parameters and buffers, and those: what `make_functional_with_buffers` gives."""
    made, parameters, buffers = _parts(model, disable_autograd_tracking)
    function = FunctionalModuleWithBuffers(made, tuple(parameters), tuple(buffers))
    return function, tuple(parameters.values()), tuple(buffers.values())


def functional_ensemble(models: Sequence[Module]) -> tuple[FunctionalModuleWithBuffers, Tensors, Tensors]:
    """A function for models of one kind, their parameters stacked, their buffers stacked."""
    if len(models) == 0:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    if len({model.training for model in models}) > 1:
        raise RuntimeError(
            "combine_state_for_ensemble: Expected all models to have the same training/eval mode."
        )
    if len({type(model) for model in models}) > 1:
        raise RuntimeError("combine_state_for_ensemble: Expected all models to be of the same class.")
    functions, parameters, buffers = zip(*map(functional_model_with_buffers, models), strict=True)
    params = tuple(stack(list(column)).detach() for column in zip(*parameters, strict=True))
    return functions[0], params, tuple(stack(list(column)).detach() for column in zip(*buffers, strict=True))
