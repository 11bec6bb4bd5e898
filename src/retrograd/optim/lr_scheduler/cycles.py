"""Schedules that go up and down, batch by batch, momentum the other way."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import FunctionType
from typing import Any

from retrograd.optim.lr_scheduler.scheduler import LRScheduler, assign, check_optimizer, for_each_group
from retrograd.optim.optimizer import Group, Optimizer, StateDict


def momentum_key(optimizer: Optimizer) -> str:
    """What an optimiser calls its momentum: an option of that name, or the first of its betas."""
    for name in ("momentum", "betas"):
        if name in optimizer.defaults:
            return name
    raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")


def set_momentum(group: Group, momentum: float, use_beta1: bool) -> None:
    """Sets the momentum of a group."""
    if use_beta1:
        group["betas"] = (momentum, *group["betas"][1:])
    else:
        group["momentum"] = momentum


# How high a cycle is, by mode: functions of `gamma` and of the number of the cycle or of the batch.
_HEIGHTS: dict[str, Callable[[float, float], float]] = {
    "triangular": lambda _gamma, _x: 1.0,
    "triangular2": lambda _gamma, x: 1 / (2.0 ** (x - 1)),
    "exp_range": lambda gamma, x: gamma**x,
}


class CyclicLR(LRScheduler):
    """The rate goes up and down between two bounds; call `step` after each batch.

    Args:
        optimizer: whose learning rates are set.
        base_lr: the lower bound, or a list with one for each group.
        max_lr: the upper bound, or a list with one for each group.
        step_size_up: how many batches the way up takes.
        step_size_down: how many the way down takes; as many as up, if None.
        mode: "triangular", "triangular2" (each cycle half as high) or "exp_range" (`gamma` to the power of the batch).
        gamma: for "exp_range".
        scale_fn: how high a cycle is, as a function, in the place of `mode`.
        scale_mode: what `scale_fn` is a function of: "cycle" or "iterations".
        cycle_momentum: move the momentum too, down when the rate goes up.
        base_momentum, max_momentum: its bounds, or lists of them.
        last_epoch: the batch at which to go on; -1 to begin.

    >>> import retrograd as rg
    >>> optimizer = rg.optim.SGD([rg.zeros(1, requires_grad=True)], lr=1.0, momentum=0.9)
    >>> schedule = rg.optim.lr_scheduler.CyclicLR(optimizer, base_lr=0.5, max_lr=1.0, step_size_up=2)
    >>> rates = []
    >>> for _ in range(6):
    ...     rates += schedule.get_last_lr()
    ...     optimizer.step()
    ...     schedule.step()
    >>> rates
    [0.5, 0.75, 1.0, 0.75, 0.5, 0.75]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        self.optimizer: Optimizer = check_optimizer(optimizer)
        lowest = for_each_group(base_lr, optimizer, "base_lr")
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, lowest, strict=True):
                assign(group, "lr", rate)
        self.max_lrs: list[Any] = for_each_group(max_lr, optimizer, "max_lr")
        down = float(step_size_up if step_size_down is None else step_size_down)
        self.total_size: float = float(step_size_up) + down
        self.step_ratio: float = float(step_size_up) / self.total_size
        if mode not in _HEIGHTS and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode: str = (
            scale_mode if scale_fn is not None else ("iterations" if mode == "exp_range" else "cycle")
        )
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._begin_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = lowest

    def _begin_momentum(self, base_momentum: Any, max_momentum: Any, last_epoch: int) -> None:
        """Momentum is highest where the rate is lowest."""
        self.use_beta1: bool = momentum_key(self.optimizer) == "betas"
        self.base_momentums: list[Any] = for_each_group(base_momentum, self.optimizer, "base_momentum")
        self.max_momentums: list[Any] = for_each_group(max_momentum, self.optimizer, "max_momentum")
        if last_epoch == -1:
            bounds = zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True)
            for group, low, high in bounds:
                set_momentum(group, high, self.use_beta1)
                group["max_momentum"], group["base_momentum"] = high, low

    def scale_fn(self, x: float) -> float:
        """How high a cycle is, as a factor: of its number, or of the number of the batch."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        return self._scale_fn_ref(self.gamma, x)

    @property
    def _scale_fn_ref(self) -> Callable[[float, float], float]:
        return _HEIGHTS[self.mode]

    def get_lr(self) -> list[Any]:
        """The rates of the batch. Momentum is set on the way."""
        self._warn_outside_of_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        height *= self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            bounds = zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True)
            for group, low, high in bounds:
                set_momentum(group, high - (high - low) * height, self.use_beta1)
        return [low + (high - low) * height for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> StateDict:
        """What `load_state_dict` needs; a function that was given is no part of it, an object that is called is."""
        state = super().state_dict()
        function = state.pop("_scale_fn_custom")
        plain = function is None or isinstance(function, FunctionType)
        state["_scale_fn_custom"] = None if plain else function.__dict__.copy()
        return state

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Goes on where the schedule that gave `state_dict` was."""
        saved = dict(state_dict)
        attributes = saved.pop("_scale_fn_custom")
        super().load_state_dict(saved)
        if attributes is not None and self._scale_fn_custom is not None:
            self._scale_fn_custom.__dict__.update(attributes)


class OneCycleLR(LRScheduler):
    """The rate rises from low to high and falls to very low, once; call `step` after each batch.

    Args:
        optimizer: whose learning rates are set.
        max_lr: the highest rate, or a list with one for each group.
        total_steps: how many batches there are; or else give the next two.
        epochs, steps_per_epoch: of which the number of batches is the product.
        pct_start: the part of them that the rise takes.
        anneal_strategy: "cos" or "linear".
        cycle_momentum: move the momentum too, down when the rate goes up.
        base_momentum, max_momentum: its bounds, or lists of them.
        div_factor: the highest rate over the first.
        final_div_factor: the first rate over the last.
        three_phase: fall as long as the rise took, to the first rate, and then to the last.
        last_epoch: the batch at which to go on; -1 to begin.

    >>> import retrograd as rg
    >>> optimizer = rg.optim.SGD([rg.ones(2, requires_grad=True)], lr=0.1, momentum=0.9)
    >>> scheduler = rg.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=11)
    >>> rates = []
    >>> for _ in range(10):
    ...     optimizer.step()
    ...     scheduler.step()
    ...     rates.append(round(scheduler.get_last_lr()[0], 2))
    >>> rates
    [0.42, 0.96, 0.98, 0.88, 0.73, 0.53, 0.33, 0.16, 0.04, 0.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        self.optimizer: Optimizer = check_optimizer(optimizer)
        self.total_steps: int = _number_of_steps(total_steps, epochs, steps_per_epoch)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        self._anneal_func_type = anneal_strategy
        highest = for_each_group(max_lr, optimizer, "max_lr")
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, highest, strict=True):
                group["initial_lr"] = rate / div_factor
                group["max_lr"] = rate
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._begin_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def _begin_momentum(self, base_momentum: Any, max_momentum: Any, last_epoch: int) -> None:
        """Momentum is highest where the rate is lowest."""
        self.use_beta1: bool = momentum_key(self.optimizer) == "betas" or "betas" in self.optimizer.defaults
        lowest = for_each_group(base_momentum, self.optimizer, "base_momentum")
        highest = for_each_group(max_momentum, self.optimizer, "max_momentum")
        if last_epoch == -1:
            for group, low, high in zip(self.optimizer.param_groups, lowest, highest, strict=True):
                set_momentum(group, high, self.use_beta1)
                group["max_momentum"], group["base_momentum"] = high, low

    @staticmethod
    def _annealing_cos(start: float, end: float, pct: float) -> float:
        return end + (start - end) / 2.0 * (1 + math.cos(math.pi * pct))

    @staticmethod
    def _annealing_linear(start: float, end: float, pct: float) -> float:
        return (end - start) * pct + start

    @property
    def _anneal_func(self) -> Callable[[float, float, float], float]:
        """The value at a part of the way from one to another."""
        return self._annealing_linear if self._anneal_func_type == "linear" else self._annealing_cos

    def get_lr(self) -> list[Any]:
        """The rates of the batch. Momentum is set on the way."""
        self._warn_outside_of_step()
        if self.last_epoch > self.total_steps:
            raise ValueError(
                f"Tried to step {self.last_epoch} times. The specified number of total steps is {self.total_steps}"
            )
        begin: float = 0
        for phase in self._schedule_phases:
            if self.last_epoch <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            begin = phase["end_step"]
        done = (self.last_epoch - begin) / (phase["end_step"] - begin)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._anneal_func(group[phase["start_lr"]], group[phase["end_lr"]], done))
            if self.cycle_momentum:
                start, end = group[phase["start_momentum"]], group[phase["end_momentum"]]
                set_momentum(group, self._anneal_func(start, end, done), self.use_beta1)
        return rates


def _number_of_steps(total_steps: int | None, epochs: int | None, steps_per_epoch: int | None) -> int:
    """How many batches there are, by either of the ways to say it."""
    if total_steps is not None:
        if total_steps <= 0 or not isinstance(total_steps, int):
            raise ValueError(f"Expected positive integer total_steps, but got {total_steps}")
        return total_steps
    if epochs is None or steps_per_epoch is None:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    if epochs <= 0 or not isinstance(epochs, int):
        raise ValueError(f"Expected positive integer epochs, but got {epochs}")
    if steps_per_epoch <= 0 or not isinstance(steps_per_epoch, int):
        raise ValueError(f"Expected positive integer steps_per_epoch, but got {steps_per_epoch}")
    return epochs * steps_per_epoch


def _phases(total: int, part: float, three: bool) -> list[dict[str, Any]]:
    """The parts of the way: where each ends, and between which options of a group it leads."""
    up = {
        "end_step": float(part * total) - 1,
        "start_lr": "initial_lr",
        "end_lr": "max_lr",
        "start_momentum": "max_momentum",
        "end_momentum": "base_momentum",
    }
    down = {
        "end_step": total - 1,
        "start_lr": "max_lr",
        "end_lr": "min_lr",
        "start_momentum": "base_momentum",
        "end_momentum": "max_momentum",
    }
    if not three:
        return [up, down]
    back = {**down, "end_step": float(2 * part * total) - 2, "end_lr": "initial_lr"}
    out = {
        "end_step": total - 1,
        "start_lr": "initial_lr",
        "end_lr": "min_lr",
        "start_momentum": "max_momentum",
        "end_momentum": "max_momentum",
    }
    return [up, back, out]
