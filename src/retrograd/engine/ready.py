"""NodeTask and ReadyQueue: which node runs next.

Note [Node order]
~~~~~~~~~~~~~~~~~
Ready nodes run in strictly decreasing priority: deeper re-entry first, then the higher `sequence_nr` (what the forward
pass did last is undone first), AccumulateGrad before everything; equals run in the order in which they became ready.
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

    The task pushed last waits beside the heap: in a chain it is also the next to run, and the heap stays empty.
    """

    def __init__(self) -> None:
        self.heap: list[tuple[int, int, int, NodeTask]] = []
        self.pushed = 0
        self.last: NodeTask | None = None
        self.last_order = 0

    def push(self, item: NodeTask) -> None:
        """Adds a task."""
        last = self.last
        if last is not None:
            heappush(self.heap, (-last.task.depth, -last.node.sequence_nr, self.last_order, last))
        self.pushed += 1
        self.last = item
        self.last_order = self.pushed

    def push_aside(self, item: NodeTask) -> None:
        """Adds a task to the heap itself: `heap` is not empty then."""
        self.pushed += 1
        heappush(self.heap, (-item.task.depth, -item.node.sequence_nr, self.pushed, item))

    def pop(self) -> NodeTask | None:
        """Takes out the task of the highest priority; None when there is none."""
        last = self.last
        if last is None:
            return heappop(self.heap)[3] if self.heap else None
        self.last = None
        if not self.heap:
            return last
        return heappushpop(self.heap, (-last.task.depth, -last.node.sequence_nr, self.last_order, last))[3]

    def drain(self) -> list[NodeTask]:
        """Takes out everything, in order."""
        items = []
        while (item := self.pop()) is not None:
            items.append(item)
        return items


class StoppedQueue(ReadyQueue):
    """The queue of a backward that was stopped from outside: asking it for more raises what stopped it."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error

    def pop(self) -> NodeTask | None:
        raise self.error
