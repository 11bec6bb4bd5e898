"""Makes of what a Recorder has noted the document that all forms of a recording are drawn from.

The document is plain data, ready for JSON. docs/inside/recordings.md says what each field means; SCHEMA names the
version of that description, and rises when a field changes its meaning or goes.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from retrograd.core.tensor import Tensor
from retrograd.inspect.formulas import formula
from retrograd.inspect.names import operand_texts, short, spot_of, stored_name
from retrograd.inspect.recorder import BackwardNote, NodeNote, OpNote, Recorder, StepNote
from retrograd.inspect.values import dtype_name
from retrograd.inspect.why import explain
from retrograd.version import __version__

SCHEMA = "retrograd-recording/1"
LONGEST_FILE = 4000  # lines of a source file that a document has whole; of a longer one it has what is used


class Gathering:
    """One recorder's notes on their way into a document."""

    def __init__(self, notes: Recorder, named: Mapping[str, Tensor], title: str) -> None:
        """Looks at what is alive, the tensors that variables hold; the rest can wait until it is asked for."""
        self.notes = notes
        self.title = title
        self.places: list[dict[str, Any]] = []
        self._place_numbers: dict[Any, int] = {}
        self._threads = {ident: i for i, ident in enumerate(notes.threads)}
        names: dict[int, str] = {}
        self.node_names: dict[int, str] = {}
        self.block_names: dict[int, str] = {}
        made: dict[int, Tensor] = {}
        for name, tensor in named.items():
            names.setdefault(id(tensor), name)
            self._name_blocks(name, tensor)
            number = notes.known_number(tensor._node)
            if number >= 0:
                self.node_names.setdefault(number, name)
                made[number] = tensor
        for i, note in enumerate(notes.nodes):
            leaf = None if note.leaf is None else note.leaf()
            if leaf is not None:
                self.node_names[i] = names.get(id(leaf), "")
        roots = [made[b.root] for b in notes.backwards if b.outer < 0 and b.root in made]
        self._cut_off = self._without_gradient(named, names, roots[-1] if roots else None)

    def _name_blocks(self, name: str, tensor: Tensor) -> None:
        """The memory of a variable, and that of its `.grad`."""
        self.block_names.setdefault(self.notes.known_block(tensor.array), name)
        if tensor._grad is not None:
            self.block_names.setdefault(self.notes.known_block(tensor._grad.array), f"{name}.grad")

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
        ran = {step.node for b in self.notes.backwards for step in b.steps}
        return {note.leaf_id for i, note in enumerate(self.notes.nodes) if note.leaf is not None and i in ran}

    def document(self) -> dict[str, Any]:
        """The whole."""
        notes = self.notes
        notes.digest()
        nodes = [self._node(i, note) for i, note in enumerate(notes.nodes)]
        noted = [OpNote._make(note) for note in notes.ops]
        ops = [self._op(note) for note in noted]
        self._name_leaves(nodes, ops, noted)
        backwards = [self._backward(note) for note in notes.backwards]
        made: dict[str, Any] = {
            "schema": SCHEMA,
            "title": self.title,
            "versions": {
                "retrograd": __version__,
                "python": sys.version.split()[0],
                "numpy": np.__version__,
            },
            "duration": self._time(notes.end),
            "threads": list(notes.threads.values()),
            "limits": self._limits(),
            "places": self.places,
            "nodes": nodes,
            "ops": ops,
            "backwards": backwards,
            "values": notes.values,
            "blocks": [self._block(i, block) for i, block in enumerate(notes.blocks)],
            "spans": [
                {
                    "name": name,
                    "thread": self._threads.get(thread, 0),
                    "start": self._time(start),
                    "end": self._time(end),
                }
                for name, thread, start, end in notes.spans
            ],
            "leaves": self._leaves(nodes),
        }
        made["files"] = self._files()
        return made

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
            "blocks_left_out": notes.blocks_left_out,
        }

    def _node(self, number: int, note: NodeNote) -> dict[str, Any]:
        name = self.node_names.get(number, "")
        if not name and note.made is not None and note.leaf is None:
            name = stored_name(*note.made) if self._is_last_of_line(number) else ""
        return {
            "name": note.name.rpartition("::")[2],
            "variable": name,
            "formula": formula(note.formula),
            "place": self._place(note.made),
            "module": note.module,
            "op": note.op,
            "sequence_nr": note.sequence_nr if note.leaf is None else -1,
            "topological_nr": note.topological_nr,
            "device": str(note.inputs[0].device) if note.inputs and note.inputs[0] is not None else "cpu",
            "inputs": [_shaped(m) for m in note.inputs],
            "edges": [list(edge) for edge in note.edges],
            "saved": [
                {
                    "name": slot,
                    "shape": list(shape),
                    "dtype": dtype_name(dtype),
                    "bytes": int(size),
                    "block": block,
                }
                for slot, shape, dtype, size, block in note.saved
            ],
            "hooks": list(note.hooks),
            "leaf": note.leaf is not None,
            "freed": note.freed,
        }

    def _is_last_of_line(self, number: int) -> bool:
        """Of several operations that one call makes, the last gives the value that is stored."""
        notes = self.notes.nodes
        following = number + 1
        while following < len(notes) and notes[following].leaf is not None:
            following += 1
        return following == len(notes) or bool(notes[following].made != notes[number].made)

    def _op(self, note: OpNote) -> dict[str, Any]:
        place = self._place(note.made)
        return {
            "name": note.name.rpartition("::")[2],
            "node": note.node,
            "formula": formula(note.formula),
            "place": place,
            "module": note.module,
            "start": self._time(note.start),
            "end": self._time(note.end),
            "thread": self._threads[note.thread],
            "device": note.device,
            "during": None if note.during is None else list(note.during),
            "operands": [
                {"node": node, "output_nr": nr, "shape": list(shape), "dtype": dtype_name(dtype)}
                for node, nr, shape, dtype in note.operands
            ],
            "outputs": [
                {"shape": list(shape), "dtype": dtype_name(dtype), "block": block, "value": value}
                for shape, dtype, block, value in note.outs
            ],
        }

    def _name_leaves(
        self, nodes: list[dict[str, Any]], ops: list[dict[str, Any]], noted: list[OpNote]
    ) -> None:
        """Leaves by their variables, and those that no variable holds by what the code calls them."""
        for op, note in zip(ops, noted, strict=True):
            texts = operand_texts(spot_of(*note.made)) if note.made is not None else ()
            for text, operand in zip(texts, op["operands"], strict=False):
                number = operand["node"]
                if text and number >= 0 and nodes[number]["leaf"] and not nodes[number]["variable"]:
                    nodes[number]["variable"] = text

    def _backward(self, note: BackwardNote) -> dict[str, Any]:
        return {
            "place": self._place(note.place),
            "thread": self._threads[note.thread],
            "outer": note.outer,
            "start": self._time(note.start),
            "end": self._time(note.end),
            "create_graph": note.create_graph,
            "keep_graph": note.keep_graph,
            "root": note.root,
            "given": note.given,
            "dependencies": [[node, count] for node, count in note.dependencies.items()],
            "pruned": note.pruned,
            "steps": [self._step(step) for step in note.steps],
            "error": note.error,
            "failing": note.failing,
        }

    def _step(self, step: StepNote) -> dict[str, Any]:
        return {
            "node": step.node,
            "thread": self._threads[step.thread],
            "start": self._time(step.start),
            "end": self._time(step.end),
            "given": step.given,
            "sent": [list(sent) for sent in step.sent],
            "hooks": list(step.hooks),
            "captured": list(step.captured),
            "grad": step.grad,
            "freed": step.freed,
        }

    def _block(self, number: int, block: Any) -> list[Any]:
        """Bytes, birth, death, who made it (an operation, or a step of a backward), and the variable that has it."""
        size, born, died, op, step = block
        made = None if step is None else list(step)
        return [int(size), self._time(born), self._time(died), op, made, self.block_names.get(number, "")]

    def _leaves(self, nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The tensors that a gradient was wanted for, and for those that got none the reason."""
        reached = self._reached()
        found: dict[int, dict[str, Any]] = {}
        for i, note in enumerate(self.notes.nodes):
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


def _shaped(metadata: Any) -> dict[str, Any]:
    if metadata is None:
        return {"shape": [], "dtype": ""}
    return {"shape": list(metadata.shape), "dtype": dtype_name(metadata.dtype)}


def default_title() -> str:
    """What a recording is called if nobody names it: the program."""
    return (Path(sys.argv[0]).name if sys.argv else "") or "a recording"
