"""Observer: what a recording is told while it is on.

Note [Recording]
~~~~~~~~~~~~~~~~
A thread that is recorded has an observer in its state and the bit RECORDED in `special`, so that operations which
nobody records pay for nothing but the one test of Note [One fast path]. A backward asks for the observer once, when
its GraphTask is made; with one, no node takes the shortest way (`GraphTask.careful`): `evaluate_told`, `run_node` and
`outgoing` tell what they do. What an observer makes of it is its own affair: see `retrograd.inspect`. It may hang what
it knows of a node on the node itself (`Node._record`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from retrograd.core.modes import NEW_THREADS, RECORDED, ThreadState, current
from retrograd.hints import mypyc_attr


@mypyc_attr(allow_interpreted_subclasses=True)
class Observer:
    """Hears of operations, and of backwards with all that their nodes take, give and send. Does nothing with it."""

    def operation_starts(self, state: ThreadState) -> None:
        """An operation is about to compute, in the thread of that state."""

    def operation_ends(
        self, state: ThreadState, op: Any, operands: tuple[Any, ...], outs: tuple[Any, ...]
    ) -> None:
        """It has computed; `op` is the node of those of its results that require a gradient."""

    def function_starts(self) -> int:
        """The forward of a custom Function is about to run, and with it other operations; when, in nanoseconds."""
        return 0

    def function_ends(self, node: Any, operands: tuple[Any, ...], outs: tuple[Any, ...], began: int) -> None:
        """It has run, having begun at that time."""

    def backward_starts(self, task: Any, values: Sequence[Any]) -> None:
        """Dependencies are counted, and the first node is about to run on `values`."""

    def node_starts(self, task: Any, node: Any, given: Sequence[Any]) -> None:
        """A node has all its gradients."""

    def node_ends(self, task: Any, node: Any, results: Any) -> None:
        """It has run, with its hooks; None if what arrived was only captured."""

    def sends(self, task: Any, source: Any, i: int, node: Any, nr: int, value: Any) -> None:
        """Result `i` of a node goes to input `nr` of another."""

    def backward_ends(self, task: Any, error: BaseException | None) -> None:
        """The last node has run, or one has failed."""


class Both(Observer):
    """Tells two observers: a recording inside another."""

    def __init__(self, first: Observer, second: Observer) -> None:
        self.first = first
        self.second = second

    def operation_starts(self, state: ThreadState) -> None:
        self.first.operation_starts(state)
        self.second.operation_starts(state)

    def operation_ends(
        self, state: ThreadState, op: Any, operands: tuple[Any, ...], outs: tuple[Any, ...]
    ) -> None:
        self.first.operation_ends(state, op, operands, outs)
        self.second.operation_ends(state, op, operands, outs)

    def function_starts(self) -> int:
        self.first.function_starts()
        return self.second.function_starts()

    def function_ends(self, node: Any, operands: tuple[Any, ...], outs: tuple[Any, ...], began: int) -> None:
        self.first.function_ends(node, operands, outs, began)
        self.second.function_ends(node, operands, outs, began)

    def backward_starts(self, task: Any, values: Sequence[Any]) -> None:
        self.first.backward_starts(task, values)
        self.second.backward_starts(task, values)

    def node_starts(self, task: Any, node: Any, given: Sequence[Any]) -> None:
        self.first.node_starts(task, node, given)
        self.second.node_starts(task, node, given)

    def node_ends(self, task: Any, node: Any, results: Any) -> None:
        self.first.node_ends(task, node, results)
        self.second.node_ends(task, node, results)

    def sends(self, task: Any, source: Any, i: int, node: Any, nr: int, value: Any) -> None:
        self.first.sends(task, source, i, node, nr, value)
        self.second.sends(task, source, i, node, nr, value)

    def backward_ends(self, task: Any, error: BaseException | None) -> None:
        self.first.backward_ends(task, error)
        self.second.backward_ends(task, error)


# Told after the end of a recording by a mode that was entered inside it, and puts `special` back as it was.
NOBODY: Final = Observer()


def join(observer: Observer) -> Observer | None:
    """Has an observer told beside the one that is told already, which is returned: what `observe` puts back."""
    before = current_observer()
    observe(observer if before is None else Both(before, observer))
    return before


def observe(observer: Observer | None) -> None:
    """Has this thread, and threads that begin from now on, tell an observer; None ends it."""
    state = current()
    state.observer = NOBODY if observer is None else observer
    NEW_THREADS.observer = observer
    state.special = state.special & ~RECORDED if observer is None else state.special | RECORDED


def current_observer() -> Observer | None:
    """Who is told in this thread."""
    state = current()
    found: Observer | None = state.observer
    return found if state.special & RECORDED else None
