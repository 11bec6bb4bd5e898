"""NodeTask and ReadyQueue: which node runs next.

Note [Node order]
~~~~~~~~~~~~~~~~~
Ready nodes run in strictly decreasing priority: deeper re-entry first, then the higher `sequence_nr` (what the forward
pass did last is undone first), AccumulateGrad before everything; equals run in the order in which they became ready.
"""

from __future__ import annotations

from heapq import heappop, heappush
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
    """A priority queue of NodeTasks for one device."""

    def __init__(self) -> None:
        self.heap: list[tuple[int, int, int, NodeTask]] = []
        self.pushed = 0

    def push(self, item: NodeTask) -> None:
        """Adds a task."""
        self.pushed += 1
        heappush(self.heap, (-item.task.depth, -item.node.sequence_nr, self.pushed, item))

    def pop(self) -> NodeTask:
        """Takes out the task of the highest priority."""
        return heappop(self.heap)[3]

    def __len__(self) -> int:
        return len(self.heap)
