"""`torch._functorch.make_functional`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrograd.functorch.models import (
    FunctionalModule,
    FunctionalModuleWithBuffers,
    functional_ensemble,
    functional_model,
    functional_model_with_buffers,
)

__all__ = [
    "FunctionalModule",
    "FunctionalModuleWithBuffers",
    "combine_state_for_ensemble",
    "functional_init",
    "functional_init_with_buffers",
    "make_functional",
    "make_functional_with_buffers",
]

make_functional = functional_model
make_functional_with_buffers = functional_model_with_buffers
combine_state_for_ensemble = functional_ensemble


def functional_init(
    model_class: Callable[..., Any], ensemble_shape: tuple[int, ...] = (), device: Any = "cpu"
) -> Callable[..., Any]:
    """What makes a model as a function: its parameters, the function, their names; or those of several models.

    The function takes parameters and a tuple of inputs.
    """

    def make(*args: Any, **named: Any) -> Any:
        function, params, buffers = _functional(model_class, ensemble_shape, device, args, named)
        if buffers:
            raise RuntimeError(
                "functional_init: the model has buffers. Please use functional_init_with_buffers instead."
            )
        return params, lambda params, inputs: function(params, (), *inputs), function.param_names

    return make


def functional_init_with_buffers(
    model_class: Callable[..., Any], ensemble_shape: tuple[int, ...] = (), device: Any = "cpu"
) -> Callable[..., Any]:
    """The same with buffers: parameters, buffers, the function, the names of both."""

    def make(*args: Any, **named: Any) -> Any:
        function, params, buffers = _functional(model_class, ensemble_shape, device, args, named)
        call = lambda params, buffers, inputs: function(params, buffers, *inputs)  # noqa: E731
        return params, buffers, call, function.param_names, function.buffer_names

    return make


def _functional(model_class: Any, shape: tuple[int, ...], device: Any, args: Any, named: Any) -> Any:
    """The function, the parameters and the buffers of the models that are asked for: one, or those of an ensemble."""
    if len(shape) > 1:
        raise ValueError("NYI: ensemble_shape with more than 1 element")
    if shape and shape[0] <= 0:
        raise ValueError(f"num_models {shape[0]} should be > 0")
    models = [model_class(*args, **named).to(device) for _ in range(shape[0] if shape else 1)]
    return functional_ensemble(models) if shape else functional_model_with_buffers(models[0])
