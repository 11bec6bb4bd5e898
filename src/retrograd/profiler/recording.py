"""Noting calls while a profiler runs, and `record_function`."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ContextDecorator
from time import perf_counter_ns
from typing import Any, Self

from retrograd.core.tensor import Tensor
from retrograd.core.upward import UPWARD
from retrograd.overrides.listing import resolve_name
from retrograd.overrides.modes import TorchFunctionMode
from retrograd.profiler.events import EventList, FunctionEvent

_RUNNING: list[CallLog] = []  # innermost last


class CallLog(TorchFunctionMode):
    """Notes every call of a function, method or operator, and of backward."""

    def __init__(self, record_shapes: bool = False) -> None:
        super().__init__()
        self.events = EventList()
        self._open: list[FunctionEvent] = []
        self._shapes = record_shapes
        self._start = perf_counter_ns()
        self._backward: Any = None

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = (resolve_name(func) or str(getattr(func, "__name__", "call"))).rpartition(".")[2]
        event = self.begin(f"aten::{name.strip('_')}", args)
        try:
            return func(*args, **(kwargs or {}))
        finally:
            self.end(event)

    def begin(self, name: str, args: Any = (), is_user_annotation: bool = False) -> FunctionEvent:
        """A call begins."""
        shapes = [list(a.shape) if isinstance(a, Tensor) else [] for a in args] if self._shapes else []
        event = FunctionEvent(name, threading.get_native_id(), self._now(), shapes, is_user_annotation)
        self.events.append(event)
        self._open.append(event)
        return event

    def end(self, event: FunctionEvent) -> None:
        """A call ends."""
        event.end = self._now()
        self._open.remove(event)
        if self._open:
            self._open[-1].children_time += event.cpu_time_total

    def _now(self) -> float:
        return (perf_counter_ns() - self._start) / 1e3

    def __enter__(self) -> Self:
        _RUNNING.append(self)
        self._backward, UPWARD.backward = UPWARD.backward, self._noted(UPWARD.backward)
        return super().__enter__()

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        UPWARD.backward = self._backward
        _RUNNING.remove(self)

    def _noted(self, backward: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            event = self.begin("autograd::engine::execute")
            try:
                return backward(*args)
            finally:
                self.end(event)

        return call


class record_function(ContextDecorator):  # noqa: N801 - torch's name
    """A context, or decorator, that a profiler shows as one call of this name.

    >>> import retrograd as rg
    >>> with rg.profiler.profile() as p:
    ...     with rg.profiler.record_function("mine"):
    ...         y = rg.ones(3) * 2
    >>> [event.key for event in p.events()]
    ['mine', 'aten::ones', 'aten::mul']
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self._events: list[tuple[CallLog, FunctionEvent]] = []

    def __enter__(self) -> Self:
        self._events = [(running, running.begin(self.name, (), True)) for running in _RUNNING]
        return self

    def __exit__(self, *error: object) -> None:
        for running, event in self._events:
            running.end(event)
