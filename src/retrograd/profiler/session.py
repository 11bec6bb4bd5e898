"""`profile`: when to note calls, and what to do with them."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterable
from enum import Enum
from pathlib import Path
from typing import Any, Self

from retrograd.profiler.events import EventList, write_trace
from retrograd.profiler.recording import CallLog


class ProfilerActivity(Enum):
    """What can be watched: the CPU. The others are names that programs mention."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(Enum):
    """What a profiler does in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def supported_activities() -> set[ProfilerActivity]:
    """What can be watched here."""
    return {ProfilerActivity.CPU}


def kineto_available() -> bool:
    """Whether Kineto, PyTorch's library of tracing, is there: it is not."""
    return False


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """In which steps to note calls: after `skip_first`, in cycles of `wait`, `warmup` and `active` steps.

    Args:
        wait: steps at the beginning of a cycle in which nothing happens.
        warmup: steps after them whose calls are forgotten.
        active: steps after them whose calls are noted.
        repeat: how many cycles there are; 0 for no end.
        skip_first: steps before the first cycle.
        skip_first_wait: whether the first cycle does without `wait`, if it is not 0.

    >>> [schedule(wait=1, warmup=1, active=2)(i).name for i in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if wait < 0 or warmup < 0 or active <= 0 or repeat < 0 or skip_first < 0:
        raise AssertionError(
            "Invalid profiler schedule arguments: none is negative, and active is at least 1"
        )

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:
            step += wait
        cycle, place = divmod(step, wait + warmup + active)
        if (repeat and cycle >= repeat) or place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < wait + warmup + active - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def _always(step: int) -> ProfilerAction:
    return ProfilerAction.RECORD


class profile:  # noqa: N801 - torch's name
    """A context that notes which functions are called, and how long they take.

    Args:
        activities: what to watch; the CPU is.
        schedule: in which steps, as `schedule` makes it; each `step()` is the end of one. By default in all.
        on_trace_ready: called with the profiler when the calls of a cycle are there.
        record_shapes: whether to note the shapes of arguments.
        profile_memory, with_stack, with_flops, with_modules, more: PyTorch's, without an effect.

    >>> import retrograd as rg
    >>> with rg.profiler.profile() as p:
    ...     y = rg.ones(3).exp()
    >>> {a.key: a.count for a in p.key_averages()}
    {'aten::ones': 1, 'aten::exp': 1}
    """

    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        **more: Any,
    ) -> None:
        self.step_num: int = 0
        self.on_trace_ready = on_trace_ready
        self._schedule = schedule or _always
        self._shapes = record_shapes
        self._recording: CallLog | None = None
        self._action = ProfilerAction.NONE
        self._events = EventList()

    def start(self) -> None:
        """Begins, with the first step."""
        self._go(self._schedule(self.step_num))

    def stop(self) -> None:
        """Ends."""
        self._go(ProfilerAction.NONE)

    def step(self) -> None:
        """The end of a step, and the beginning of the next."""
        self.step_num += 1
        self._go(self._schedule(self.step_num))

    def _go(self, action: ProfilerAction) -> None:
        """Notes calls or not, as an action says."""
        before, self._action = self._action, action
        if before is ProfilerAction.RECORD_AND_SAVE or (
            before is ProfilerAction.RECORD and not _notes(action)
        ):
            self._save()
        if _notes(action) and self._recording is None:
            self._recording = CallLog(self._shapes)
            self._recording.__enter__()

    def _save(self) -> None:
        if self._recording is not None:
            self._recording.__exit__(None, None, None)
            self._events, self._recording = self._recording.events, None
            if self.on_trace_ready is not None:
                self.on_trace_ready(self)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def events(self) -> EventList:
        """The calls."""
        return self._events if self._recording is None else self._recording.events

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> EventList:
        """The calls of each function, summed up."""
        return self.events().key_averages(group_by_input_shape)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Writes a line for each function with how long it took, as programs that draw flame graphs read it."""
        self.events().export_stacks(path, metric)

    def export_chrome_trace(self, path: str) -> None:
        """Writes the calls as Chrome (chrome://tracing) and Perfetto show them."""
        write_trace(self.events(), path)


def _notes(action: ProfilerAction) -> bool:
    return action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[profile], None]:
    """What `on_trace_ready` takes to have each trace written into a folder."""

    def handle(found: profile) -> None:
        folder = Path(dir_name)
        folder.mkdir(parents=True, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        found.export_chrome_trace(str(folder / f"{worker}.{time.time_ns()}.pt.trace.json"))

    return handle
