"""Join: ranks that have run out of data accompany the others until these have, too."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Any, NamedTuple

from retrograd.backends.device import device
from retrograd.distributed.reductions import all_reduce
from retrograd.distributed.work import Work
from retrograd.ops.tensor.create import ones, zeros

_MANY = 1000  # iterations after which a rank that waits says so


class JoinHook:
    """What a rank that has joined does in place of an iteration, and once at the end."""

    def main_hook(self) -> None:
        """Takes part in the collectives of one iteration of the other ranks."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Is called when all ranks have joined; `is_last_joiner` is true on those that had the most data."""


class _JoinConfig(NamedTuple):
    """What a Joinable knows of the Join around it."""

    enable: bool
    throw_on_early_termination: bool
    is_first_joinable: bool


DISABLED = _JoinConfig(enable=False, throw_on_early_termination=False, is_first_joinable=False)


class Joinable(ABC):
    """Something that begins collectives in each iteration, and can accompany those of others.

    In each iteration it calls `Join.notify_join_context(self)` before its collectives.
    """

    def __init__(self) -> None:
        super().__init__()
        self._join_config = DISABLED

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """The hook for a rank that has run out of data; gets the keyword arguments of Join."""

    @property
    @abstractmethod
    def join_device(self) -> device:
        """Where the messages of Join are to be."""

    @property
    @abstractmethod
    def join_process_group(self) -> Any:
        """The ranks."""


class Join:
    """A block in which ranks may have different numbers of iterations.

    A rank that comes to the end of the block before the others calls the hooks of `joinables`, once for each iteration
    that the others still have, so that no collective waits for it.

    Args:
        joinables: models and optimisers that communicate, in the order in which they do.
        enable: False to switch it off, when all ranks are known to have as much.
        throw_on_early_termination: raise a RuntimeError on all ranks as soon as one has run out of data.
        kwargs: for the hooks; `divide_by_initial_world_size` for DistributedDataParallel.
    """

    def __init__(
        self,
        joinables: list[Joinable],
        enable: bool = True,
        throw_on_early_termination: bool = False,
        **kwargs: Any,
    ) -> None:
        if len(joinables) == 0:
            raise ValueError("The join context manager requires at least one joinable")
        self._joinables = joinables
        self._join_hooks = [joinable.join_hook(**kwargs) for joinable in joinables]
        self._enable = enable
        self._throw_on_early_termination = throw_on_early_termination
        groups = {id(joinable.join_process_group) for joinable in joinables}
        if len(groups) > 1:
            raise ValueError("Using join context manager with multiple process groups")
        self._process_group = joinables[0].join_process_group
        self._rank = self._process_group.rank()
        self._device = joinables[0].join_device
        for number, joinable in enumerate(joinables):
            joinable._join_config = _JoinConfig(enable, throw_on_early_termination, number == 0)

    def __enter__(self) -> None:
        """The block begins."""

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Accompanies the other ranks until all have come here."""
        if not self._enable or kind is not None:
            return
        is_last, iterations = True, 0
        while self._count_others():
            if self._throw_on_early_termination:
                self._tell_to_stop()
            for hook in self._join_hooks:
                hook.main_hook()
            is_last = False
            iterations += 1
            if iterations == _MANY:
                warnings.warn(
                    f"Detected uneven input skew of greater than {_MANY}: rank {self._rank} has at least so many fewer "
                    "iterations than another rank, and waits for it. Share the data more evenly.",
                    stacklevel=2,
                )
        for hook in self._join_hooks:
            hook.post_hook(is_last)

    def _count_others(self) -> int:
        """How many ranks still have data."""
        count = zeros(1, device=self._device)
        all_reduce(count, group=self._process_group)
        return int(count.item())

    def _tell_to_stop(self) -> None:
        all_reduce(ones(1, device=self._device), group=self._process_group)
        raise RuntimeError(f"Rank {self._rank} exhausted all inputs.")

    @staticmethod
    def notify_join_context(joinable: Joinable) -> Work | None:
        """Tells ranks that have joined that this one begins another iteration.

        Only the first joinable of a Join tells. The work that is returned has the number of ranks that do so.
        """
        config = joinable._join_config
        if not (config.enable and config.is_first_joinable):
            return None
        group, where = joinable.join_process_group, joinable.join_device
        work = all_reduce(ones(1, device=where), group=group, async_op=True)
        if config.throw_on_early_termination:
            stop = zeros(1, device=where)
            all_reduce(stop, group=group)
            if stop.item():
                raise RuntimeError(
                    "Detected at least one rank that exhausted inputs. Throwing across all ranks."
                )
        return work
