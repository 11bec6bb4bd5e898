"""GraphTask: all state of one backward call.

Note [Streams]
~~~~~~~~~~~~~~
A GPU has queues of work, streams, that run beside each other. A node runs on the stream of its forward, so what that
saved is there. A gradient that goes to a node of another stream makes that stream wait for its maker's, and is summed
there with what has arrived; its memory is kept until both have done their work, because an allocator that knows only
the maker's stream would give it away. A stream waits for the caller's when it is first used, and the caller's for all
at the end: to whoever calls backward() it is as if everything ran on the stream that was current then.

Note [Counts on nodes]
~~~~~~~~~~~~~~~~~~~~~~
How many gradients a node still waits for, and what has arrived, lies on the node itself while a single backward needs
the node: a field is many times cheaper than a dictionary. `_counted_by` says whose numbers they are. A backward that
meets a node of another one that still runs (it was started inside it, or on another thread) keeps all its counts in
dictionaries of its own instead, and so does one that is shared among threads. Backwards therefore never see each
other's counts or gradients. Counting holds a lock; no user code runs in it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from retrograd.backends.base import BACKENDS
from retrograd.backends.device import device
from retrograd.core.collector import watch
from retrograd.core.locks import held
from retrograd.core.node import Edge, Node
from retrograd.core.observer import Observer
from retrograd.core.places import Place, here
from retrograd.engine.buffer import InputBuffer, total
from retrograd.engine.ready import ReadyQueue, StoppedQueue
from retrograd.forks import at_fork
from retrograd.hints import Plain
from retrograd.values import Value

if TYPE_CHECKING:
    from retrograd.engine.parallel import Shared

topological_nr: attrgetter[Any] = attrgetter("topological_nr")


class Counting:
    """Which backwards have their counts on nodes. See Note [Counts on nodes]."""

    def __init__(self) -> None:
        self.lock: threading.RLock = threading.RLock()
        self.last = 0  # the number given last
        self.running: set[int] = set()


COUNTING: Final = Counting()


def _count_anew() -> None:
    """In a forked child: another thread may have held the lock, and its backwards are not ours."""
    COUNTING.lock = threading.RLock()


at_fork(after_in_child=_count_anew)


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
        self.frees: bool = (
            not keep_graph
        )  # whether saved values go with each node; a Watch frees them at the end
        self.create_graph = create_graph
        self.tensors = tensors  # gradients travel as Tensors instead of bare arrays
        self.outer = outer  # the backward that this one runs inside of
        self.depth: int = 0 if outer is None else outer.depth + 1
        self.place: Place = here()  # the line that asked for this backward
        self.asked_id: int = -1  # a number for people's tools, once they have asked for one
        self.root: Node | None = None
        self.min_topological_nr: int = 0  # of the nodes that gradients are wanted for
        self.number: int = 0  # among those that have their counts on nodes; 0: this one has not
        self.nodes: list[Node] = []  # all that gradients may come to, but for the root
        self.dependencies: dict[Node, int] = {}  # counts and gradients, if not on nodes
        self.not_ready: dict[Node, InputBuffer] = {}
        self.exec_info: dict[Node, ExecInfo] | None = None  # None: everything runs
        self.anomaly: bool = False  # see Note [Anomaly mode]
        self.named: bool = False  # whether the thread's state says which node runs
        self.capturing = False  # a capture's hooks run, not a node
        self.unfinished = True  # until the last node has run
        self.careful: bool = False  # whether each node needs a close look: see `settle`
        self.captured: list[Value | None] = []
        self.callbacks: list[Callable[[], None]] = []
        self.queue: ReadyQueue = ReadyQueue()
        if outer is not None and isinstance(outer.queue, StoppedQueue):
            self.queue = outer.queue
        self.device: device | None = None  # a GPU to which this thread gives work, too
        self.elsewhere: bool = False  # whether a node of another device is ready
        self.observer: Observer | None = None  # who is told: see Note [Recording]
        self.shared: Shared | None = None  # set while several threads serve this backward
        self.stream: int = 0  # the current one of this thread: see Note [Streams]
        self.streams: list[int] = []  # all that were used; the first is the caller's
        self.crossing: list[Any] = []  # gradients that have gone from one to another

    # -- counts and gradients on their way -----------------------------------------------------------------------

    def compute_dependencies(self, root: Node, min_topological_nr: int) -> None:
        """Counts, for each node reachable from `root`, the edges that gradients will come along."""
        self.root = root
        self.min_topological_nr = min_topological_nr
        if held(COUNTING.lock, self._count_on_nodes):
            return
        self.number = 0
        self.nodes = []
        self._count_apart(root, min_topological_nr)

    def _count_on_nodes(self) -> bool:
        """Counts on the nodes themselves; False if another backward needs one of them."""
        root = self.root
        assert root is not None
        COUNTING.last += 1
        self.number = COUNTING.last
        if self._claim(root) and self._count(root, self.min_topological_nr):
            COUNTING.running.add(self.number)
            root._missing = 0
            return True
        for node in (root, *self.nodes):
            if node._counted_by == self.number:
                node._counted_by = 0
        return False

    def _claim(self, node: Node) -> bool:
        """Takes a node's fields for this backward, unless another one needs them."""
        if node._counted_by and node._counted_by in COUNTING.running:
            return False
        node._counted_by = self.number
        node._missing = 1
        node._held = None
        return True

    def _count(self, root: Node, min_topological_nr: int) -> bool:
        """Counts on the nodes; false where one of them is another backward's."""
        stack = [root]
        while stack:
            node = stack.pop()
            if node.topological_nr < min_topological_nr:
                continue
            first, second = node.next0, node.next1
            if first is not None and not self._count_edge(first, stack):
                return False
            if second is not None and not self._count_edge(second, stack):
                return False
            if node.more_edges is not None:
                for edge in node.more_edges:
                    if edge.function is not None and not self._count_edge(edge.function, stack):
                        return False
        return True

    def _count_edge(self, node: Node, stack: list[Node]) -> bool:
        """One more gradient for `node`, which is new or not; false if it is another backward's."""
        if node._counted_by == self.number:
            node._missing += 1
            return True
        if not self._claim(node):
            return False
        self.nodes.append(node)
        stack.append(node)
        return True

    def _count_apart(self, root: Node, min_topological_nr: int) -> None:
        """Counts in a dictionary."""
        dependencies = self.dependencies
        stack = [root]
        while stack:
            node = stack.pop()
            if node.topological_nr < min_topological_nr:
                continue
            for succ in node.successors():
                if succ in dependencies:
                    dependencies[succ] += 1
                else:
                    dependencies[succ] = 1
                    self.nodes.append(succ)
                    stack.append(succ)

    def watch_nodes(self) -> None:
        """Shows the graph to the collector: gradients with a graph of their own may close a cycle through it."""
        assert self.root is not None
        watch(self.root)
        for node in self.nodes:
            watch(node)

    def move_apart(self) -> None:
        """Takes counts and gradients from the nodes into dictionaries, for several threads to work on."""
        if self.number:
            for node in (self.root, *self.nodes):
                assert node is not None
                self.dependencies[node] = node._missing
                if node._held is not None:
                    self.not_ready[node] = self.taken(node)
            self.let_go()

    def taken(self, node: Node) -> InputBuffer:
        """The gradients that have arrived at a node; it holds them no more."""
        if not self.number:
            return self.not_ready.pop(node, None) or InputBuffer(node.num_inputs())
        held = node._held
        node._held = None
        if isinstance(held, InputBuffer):
            return held
        buffer = InputBuffer(node.num_inputs())
        if held is not None:
            buffer.values[0] = held
            buffer.owned = 1 if node._held_ours else 0
        return buffer

    def arrive(self, node: Node, nr: int, value: Any, owned: bool) -> bool:
        """Adds a gradient (None: there is none) to those at input `nr` of a node; whether it was the last to come."""
        if node._stream != self.stream and self.may_cross(node) and value is not None:
            return self._arrive_across(node, nr, value, owned)
        if not self.number:
            return self._arrive_apart(node, nr, value, owned)
        if value is None:
            pass
        elif node.more_inputs is not None:
            if node._held is None:
                node._held = InputBuffer(node.num_inputs())
            node._held.add(nr, value, owned, self.tensors)
        else:
            if node._held is not None:
                value, owned = total(node._held, node._held_ours, value, owned, self.tensors)
            node._held = value
            node._held_ours = owned
        node._missing -= 1
        return node._missing == 0

    # -- streams -------------------------------------------------------------------------------------------------

    def begin_streams(self) -> None:
        """Notes on which stream the caller is."""
        if BACKENDS.homes:
            self.stream = BACKENDS.stream_now()
            self.streams = [self.stream]

    def may_cross(self, node: Node) -> bool:
        """Whether a node's stream matters: not on the CPU, and not among several threads, which have their own."""
        return node._where is not None and self.shared is None

    def enter_stream(self, stream: int, where: device) -> None:
        """Goes on on another stream."""
        backend = BACKENDS.on(where)
        if stream not in self.streams:
            backend.join_stream(stream, self.streams[0])
            self.streams.append(stream)
        backend.enter_stream(stream)
        self.stream = stream

    def end_streams(self) -> None:
        """Goes back to the caller's stream, which waits for the others."""
        if len(self.streams) > 1:
            backend = BACKENDS.by_device["cuda"]
            first = self.streams[0]
            backend.enter_stream(first)
            self.stream = first
            for other in self.streams[1:]:
                backend.join_stream(first, other)
            backend.keep_for(self.streams, self.crossing)
            self.crossing = []

    def _arrive_across(self, node: Node, nr: int, value: Any, owned: bool) -> bool:
        """`arrive` for a node of another stream."""
        source, where = self.stream, node._where
        assert where is not None
        self.crossing.append(value)
        self.enter_stream(node._stream, where)
        BACKENDS.on(where).join_stream(node._stream, source)
        last = self.arrive(node, nr, value, owned)
        self.enter_stream(source, where)
        return last

    def _arrive_apart(self, node: Node, nr: int, value: Any, owned: bool) -> bool:
        if value is not None:
            buffer = self.not_ready.get(node)
            if buffer is None:
                buffer = self.not_ready[node] = InputBuffer(node.num_inputs())
            buffer.add(nr, value, owned, self.tensors)
        left = self.dependencies[node] - 1
        self.dependencies[node] = left
        return left == 0

    def let_go(self) -> None:
        """Leaves the nodes to other backwards; what an error has left on them goes."""
        number = self.number
        if number:
            if self.unfinished:
                for node in (self.root, *self.nodes):
                    if node is not None and node._counted_by == number:
                        node._held = None
            self.number = 0
            COUNTING.running.discard(number)

    def push(self, node: Node) -> None:
        """Adds a ready node. One of another device goes where the loop sees that it is not alone.

        The exception is a first GPU: it has the work done behind our back, so this thread can give it out.
        """
        if node._where is None or node._where == self.device:
            self.queue.push(node)
        elif self.device is None and BACKENDS.on(node._where).asynchronous:
            self.device = node._where
            self.queue.push(node)
        else:
            self.elsewhere = True
            self.queue.push_aside(node)

    def begin(self, values: Sequence[Any]) -> None:
        """Puts the first gradients at the root, one per input, and makes it ready."""
        root = self.root
        assert root is not None
        if not self.number:
            buffer = self.not_ready[root] = InputBuffer(0)
            buffer.values = list(values)
        elif len(values) == 1:
            root._held = values[0]
            root._held_ours = False
        else:
            root._held = InputBuffer(0)
            root._held.values = list(values)
        self.push(root)

    def settle(self, anomaly: bool, selected: bool) -> None:
        """Says, before the first node, whether nodes may take the engine's short way."""
        self.anomaly = anomaly
        self.named = anomaly or selected
        self.careful = self.named or self.number == 0 or self.observer is not None

    def is_plain(self, node: Node) -> bool:
        """Whether a node could take the engine's short way if nobody recorded this backward."""
        if not node._has_pair or node.tensor_hooks is not None or node.node_hooks is not None:
            return False
        return self.number != 0 and not self.anomaly and self.only_runs(node)

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

    def only_runs(self, node: Node) -> bool:
        """Whether `node` runs, and nothing of what arrives at it is captured."""
        if self.exec_info is None:
            return True
        info = self.exec_info.get(node)
        return info is not None and info.needed and not info.captures

    def runs(self, node: Node) -> bool:
        """Whether `node` does more than hand over what arrives at it."""
        if self.exec_info is None:
            return True
        info = self.exec_info.get(node)
        return info is not None and info.needed

    def will_run(self, node: Node) -> bool:
        """Whether a gradient arrives at `node` in this backward."""
        if not self.sends_to(node):
            return False
        if self.number:
            return node._counted_by == self.number
        return self.exec_info is not None or node is self.root or node in self.dependencies

    def init_to_execute(self, root: Node, outputs: Sequence[Edge], accumulate_grad: bool) -> None:
        """Marks the nodes on a path from `root` to one of `outputs`; only they will run.

        Dependencies have been counted: what was found then is all that can be on such a path.

        With `accumulate_grad` the outputs themselves run (their gradient lands in `.grad`), otherwise their gradient
        is captured where it arrives.
        """
        info: dict[Node, ExecInfo] = {}
        for index, output in enumerate(outputs):
            assert output.function is not None
            wanted = info.setdefault(output.function, ExecInfo())
            if accumulate_grad:
                wanted.needed = True
            else:
                wanted.captures.append(Capture(output.input_nr, index))
        self.exec_info = info
        self.captured = [] if accumulate_grad else [None] * len(outputs)
        # A node is needed when some successor must execute; successors come first in topological order.
        for node in sorted((*self.nodes, root), key=topological_nr):
            for succ in (node.next0, node.next1) if node.more_edges is None else node.successors():
                entry = None if succ is None else info.get(succ)
                if entry is not None and entry.should_execute():
                    info.setdefault(node, ExecInfo()).needed = True
                    break
