"""A schedule that waits until nothing gets better."""

from __future__ import annotations

from math import inf
from typing import Any

from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.optim.lr_scheduler.scheduler import (
    EPOCH_DEPRECATION_WARNING,
    LRScheduler,
    assign,
    check_optimizer,
    rates_of,
)
from retrograd.optim.optimizer import Optimizer
from retrograd.optim.options import number


class ReduceLROnPlateau(LRScheduler):
    """The rate times a factor when a number has not got better for some epochs; `step` is given the number.

    Args:
        optimizer: whose learning rates are set.
        mode: "min" if the number should fall, "max" if it should rise.
        factor: below 1.
        patience: how many epochs without improvement are borne.
        threshold: how much better is better.
        threshold_mode: "rel": in proportion to the best so far; "abs": as it is.
        cooldown: how many epochs after a reduction are not counted.
        min_lr: the lowest rate, or a list with one for each group.
        eps: reductions by less than this are left out.

    >>> import retrograd as rg
    >>> optimizer = rg.optim.SGD([rg.ones(2, requires_grad=True)], lr=0.8)
    >>> scheduler = rg.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1, factor=0.5)
    >>> for loss in (1.0, 0.5, 0.6, 0.6):
    ...     scheduler.step(loss)
    >>> scheduler.get_last_lr()
    [0.4]
    """

    min_lrs: list[float | int]
    last_epoch: int
    best: float
    cooldown_counter: int
    num_bad_epochs: int

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | list[float] = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        self.factor = factor
        self.optimizer: Optimizer = check_optimizer(optimizer)
        groups = len(optimizer.param_groups)
        if isinstance(min_lr, (list, tuple)):
            if len(min_lr) != groups:
                raise ValueError(f"expected {groups} min_lrs, got {len(min_lr)}")
            self.default_min_lr: float | None = None
            self.min_lrs = list(min_lr)
        else:
            self.default_min_lr = min_lr
            self.min_lrs = [min_lr] * groups
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = rates_of(optimizer)
        self._init_is_better(mode, threshold, threshold_mode)
        self._reset()

    def _init_is_better(self, mode: str, threshold: float, threshold_mode: str) -> None:
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        self.mode_worse: float = inf if mode == "min" else -inf
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode

    def _reset(self) -> None:
        """Forgets what was best, and begins to count anew."""
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Notes the number of an epoch, and reduces the rates if it is time."""
        current = number(metrics) if isinstance(metrics, Tensor) else float(metrics)
        if epoch is None:
            epoch = self.last_epoch + 1
        else:
            warn(EPOCH_DEPRECATION_WARNING)
        self.last_epoch = epoch
        if self.is_better(current, self.best):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr(epoch)
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = rates_of(self.optimizer)

    def _reduce_lr(self, epoch: int) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"The number of param groups in the `optimizer` ({len(groups)}) differs from when "
                    f"`ReduceLROnPlateau` was initialized ({len(self.min_lrs)}), and min_lr was a list: give a number"
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, lowest in zip(groups, self.min_lrs, strict=True):
            old = number(group["lr"])
            new = max(old * self.factor, lowest)
            if old - new > self.eps:
                assign(group, "lr", new)

    @property
    def in_cooldown(self) -> bool:
        """Whether a reduction was so recent that epochs are not counted."""
        return self.cooldown_counter > 0

    def is_better(self, a: float, best: float) -> bool:
        """Whether a number is better than the best so far."""
        margin = -self.threshold if self.mode == "min" else self.threshold
        goal = best * (1.0 + margin) if self.threshold_mode == "rel" else best + margin
        return a < goal if self.mode == "min" else a > goal
