"""LRScheduler: what all schedules share: the count of epochs, the rates of the groups, state dicts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.optim.optimizer import Group, Optimizer, StateDict

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. If an epoch is given, the rate is computed from it alone, where there "
    "is a formula for that."
)


class LRScheduler:
    """The base of schedules; make one of your own by giving it a `get_lr`.

    Args:
        optimizer: whose learning rates are set.
        last_epoch: the epoch at which to go on; -1 to begin. To go on, groups need an `initial_lr`.

    >>> import retrograd as rg
    >>> class Halving(rg.optim.lr_scheduler.LRScheduler):
    ...     def get_lr(self):
    ...         return [rate / 2**self.last_epoch for rate in self.base_lrs]
    >>> optimizer = rg.optim.SGD([rg.ones(2, requires_grad=True)], lr=0.8)
    >>> scheduler = Halving(optimizer)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.4]
    """

    last_epoch: int

    _get_lr_called_within_step: bool = False
    _is_initial: bool = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self.optimizer: Optimizer = check_optimizer(optimizer)
        self._note_initial_rates(last_epoch)
        self.base_lrs: list[Any] = [copied(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        watch(optimizer)
        self._initial_step()

    def _note_initial_rates(self, last_epoch: int) -> None:
        """The rates at the beginning are kept in the groups, so that a state dict of the optimiser has them."""
        for i, group in enumerate(self.optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with last_epoch "
                    ">= 0. Load the optimizer's state dict before you make the scheduler, or leave out last_epoch."
                )

    def _initial_step(self) -> None:
        """Sets the rates of the first epoch."""
        self._step_count = 0
        with self._during("_is_initial"):
            self.step()

    @contextmanager
    def _during(self, flag: str) -> Iterator[None]:
        """Sets a flag inside of a `with` block."""
        setattr(self, flag, True)
        try:
            yield
        finally:
            setattr(self, flag, False)

    def get_last_lr(self) -> list[Any]:
        """The rates that were set last, one for each group."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """The rates of the epoch `last_epoch`, one for each group. A schedule says here what they are."""
        raise NotImplementedError(
            f"{type(self).__name__} has no get_lr(): it says what the learning rates are"
        )

    def step(self, epoch: int | None = None) -> None:
        """Goes on to the next epoch, and sets its rates. Call it after the optimiser's step."""
        own_step = vars(self.optimizer).get("step")
        if self._step_count == 1 and own_step is not getattr(self.optimizer, "_step_at_first", own_step):
            warn(
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. "
                "Please, make sure to call `optimizer.step()` before `lr_scheduler.step()`. See "
                "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate",
                UserWarning,
            )
        elif self._step_count == 1 and not getattr(self.optimizer, "_opt_called", True):
            warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. You should call them in the "
                "opposite order: `optimizer.step()` before `lr_scheduler.step()`. Else the first value of the learning "
                "rate schedule is skipped. See https://pytorch.org/docs/stable/optim.html"
                "#how-to-adjust-learning-rate",
                UserWarning,
            )
        self._step_count += 1
        if epoch is not None:
            warn(EPOCH_DEPRECATION_WARNING)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        """Sets the rates of the next epoch, or of a given one."""
        with self._during("_get_lr_called_within_step"):
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                self.last_epoch = epoch
                rates = self._rates_of_epoch()
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            assign(group, "lr", rate)
        self._last_lr: list[Any] = rates_of(self.optimizer)

    def _rates_of_epoch(self) -> list[Any]:
        """The rates of an epoch from its number alone: by a formula of its own, if a schedule has one."""
        formula = getattr(self, "_get_closed_form_lr", self.get_lr)
        found: list[Any] = formula()
        return found

    def _warn_outside_of_step(self) -> None:
        """`get_lr` goes on from the last rates: called by hand, it gives something else than people expect."""
        if not self._get_lr_called_within_step:
            warn("To get the last learning rate computed by the scheduler, please use `get_last_lr()`.")

    def _rates(self) -> list[Any]:
        """The rates that the groups have now."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> StateDict:
        """What `load_state_dict` needs to go on from here; the optimiser has a state dict of its own."""
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Goes on where the schedule that gave `state_dict` was."""
        self.__dict__.update(state_dict)


def check_optimizer(optimizer: Any) -> Optimizer:
    """Refuses what is no optimiser."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
    return optimizer


def watch(optimizer: Optimizer) -> None:
    """Lets the optimiser note its steps, so that a schedule can warn if there was none."""
    if not hasattr(optimizer, "_opt_called"):
        optimizer._opt_called = False
        optimizer._step_at_first = vars(optimizer).get("step")


def copied(rate: Any) -> Any:
    """A learning rate that does not change with the group's own, should that be a tensor."""
    return rate.detach().clone() if isinstance(rate, Tensor) else rate


def assign(group: Group, name: str, value: Any) -> None:
    """Sets an option of a group; a tensor stays the same tensor."""
    if isinstance(group[name], Tensor):
        group[name].detach().fill_(value)
    else:
        group[name] = value


def rates_of(optimizer: Optimizer) -> list[Any]:
    """The rates of an optimiser's groups."""
    return [copied(group["lr"]) for group in optimizer.param_groups]


def for_each_group(value: Any, optimizer: Optimizer, what: str) -> list[Any]:
    """An option as a list: one value for each group, or one for all."""
    groups = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [value] * groups
    if len(value) != groups:
        raise ValueError(
            f"{what} must have the same length as optimizer.param_groups. {what} has {len(value)} values, param_groups "
            f"has {groups}."
        )
    return list(value)
