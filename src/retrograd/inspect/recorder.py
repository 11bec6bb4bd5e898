"""Recorder: notes what a program does while a recording is on.

What it notes is raw: tuples, copies of small arrays, weak references. `gather.py` makes of it what people look at.
Nothing here holds a Tensor, a node or an array of the program, so that memory is freed when it would be without a
recording.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from time import perf_counter_ns
from typing import Any, NamedTuple

import numpy as np

from retrograd.backends.base import device_of, is_array, owner_of, whole
from retrograd.core.accumulate import AccumulateGrad
from retrograd.core.hooks import hook_name
from retrograd.core.node import Node
from retrograd.core.observer import Observer
from retrograd.core.op import Binary, Op, Unary
from retrograd.core.places import spot
from retrograd.core.tensor import Tensor
from retrograd.inspect.values import Sample, figures, keep

THINNED = 16
"""Of how many values one is kept, once there are more than the limit."""
UNDIGESTED = 16 << 20
"""Bytes of copies after which figures are made of them."""


class OpNote(NamedTuple):
    """One forward operation. It is noted as a plain tuple of these fields, which costs a tenth."""

    node: int
    """The number of its node; -1 if it has none."""
    name: str
    formula: type[Any]
    made: Any
    start: int
    end: int
    thread: int
    module: str
    during: tuple[int, int] | None
    """The backward, and its step, that the operation is part of: `create_graph`, a checkpoint, a custom Function."""
    operands: list[tuple[int, int, Any, Any]]
    outs: list[tuple[Any, Any, int, int]]
    """Shape, dtype, number of the block of memory, number of the value."""
    device: str


# A block of memory: bytes, when it was first seen, when it was freed (-1: not yet), and what made it, an operation or a
# step of a backward.
Block = list[Any]


class _Ref(weakref.ref[Any]):
    """A weak reference that knows which number stands for the object."""

    __slots__ = ("key", "number")

    key: int
    number: int


class NodeNote:
    """A node of a graph."""

    __slots__ = (
        "edges", "formula", "freed", "hooks", "inputs", "leaf", "leaf_id", "made", "module", "name", "op", "saved",
        "sequence_nr", "topological_nr",
    )  # fmt: skip

    def __init__(self, name: str, formula: type[Any]) -> None:
        self.name = name
        self.formula = formula
        self.made: Any = None
        self.module = ""
        self.op = -1
        self.sequence_nr = 0
        self.topological_nr = 0
        self.inputs: tuple[Any, ...] = ()  # metadata of what arrives
        self.edges: list[tuple[int, int]] = []  # -1 where no gradient is wanted
        self.saved: list[tuple[str, Any, Any, int, int]] = []  # ... bytes, block
        self.hooks: Sequence[str] = ()
        self.leaf: Any = None  # a weak reference
        self.leaf_id = 0
        self.freed = False


class StepNote:
    """One node that a backward ran."""

    __slots__ = ("captured", "end", "freed", "given", "grad", "hooks", "node", "sent", "start", "thread")

    def __init__(self, node: int, start: int, thread: int) -> None:
        self.node = node
        self.start = start
        self.end = -1
        self.thread = thread
        self.given: list[int] = []
        self.sent: list[tuple[int, int, int, int]] = []  # which result, receiver, its input, value
        self.hooks: Sequence[str] = ()
        self.captured: Sequence[int] = ()
        self.grad = -1
        self.freed = 0


class BackwardNote:
    """One backward."""

    def __init__(self, number: int, task: Any, thread: int) -> None:
        self.number = number
        self.place: Any = (task.place.code, task.place.lasti)
        self.thread = thread
        self.start = perf_counter_ns()
        self.end = -1
        self.create_graph: bool = task.create_graph
        self.keep_graph: bool = task.keep_graph
        self.outer = -1
        self.root = -1
        self.given: list[int] = []
        self.nodes: list[int] = []
        self.numbers: dict[int, int] = {}  # of nodes by id, which is theirs while the backward holds them
        self.dependencies: dict[int, int] = {}
        self.pruned: list[int] = []
        self.steps: list[StepNote] = []
        self.arrived: dict[tuple[int, int], list[int]] = {}  # node and input -> values sent to it
        self.latest: dict[int, int] = {}  # node -> its step, until it has sent everything
        self.left_out = 0
        self.error = ""
        self.failing = -1


class Recorder(Observer):
    """Hears of everything while a recording is on. See Note [Recording] in core/observer.py."""

    def __init__(self, limit: int, everything: bool) -> None:
        self.limit = limit
        self.everything = everything
        self.open = True
        self.lock = threading.RLock()
        self.begin()

    def begin(self) -> None:
        """Begins, or forgets everything and begins anew."""
        self.start = perf_counter_ns()
        self.end = -1
        self.ops: list[tuple[Any, ...]] = []  # each the fields of an OpNote
        self.ops_left_out = 0
        self.nodes: list[NodeNote] = []
        self.nodes_left_out = 0
        self.backwards: list[BackwardNote] = []
        self.backwards_left_out = 0
        self.step_count = 0
        self.values: list[Sample | dict[str, Any] | None] = []
        self.values_left_out = 0
        self.values_seen = 0
        self.blocks: list[Block] = []
        self.blocks_left_out = 0
        self.spans: list[tuple[str, int, int, int]] = []  # what else takes time: an optimiser's step
        self.threads: dict[int, str] = {}
        self.modules: dict[int, list[str]] = {}
        self._digested = 0
        self._raw_bytes = 0
        self._began: dict[int, int] = {}
        self._numbers: dict[int, tuple[weakref.ref[Any], int]] = {}
        self._refs: dict[int, _Ref] = {}
        self._running: dict[int, list[tuple[int, int]]] = {}
        self._tasks: dict[int, BackwardNote] = {}

    # -- forward --------------------------------------------------------------------------------------------------

    def operation_starts(self) -> None:
        self._began[threading.get_ident()] = perf_counter_ns()

    def operation_ends(self, op: Any, operands: Sequence[Any], outs: Sequence[Any]) -> None:
        end = perf_counter_ns()
        self._note(op, operands, outs, self._began.get(threading.get_ident(), end), end)

    def function_starts(self) -> int:
        return perf_counter_ns()

    def function_ends(self, node: Any, operands: Sequence[Any], outs: Sequence[Any], began: int) -> None:
        self._note(node, operands, outs, began, perf_counter_ns())

    def _note(self, op: Any, operands: Sequence[Any], outs: Sequence[Any], start: int, end: int) -> None:
        if not self.open:
            return
        if len(self.ops) >= self.limit:
            self.ops_left_out += 1
            return
        with self.lock:
            self._write(op, operands, outs, start, end)

    def _write(self, op: Any, operands: Sequence[Any], outs: Sequence[Any], start: int, end: int) -> None:
        thread = self._thread()
        number = len(self.ops)
        running = self._running.get(thread)
        during = running[-1] if running and running[-1][1] >= 0 else None
        path = self.modules.get(thread)
        module = path[-1] if path else ""
        node = -1
        device = "cpu"
        results = []
        for out in outs:
            if isinstance(out, Tensor):
                if node < 0 and out._node is op:
                    node = self.number_of(op, number, module)
                array = out.array
                if type(array) is not np.ndarray:
                    device = str(device_of(array))
                block = self.block_of(array, number, during)
                results.append((array.shape, array.dtype, block, self.value_of(array)))
        shown = []
        for x in operands:
            if isinstance(x, Tensor):
                before = x._node
                if before is None and x._accumulator is not None:
                    before = x._accumulator()
                source = -1 if before is None else self.number_of(before)
                shown.append((source, x.output_nr, x.array.shape, x.array.dtype))
        made = op._made if op._made is not None else spot(0)
        self.ops.append(
            (node, op.name(), type(op), made, start, end, thread, module, during, shown, results, device)
        )

    # -- numbers for nodes, values and memory -----------------------------------------------------------------------

    def number_of(self, node: Any, op: int = -1, module: str = "") -> int:
        """The number of a node, which it gets when it is first seen; -1 for one beyond the limit."""
        known = self._numbers.get(id(node))
        if known is not None and known[0]() is node:
            if op >= 0:
                self.nodes[known[1]].op = op
            return known[1]
        number = len(self.nodes)
        if number >= 2 * self.limit:
            self.nodes_left_out += 1
            return -1
        note = NodeNote(node.name(), type(node))
        note.op, note.module = op, module
        note.made = node._made
        note.sequence_nr, note.topological_nr = node.sequence_nr, node.topological_nr
        note.inputs = (node._meta,) if node.more_inputs is None else (node._meta, *node.more_inputs)
        if isinstance(node, AccumulateGrad):
            note.leaf, note.leaf_id = weakref.ref(node.variable), id(node.variable)
        self.nodes.append(note)
        self._numbers[id(node)] = (weakref.ref(node), number)
        return number

    def known_number(self, node: Any) -> int:
        """The number of a node that was seen; -1 for any other."""
        known = self._numbers.get(id(node))
        return known[1] if known is not None and known[0]() is node else -1

    def value_of(self, value: Any) -> int:
        """The number under which a value is kept; -1 if it is not."""
        self.values_seen += 1
        if len(self.values) >= self.limit and (
            self.values_seen % THINNED or len(self.values) >= 2 * self.limit
        ):
            self.values_left_out += 1
            return -1
        kept = None if value is None else keep(value, self.everything)
        if kept is None:
            return -1
        self.values.append(kept)
        self._raw_bytes += kept.elements.nbytes
        if self._raw_bytes > UNDIGESTED:
            self.digest()
        return len(self.values) - 1

    def digest(self) -> None:
        """Makes figures of what is kept as copies."""
        for i in range(self._digested, len(self.values)):
            kept = self.values[i]
            if isinstance(kept, Sample):
                self.values[i] = figures(kept)
        self._digested = len(self.values)
        self._raw_bytes = 0

    def block_of(self, array: Any, op: int = -1, step: tuple[int, int] | None = None) -> int:
        """The number of the memory that an array lies in; -1 where that cannot be told."""
        owner = array
        if type(array) is not np.ndarray:
            if not is_array(array):
                return -1
            owner = array = whole(array)
        if getattr(array, "base", None) is not None:
            owner = owner_of(array)
        known = self._refs.get(id(owner))
        if known is not None and known() is owner:
            return known.number
        if len(self.blocks) >= 2 * self.limit:
            self.blocks_left_out += 1
            return -1
        try:
            ref = _Ref(owner, self._freed)
        except TypeError:  # memory whose owner cannot be watched
            return -1
        ref.key, ref.number = id(owner), len(self.blocks)
        if owner is not array:  # memory from before, of which this is a part
            op, step = -1, None
        self.blocks.append([owner.nbytes, perf_counter_ns(), -1, op, step])
        self._refs[ref.key] = ref
        return ref.number

    def known_block(self, array: Any) -> int:
        """The number of the memory that an array lies in, if it was seen; else -1."""
        known = self._refs.get(id(owner_of(whole(array))))
        return -1 if known is None else known.number

    def _freed(self, ref: Any) -> None:
        """Memory was freed, by whichever thread."""
        self.blocks[ref.number][2] = perf_counter_ns()
        key = ref.key
        if self._refs.get(key) is ref:
            del self._refs[key]

    def _thread(self) -> int:
        ident = threading.get_ident()
        if ident not in self.threads:
            self.threads[ident] = threading.current_thread().name
        return ident

    # -- the graph ----------------------------------------------------------------------------------------------------

    def walk(self, nodes: Sequence[Any]) -> list[int]:
        """Notes nodes, with their edges and what they have saved."""
        numbers = [self.number_of(node) for node in nodes]
        for node, number in zip(nodes, numbers, strict=True):
            if number < 0:
                continue
            note = self.nodes[number]
            note.edges = self._edges(node)
            note.hooks = _hooks_on(node)
            if not note.saved and not node._freed and note.leaf is None:
                note.saved = self._saved(node)
        return numbers

    def _edges(self, node: Node) -> list[tuple[int, int]]:
        found = []
        if node.edge_count:
            found.append((-1 if node.next0 is None else self.number_of(node.next0), node.nr0))
        if node.edge_count > 1:
            found.append((-1 if node.next1 is None else self.number_of(node.next1), node.nr1))
        for edge in node.more_edges or ():
            found.append((-1 if edge.function is None else self.number_of(edge.function), edge.input_nr))
        return found

    def _saved(self, node: Node) -> list[tuple[str, Any, Any, int, int]]:
        return [(name, a.shape, a.dtype, a.nbytes, self.block_of(a)) for name, a in saved_arrays(node)]

    # -- backward -----------------------------------------------------------------------------------------------------

    def backward_starts(self, task: Any, values: Sequence[Any]) -> None:
        if not self.open:
            return
        with self.lock:
            if len(self.backwards) >= self.limit or self.number_of(task.root) < 0:
                self.backwards_left_out += 1
                return
            note = BackwardNote(len(self.backwards), task, self._thread())
            outer = None if task.outer is None else self._tasks.get(id(task.outer))
            note.outer = -1 if outer is None else outer.number
            note.nodes = self.walk([task.root, *task.nodes])
            note.root = note.nodes[0]
            note.numbers = dict(zip(map(id, (task.root, *task.nodes)), note.nodes, strict=True))
            note.given = [self.value_of(value) for value in values]
            for node, number in zip([task.root, *task.nodes], note.nodes, strict=True):
                if number < 0:
                    continue
                missing = node._missing if task.number else task.dependencies.get(node, 0)
                note.dependencies[number] = missing
                if not task.sends_to(node):
                    note.pruned.append(number)
            self.backwards.append(note)
            self._tasks[id(task)] = note

    def node_starts(self, task: Any, node: Any, buffer: Any) -> None:
        note = self._tasks.get(id(task))
        if note is None:
            return
        with self.lock:
            thread = self._thread()
            number = note.numbers[id(node)]
            if self.step_count >= self.limit or number < 0:
                note.left_out += 1
                self._running.setdefault(thread, []).append((note.number, -1))
                return
            self.step_count += 1
            step = StepNote(number, 0, thread)
            step.hooks = _hooks_on(node)
            step.given = [self._given(note, number, nr, value) for nr, value in enumerate(buffer.values)]
            note.latest[number] = len(note.steps)
            note.steps.append(step)
            self._running.setdefault(thread, []).append((note.number, len(note.steps) - 1))
            if task.exec_info is not None and node in task.exec_info:
                step.captured = [capture.index for capture in task.exec_info[node].captures]
            step.start = perf_counter_ns()

    def _given(self, note: BackwardNote, node: int, nr: int, value: Any) -> int:
        """The number of what a node is given: what was sent to it, or the sum if that was more than one."""
        sent = note.arrived.pop((node, nr), ())
        return sent[0] if len(sent) == 1 else self.value_of(value)

    def node_ends(self, task: Any, node: Any, results: Any) -> None:
        end = perf_counter_ns()
        note = self._tasks.get(id(task))
        running = self._running.get(threading.get_ident())
        if note is None or not running:
            return
        with self.lock:
            number, index = running.pop()
            if number != note.number or index < 0:
                return
            step = note.steps[index]
            step.end = end
            if task.frees and self.nodes[step.node].saved:
                step.freed = sum(size for *_, size, _ in self.nodes[step.node].saved)
                self.nodes[step.node].freed = True
            if isinstance(node, AccumulateGrad) and node.variable._grad is not None and results is not None:
                array = node.variable._grad.array
                step.grad = self.value_of(array)
                self.block_of(array, -1, (number, index))

    def sends(self, task: Any, source: Any, i: int, node: Any, nr: int, value: Any) -> None:
        note = self._tasks.get(id(task))
        if note is None:
            return
        with self.lock:
            index = note.latest.get(note.numbers[id(source)], -1)
            if index < 0:
                return
            array = value.array if isinstance(value, Tensor) else value
            if array is not None:
                self.block_of(array, -1, (note.number, index))
            receiver, number = note.numbers[id(node)], self.value_of(array)
            if receiver < 0:
                return
            note.steps[index].sent.append((i, receiver, nr, number))
            if number >= 0:
                note.arrived.setdefault((receiver, nr), []).append(number)

    def backward_ends(self, task: Any, error: BaseException | None) -> None:
        note = self._tasks.pop(id(task), None)
        if note is None:
            return
        note.end = perf_counter_ns()
        note.numbers.clear()
        running = self._running.get(threading.get_ident(), [])
        while running and running[-1][0] >= note.number:
            number, index = running.pop()
            if error is not None and number == note.number:
                note.failing = index
        if error is not None:
            note.error = f"{type(error).__name__}: {error}"
            if note.failing < 0:  # on a worker, or in between
                note.failing = next((i for i, s in enumerate(note.steps) if s.end < 0), -1)

    def close(self) -> None:
        """Nothing is noted from here on."""
        self.open = False
        self.end = perf_counter_ns()
        self._tasks.clear()


def saved_arrays(node: Any) -> list[tuple[str, Any]]:
    """The arrays that a node has saved for its backward, by the names PyTorch gives them."""
    found: list[tuple[str, Any]] = []
    if isinstance(node, (Unary, Binary)) and node.constants is None:
        y = node.y if isinstance(node, Binary) else None
        if node.x is None and y is None and node.out is None:
            return found
    if isinstance(node, Op):
        named = {slot: name for name, slot in node.shown.items()}
        for slot in node.slot_names():
            value = node.slot(slot).value
            if is_array(value):
                found.append((named.get(slot, _SLOTS.get(slot, slot)), value))
        return found
    for i, saved in enumerate(getattr(node, "_saved", None) or ()):
        if saved is not None and is_array(saved.array):
            found.append((f"saved_tensors[{i}]", saved.array))
    return found


_SLOTS = {"x": "self", "y": "other", "out": "result"}


def _hooks_on(node: Node) -> Sequence[str]:
    """The hooks that run with a node, in the order of Note [Hook order]."""
    tensor_hooks, node_hooks = node.tensor_hooks, node.node_hooks
    if tensor_hooks is None and node_hooks is None and not isinstance(node, AccumulateGrad):
        return ()
    found: list[str] = []
    if tensor_hooks is not None:
        for table in list(tensor_hooks.tables.values()):
            found += [f"tensor hook {hook_name(hook)}" for hook in list(table.values())]
        found += ["retain_grad"] * len(tensor_hooks.retains)
    if node_hooks is not None:
        found += [f"pre-hook {hook_name(hook)}" for hook in list(node_hooks.pre.values())]
        found += [f"hook {hook_name(hook)}" for hook in list(node_hooks.post.values())]
    if isinstance(node, AccumulateGrad) and node.variable._post_accumulate:
        hooks = list(node.variable._post_accumulate.values())
        found += [f"post-accumulate hook {hook_name(hook)}" for hook in hooks]
    return found
