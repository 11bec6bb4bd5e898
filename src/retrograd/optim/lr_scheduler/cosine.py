"""Schedules along a cosine, once or again and again."""

from __future__ import annotations

import math
from typing import Any

from retrograd.optim.lr_scheduler.scheduler import LRScheduler, assign, rates_of
from retrograd.optim.optimizer import Optimizer


class CosineAnnealingLR(LRScheduler):
    """The rate falls along half a cosine, and would rise again after it.

    Args:
        optimizer: whose learning rates are set.
        T_max: how many epochs the fall takes.
        eta_min: the lowest rate.
        last_epoch: the epoch at which to go on; -1 to begin.

    >>> import retrograd as rg
    >>> optimizer = rg.optim.SGD([rg.ones(2, requires_grad=True)], lr=0.8)
    >>> scheduler = rg.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
    >>> for _ in range(2):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> round(scheduler.get_last_lr()[0], 6)
    0.4
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of the groups, as much nearer to the lowest as the cosine is; others may change them too."""
        self._warn_outside_of_step()
        if self._is_initial:
            return self._rates()
        if (self.last_epoch - 1 - self.T_max) % (
            2 * self.T_max
        ) == 0:  # from the lowest point no factor leads up
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            pairs = zip(self._rates(), self.base_lrs, strict=True)
            return [rate + (base - self.eta_min) * rise for rate, base in pairs]
        now, before = (
            1 + math.cos(math.pi * epoch / self.T_max) for epoch in (self.last_epoch, self.last_epoch - 1)
        )
        return [now / before * (rate - self.eta_min) + self.eta_min for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        height = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """The rate falls along half a cosine, starts again from the top, and so on.

    Args:
        optimizer: whose learning rates are set.
        T_0: how many epochs the first fall takes.
        T_mult: how many times longer each fall is than the one before.
        eta_min: the lowest rate.
        last_epoch: the epoch at which to go on; -1 to begin.

    >>> import retrograd as rg
    >>> optimizer = rg.optim.SGD([rg.zeros(1, requires_grad=True)], lr=1.0)
    >>> schedule = rg.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates += schedule.get_last_lr()
    ...     optimizer.step()
    ...     schedule.step()
    >>> rates
    [1.0, 0.5, 1.0, 0.5, 1.0]
    """

    T_i: int

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of the epoch."""
        self._warn_outside_of_step()
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Goes on to the next epoch, or to a given one, which may have a fraction: `epoch + batch / batches`."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            if epoch < 0:
                raise ValueError(f"Expected non-negative epoch, but got {epoch}")
            self._find(epoch)
        self.last_epoch: int = math.floor(epoch)
        with self._during("_get_lr_called_within_step"):
            for group, rate in zip(self.optimizer.param_groups, self.get_lr(), strict=True):
                assign(group, "lr", rate)
        self._last_lr = rates_of(self.optimizer)

    def _update_lr(self, epoch: int | None = None) -> None:
        self.step(epoch)

    def _find(self, epoch: float) -> None:
        """The fall that an epoch is in, and how far it is into it."""
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            falls = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**falls - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**falls
