# ruff: noqa: N999 - the name is PyTorch's
"""An optimiser whose ranks average their parameters now and then."""

from __future__ import annotations

import warnings
from typing import Any

from retrograd.distributed.algorithms.model_averaging.averagers import ModelAverager
from retrograd.optim.optimizer import Optimizer


class PostLocalSGDOptimizer(Optimizer):
    """Steps as `optim` does, and has `averager` average the parameters after each step.

    Give the model `ddp_comm_hooks.post_localSGD_hook`, which averages gradients over all ranks while the averager warms
    up, and over neighbours later.
    """

    def __init__(self, optim: Optimizer, averager: ModelAverager) -> None:
        self.optim = optim
        self.averager = averager
        self.param_groups: Any = optim.param_groups

    @property
    def state(self) -> Any:  # type: ignore[override]
        """The state of the optimiser."""
        return self.optim.state

    def __repr__(self) -> str:
        return repr(self.optim)

    def state_dict(self) -> dict[str, Any]:
        """The optimiser's state, and the step of the averager."""
        return {**self.optim.state_dict(), "step": self.averager.step}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes a state of `state_dict`."""
        self.optim.load_state_dict(state_dict)
        self.param_groups = self.optim.param_groups
        if "step" not in state_dict:
            warnings.warn(
                "Loaded state dict does not contain a step counter for an averager. Setting step counter to 0.",
                stacklevel=2,
            )
        self.averager.step = state_dict.get("step", 0)

    def step(self) -> None:  # type: ignore[override]
        """A step of the optimiser, then the averager's."""
        self.optim.step()
        self.averager.average_parameters(params=self.param_groups)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets gradients."""
        self.optim.zero_grad(set_to_none=set_to_none)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds parameters to the optimiser."""
        self.optim.add_param_group(param_group)
