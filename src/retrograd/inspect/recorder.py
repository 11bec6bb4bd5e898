"""Recorder: notes what a program does while a recording is on.

It is compiled, and does as little as it can: it stores references to notes and to metadata that there is anyway, and
has the native pack copy small arrays and watch their memory. `gather.py` makes of it what people look at. Nothing here
holds a Tensor, a node or an array of the program, so that memory is freed when it would be without a recording.
Threads write at the same time: a note is finished by one thread, and lists are only appended to.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from time import perf_counter_ns
from typing import Any, Final

import numpy as np

from retrograd.backends.base import is_array
from retrograd.backends.pack import PACK
from retrograd.core.accumulate import AccumulateGrad
from retrograd.core.hooks import hook_name
from retrograd.core.metadata import metadata_of
from retrograd.core.modes import ThreadState, current
from retrograd.core.node import Identity, Node
from retrograd.core.observer import Observer
from retrograd.core.op import Binary, Op, Unary
from retrograd.core.places import spot
from retrograd.core.tensor import Tensor
from retrograd.engine.task import GraphTask
from retrograd.hints import mypyc_attr
from retrograd.inspect.arrays import ArrayNotes, Unseen
from retrograd.inspect.notes import BackwardNote, Kept, NodeNote, StepNote, ThreadNote

# Note [Flags of the processor]
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# That one element of a million is a NaN can only be seen by a look at all of them, which takes a quarter of the time
# of an addition. But the processor raises a flag, which stays up, when it makes a NaN or an infinity of finite numbers.
# So what ops with `flags_faults` have made in the native pack, by the processor's own arithmetic or within bounds, is
# not looked at if their operands are known to be finite (each is looked at once) and no flag is up: neither this
# thread's, nor that of a worker of the pack, nor one which the pack has raised because NumPy, which lowers them, did
# the work. Views are finite if their memory is. All else is looked at.

LARGE: Final = 1 << 14
"""Elements from which on it takes less time to ask whether an array must be looked at than to do so."""
THINNED: Final = 16
"""Of how many values one is kept, once there are more than the limit."""

ndarray: Final[Any] = np.ndarray
clock: Final[Any] = perf_counter_ns
_value: Final[Any] = None if PACK is None else PACK.notes_value
_block: Final[Any] = None if PACK is None else PACK.notes_block
_finite: Final[Any] = None if PACK is None else PACK.notes_finite
_untrack: Final[Any] = None if PACK is None else PACK.untrack


def _append_row(rows: list[Any], *row: Any) -> None:
    """Appends a row. The pack keeps it from the cyclic collector, which would walk all rows again and again."""
    rows.append(row)


append_row: Final[Any] = _append_row if PACK is None else PACK.notes_row


class Serial:
    """How many recorders there were."""

    last: int = 0


SERIAL: Final = Serial()


@mypyc_attr(allow_interpreted_subclasses=True)
class Recorder(Observer):
    """Hears of everything while a recording is on. See Note [Recording] in core/observer.py."""

    def __init__(self, limit: int, everything: bool) -> None:
        self.limit: int = limit
        self.everything: bool = everything
        self.open: bool = True
        self.begin()

    def begin(self) -> None:
        """Begins, or forgets everything and begins anew."""
        SERIAL.last += 1
        self.serial: int = SERIAL.last
        self.start: int = clock()
        self.end: int = -1
        self.ops: list[Any] = []  # see OpRow
        self.op_count: int = 0
        self.ops_left_out: int = 0
        self.nodes: list[NodeNote] = []
        self.nodes_left_out: int = 0
        self.walks: list[Any] = []  # see WalkRow
        self.backwards: list[BackwardNote] = []
        self.backwards_left_out: int = 0
        self.step_count: int = 0
        self.value_count: int = 0
        self.values_seen: int = 0
        self.values_left_out: int = 0
        self.spans: list[tuple[str, ThreadNote, int, int]] = []  # what else takes time: an optimiser's step
        self.threads: dict[int, ThreadNote] = {}  # by the ids of their states, which they hold
        self.arrays: ArrayNotes = ArrayNotes(2 * self.limit, self.everything)
        self._native: Any = None if PACK is None else PACK.notes_new(2 * self.limit, clock())
        self._latest_thread: ThreadNote | None = None
        self._latest_backward: BackwardNote | None = None
        self._tasks: dict[int, BackwardNote] = {}

    def thread(self, state: ThreadState) -> ThreadNote:
        """The thread that has a state."""
        latest = self._latest_thread
        if latest is not None and latest.state is state:
            return latest
        found = self.threads.get(id(state))
        if found is None:
            found = self.threads[id(state)] = ThreadNote(state, threading.current_thread().name)
        self._latest_thread = found
        return found

    # -- forward --------------------------------------------------------------------------------------------------

    def operation_starts(self, state: ThreadState) -> None:
        self.thread(state).began = clock()

    def operation_ends(
        self, state: ThreadState, op: Any, operands: tuple[Any, ...], outs: tuple[Any, ...]
    ) -> None:
        end = clock()
        thread = self.thread(state)
        self._note(thread, op, operands, outs, thread.began, end)

    def function_starts(self) -> int:
        began: int = clock()
        return began

    def function_ends(self, node: Any, operands: tuple[Any, ...], outs: tuple[Any, ...], began: int) -> None:
        end = clock()
        self._note(self.thread(current()), node, operands, outs, began, end)

    def _note(
        self,
        thread: ThreadNote,
        op: Node,
        operands: tuple[Any, ...],
        outs: tuple[Any, ...],
        start: Any,
        end: Any,
    ) -> None:
        """Notes an operation. The times are the objects that the clock gave: they go into a row as they are."""
        if not self.open:
            return
        if self.op_count >= self.limit:
            self.ops_left_out += 1
            return
        self.op_count += 1
        node: NodeNote | None = None
        out: Any = None
        kept: Kept = -1
        more: list[Any] | None = None
        for result in outs:
            if isinstance(result, Tensor):
                if result._node is op:
                    node = self.noted(op)
                calm = op._meta is not None and op._meta.count > LARGE and self._is_calm(op, operands)
                kept_now = self.value_of(result.array, calm)
                if out is None:
                    alone = node is not None and op.more_inputs is None
                    out, kept = op._meta if alone else metadata_of(result.array), kept_now
                else:
                    more = [] if more is None else more
                    more += (metadata_of(result.array), kept_now)
        node0, nr0, meta0 = self._operand(operands, 0)
        node1, nr1, meta1 = self._operand(operands, 1)
        rest = self._operands(operands) if len(operands) > 2 else None
        name = "" if node is not None else op.name()
        made = op._made if op._made is not None else spot(0)
        during = thread.running[-1] if thread.running else None
        append_row(
            self.ops, type(op), name, made, thread, start, end, thread.module, during, node,
            node0, nr0, meta0, node1, nr1, meta1, rest, out, kept, more,
        )  # fmt: skip

    def _operand(self, operands: tuple[Any, ...], i: int) -> tuple[NodeNote | None, int, Any]:
        """Node, output number and metadata of an operand; no metadata if it is no tensor."""
        x = operands[i] if i < len(operands) else None
        if not isinstance(x, Tensor):
            return None, 0, None
        before: Node | None = x._node
        if before is None and x._accumulator is not None:
            before = x._accumulator()
        if before is None:
            return None, 0, metadata_of(x.array)
        return self.noted(before), x.output_nr, before._meta if x.output_nr == 0 else metadata_of(x.array)

    def _operands(self, operands: tuple[Any, ...]) -> list[Any]:
        """The same of the third and those behind, in one list."""
        found: list[Any] = []
        for i in range(2, len(operands)):
            if isinstance(operands[i], Tensor):
                found += self._operand(operands, i)
        return found

    def _is_calm(self, op: Node, operands: Sequence[Any]) -> bool:
        """Whether a result of this op is finite if no flag is up. Large operands are looked at once."""
        if self._native is None or not isinstance(op, Op) or not (op.flags_faults or op.is_view):
            return False
        if op.is_view:
            return True
        for x in operands:
            if not self._is_finite(x.array if isinstance(x, Tensor) else x):
                return False
        for name in op.params:
            if not self._is_finite(getattr(op, name)):
                return False
        return True

    def _is_finite(self, x: Any) -> bool:
        """Of a number, or of an array that is served."""
        if isinstance(x, (int, float)):
            return math.isfinite(x)
        return type(x) is ndarray and bool(_finite(self._native, x))

    def _sends_calm(self, node: Node, given: Sequence[Any]) -> bool:
        """The same of the gradients that a node sends, with what it has saved for operands."""
        if len(given) != 1 or not isinstance(node, (Unary, Binary)) or node.constants is not None:
            return False
        saved = (node.x, node.y, node.out) if isinstance(node, Binary) else (node.x, node.out)
        return self._is_calm(node, (given[0], *[value for value in saved if value is not None]))

    def doubt(self) -> None:
        """Something has written into memory that operations did not: what is known to be finite may not be."""
        if self._native is not None:
            PACK.notes_doubt(self._native)

    # -- nodes, values and memory -----------------------------------------------------------------------------------

    def noted(self, node: Node) -> NodeNote | None:
        """The note of a node, which it gets when it is first seen; None for one beyond the limit."""
        known: NodeNote | None = node._record
        if known is not None and known.seen_by == self.serial:
            return known
        if len(self.nodes) >= 2 * self.limit:
            self.nodes_left_out += 1
            return None
        note = NodeNote(node) if known is None else known
        if known is None and node._record is not None:  # another thread's, made meanwhile
            note = node._record
        else:
            node._record = note
            if _untrack is not None:  # it refers to nothing that refers to it
                _untrack(note)
        note.seen_by = self.serial
        self.nodes.append(note)
        return note

    def value_of(self, array: Any, calm: bool = False) -> Kept:
        """What is kept of an array; one that is `calm` is finite if no flag is up."""
        if array is None:
            return -1
        self.values_seen += 1
        if self.value_count >= self.limit and (
            self.values_seen % THINNED or self.value_count >= 2 * self.limit
        ):
            self.values_left_out += 1
            block = self.block_of(array)
            return -2 - block if isinstance(block, int) else Unseen(block)
        self.value_count += 1
        if self._native is not None:
            number = _value(self._native, array, calm)
            if number is not None:
                return number
        return self.arrays.value(array)

    def block_of(self, array: Any) -> Any:
        """The memory that an array lies in: its number in the pack's notes, or a Block of ours; -1 or None: unknown."""
        number = None if self._native is None else _block(self._native, array)
        return self.arrays.block(array) if number is None else number

    # -- the graph ----------------------------------------------------------------------------------------------------

    def walk(self, node: Node) -> NodeNote | None:
        """Notes a node, with its edges and what it has saved."""
        note = self.noted(node)
        if note is None:
            return None
        hooks = _hooks_on(node)
        if note.walked_by == self.serial and not hooks:
            return note
        note.walked_by = self.serial
        more: list[Any] | None = None
        if node.more_edges is not None:
            more = []
            for edge in node.more_edges:
                more += (None if edge.function is None else self.noted(edge.function), edge.input_nr)
        node0 = None if node.next0 is None else self.noted(node.next0)
        node1 = None if node.next1 is None else self.noted(node.next1)
        x, y, out, rest = self._saved(node, note)
        append_row(
            self.walks, note, hooks, node.edge_count, node0, node.nr0, node1, node.nr1, more,
            None if x is None else metadata_of(x), None if x is None else self.block_of(x),
            None if y is None else metadata_of(y), None if y is None else self.block_of(y),
            None if out is None else metadata_of(out), None if out is None else self.block_of(out), rest,
        )  # fmt: skip
        return note

    def _saved(self, node: Node, note: NodeNote) -> tuple[Any, Any, Any, list[Any] | None]:
        """The arrays that a node has saved: most have an operand or two, or their result. Others are in a list."""
        if node._freed or note.leaf is not None:
            return None, None, None, None
        if isinstance(node, Unary) and node.constants is None:
            return _array(node.x), None, _array(node.out), None
        if isinstance(node, Binary) and node.constants is None:
            return _array(node.x), _array(node.y), _array(node.out), None
        rest: list[Any] = []
        for slot, array in saved_slots(node):
            if is_array(array):
                rest += (slot, metadata_of(array), self.block_of(array))
        return None, None, None, rest

    # -- backward -----------------------------------------------------------------------------------------------------

    def backward_starts(self, task: Any, values: Sequence[Any]) -> None:
        if not self.open:
            return
        start: int = clock()
        root = self.noted(task.root) if len(self.backwards) < self.limit else None
        if root is None:
            self.backwards_left_out += 1
            return
        note = BackwardNote(len(self.backwards), task, self.thread(current()), start)
        note.root = root
        outer = None if task.outer is None else self._tasks.get(id(task.outer))
        note.outer = -1 if outer is None else outer.number
        note.given = [self.value_of(_bare(value)) for value in values]
        self._walk_node(task, task.root, note)
        for node in task.nodes:
            self._walk_node(task, node, note)
        self.backwards.append(note)
        self._tasks[id(task)] = note
        self._latest_backward = note

    def _walk_node(self, task: GraphTask, node: Node, backward: BackwardNote) -> None:
        note = self.walk(node)
        if note is None:
            return
        note.waits = node._missing if task.number else task.dependencies.get(node, 0)
        backward.dependencies.append(note)
        backward.dependencies.append(note.waits)
        if task.exec_info is not None and not task.sends_to(node):
            backward.pruned.append(note)

    def _note_of(self, task: Any) -> BackwardNote | None:
        latest = self._latest_backward
        if latest is not None and latest.task is task:
            return latest
        found = self._tasks.get(id(task))
        if found is not None:
            self._latest_backward = found
        return found

    def _thread_of(self, task: GraphTask, backward: BackwardNote) -> ThreadNote:
        """The running thread: the one that called this backward, unless several serve it."""
        return backward.thread if task.shared is None else self.thread(current())

    def node_starts(self, task: Any, node: Any, given: Sequence[Any]) -> None:
        backward = self._note_of(task)
        if backward is None:
            return
        self._start_step(task, node, given, backward, self._thread_of(task, backward))

    def _start_step(
        self, task: GraphTask, node: Node, given: Sequence[Any], backward: BackwardNote, thread: ThreadNote
    ) -> None:
        note: NodeNote | None = node._record
        if note is None or note.seen_by != self.serial:
            note = self.noted(node)
        if self.step_count >= self.limit or note is None:
            backward.left_out += 1
            thread.running.append(StepNote(NOWHERE if note is None else note, thread, backward.number))
            return
        self.step_count += 1
        step = StepNote(note, thread, backward.number)
        if _untrack is not None:
            _untrack(step)
        if note.waits != 1 or len(given) != 1:
            step.given = [self.value_of(_bare(value)) for value in given]
        if node.tensor_hooks is not None or node.node_hooks is not None or note.leaf is not None:
            step.hooks = _hooks_on(node)
        if task.exec_info is not None and node in task.exec_info:
            step.captured = [capture.index for capture in task.exec_info[node].captures]
        step.calm = node._meta is not None and node._meta.count > LARGE and self._sends_calm(node, given)
        backward.steps.append(step)
        thread.running.append(step)
        step.start = clock()

    def node_ends(self, task: Any, node: Any, results: Any) -> None:
        end: int = clock()
        backward = self._note_of(task)
        if backward is None:
            return
        thread = self._thread_of(task, backward)
        if not thread.running:
            return
        step = thread.running.pop()
        thread.latest = step
        step.end = end
        if results is None:
            return
        step.frees = backward.frees
        if isinstance(node, AccumulateGrad):
            grad = node.variable._grad
            if grad is not None and step.start:
                step.grad = self.value_of(grad.array)

    def sends(self, task: Any, source: Any, i: int, node: Any, nr: int, value: Any) -> None:
        backward = self._note_of(task)
        if backward is None:
            return
        step = self._thread_of(task, backward).latest
        if step is None or not step.start:
            return
        kept = self.value_of(_bare(value), step.calm)
        to: Node = node
        receiver: NodeNote | None = to._record
        if receiver is None:
            return
        if i == 0:
            step.to0, step.nr0, step.kept0 = receiver, nr, kept
        elif i == 1:
            step.to1, step.nr1, step.kept1 = receiver, nr, kept
        else:
            step.more = [] if step.more is None else step.more
            step.more.append((i, receiver, nr, kept))

    def backward_ends(self, task: Any, error: BaseException | None) -> None:
        note = self._tasks.pop(id(task), None)
        if note is None:
            return
        note.end = clock()
        note.task = None
        running = self.thread(current()).running
        while running and running[-1].backward >= note.number:
            step = running.pop()
            if error is not None and step.backward == note.number:
                note.failing = step
        if error is not None:
            note.error = f"{type(error).__name__}: {error}"
            if note.failing is None:  # on a worker, or in between
                for step in note.steps:
                    if step.end < 0:
                        note.failing = step
                        break

    def known_block(self, array: Any) -> Any:
        """`block_of` an array once this is closed: nothing that was not seen."""
        number = None if self._native is None else _block(self._native, array)
        return self.arrays.known(array) if number is None else number

    def close(self) -> None:
        """Nothing is noted from here on."""
        self.open = False
        self.end = clock()
        self._tasks.clear()
        self._latest_backward = None
        for thread in self.threads.values():
            thread.state = None
        if self._native is not None:
            PACK.notes_close(self._native)

    def native_notes(self) -> tuple[list[Any], list[Any], int]:
        """Values and blocks in the pack's notes, and how many blocks are left out."""
        if self._native is None:
            return [], [], 0
        blocks, left_out = PACK.notes_blocks(self._native)
        return PACK.notes_values(self._native), blocks, left_out


NOWHERE: Final = NodeNote(Identity())
"""Stands for nodes beyond the limit."""


def _array(value: Any) -> Any:
    return value if value is None or type(value) is ndarray or is_array(value) else None


def _bare(value: Any) -> Any:
    return value.array if isinstance(value, Tensor) else value


def saved_slots(node: Any) -> list[tuple[str, Any]]:
    """The arrays that a node has saved for its backward, by slots: an op's, or numbers of `saved_tensors`."""
    if isinstance(node, Op):
        return [(slot, node.slot(slot).value) for slot in node.slot_names()]
    saved = getattr(node, "_saved", None) or ()
    return [(f"saved_tensors[{i}]", s.array) for i, s in enumerate(saved) if s is not None]


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
