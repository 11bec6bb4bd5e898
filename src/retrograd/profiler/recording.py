"""Noting calls while a profiler runs, and `record_function`."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ContextDecorator
from time import perf_counter_ns
from typing import Any, Self

from retrograd.core.modes import current
from retrograd.core.node import Node
from retrograd.core.observer import Observer, join, observe
from retrograd.core.tensor import Tensor
from retrograd.core.upward import UPWARD
from retrograd.overrides.listing import resolve_name
from retrograd.overrides.modes import TorchFunctionMode
from retrograd.profiler.events import EventList, FunctionEvent

RUNNING: list[CallLog] = []  # innermost last


class CallLog(TorchFunctionMode):
    """Notes every call of a function, method or operator, and of backward."""

    def __init__(self, record_shapes: bool = False) -> None:
        super().__init__()
        self.events: EventList = EventList()
        self._open: list[FunctionEvent] = []
        self._shapes = record_shapes
        self._start = perf_counter_ns()
        self._backward: Any = None
        self._threads: dict[int, int] = {}  # of the calls that made nodes, by the numbers of these

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = (resolve_name(func) or str(getattr(func, "__name__", "call"))).rpartition(".")[2]
        event = self.begin(_of_dispatcher(name), args)
        event.fwd_thread = 0
        first = current().sequence_nr
        try:
            found = func(*args, **(kwargs or {}))
        finally:
            self.end(event)
        node = found.grad_fn if isinstance(found, Tensor) else None
        if node is not None and node.sequence_nr >= first:
            event.sequence_nr = node.sequence_nr
            self._threads[node.sequence_nr] = event.thread
        return found

    def begin(self, name: str, args: Any = (), is_user_annotation: bool = False) -> FunctionEvent:
        """A call begins."""
        shapes = [list(a.shape) if isinstance(a, Tensor) else [] for a in args] if self._shapes else []
        now = self._now()
        event = FunctionEvent(
            len(self.events), name, threading.get_native_id(), now, now,
            input_shapes=shapes, is_user_annotation=is_user_annotation,
        )  # fmt: skip
        self.events.append(event)
        if self._open:
            self._open[-1].append_cpu_child(event)
        self._open.append(event)
        return event

    def end(self, event: FunctionEvent) -> None:
        """A call ends."""
        event.time_range.end = self._now()
        self._open.remove(event)

    def node_begins(self, node: Node) -> list[FunctionEvent]:
        """A node of a backward begins, whose call may have been noted."""
        number = node.sequence_nr
        events = [self.begin(f"autograd::engine::evaluate_function: {node.name()}"), self.begin(node.name())]
        if number in self._threads:  # and not that of a leaf, which no call has made
            for event in events:
                event.sequence_nr, event.fwd_thread = number, self._threads[number]
        return events

    def _now(self) -> float:
        return (perf_counter_ns() - self._start) / 1e3

    def __enter__(self) -> Self:
        RUNNING.append(self)
        self._backward, UPWARD.backward = UPWARD.backward, self._noted(UPWARD.backward)
        return super().__enter__()

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        UPWARD.backward = self._backward
        RUNNING.remove(self)

    def _noted(self, backward: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            event = self.begin("autograd::engine::execute")
            before = join(_Nodes(self))
            try:
                return backward(*args)
            finally:
                observe(before)
                self.end(event)

        return call


class _Nodes(Observer):
    """Notes the nodes of a backward."""

    def __init__(self, log: CallLog) -> None:
        self._log = log
        self._open: list[FunctionEvent] = []

    def node_starts(self, task: Any, node: Any, given: Any) -> None:
        self._open += self._log.node_begins(node)

    def node_ends(self, task: Any, node: Any, results: Any) -> None:
        for _ in range(2):
            self._log.end(self._open.pop())

    def backward_ends(self, task: Any, error: BaseException | None) -> None:
        while self._open and error is not None:  # the node that has failed
            self._log.end(self._open.pop())


def _of_dispatcher(name: str) -> str:
    """What PyTorch's dispatcher calls a function.

    >>> _of_dispatcher("__truediv__"), _of_dispatcher("add_"), _of_dispatcher("__imul__")
    ('aten::div', 'aten::add_', 'aten::mul_')
    """
    if not name.startswith("__"):
        return f"aten::{name}"
    name = name.strip("_").replace("truediv", "div")
    return f"aten::{name[1:]}_" if name[1:] in _IN_PLACE and name[0] == "i" else f"aten::{name}"


_IN_PLACE = frozenset({"add", "sub", "mul", "div", "pow", "and", "or", "xor", "floordiv"})


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
        self._events = [(running, running.begin(self.name, (), True)) for running in RUNNING]
        return self

    def __exit__(self, *error: object) -> None:
        for running, event in self._events:
            running.end(event)
