"""Notes: what a Recorder writes down of nodes, operations, backwards and threads.

They are made at every operation, so they cost a store each and no figures. Operations and edges are rows, which the
cyclic collector has no part in; what changes later is an object. Notes refer to each other, and get their numbers
when `gather.py` makes a document of them. None holds a Tensor, a node or an array of the program.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from retrograd.core.accumulate import AccumulateGrad
from retrograd.core.node import Node

# What is kept of an array: the number of a value in the native pack's notes, -2 - n for block n without a value, -1 for
# nothing; or an object of `arrays.py`.
Kept = Any


class ThreadNote:
    """A thread. It is known by its state: Python gives the number of a thread that has ended to another one."""

    def __init__(self, state: Any, name: str) -> None:
        self.state = state
        self.name = name
        self.began: Any = 0  # when the running operation did
        self.module: str = ""  # the path of the one that runs
        self.running: list[StepNote] = []  # the innermost last
        self.latest: StepNote | None = None  # the one that has run, and sends what it made


class NodeNote:
    """A node of a graph. It hangs on the node, and whoever records has it in a list."""

    def __init__(self, node: Node) -> None:
        self.kind: Any = type(node)
        self.name: str = _name(node, self.kind)
        self.made: Any = node._made
        self.sequence_nr: int = node.sequence_nr
        self.topological_nr: int = node.topological_nr
        self.meta: Any = node._meta  # of what arrives
        self.more_inputs: Any = node.more_inputs
        self.leaf: Any = None  # a weak reference
        self.leaf_id: int = 0
        self.seen_by: int = 0  # the latest recorder that has it in its list
        self.walked_by: int = 0  # ... and that has its edges
        self.waits: int = 0  # for so many gradients, in the latest backward
        if isinstance(node, AccumulateGrad):
            self.leaf = weakref.ref(node.variable)
            self.leaf_id = id(node.variable)


# The names of classes whose nodes have no name of their own.
NAMES: dict[Any, str] = {}


def _name(node: Node, kind: Any) -> str:
    known = NAMES.get(kind)
    if known is not None:
        return known
    name = node.name()
    if kind.name is Node.name or kind is AccumulateGrad:
        NAMES[kind] = name
    return name


class StepNote:
    """One node that a backward ran."""

    def __init__(self, node: NodeNote, thread: ThreadNote, backward: int) -> None:
        self.node = node
        self.thread = thread
        self.backward: int = backward
        self.start: int = 0  # 0: it is beyond the limit
        self.end: int = -1
        self.given: list[Kept] | None = None  # None: the one gradient that was sent to it
        # What it sent: receiver, its input, what is kept; of result 0, of result 1, and which result of those behind.
        self.to0: NodeNote | None = None
        self.nr0: int = 0
        self.kept0: Kept = -1
        self.to1: NodeNote | None = None
        self.nr1: int = 0
        self.kept1: Kept = -1
        self.more: list[Any] | None = None
        self.hooks: Sequence[str] = ()
        self.captured: Sequence[int] = ()
        self.grad: Kept = -1
        self.frees: bool = False
        self.calm: bool = (
            False  # whether what it sends is finite if no flag is up: Note [Flags of the processor]
        )

    def sent(self) -> list[tuple[int, NodeNote, int, Kept]]:
        """Which result went to which node, at which of its inputs, and what is kept of it."""
        found: list[tuple[int, NodeNote, int, Kept]] = []
        if self.to0 is not None:
            found.append((0, self.to0, self.nr0, self.kept0))
        if self.to1 is not None:
            found.append((1, self.to1, self.nr1, self.kept1))
        return found if self.more is None else found + self.more


class BackwardNote:
    """One backward."""

    def __init__(self, number: int, task: Any, thread: ThreadNote, start: int) -> None:
        self.number: int = number
        self.task: Any = task  # while it runs
        self.place: Any = (task.place.code, task.place.lasti)
        self.thread = thread
        self.start: int = start
        self.end: int = -1
        self.create_graph: bool = task.create_graph
        self.keep_graph: bool = task.keep_graph
        self.frees: bool = task.frees  # whether saved values go with each node
        self.outer: int = -1
        self.root: NodeNote | None = None
        self.given: list[Kept] = []
        self.dependencies: list[Any] = []  # node and how many gradients it waits for, in turns
        self.pruned: list[NodeNote] = []
        self.steps: list[StepNote] = []
        self.left_out: int = 0
        self.error: str = ""
        self.failing: StepNote | None = None
