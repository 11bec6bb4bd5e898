"""Averages of parameters: of whole models, the functions that average, and the schedule for averaging weights."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any, TypeAlias

from retrograd.autograd.modes import no_grad
from retrograd.backends.device import device as Device
from retrograd.backends.dtypes import int64
from retrograd.core.tensor import Tensor
from retrograd.nn.batchnorm import _BatchNorm
from retrograd.nn.module import Module
from retrograd.ops.tensor.data import tensor
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

    def _share(self, step: int) -> float:
        """How much of the way to the new rate is gone after so many steps."""
        done = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return done if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * done)) / 2

    def get_lr(self) -> list[Any]:
        """The rates of the groups, nearer to the new one by this step's part of the way."""
        self._warn_outside_of_step()
        # Steps of this schedule, not epochs: it may begin late in a training, with a large `last_epoch`.
        steps = self._step_count - 1
        step = max(1, steps) if self.anneal_epochs == 0 else steps
        before, now = self._share(step - 1), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            goal, rate = group["swa_lr"], group["lr"]
            start = goal if before == 1 else (rate - goal * before) / (1 - before)
            rates.append(goal * now + start * (1 - now))
        return rates


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of those that the model has had.

    Args:
        model: what is copied.
        device: where the averages are kept; where the model is, if None.
        avg_fn: `avg_fn(average, value, count)` gives the new average of a parameter; the mean of all values by default.
        multi_avg_fn: the same for lists of parameters, in place.
        use_buffers: whether buffers are averaged too; they are copied otherwise.

    >>> import retrograd as rg
    >>> model = rg.nn.Linear(1, 1, bias=False)
    >>> average = rg.optim.swa_utils.AveragedModel(model)
    >>> for value in (1.0, 2.0, 6.0):
    ...     _ = rg.nn.init.constant_(model.weight, value)
    ...     average.update_parameters(model)
    >>> average(rg.ones(1))
    tensor([3.], grad_fn=<SqueezeBackward4>)
    """

    module: Module

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Device | str | int | None = None,
        avg_fn: Average | None = None,
        multi_avg_fn: MultiAverage | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the averaged model says."""
        return self.module(*args, **kwargs)

    @no_grad()
    def update_parameters(self, model: Module) -> None:
        """Adds the parameters that `model` has now to the averages."""
        averages, values = self._averaged(self.module), self._averaged(model)
        values = [value.to(average.device) for average, value in zip(averages, values, strict=True)]
        if not self.n_averaged:
            for average, value in zip(averages, values, strict=True):
                average.copy_(value)
        elif self.avg_fn is not None:
            for average, value in zip(averages, values, strict=True):
                average.copy_(self.avg_fn(average, value, self.n_averaged))
        else:
            (self.multi_avg_fn or get_swa_multi_avg_fn())(averages, values, self.n_averaged)
        if not self.use_buffers:
            for mine, other in zip(self.module.buffers(), model.buffers(), strict=True):
                mine.copy_(other)
        self.n_averaged += 1

    def _averaged(self, model: Module) -> list[Tensor]:
        """What of a model is averaged, without history."""
        found = chain(model.parameters(), model.buffers()) if self.use_buffers else model.parameters()
        return [value.detach() for value in found]


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Device | str | int | None = None) -> None:
    """Computes the running statistics of batch norms anew, as means over all batches of `loader`.

    Averaged parameters have statistics that no batch has had. Of a batch that is a list or tuple, the first element is
    the model's argument.

    Args:
        loader: gives the batches.
        model: is run on each of them.
        device: where the batches are moved to, if given.
    """
    momenta = {module: module.momentum for module in model.modules() if isinstance(module, _BatchNorm)}
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.reset_running_stats()
        module.momentum = None  # a mean, in which all batches count alike
    for batch in loader:
        given = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(given if device is None else given.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)
