"""`torch.autograd.profiler`: the same profiler by its older signature."""

from __future__ import annotations

from typing import Any

from retrograd.profiler.events import EventList, FunctionEvent, FunctionEventAvg
from retrograd.profiler.recording import RUNNING, record_function
from retrograd.profiler.session import ProfilerAction, kineto_available
from retrograd.profiler.session import profile as _profile

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "kineto_available", "profile", "record_function"]


class OlderProfile(_profile):
    """A context that notes calls, unless it is not `enabled`.

    >>> import retrograd as rg
    >>> with rg.autograd.profiler.profile() as p:
    ...     y = rg.ones(2) + 1
    >>> p.total_average().count
    2
    """

    def __init__(self, enabled: bool = True, *, record_shapes: bool = False, **more: Any) -> None:
        super().__init__(schedule=None if enabled else _never, record_shapes=record_shapes)

    def table(self, sort_by: str | None = None, row_limit: int = 100, **more: Any) -> str:
        """A table of all calls for people: see `EventList.table`."""
        return self.events().table(sort_by, row_limit, **more)

    def __str__(self) -> str:
        return self.table()

    __repr__ = __str__

    @property
    def function_events(self) -> EventList:
        """All calls."""
        return self.events()

    def total_average(self) -> FunctionEventAvg:
        """All calls, as one sum."""
        return self.events().total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """How long all calls took, in microseconds."""
        return self.events().self_cpu_time_total


def _profiler_enabled() -> bool:
    """Whether a profiler notes calls now."""
    return bool(RUNNING)


def _never(step: int) -> ProfilerAction:
    return ProfilerAction.NONE


profile = OlderProfile
