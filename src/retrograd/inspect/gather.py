"""Makes of what a Recorder has noted the document that all forms of a recording are drawn from.

The document is plain data, ready for JSON. docs/inside/recordings.md says what each field means; SCHEMA names the
version of that description, and rises when a field changes its meaning or goes.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from retrograd.core.tensor import Tensor
from retrograd.inspect.formulas import formula
from retrograd.inspect.names import operand_texts, short, spot_of, stored_name
from retrograd.inspect.notes import BackwardNote, NodeNote, StepNote
from retrograd.inspect.numbering import Numbering
from retrograd.inspect.recorder import Recorder
from retrograd.inspect.rows import OpRow, WalkRow, in_turns
from retrograd.inspect.slots import slot_name
from retrograd.inspect.values import dtype_name
from retrograd.inspect.why import explain
from retrograd.version import __version__

SCHEMA = "retrograd-recording/1"
LONGEST_FILE = 4000  # lines of a source file that a document has whole; of a longer one it has what is used


class _Walk(NamedTuple):
    """Edges, saved values and hooks of a node."""

    edges: list[tuple[Any, ...]]
    saved: list[tuple[Any, ...]]
    hooks: Sequence[str]


_NOT_WALKED = _Walk([], [], ())


class Gathering:
    """One recorder's notes on their way into a document."""

    numbers: Numbering

    def __init__(self, notes: Recorder, named: Mapping[str, Tensor], title: str) -> None:
        """Looks at what is alive, the tensors that variables hold; the rest can wait until it is asked for."""
        self.notes = notes
        self.title = title
        self.places: list[dict[str, Any]] = []
        self._place_numbers: dict[Any, int] = {}
        self._threads = {id(thread): i for i, thread in enumerate(notes.threads.values())}
        names: dict[int, str] = {}
        self._node_names: dict[int, str] = {}  # by the ids of their notes
        self._block_names: list[tuple[Any, str]] = []
        made: dict[int, Tensor] = {}
        for name, tensor in named.items():
            names.setdefault(id(tensor), name)
            self._name_blocks(name, tensor)
            if tensor._node is not None and tensor._node._record is not None:
                note = id(tensor._node._record)
                self._node_names.setdefault(note, name)
                made[note] = tensor
        for noted in notes.nodes:
            leaf = None if noted.leaf is None else noted.leaf()
            if leaf is not None:
                self._node_names[id(noted)] = names.get(id(leaf), "")
        roots = [made[id(b.root)] for b in notes.backwards if b.outer < 0 and id(b.root) in made]
        self._cut_off = self._without_gradient(named, names, roots[-1] if roots else None)

    def _name_blocks(self, name: str, tensor: Tensor) -> None:
        """The memory of a variable, and that of its `.grad`."""
        self._block_names.append((self.notes.known_block(tensor.array), name))
        if tensor._grad is not None:
            self._block_names.append((self.notes.known_block(tensor._grad.array), f"{name}.grad"))

    def _without_gradient(
        self, named: Mapping[str, Tensor], names: Mapping[int, str], root: Tensor | None
    ) -> dict[int, dict[str, Any]]:
        """The leaves among variables that no backward has reached, by id, and why."""
        if not self.notes.backwards:
            return {}
        reached = self._reached()
        found = {}
        for name, tensor in named.items():
            wanted = tensor.requires_grad and tensor.is_leaf and id(tensor) not in reached
            if wanted and names[id(tensor)] == name:
                why = "" if root is None else explain(root, tensor)
                told = {"name": name, "node": -1, "reached": False, "why": why}
                found[id(tensor)] = {
                    **told,
                    "shape": list(tensor.array.shape),
                    "dtype": dtype_name(tensor.array.dtype),
                }
        return found

    def _reached(self) -> set[int]:
        """The ids of the leaves that a gradient came to."""
        steps = (step.node for b in self.notes.backwards for step in b.steps)
        return {node.leaf_id for node in steps if node.leaf is not None}

    def document(self) -> dict[str, Any]:
        """The whole."""
        notes = self.notes
        self.numbers = numbers = Numbering(notes)
        self._walks = self._latest_walks()
        self._made_by: dict[int, tuple[int, list[int] | None]] = {}  # of blocks: an operation, or a step
        self._ops = [OpRow._make(row) for row in notes.ops]
        op_of_node = {id(op.node): i for i, op in enumerate(self._ops) if op.node is not None}
        nodes = [self._node(i, note, op_of_node.get(id(note), -1)) for i, note in enumerate(numbers.nodes)]
        ops = [self._op(i, row) for i, row in enumerate(self._ops)]
        self._name_leaves(nodes, ops, self._ops)
        backwards = [self._backward(note) for note in notes.backwards]
        self._mark_freed(nodes)
        made: dict[str, Any] = {
            "schema": SCHEMA,
            "title": self.title,
            "versions": {
                "retrograd": __version__,
                "python": sys.version.split()[0],
                "numpy": np.__version__,
            },
            "duration": self._time(notes.end),
            "threads": [thread.name for thread in notes.threads.values()],
            "limits": self._limits(),
            "places": self.places,
            "nodes": nodes,
            "ops": ops,
            "backwards": backwards,
            "values": numbers.values,
            "blocks": self._blocks(),
            "spans": self._spans(),
            "leaves": self._leaves(nodes),
        }
        made["files"] = self._files()
        return made

    def _spans(self) -> list[dict[str, Any]]:
        """What else took time."""
        return [
            {
                "name": name,
                "thread": self._threads.get(id(thread), 0),
                "start": self._time(start),
                "end": self._time(end),
            }
            for name, thread, start, end in self.notes.spans
        ]

    def _latest_walks(self) -> dict[int, _Walk]:
        """By the ids of nodes: their edges and hooks, and what they had saved when it was there."""
        found: dict[int, _Walk] = {}
        for row in self.notes.walks:
            walk = WalkRow._make(row)
            before = found.get(id(walk.node))
            saved = walk.saved() or ([] if before is None else before.saved)
            found[id(walk.node)] = _Walk(walk.edges(), saved, walk.hooks)
        return found

    def _time(self, moment: int) -> float | None:
        """Microseconds since the recording began."""
        return None if moment < 0 else (moment - self.notes.start) / 1000

    def _place(self, made: Any) -> int:
        """The number of a line of code, with the expression on it."""
        if made is None:
            return -1
        spot = spot_of(*made)
        number = self._place_numbers.get(spot)
        if number is None:
            number = self._place_numbers[spot] = len(self.places)
            self.places.append({**spot._asdict(), "file": short(spot.file)})
        return number

    def _limits(self) -> dict[str, Any]:
        notes = self.notes
        return {
            "limit": notes.limit,
            "everything": notes.everything,
            "ops_left_out": notes.ops_left_out,
            "nodes_left_out": notes.nodes_left_out,
            "backwards_left_out": notes.backwards_left_out,
            "steps_left_out": sum(b.left_out for b in notes.backwards),
            "values_left_out": notes.values_left_out,
            "blocks_left_out": self.numbers.blocks_left_out,
        }

    def _node(self, number: int, note: NodeNote, op: int) -> dict[str, Any]:
        name = self._node_names.get(id(note), "")
        if not name and note.made is not None and note.leaf is None:
            name = stored_name(*note.made) if self._is_last_of_line(number) else ""
        walk = self._walks.get(id(note), _NOT_WALKED)
        inputs = [note.meta, *(note.more_inputs or ())]
        return {
            "name": note.name.rpartition("::")[2],
            "variable": name,
            "formula": formula(note.kind),
            "place": self._place(note.made),
            "module": self._ops[op].module if op >= 0 else "",
            "op": op,
            "sequence_nr": note.sequence_nr if note.leaf is None else -1,
            "topological_nr": note.topological_nr,
            "device": "cpu" if inputs[0] is None else str(inputs[0].device),
            "inputs": [_shaped(m) for m in inputs],
            "edges": [[self.numbers.node(to), nr] for to, nr in walk.edges],
            "saved": [self._saved(note.kind, *slot) for slot in walk.saved],
            "hooks": list(walk.hooks),
            "leaf": note.leaf is not None,
            "freed": False,
        }

    def _saved(self, kind: Any, slot: str, meta: Any, block: Any) -> dict[str, Any]:
        """A value that a node has saved, under the name PyTorch gives it."""
        block = self.numbers.block(block)
        return {**_shaped(meta), "name": slot_name(kind, slot), "bytes": _bytes(meta), "block": block}

    def _is_last_of_line(self, number: int) -> bool:
        """Of several operations that one call makes, the last gives the value that is stored."""
        notes = self.numbers.nodes
        following = number + 1
        while following < len(notes) and notes[following].leaf is not None:
            following += 1
        return following == len(notes) or bool(notes[following].made != notes[number].made)

    def _op(self, number: int, note: OpRow) -> dict[str, Any]:
        outs = note.outs()
        during = self.numbers.step(note.during)
        name = note.name if note.node is None else note.node.name
        return {
            "name": name.rpartition("::")[2],
            "node": self.numbers.node(note.node),
            "formula": formula(note.kind),
            "place": self._place(note.made),
            "module": note.module,
            "start": self._time(note.start),
            "end": self._time(note.end),
            "thread": self._threads[id(note.thread)],
            "device": str(outs[0][0].device) if outs else "cpu",
            "during": None if during is None else list(during),
            "operands": [
                {"node": self.numbers.node(node), "output_nr": nr, **_shaped(meta)}
                for node, nr, meta in note.operands()
            ],
            "outputs": [
                {
                    **_shaped(meta),
                    "block": self._made(kept, number, during),
                    "value": self.numbers.value(kept),
                }
                for meta, kept in outs
            ],
        }

    def _made(self, kept: Any, op: int, step: tuple[int, int] | None) -> int:
        """The block of a value that an operation, or a step of a backward, has made."""
        block, first = self.numbers.memory(kept)
        if first:
            self._made_by.setdefault(block, (op, None if step is None else list(step)))
        return block

    def _name_leaves(
        self, nodes: list[dict[str, Any]], ops: list[dict[str, Any]], noted: list[OpRow]
    ) -> None:
        """Leaves by their variables, and those that no variable holds by what the code calls them."""
        for op, note in zip(ops, noted, strict=True):
            texts = operand_texts(spot_of(*note.made)) if note.made is not None else ()
            for text, operand in zip(texts, op["operands"], strict=False):
                number = operand["node"]
                if text and number >= 0 and nodes[number]["leaf"] and not nodes[number]["variable"]:
                    nodes[number]["variable"] = text

    def _backward(self, note: BackwardNote) -> dict[str, Any]:
        numbers = self.numbers
        given = self._given(note)
        failing = numbers.step(note.failing)
        return {
            "place": self._place(note.place),
            "thread": self._threads[id(note.thread)],
            "outer": note.outer,
            "start": self._time(note.start),
            "end": self._time(note.end),
            "create_graph": note.create_graph,
            "keep_graph": note.keep_graph,
            "root": numbers.node(note.root),
            "given": [numbers.value(kept) for kept in note.given],
            "dependencies": [[numbers.node(node), count] for node, count in in_turns(note.dependencies, 2)],
            "pruned": [numbers.node(node) for node in note.pruned],
            "steps": [self._step(step, given[i]) for i, step in enumerate(note.steps)],
            "error": note.error,
            "failing": -1 if failing is None else failing[1],
        }

    def _given(self, note: BackwardNote) -> list[list[Any]]:
        """What each step was given. Where that was one gradient, it is what was sent to the node."""
        arrived: dict[int, list[Any]] = {}
        for step in note.steps:
            for _, receiver, _, kept in step.sent():
                arrived.setdefault(id(receiver), []).append(kept)
        found = []
        for step in note.steps:
            sent = arrived.get(id(step.node), [])
            found.append(sent if step.given is None and len(sent) == 1 else step.given or [-1])
        return found

    def _step(self, step: StepNote, given: list[Any]) -> dict[str, Any]:
        value = self.numbers.value
        number = self.numbers.step(step)
        sent = step.sent()
        for kept in (*given, *(kept for *_, kept in sent), step.grad):
            self._made(kept, -1, number)
        saved = self._walks.get(id(step.node), _NOT_WALKED).saved if step.frees else []
        return {
            "node": self.numbers.node(step.node),
            "thread": self._threads[id(step.thread)],
            "start": self._time(step.start),
            "end": self._time(step.end),
            "given": [value(kept) for kept in given],
            "sent": [[i, self.numbers.node(to), nr, value(kept)] for i, to, nr, kept in sent],
            "hooks": list(step.hooks),
            "captured": list(step.captured),
            "grad": value(step.grad),
            "freed": sum(_bytes(meta) for _, meta, _ in saved),
        }

    def _mark_freed(self, nodes: list[dict[str, Any]]) -> None:
        for backward in self.notes.backwards:
            for step in backward.steps:
                if step.frees and nodes[self.numbers.node(step.node)]["saved"]:
                    nodes[self.numbers.node(step.node)]["freed"] = True

    def _blocks(self) -> list[list[Any]]:
        """Bytes, birth, death, who made it (an operation, or a step of a backward), and the variable that has it."""
        names: dict[int, str] = {}
        for block, name in self._block_names:
            names.setdefault(self.numbers.block(block), name)
        return [
            [
                size,
                self._time(self._born(i, born, died)),
                self._time(died),
                *self._made_by.get(i, (-1, None)),
                names.get(i, ""),
            ]
            for i, (size, born, died) in enumerate(self.numbers.blocks)
        ]

    def _born(self, block: int, moment: int, died: int) -> int:
        """When a block was first seen: if nobody looked at the clock, when what made it had ended."""
        op, step = self._made_by.get(block, (-1, None))
        if moment < 0 and op >= 0:
            moment = self._ops[op].end
        elif moment < 0 and step is not None:
            moment = self.notes.backwards[step[0]].steps[step[1]].end
        if moment < 0:
            moment = self.notes.start
        return moment if died < 0 else min(moment, died)  # the pack's clock is not the very same

    def _leaves(self, nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The tensors that a gradient was wanted for, and for those that got none the reason."""
        reached = self._reached()
        found: dict[int, dict[str, Any]] = {}
        for i, note in enumerate(self.numbers.nodes):
            if note.leaf is not None:  # a leaf has one node at a time, and another after that was freed
                told = {
                    "name": nodes[i]["variable"],
                    "node": i,
                    "reached": note.leaf_id in reached,
                    "why": "",
                }
                found[note.leaf_id] = {**told, **nodes[i]["inputs"][0]}
        for leaf, told in self._cut_off.items():
            found.setdefault(leaf, told)["why"] = told["why"]
        return list(found.values())

    def _files(self) -> dict[str, Any]:
        """The source that places point into: whole files, or lines by number where a file is long."""
        found: dict[str, Any] = {}
        wanted: dict[str, set[int]] = {}
        full = {short(spot.file): spot.file for spot in self._place_numbers}
        for place in self.places:
            wanted.setdefault(place["file"], set()).add(place["line"])
        for file, lines in wanted.items():
            text = [line.rstrip("\n") for line in linecache.getlines(full[file])]
            if len(text) <= LONGEST_FILE:
                found[file] = {"first": 1, "lines": text}
            else:
                first, last = max(1, min(lines) - 5), min(len(text), max(lines) + 5)
                found[file] = {"first": first, "lines": text[first - 1 : min(last, first + LONGEST_FILE)]}
        return found


def _bytes(metadata: Any) -> int:
    """Of an array's memory; one on the device meta has none."""
    return (
        0 if metadata.device.type == "meta" else int(metadata.count * getattr(metadata.dtype, "itemsize", 1))
    )


def _shaped(metadata: Any) -> dict[str, Any]:
    if metadata is None:
        return {"shape": [], "dtype": ""}
    return {"shape": list(metadata.shape), "dtype": dtype_name(metadata.dtype)}


def default_title() -> str:
    """What a recording is called if nobody names it: the program."""
    return (Path(sys.argv[0]).name if sys.argv else "") or "a recording"
