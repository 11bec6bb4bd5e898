"""When ranks average their parameters."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any

from retrograd.distributed.algorithms.model_averaging.utils import (
    Params,
    average_parameters_or_parameter_groups,
)
from retrograd.distributed.groups import default_group


class ModelAverager(ABC):
    """Is called after each step, which it counts in `step`, and averages in some of them."""

    def __init__(self, process_group: Any = None) -> None:
        self.process_group: Any = process_group or default_group()
        self.step = 0

    @abstractmethod
    def average_parameters(self, params: Params) -> None:
        """Averages parameters, or those of an optimiser's groups, if it is time."""


class PeriodicModelAverager(ModelAverager):
    """Averages the parameters of all ranks every `period` steps, after the first `warmup_steps`.

    >>> import retrograd as rg
    >>> rg.distributed.init_process_group()
    >>> averager = PeriodicModelAverager(period=4, warmup_steps=100)
    >>> averager.average_parameters(rg.nn.Linear(2, 1).parameters())
    >>> averager.step
    1
    >>> rg.distributed.destroy_process_group()
    """

    def __init__(self, period: int, warmup_steps: int = 0, process_group: Any = None) -> None:
        super().__init__(process_group)
        self.warmup_steps: int = checked_warmup(warmup_steps)
        self.period: int = checked_period(period)

    def average_parameters(self, params: Params) -> None:
        steps = self.step - self.warmup_steps
        if steps >= 0 and steps % self.period == 0:
            average_parameters_or_parameter_groups(params, self.process_group)
        self.step += 1


def checked_warmup(steps: int) -> int:
    """A number of steps before the first average."""
    if steps < 0:
        raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
    return steps


def checked_period(period: int) -> int:
    """A number of steps from one average to the next."""
    if period <= 0:
        raise ValueError("Arg ``period`` must be a positive value.")
    if period == 1:
        warnings.warn(
            "When period is 1, no need to use model averaging because the communication cost of all-reducing "
            "parameters will be no less than the cost of all-reducing gradients by DistributedDataParallel in every "
            "step. Leave the averager out.",
            stacklevel=3,
        )
    return period
