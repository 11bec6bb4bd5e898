"""The older weight norm, which a forward pre-hook computes; `parametrizations.weight_norm` is the newer one."""

from __future__ import annotations

from typing import Any, TypeVar

from retrograd.core.places import warn
from retrograd.nn.module import Module
from retrograd.nn.parameter import Parameter, is_lazy
from retrograd.ops.linalg.distance import norm_except_dim
from retrograd.ops.linalg.weight_norm import _weight_norm

M = TypeVar("M", bound=Module)


class WeightNorm:
    """The hook: makes `weight` of `weight_g` and `weight_v`."""

    def __init__(self, name: str, dim: int) -> None:
        self.name = name
        self.dim = dim

    def compute_weight(self, module: Module) -> Any:
        """The weight: the direction, as long as it is to be."""
        g, v = getattr(module, self.name + "_g"), getattr(module, self.name + "_v")
        return _weight_norm(v, g, self.dim)

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Makes a weight of a module a direction, `weight_v`, and a length, `weight_g`. Deprecated.

    Args:
        module: whose weight it is.
        name: its name.
        dim: along which the lengths differ; None for one length.
    """
    warn(
        "`torch.nn.utils.weight_norm` is deprecated in favor of "
        "`torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
    )
    for hook in module._forward_pre_hooks.values():
        if isinstance(hook, WeightNorm) and hook.name == name:
            raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
    made = WeightNorm(name, -1 if dim is None else dim)
    weight = getattr(module, name)
    if is_lazy(weight):
        raise ValueError(
            "The module passed to `WeightNorm` can't have uninitialized parameters. Call it with a sample batch "
            "first, so that its weight has a shape."
        )
    del module._parameters[name]
    module.register_parameter(name + "_g", Parameter(norm_except_dim(weight, 2, made.dim).detach()))
    module.register_parameter(name + "_v", Parameter(weight.detach()))
    setattr(module, name, made.compute_weight(module))
    module.register_forward_pre_hook(made)
    return module


def remove_weight_norm(module: M, name: str = "weight") -> M:
    """Makes the weight an ordinary parameter again."""
    for number, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            weight = hook.compute_weight(module)
            delattr(module, name)
            del module._parameters[name + "_g"], module._parameters[name + "_v"]
            setattr(module, name, Parameter(weight.detach()))
            del module._forward_pre_hooks[number]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
