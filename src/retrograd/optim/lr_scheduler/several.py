"""Several schedules for one optimiser: all at once, or one after the other."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from retrograd.optim.lr_scheduler.plateau import ReduceLROnPlateau
from retrograd.optim.lr_scheduler.scheduler import LRScheduler, assign, check_optimizer, rates_of
from retrograd.optim.optimizer import Optimizer, StateDict


def _check(name: str, schedulers: Sequence[Any], optimizer: Optimizer) -> None:
    """Refuses schedules of other optimisers, and those whose `step` needs a number."""
    for i, scheduler in enumerate(schedulers):
        if not hasattr(scheduler, "optimizer"):
            raise TypeError(f"{name} at index {i} should have `optimizer` as its attribute.")
        if isinstance(scheduler, ReduceLROnPlateau):
            raise ValueError(
                f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be "
                f"specified when calling `step`, but got one at index {i} in the given schedulers sequence."
            )
        if scheduler.optimizer is not optimizer:
            raise ValueError(
                f"{name} expects all schedulers to belong to the same optimizer, but got scheduler "
                f"{type(scheduler).__name__} at index {i} has another one: {scheduler.optimizer}"
            )


class _Several(LRScheduler):
    """What the two have in common: a state dict with those of their schedules in it."""

    _schedulers: list[Any]

    def state_dict(self) -> StateDict:
        """What `load_state_dict` needs, with the state dicts of the schedules."""
        state = super().state_dict()
        del state["_schedulers"]
        state["_schedulers"] = [scheduler.state_dict() for scheduler in self._schedulers]
        return state

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Goes on where the schedules that gave `state_dict` were."""
        super().load_state_dict({name: value for name, value in state_dict.items() if name != "_schedulers"})
        for scheduler, saved in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(saved)


class SequentialLR(_Several):
    """One schedule after the other.

    Args:
        optimizer: whose learning rates are set.
        schedulers: the schedules, in their order.
        milestones: the epochs at which all but the first begin.
        last_epoch: the epoch at which to go on; -1 to begin.

    >>> import retrograd as rg
    >>> schedule = rg.optim.lr_scheduler
    >>> optimizer = rg.optim.SGD([rg.ones(2, requires_grad=True)], lr=0.8)
    >>> warm = schedule.ConstantLR(optimizer, factor=0.5, total_iters=2)
    >>> fall = schedule.ExponentialLR(optimizer, gamma=0.5)
    >>> scheduler = schedule.SequentialLR(optimizer, [warm, fall], milestones=[2])
    >>> rates = []
    >>> for _ in range(4):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [0.4, 0.4, 0.8, 0.4]
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1
    ) -> None:
        if len(schedulers) < 1:
            raise ValueError("SequentialLR expects at least one scheduler, but got no scheduler.")
        _check("SequentialLR", schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                f"milestone points, but got number of schedulers {len(schedulers)} and the number of milestones to be "
                f"equal to {len(milestones)}"
            )
        self._schedulers = list(schedulers)
        self._milestones = milestones
        self.last_epoch: int = last_epoch
        self.optimizer: Optimizer = check_optimizer(optimizer)
        # Each has set the rates of its own beginning: take that back, and begin with the first.
        for group in optimizer.param_groups:
            assign(group, "lr", group["initial_lr"])
        for scheduler in self._schedulers:
            _take_back(scheduler)
        self._initial_step()

    def _initial_step(self) -> None:
        self.last_epoch += 1
        self._schedulers[0]._initial_step()
        self._last_lr = self._schedulers[0].get_last_lr()

    def recursive_undo(self, sched: Any = None) -> None:
        """Takes back the first step of a schedule, and of those that it is made of."""
        _take_back(self if sched is None else sched)

    def step(self) -> None:  # type: ignore[override]
        """Goes on to the next epoch of the schedule whose turn it is."""
        self.last_epoch += 1
        turn = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[turn]
        if turn > 0 and self._milestones[turn - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


def _take_back(scheduler: Any) -> None:
    for part in getattr(scheduler, "_schedulers", ()):
        _take_back(part)
    if hasattr(scheduler, "last_epoch"):
        scheduler.last_epoch -= 1


class ChainedScheduler(_Several):
    """Several schedules at once, each of which multiplies the rate.

    Args:
        schedulers: the schedules, all of one optimiser.
        optimizer: that optimiser; by default the one of the first schedule.
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        if len(schedulers) < 1:
            raise ValueError(
                "ChainedScheduler expects at least one scheduler to be chained, but got no scheduler."
            )
        optimizer = optimizer or schedulers[0].optimizer
        _check("ChainedScheduler", schedulers, optimizer)
        self._schedulers = list(schedulers)
        self.optimizer = optimizer
        self._last_lr = rates_of(optimizer)

    def step(self) -> None:  # type: ignore[override]
        """Goes on to the next epoch of all schedules."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = rates_of(self.optimizer)

    def _initial_step(self) -> None:
        for scheduler in self._schedulers:
            scheduler._initial_step()
        self._last_lr = rates_of(self.optimizer)

    def _update_lr(self, epoch: int | None = None) -> None:
        for scheduler in self._schedulers:
            scheduler._update_lr(epoch)
        self._last_lr = rates_of(self.optimizer)
