"""One backward served by several threads, with the bits of a single one.

Note [Shared backward]
~~~~~~~~~~~~~~~~~~~~~~
A backward begins on its calling thread alone. It becomes shared when a node of another device is ready, or when two
large nodes are. A node is large if one thread would be busy with it for long: matrix products and the native pack's
kernels use all threads already, and would only stand in each other's way. Then the order in which one thread would run
the rest is worked out (`SharedPlan`), and every gradient gets the number of its arrival at its receiver. They may be
computed in any order, but an `Inbox` adds them in that of their numbers, so sums come out the same to the last bit.

Who runs what: a device's worker its built-in nodes, CPU workers large built-in nodes, the calling thread everything
else. Nodes with user code run on the calling thread in the planned order among themselves. Matrix products take turns:
each uses all of BLAS's threads, as it would on one thread, so that the machine is not oversubscribed and no bit depends
on how many products could have run at once.

The calling thread does not leave before the workers have: after an error, too, each finishes the node it is at, and
nothing is added to a `.grad` behind the back of whoever handles the error. Nodes are claimed all at once, in the
planned order, because workers do not keep to it (Note [Claims]).
"""

from __future__ import annotations

import threading
from heapq import heappop, heappush
from typing import Any

from retrograd.core.accumulate import AccumulateGrad
from retrograd.core.locks import held, let_go
from retrograd.core.node import Node
from retrograd.core.op import Op
from retrograd.core.traits import traits_of
from retrograd.core.version import PACKED
from retrograd.engine import threads
from retrograd.engine.buffer import InputBuffer
from retrograd.engine.evaluate import claim, outgoing, run_node
from retrograd.engine.ready import NodeTask, ReadyQueue
from retrograd.engine.task import GraphTask

# Elements that one thread would be busy with, from which a node is worth another: see benchmarks/threads.py. At 0 every
# built-in node is.
LARGE = 1 << 17


def is_large(node: Node) -> bool:
    """Whether a node's formula keeps one thread busy for long enough to be worth handing over."""
    if _elements(node) < LARGE or not node.built_in:
        return False
    return not LARGE or (isinstance(node, Op) and traits_of(node).laborious)


def _elements(node: Node) -> int:
    """How many elements a node takes in or gives out, whatever is more."""
    given = 0 if node._meta is None else node._meta.count
    receiver = node.next0
    made = 0 if receiver is None or receiver._meta is None or node.nr0 else receiver._meta.count
    return max(made, given)


def has_user_code(node: Node) -> bool:
    """Whether running the node calls something a user wrote."""
    if node.tensor_hooks is not None or node.node_hooks is not None:
        return True
    if isinstance(node, AccumulateGrad):
        return bool(node.variable._post_accumulate)
    if not isinstance(node, Op):
        return not node.built_in
    return any(node.slot(name).counter is PACKED for name in node.slot_names())


class SharedPlan:
    """The order in which one thread would run the rest of a backward."""

    def __init__(self, task: GraphTask, ready: list[Node]) -> None:
        self.rank: dict[Node, int] = {}
        self.numbers: dict[Node, list[int]] = {}  # per edge: which arrival at its receiver this gradient is
        self.arrivals: dict[Node, int] = {}  # how many are to come
        left = dict(task.dependencies)
        queue = ReadyQueue()
        for node in ready:
            queue.push(node)
        while (first := queue.pop()) is not None:
            node = first
            self.rank[node] = len(self.rank)
            numbers = self.numbers[node] = []
            for i in range(node.edge_count if task.runs(node) else 0):
                succ = node.successor(i)
                number = -1
                if succ is not None and task.sends_to(succ):
                    number = self.arrivals.get(succ, 0)
                    self.arrivals[succ] = number + 1
                    left[succ] -= 1
                    if not left[succ]:
                        queue.push(succ)
                numbers.append(number)


class Inbox:
    """The gradients on their way to one node: added in the planned order, whatever order they come in."""

    def __init__(self, buffer: InputBuffer, expected: int) -> None:
        self.lock: threading.RLock = threading.RLock()
        self.buffer = buffer
        self.expected = expected
        self.next: int = 0
        self.early: dict[int, tuple[int, Any, bool]] = {}

    def put(self, number: int, nr: int, value: Any, owned: bool) -> bool:
        """Takes gradient `number`, which goes to input `nr`; whether it was the last to come."""
        self.early[number] = (nr, value, owned)
        return held(self.lock, self._add)

    def _add(self) -> bool:
        """Adds those whose turn it is; whether there are now all."""
        if self.next == self.expected:
            return False  # another thread has added the last
        while self.next in self.early:
            nr, value, owned = self.early.pop(self.next)
            if value is not None:
                self.buffer.add(nr, value, owned, False)
            self.next += 1
        return self.next == self.expected


class Shared:
    """The state that the threads of one backward share."""

    def __init__(self, task: GraphTask, ready: list[Node]) -> None:
        task.move_apart()
        self.task = task
        self.plan: SharedPlan = SharedPlan(task, ready)
        self.changed: threading.Condition = (
            threading.Condition()
        )  # its lock is held wherever the fields below are used
        self.large: list[tuple[int, NodeTask]] = []  # for CPU workers and the caller
        self.small: list[tuple[int, NodeTask]] = []  # for the caller alone
        self.user: list[tuple[int, NodeTask]] = []  # for the caller, in order
        self.user_nodes: list[Node] = [node for node in self.plan.rank if has_user_code(node)]
        self.users: set[Node] = set(self.user_nodes)
        self.users_done: int = 0
        self.left: int = len(self.plan.rank)
        self.error: BaseException | None = None
        self.over: bool = False
        self.helpers: int = 0  # CPU workers that serve this backward
        self.most_helpers: int = threads.SETTINGS.threads() - 1
        self.turns: int = 0  # nodes that devices are at
        self.product_turn: threading.RLock = threading.RLock()  # see above: matrix products take turns
        self.in_order: bool = False  # whether the caller runs everything, as if nothing were shared
        self.claims: list[tuple[Node, Any]] = []  # nodes, with who had claimed them before
        self.inboxes: dict[Node, Inbox] = {}
        for node, expected in self.plan.arrivals.items():
            buffer = task.not_ready.pop(node, None) or InputBuffer(node.num_inputs())
            self.inboxes[node] = Inbox(buffer, expected)
        self.ready: list[NodeTask] = [NodeTask(task, node, task.taken(node)) for node in ready]

    # -- which thread gets what ----------------------------------------------------------------------------------

    def push(self, item: NodeTask) -> None:
        """Puts a ready node where the thread that runs it will look."""
        node = item.node
        rank = self.plan.rank[node]
        if node in self.users:
            self._offer(self.user, rank, item)
        elif self.in_order or has_user_code(node):  # a hook may have put a hook on it in the meantime
            self._offer(self.small, rank, item)
        elif node._where is not None:
            workers = threads.THREADS.of_device(node._where)
            if workers is None:
                self._offer(self.small, rank, item)
            else:
                workers.queue.push((-self.task.depth, rank), Turn(self, item).run)
        elif is_large(node):
            self._offer(self.large, rank, item)
            self._call_helper(rank)
        else:
            self._offer(self.small, rank, item)

    def _call_helper(self, rank: int) -> None:
        """Asks the CPU workers for one; where no threads can be had, the caller does it all."""
        if self.most_helpers:
            self.most_helpers = threads.THREADS.cpu.ensure(self.most_helpers)
        if self.most_helpers:
            threads.THREADS.cpu.queue.push((-self.task.depth, rank), self.help)

    def _offer(self, heap: list[tuple[int, NodeTask]], rank: int, item: NodeTask) -> None:
        with self.changed:
            heappush(heap, (rank, item))
            self.changed.notify()

    def _next_for_caller(self) -> NodeTask | None:
        """The first of what the calling thread may run now; the lock is held.

        Large nodes are the helpers' as long as there is one for each of them: what the caller runs leads to more.
        """
        heaps = [self.small] if self.small else []
        if self.user and self.user[0][1].node is self.user_nodes[self.users_done]:
            heaps.append(self.user)
        if self.large and (not heaps or len(self.large) > self.most_helpers):
            heaps.append(self.large)
        if not heaps:
            return None
        heap = min(heaps, key=_first_rank)
        if heap is self.user:
            self.users_done += 1
        return heappop(heap)[1]

    def help(self) -> None:
        """A CPU worker's turn: large nodes while there are any."""
        with self.changed:
            if self.helpers >= self.most_helpers:
                return
            self.helpers += 1
        while self._help_once():
            pass

    def _help_once(self) -> bool:
        """Runs one large node; whether there was one. The last look and the leave are one step."""
        with self.changed:
            if self.over or not self.large:
                self.helpers -= 1
                self.changed.notify()
                return False
            item = heappop(self.large)[1]
        self.attempt(item)
        return True

    def serve(self) -> None:
        """The calling thread's part: returns when the backward is done, raises what stopped it."""
        self.task.shared = self
        try:
            try:
                self.task.queue.pop()  # it is empty, and raises if the backward was stopped just before this
                self._claim_all()
                self._work()
            except BaseException:
                let_go(self.product_turn)  # Note [Locks and interrupts]
                let_go(self.changed)
                raise
            finally:
                self.over = True  # a plain store, so that no interrupt can come before it
                self._finish()
            threads.raise_and_forget(self)
        except BaseException:
            self._take_claims_back()
            raise
        finally:
            self.task.shared = None

    def _work(self) -> None:
        for first in self.ready:
            self.push(first)
        while (item := self._wait()) is not None:
            self.run(item)

    def _finish(self) -> None:
        """Waits for the workers and lets go of all gradients: a job that comes later finds nothing to do."""
        with self.changed:
            while self.helpers or self.turns:
                self.changed.wait(threads.BLINK)
            for heap in (self.large, self.small, self.user):
                heap.clear()
        self.inboxes.clear()
        self.ready = []

    def _wait(self) -> NodeTask | None:
        """The caller's next node; None when there will be none."""
        with self.changed:
            while self.left and self.error is None:
                item = self._next_for_caller()
                if item is not None:
                    return item
                self.changed.wait(threads.BLINK)
        return None

    # -- one node ------------------------------------------------------------------------------------------------

    def run(self, item: NodeTask) -> None:
        """Runs a node and delivers its gradients, on whichever thread."""
        task, node, buffer = item.task, item.node, item.buffer
        if node.multiplies and node not in self.users:
            with self.product_turn:
                results = run_node(task, node, buffer)
        else:
            results = run_node(task, node, buffer)
        if results is not None and not self.over:
            numbers = self.plan.numbers[node]
            for i, edge in enumerate(node.next_edges()):
                succ = edge.function
                if succ is not None and numbers[i] >= 0:
                    nr = edge.input_nr
                    value, owned = outgoing(task, node, i, succ, nr, results[i], buffer.values)
                    self._deliver(succ, numbers[i], nr, value, owned)
        with self.changed:
            self.left -= 1
            if not self.left:
                self.changed.notify_all()

    def _deliver(self, node: Node, number: int, nr: int, value: Any, owned: bool) -> None:
        inbox = self.inboxes[node]
        if inbox.put(number, nr, value, owned):
            self.push(NodeTask(self.task, node, inbox.buffer))

    def attempt(self, item: NodeTask) -> None:
        """Runs a node on a worker; an error goes to the caller."""
        try:
            self.run(item)
        except BaseException as error:  # noqa: BLE001 - whatever it is, the caller raises it
            self.fail(error)

    def fail(self, error: BaseException) -> None:
        """Ends this backward with an error, from any thread: the caller raises it; the first one counts."""
        with self.changed:
            if self.error is None:
                self.error = error
            self.over = True
            self.changed.notify()

    # -- claims and forks ----------------------------------------------------------------------------------------

    def _claim_all(self) -> None:
        """Claims every node. Where one is freed this backward will most likely fail: in order, as on one thread."""
        if self.task.keep_graph:
            return
        for node in self.plan.rank:
            if self.task.runs(node):
                before = node._freed_by
                if not claim(self.task, node):
                    self.in_order = True
                    break
                self.claims.append((node, before))

    def _take_claims_back(self) -> None:
        """After an error: nodes that have not run may run in another backward."""
        for node, before in self.claims:
            if node._freed_by is self.task.place and not node._freed:
                node._freed_by = before

    def after_fork(self) -> None:
        """In a forked child: there are no workers, and one of them may have held the lock."""
        self.changed = threading.Condition()
        self.product_turn = threading.RLock()
        self.helpers = self.turns = 0


def _first_rank(heap: list[tuple[int, NodeTask]]) -> int:
    return heap[0][0]


class Turn:
    """One node that a device's worker runs for a backward."""

    def __init__(self, shared: Shared, item: NodeTask) -> None:
        self.shared = shared
        self.item = item

    def run(self) -> None:
        """Runs the node unless the backward is over."""
        shared = self.shared
        with shared.changed:
            if shared.over:
                return
            shared.turns += 1
        shared.attempt(self.item)
        with shared.changed:
            shared.turns -= 1
            shared.changed.notify()


def worth_sharing(task: GraphTask) -> bool:
    """Whether a node of another device is ready, or two large ones are and there is a thread for each."""
    if task.elsewhere:
        return True
    queue = task.queue
    first = queue.heap[0][2] if queue.last is None else queue.last
    if not _gains(first) or threads.SETTINGS.threads() < 2:
        return False
    others = [entry[2] for entry in queue.heap[:4] if entry[2] is not first]
    return any(_gains(node) for node in others)


def _gains(node: Node) -> bool:
    """Whether another thread helps, here or with what comes next: not with a matrix product, which has all already."""
    following = node.next0
    if following is None:
        return not node.multiplies and is_large(node)
    return not (node.multiplies or following.multiplies) and (is_large(node) or is_large(following))
