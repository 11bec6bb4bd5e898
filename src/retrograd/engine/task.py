"""GraphTask: all state of one backward call.

Nothing about a running backward is kept on the nodes, so concurrent and nested backwards over shared nodes do not see
each other's counts or buffers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

from retrograd.core.node import Edge, Node
from retrograd.core.places import here
from retrograd.core.plain import Plain
from retrograd.engine.buffer import InputBuffer
from retrograd.engine.ready import NodeTask, ReadyQueue, StoppedQueue
from retrograd.values import Value

if TYPE_CHECKING:
    from retrograd.engine.shared import Shared

topological_nr = attrgetter("topological_nr")


class Capture:
    """One requested gradient: what arrives at input `input_nr` becomes result number `index`."""

    def __init__(self, input_nr: int, index: int) -> None:
        self.input_nr = input_nr
        self.index = index


class ExecInfo:
    """Whether a node must run, and what is captured on arrival, when only some gradients are wanted."""

    def __init__(self) -> None:
        self.needed = False
        self.captures: list[Capture] = []

    def should_execute(self) -> bool:
        """Whether gradients must be sent to the node at all."""
        return self.needed or bool(self.captures)


class GraphTask(Plain):
    """One call of backward: counts, buffers, captures, callbacks."""

    def __init__(
        self, keep_graph: bool, create_graph: bool, tensors: bool, outer: GraphTask | None = None
    ) -> None:
        self.keep_graph = keep_graph
        self.frees = not keep_graph  # whether saved values go with each node; a Watch frees them at the end
        self.create_graph = create_graph
        self.tensors = tensors  # gradients travel as Tensors instead of bare arrays
        self.outer = outer  # the backward that this one runs inside of
        self.depth: int = 0 if outer is None else outer.depth + 1
        self.place = here()  # the line that asked for this backward
        self.dependencies: dict[Node, int] = {}
        self.not_ready: dict[Node, InputBuffer] = {}
        self.exec_info: dict[Node, ExecInfo] | None = None  # None: everything runs
        self.anomaly = False  # see Note [Anomaly mode]
        self.capturing = False  # a capture's hooks run, not a node
        self.captured: list[Value | None] = []
        self.roots: set[Node] = set()
        self.callbacks: list[Callable[[], None]] = []
        self.queue: ReadyQueue = ReadyQueue()
        if outer is not None and isinstance(outer.queue, StoppedQueue):
            self.queue = outer.queue
        self.elsewhere = False  # whether a node of another device than the CPU is ready
        self.shared: Shared | None = None  # set while several threads serve this backward

    def compute_dependencies(self, root: Node, min_topological_nr: int) -> None:
        """Counts, for each node reachable from `root`, the edges that gradients will come along."""
        dependencies = self.dependencies
        stack = [root]
        while stack:
            node = stack.pop()
            if node.topological_nr < min_topological_nr:
                continue
            for succ in (node.next0, node.next1) if node.more_edges is None else node.successors():
                if succ is None:
                    continue
                if succ in dependencies:
                    dependencies[succ] += 1
                else:
                    dependencies[succ] = 1
                    stack.append(succ)

    def push(self, item: NodeTask) -> None:
        """Adds a ready node. One of another device than the CPU's goes where the loop sees that it is not alone."""
        if item.node.where is None:
            self.queue.push(item)
        else:
            self.elsewhere = True
            self.queue.push_aside(item)

    def stop(self, error: BaseException) -> None:
        """Makes this backward, and those around it, end with `error` before the next node."""
        task: GraphTask | None = self
        while task is not None:
            task.queue = StoppedQueue(error)
            shared = task.shared
            if shared is not None:
                shared.fail(error)
            task = task.outer

    def sends_to(self, node: Node) -> bool:
        """Whether gradients go to `node` in this backward."""
        if self.exec_info is None:
            return True
        info = self.exec_info.get(node)
        return info is not None and info.should_execute()

    def runs(self, node: Node) -> bool:
        """Whether `node` does more than hand over what arrives at it."""
        if self.exec_info is None:
            return True
        info = self.exec_info.get(node)
        return info is not None and info.needed

    def will_run(self, node: Node) -> bool:
        """Whether a gradient arrives at `node` in this backward."""
        return self.sends_to(node) and (
            self.exec_info is not None or node in self.dependencies or node in self.roots
        )

    def init_to_execute(self, root: Node, outputs: Sequence[Edge], accumulate_grad: bool) -> None:
        """Marks the nodes on a path from `root` to one of `outputs`; only they will run.

        Dependencies have been counted: what was found then is all that can be on such a path.

        With `accumulate_grad` the outputs themselves run (their gradient lands in `.grad`), otherwise their gradient
        is captured where it arrives.
        """
        info: dict[Node, ExecInfo] = {}
        for index, (output, nr) in enumerate(outputs):
            assert output is not None
            wanted = info.setdefault(output, ExecInfo())
            if accumulate_grad:
                wanted.needed = True
            else:
                wanted.captures.append(Capture(nr, index))
        self.exec_info = info
        self.captured = [] if accumulate_grad else [None] * len(outputs)
        # A node is needed when some successor must execute; successors come first in topological order.
        for node in sorted((*self.dependencies, root), key=topological_nr):
            for succ in (node.next0, node.next1) if node.more_edges is None else node.successors():
                entry = None if succ is None else info.get(succ)
                if entry is not None and entry.should_execute():
                    info.setdefault(node, ExecInfo()).needed = True
                    break
