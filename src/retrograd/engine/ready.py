"""NodeTask and ReadyQueue: which node runs next.

Note [Node order]
~~~~~~~~~~~~~~~~~
Ready nodes run in strictly decreasing priority: the higher `sequence_nr` (what the forward pass did last is undone
first), AccumulateGrad before everything; equals run in the order in which they became ready. Each backward has a queue
of its own, and one that was started inside another runs to its end first; workers, which serve several backwards, take
nodes of the deeper re-entry first.
"""

from __future__ import annotations

from heapq import heappop, heappush, heappushpop
from typing import TYPE_CHECKING

from retrograd.core.node import Node
from retrograd.engine.buffer import InputBuffer

if TYPE_CHECKING:
    from retrograd.engine.task import GraphTask


class NodeTask:
    """A node that has all its gradients, and the backward it belongs to."""

    def __init__(self, task: GraphTask, node: Node, buffer: InputBuffer) -> None:
        self.task = task
        self.node = node
        self.buffer = buffer


class ReadyQueue:
    """The ready nodes of one backward.

    The node pushed last waits beside the heap: in a chain it is also the next to run, and the heap stays empty.
    """

    def __init__(self) -> None:
        self.heap: list[tuple[int, int, Node]] = []
        self.pushed: int = 0
        self.last: Node | None = None
        self.last_order: int = 0

    def push(self, node: Node) -> None:
        """Adds a node."""
        last = self.last
        if last is not None:
            heappush(self.heap, (-last.sequence_nr, self.last_order, last))
        self.pushed += 1
        self.last = node
        self.last_order = self.pushed

    def push_aside(self, node: Node) -> None:
        """Adds a node to the heap itself: `heap` is not empty then."""
        self.pushed += 1
        heappush(self.heap, (-node.sequence_nr, self.pushed, node))

    def pop(self) -> Node | None:
        """Takes out the node of the highest priority; None when there is none."""
        last = self.last
        if last is None:
            return heappop(self.heap)[2] if self.heap else None
        self.last = None
        if not self.heap:
            return last
        return heappushpop(self.heap, (-last.sequence_nr, self.last_order, last))[2]

    def drain(self) -> list[Node]:
        """Takes out everything, in order."""
        nodes = []
        while (node := self.pop()) is not None:
            nodes.append(node)
        return nodes


class StoppedQueue(ReadyQueue):
    """The queue of a backward that was stopped from outside: asking it for more raises what stopped it."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error

    def pop(self) -> Node | None:
        raise self.error
