"""Averages of parameters: the schedule for averaging weights, and the functions that average."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from retrograd.autograd.modes import no_grad
from retrograd.core.tensor import Tensor
from retrograd.optim.lr_scheduler.scheduler import LRScheduler, for_each_group
from retrograd.optim.optimizer import Optimizer

Average: TypeAlias = "Callable[[Tensor, Tensor, Any], Tensor]"
MultiAverage: TypeAlias = "Callable[[Sequence[Tensor], Sequence[Tensor], Any], None]"


def _check_decay(decay: float) -> None:
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """A function that moves an average towards a value: `ema_update(average, value, count)` gives the new average.

    >>> import retrograd as rg
    >>> update = rg.optim.swa_utils.get_ema_avg_fn(0.75)
    >>> update(rg.tensor([0.0, 4.0]), rg.tensor([4.0, 4.0]), 3)
    tensor([1., 4.])
    """
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Average:
    """A function that adds a value to the mean of `count` values: `swa_update(mean, value, count)` gives the new mean.

    >>> import retrograd as rg
    >>> rg.optim.swa_utils.get_swa_avg_fn()(rg.tensor([0.0, 4.0]), rg.tensor([4.0, 4.0]), 3)
    tensor([1., 4.])
    """

    @no_grad()
    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        mean: Tensor = averaged_param + (current_param - averaged_param) / (num_averaged + 1)
        return mean

    return swa_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> MultiAverage:
    """A function that moves several averages towards values, in place."""
    _check_decay(decay)

    @no_grad()
    def ema_update(
        ema_param_list: Sequence[Tensor], current_param_list: Sequence[Tensor], num_averaged: Any
    ) -> None:
        for average, value in zip(ema_param_list, current_param_list, strict=True):
            if average.is_floating_point() or average.is_complex():
                average.lerp_(value, 1 - decay)
            else:
                average.copy_(average * decay + value * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> MultiAverage:
    """A function that adds values to the means of `count` values, in place."""

    @no_grad()
    def swa_update(
        averaged_param_list: Sequence[Tensor], current_param_list: Sequence[Tensor], num_averaged: Any
    ) -> None:
        for average, value in zip(averaged_param_list, current_param_list, strict=True):
            if average.is_floating_point() or average.is_complex():
                average.lerp_(value, 1 / (num_averaged + 1))
            else:
                average.copy_(average + (value - average) / (num_averaged + 1))

    return swa_update


class SWALR(LRScheduler):
    """The rate goes to the one at which weights are averaged, and stays there.

    Args:
        optimizer: whose learning rates are set.
        swa_lr: the rate to go to, or a list with one for each group.
        anneal_epochs: how many epochs it takes.
        anneal_strategy: "cos" or "linear".
        last_epoch: the epoch at which to go on; -1 to begin.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        for group, rate in zip(
            optimizer.param_groups, for_each_group(swa_lr, optimizer, "swa_lr"), strict=True
        ):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._anneal_strategy = anneal_strategy
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _share(self, epoch: int) -> float:
        """How much of the way to the new rate an epoch has gone."""
        done = max(0.0, min(1.0, epoch / max(1, self.anneal_epochs)))
        return done if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * done)) / 2

    def get_lr(self) -> list[Any]:
        """The rates of the groups, nearer to the new one by this epoch's part of the way."""
        self._warn_outside_of_step()
        epoch = max(1, self.last_epoch) if self.anneal_epochs == 0 else self.last_epoch
        before, now = self._share(epoch - 1), self._share(epoch)
        rates = []
        for group in self.optimizer.param_groups:
            goal, rate = group["swa_lr"], group["lr"]
            start = goal if before == 1 else (rate - goal * before) / (1 - before)
            rates.append(goal * now + start * (1 - now))
        return rates
