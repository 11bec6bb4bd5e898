"""Schedules that multiply the learning rate: by a function, at milestones, by a constant, along a line or a power."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any, TypeAlias

from retrograd.optim.lr_scheduler.scheduler import LRScheduler
from retrograd.optim.optimizer import Optimizer, StateDict

Lambdas: TypeAlias = "Callable[[int], float] | list[Callable[[int], float]]"


class _FunctionSchedule(LRScheduler):
    """A schedule by functions of the epoch. Functions are no part of a state dict; objects that are called are."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Lambdas, last_epoch: int = -1) -> None:
        self.optimizer = optimizer
        groups = len(getattr(optimizer, "param_groups", ()))
        if isinstance(lr_lambda, (list, tuple)):
            if len(lr_lambda) != groups:
                raise ValueError(f"Expected {groups} lr_lambdas, but got {len(lr_lambda)}")
            self.lr_lambdas: list[Any] = list(lr_lambda)
        else:
            self.lr_lambdas = [lr_lambda] * groups
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> StateDict:
        """What `load_state_dict` needs; of the functions, the attributes of those that are objects."""
        state = {name: value for name, value in super().state_dict().items() if name != "lr_lambdas"}
        state["lr_lambdas"] = [
            None if isinstance(function, FunctionType) else function.__dict__.copy()
            for function in self.lr_lambdas
        ]
        return state

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Goes on where the schedule that gave `state_dict` was, with the functions there are."""
        super().load_state_dict({name: value for name, value in state_dict.items() if name != "lr_lambdas"})
        for function, saved in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            if saved is not None:
                function.__dict__.update(saved)


class LambdaLR(_FunctionSchedule):
    """The first rate times a function of the epoch.

    Args:
        optimizer: whose learning rates are set.
        lr_lambda: gives the factor of an epoch; or a list of functions, one for each group.
        last_epoch: the epoch at which to go on; -1 to begin.

    >>> import retrograd as rg
    >>> optimizer = rg.optim.SGD([rg.ones(2, requires_grad=True)], lr=0.8)
    >>> scheduler = rg.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1 / (1 + epoch))
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.4]
    """

    def get_lr(self) -> list[Any]:
        """The first rates times the factors of the epoch."""
        self._warn_outside_of_step()
        return [base * f(self.last_epoch) for f, base in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(_FunctionSchedule):
    """The last rate times a function of the epoch.

    Args:
        optimizer: whose learning rates are set.
        lr_lambda: gives the factor of an epoch; or a list of functions, one for each group.
        last_epoch: the epoch at which to go on; -1 to begin.

    >>> import retrograd as rg
    >>> optimizer = rg.optim.SGD([rg.zeros(1, requires_grad=True)], lr=1.0)
    >>> schedule = rg.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.5)
    >>> rates = []
    >>> for _ in range(3):
    ...     rates += schedule.get_last_lr()
    ...     optimizer.step()
    ...     schedule.step()
    >>> rates
    [1.0, 0.5, 0.25]
    """

    def get_lr(self) -> list[Any]:
        """The rates of the groups times the factors of the epoch."""
        self._warn_outside_of_step()
        if self._is_initial:
            return self._rates()
        return [rate * f(self.last_epoch) for f, rate in zip(self.lr_lambdas, self._rates(), strict=True)]


class StepLR(LRScheduler):
    """The rate times `gamma` after every `step_size` epochs.

    Args:
        optimizer: whose learning rates are set.
        step_size: how many epochs a rate lasts.
        gamma: the factor.
        last_epoch: the epoch at which to go on; -1 to begin.

    >>> import retrograd as rg
    >>> optimizer = rg.optim.SGD([rg.zeros(1, requires_grad=True)], lr=1.0)
    >>> schedule = rg.optim.lr_scheduler.StepLR(optimizer, step_size=2)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates += schedule.get_last_lr()
    ...     optimizer.step()
    ...     schedule.step()
    >>> rates
    [1.0, 1.0, 0.1, 0.1]
    """

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of the groups, times gamma where a period ends."""
        self._warn_outside_of_step()
        if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
            return self._rates()
        return [rate * self.gamma for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """The rate times `gamma` at each of some epochs.

    Args:
        optimizer: whose learning rates are set.
        milestones: the epochs; one that is there twice counts twice.
        gamma: the factor.
        last_epoch: the epoch at which to go on; -1 to begin.

    >>> import retrograd as rg
    >>> optimizer = rg.optim.SGD([rg.zeros(1, requires_grad=True)], lr=1.0)
    >>> schedule = rg.optim.lr_scheduler.MultiStepLR(optimizer, [1, 3], gamma=0.5)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates += schedule.get_last_lr()
    ...     optimizer.step()
    ...     schedule.step()
    >>> rates
    [1.0, 0.5, 0.5, 0.25]
    """

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones: Counter[int] = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of the groups, times gamma at a milestone."""
        self._warn_outside_of_step()
        if self.last_epoch not in self.milestones:
            return self._rates()
        return [rate * self.gamma ** self.milestones[self.last_epoch] for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma**passed for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """The rate times a factor for the first epochs, and then itself.

    Args:
        optimizer: whose learning rates are set.
        factor: from 0 to 1.
        total_iters: how many epochs the factor lasts.
        last_epoch: the epoch at which to go on; -1 to begin.

    >>> import retrograd as rg
    >>> optimizer = rg.optim.SGD([rg.zeros(1, requires_grad=True)], lr=1.0)
    >>> schedule = rg.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates += schedule.get_last_lr()
    ...     optimizer.step()
    ...     schedule.step()
    >>> rates
    [0.5, 0.5, 1.0, 1.0]
    """

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of the groups, with the factor from the first epoch to the last of its time."""
        self._warn_outside_of_step()
        if self.last_epoch == 0:
            return [rate * self.factor for rate in self._rates()]
        if self.last_epoch != self.total_iters:
            return self._rates()
        return [rate * (1.0 / self.factor) for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        factor = self.factor + (self.last_epoch >= self.total_iters) * (1 - self.factor)
        return [base * factor for base in self.base_lrs]


class LinearLR(LRScheduler):
    """The rate times a factor that goes along a line: a warm-up.

    Args:
        optimizer: whose learning rates are set.
        start_factor: the factor of the first epoch, above 0 and at most 1.
        end_factor: the factor at the end, from 0 to 1.
        total_iters: how many epochs lie between.
        last_epoch: the epoch at which to go on; -1 to begin.

    >>> import retrograd as rg
    >>> optimizer = rg.optim.SGD([rg.zeros(1, requires_grad=True)], lr=1.0)
    >>> schedule = rg.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.25, total_iters=3)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates += schedule.get_last_lr()
    ...     optimizer.step()
    ...     schedule.step()
    >>> rates
    [0.25, 0.5, 0.75, 1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError(
                "Starting multiplicative factor expected to be greater than 0 and less or equal to 1."
            )
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of the groups, times how much the factor has grown since the last epoch."""
        self._warn_outside_of_step()
        if self.last_epoch == 0:
            return [rate * self.start_factor for rate in self._rates()]
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._rates()
        rise = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * rise
        return [rate * (1.0 + rise / before) for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        done = min(self.total_iters, self.last_epoch) / self.total_iters
        factor = self.start_factor + (self.end_factor - self.start_factor) * done
        return [base * factor for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """The rate times `gamma` after each epoch.

    Args:
        optimizer: whose learning rates are set.
        gamma: the factor.
        last_epoch: the epoch at which to go on; -1 to begin.

    >>> import retrograd as rg
    >>> optimizer = rg.optim.SGD([rg.zeros(1, requires_grad=True)], lr=1.0)
    >>> schedule = rg.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates += schedule.get_last_lr()
    ...     optimizer.step()
    ...     schedule.step()
    >>> rates
    [1.0, 0.5, 0.25, 0.125]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of the groups, times gamma."""
        self._warn_outside_of_step()
        if self._is_initial:
            return self._rates()
        return [rate * self.gamma for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """The rate falls to 0 along a power of the epochs that are left.

    Args:
        optimizer: whose learning rates are set.
        total_iters: how many epochs it takes.
        power: of the polynomial.
        last_epoch: the epoch at which to go on; -1 to begin.

    >>> import retrograd as rg
    >>> optimizer = rg.optim.SGD([rg.zeros(1, requires_grad=True)], lr=1.0)
    >>> schedule = rg.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates += schedule.get_last_lr()
    ...     optimizer.step()
    ...     schedule.step()
    >>> rates
    [1.0, 0.75, 0.5, 0.25, 0.0]
    """

    def __init__(
        self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1
    ) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of the groups, times how much the polynomial has fallen since the last epoch."""
        self._warn_outside_of_step()
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._rates()
        now, before = (1.0 - epoch / self.total_iters for epoch in (self.last_epoch, self.last_epoch - 1))
        return [rate * (now / before) ** self.power for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        left = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * left**self.power for base in self.base_lrs]
