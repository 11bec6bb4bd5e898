"""memory: which bytes are alive now, what they are for, which line saved them and who holds them."""

from __future__ import annotations

import gc
import re
import sys
import threading
from collections.abc import Iterable, Mapping
from types import FrameType, ModuleType, TracebackType
from typing import Any, NamedTuple

from retrograd.backends.base import is_array, owner_of, whole
from retrograd.backends.memory import memory_allocated, memory_reserved
from retrograd.core.hooks import hook_name
from retrograd.core.node import Node
from retrograd.core.places import made_at
from retrograd.core.tensor import Tensor
from retrograd.inspect.holders import paths_to
from retrograd.inspect.names import is_a, short, tensors_in, variables
from retrograd.inspect.questions import amount
from retrograd.inspect.slots import saved_arrays
from retrograd.nn.module import Module

KINDS = ("parameters", "gradients", "buffers", "saved for backward", "other tensors", "cache")
TURNS = 3  # nodes of one line in one graph from which it is taken for a loop that adds to it
TOGETHER = 5  # members of one list that are told of one by one


class GraphHolder(NamedTuple):
    """Somebody who keeps a graph alive."""

    name: str
    """A variable, a hook, a traceback, as people find it: `total in train (train.py)`."""
    bytes: int
    nodes: int
    line: str
    """The line that made what is held."""
    advice: str
    """What to do about it, where that can be told."""


class Ledger:
    """What `memory()` found: bytes by kind, by line and by holder. Printing it tells all."""

    def __init__(self, by_kind: dict[str, int], by_line: dict[str, int], holders: list[GraphHolder]) -> None:
        self.by_kind = by_kind
        self.by_line = by_line
        self.holders = holders

    @property
    def total(self) -> int:
        """All bytes that tensors and graphs keep, without the cache."""
        return sum(size for kind, size in self.by_kind.items() if kind != "cache")

    def text(self, rows: int = 20) -> str:
        """The ledger as text."""
        lines = [f"{amount(self.total)} alive"]
        lines += [f"  {amount(size):>10}  {kind}" for kind, size in self.by_kind.items() if size]
        if self.by_line:
            lines += ["", "saved for backward, by the line that saved it"]
            lines += [f"  {amount(size):>10}  {line}" for line, size in list(self.by_line.items())[:rows]]
            if len(self.by_line) > rows:
                lines.append(f"  … {len(self.by_line) - rows:,} more lines")
        if self.holders:
            lines += ["", "who keeps graphs alive"]
            for holder in self.holders[:rows]:
                lines.append(
                    f"  {amount(holder.bytes):>10}  {holder.name}: {holder.nodes:,} nodes, made by {holder.line}"
                )
                if holder.advice:
                    lines.append(f"  {'':>10}  {holder.advice}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from retrograd.inspect.notebook import preformatted

        return preformatted(self.text())


def memory() -> Ledger:
    """Which bytes are alive now: by kind, by the line that saved them, and by who keeps their graph alive.

    Memory that several hold counts once, for the first kind of parameters, gradients, buffers, saved values and other
    tensors. What keeps a graph alive is looked for among variables of running functions and loaded files, in hooks and
    in tracebacks of exceptions.

    >>> import retrograd as rg
    >>> w = rg.ones(1000, requires_grad=True)
    >>> total = 0.0
    >>> for _ in range(5):
    ...     total = total + (w.exp() ** 2).sum()
    >>> ledger = rg.inspect.memory()
    >>> ledger.by_kind["saved for backward"] >= 5 * 4000
    True
    """
    everything = gc.get_objects()
    tensors = [t for t in everything if is_a(t, Tensor) and is_array(t.array)]
    nodes = [n for n in everything if is_a(n, Node)]
    del everything
    found = _Search(tensors, nodes, sys._getframe(1))
    kinds = found.kinds()
    kinds["cache"] = max(0, memory_reserved() - memory_allocated())
    return Ledger(kinds, found.by_line(), found.holders())


class _Search:
    """The tensors and nodes that are alive."""

    def __init__(self, tensors: list[Tensor], nodes: list[Node], frame: FrameType | None) -> None:
        self.tensors = tensors
        self.nodes: dict[int, Node] = {}
        for tensor in tensors:
            if tensor._node is not None:
                self._reach(tensor._node, self.nodes)
        self.loose = [node for node in nodes if id(node) not in self.nodes]  # held without a tensor of theirs
        for node in self.loose:
            self._reach(node, self.nodes)
        self.frame = frame

    def _reach(self, start: Node, seen: dict[int, Node]) -> None:
        """Adds a node and all that are behind it."""
        if id(start) in seen:
            return
        seen[id(start)] = start
        todo = [start]
        while todo:
            for succ in todo.pop().successors():
                if id(succ) not in seen:
                    seen[id(succ)] = succ
                    todo.append(succ)

    def kinds(self) -> dict[str, int]:
        """Bytes by kind; each block of memory counts once."""
        buffers = {
            id(b) for m in gc.get_objects() if is_a(m, Module) for b in m._buffers.values() if b is not None
        }
        gradients = {id(t._grad) for t in self.tensors if t._grad is not None}
        groups: dict[str, list[Any]] = {kind: [] for kind in KINDS}
        for tensor in self.tensors:
            if id(tensor) in gradients:
                groups["gradients"].append(tensor.array)
            elif id(tensor) in buffers:
                groups["buffers"].append(tensor.array)
            elif tensor._requires and tensor._node is None:
                groups["parameters"].append(tensor.array)
            else:
                groups["other tensors"].append(tensor.array)
        for node in self.nodes.values():
            groups["saved for backward"] += [array for _, array in saved_arrays(node)]
        seen: set[int] = set()
        return {kind: _bytes(groups[kind], seen) for kind in KINDS}

    def by_line(self) -> dict[str, int]:
        """Bytes that nodes have saved, by the line that made the node; the most first."""
        found: dict[str, int] = {}
        seen = _blocks(t.array for t in self.tensors if t._requires and t._node is None)
        for node in self.nodes.values():
            size = _bytes((array for _, array in saved_arrays(node)), seen)
            if size:
                line = _line(node)
                found[line] = found.get(line, 0) + size
        return dict(sorted(found.items(), key=lambda entry: -entry[1]))

    def holders(self) -> list[GraphHolder]:
        """Who holds graphs that have saved values, or that a loop has added to; the most bytes first."""
        leaves = _blocks(t.array for t in self.tensors if t._requires and t._node is None)
        found = []
        for name, ends in _in_containers(self._named()).items():
            graph: dict[int, Node] = {}
            for node in ends:
                self._reach(node, graph)
            size = _bytes((array for n in graph.values() for _, array in saved_arrays(n)), set(leaves))
            advice = _advice(ends[0], graph, size) if len(ends) == 1 else _KEPT_IN_LIST
            if size or (advice and len(ends) == 1):
                found.append(GraphHolder(name, size, len(graph), _line(ends[0]), advice))
        return sorted(found, key=lambda holder: -holder.bytes)

    def _named(self) -> dict[str, Node]:
        """The ends of graphs by who holds them."""
        found: dict[str, Node] = {}
        seen: set[int] = set()
        scopes: dict[str, Mapping[str, Any]] = {}

        def add(where: str, scope: Mapping[str, Any]) -> None:
            scopes.setdefault(where, scope)
            for name, tensor in tensors_in(scope).items():
                for path, held in ((name, tensor), (f"{name}.grad", tensor._grad)):
                    if held is not None and held._node is not None and id(held) not in seen:
                        seen.add(id(held))
                        found[f"{path} {where}"] = held._node

        frames = _frames(self.frame)
        for frame in frames:
            add(_place(frame), dict(frame.f_locals))
        for name, module in list(sys.modules.items()):
            if (
                is_a(module, ModuleType)
                and getattr(module, "__file__", None)
                and not name.startswith(("retrograd.", "numpy."))
            ):
                add(f"in {name}", variables(None, vars(module)))
        for frame in _traceback_frames(frames):
            add(f"{_place(frame)}, kept by an exception's traceback", dict(frame.f_locals))
        for node in self.nodes.values():
            for which, hook in _hooks(node):
                add(f"in the {which} {hook_name(hook)} on {node.name()}", _held_by(hook))
        self._add_others(found, seen, scopes)
        return found

    def _add_others(
        self, found: dict[str, Node], seen: set[int], scopes: Mapping[str, Mapping[str, Any]]
    ) -> None:
        """Ends of graphs that are no variable's, by the way that leads to them."""
        ends: dict[int, Node] = {}
        targets: list[Any] = []
        for tensor in self.tensors:
            if tensor._node is not None and not tensor._node._used and id(tensor) not in seen:
                ends[id(tensor)] = tensor._node
                targets.append(tensor)
        after = {id(succ) for node in self.loose for succ in node.successors()}
        for node in self.loose:
            if id(node) not in after and saved_arrays(node):
                ends[id(node)] = node
                targets.append(node)
        own = (self.tensors, self.nodes, self.loose, self.__dict__, found, ends, targets)
        for i, path in paths_to(targets, scopes, own).items():
            found.setdefault(path, ends[i])


_KEPT_IN_LIST = "Each of them keeps its graph. To keep numbers, store .item() or .detach() of each."


def _in_containers(found: Mapping[str, Node]) -> dict[str, list[Node]]:
    """Who holds what, with the many members of one list together: `losses[…] (2,000 of them) in train`."""
    groups: dict[str, dict[str, Node]] = {}
    for name, node in found.items():
        groups.setdefault(re.sub(r"\[\d+\]", "[…]", name, count=1), {})[name] = node
    made: dict[str, list[Node]] = {}
    for pattern, members in groups.items():
        if len(members) > TOGETHER:
            made[pattern.replace("[…]", f"[…] ({len(members):,} of them)", 1)] = list(members.values())
        else:
            made.update({name: [node] for name, node in members.items()})
    return made


def _bytes(arrays: Iterable[Any], seen: set[int]) -> int:
    """The memory of arrays that is not in `seen` yet, and is then."""
    total = 0
    for array in arrays:
        owner = owner_of(whole(array))
        if id(owner) not in seen:
            seen.add(id(owner))
            total += int(getattr(owner, "nbytes", 0))
    return total


def _blocks(arrays: Iterable[Any]) -> set[int]:
    return {id(owner_of(whole(array))) for array in arrays if is_array(array)}


def _line(node: Node) -> str:
    place = made_at(node)
    if place is None:
        return node.name()
    text = str(place)
    return text.replace(place.code.co_filename, short(place.code.co_filename))


def _advice(node: Node, graph: Mapping[int, Node], size: int) -> str:
    """A graph that one line adds to again and again is the classic leak."""
    place = made_at(node)
    if place is None:
        return ""
    turns = sum(1 for other in graph.values() if other._made is not None and other._made == node._made)
    if turns < TURNS:
        return ""
    kept = (
        "values are kept for a backward"
        if size
        else "nodes are kept, though a backward has freed their values"
    )
    return (
        f"That line has added to this graph {turns:,} times, and each time's {kept}. To sum up numbers, add .item() or "
        ".detach() of the loss."
    )


def _place(frame: FrameType) -> str:
    return f"in {frame.f_code.co_qualname} ({short(frame.f_code.co_filename)})"


def _frames(caller: FrameType | None) -> list[FrameType]:
    """The frames of running functions, the caller's and those around it first."""
    found: list[FrameType] = []
    starts = [caller, *(f for t, f in sys._current_frames().items() if t != threading.get_ident())]
    for start in starts:
        frame = start
        while frame is not None:
            if not frame.f_code.co_filename.startswith("<frozen"):
                found.append(frame)
            frame = frame.f_back
    return found


def _traceback_frames(running: list[FrameType]) -> list[FrameType]:
    known = {id(frame) for frame in running} | {id(sys._getframe(i)) for i in range(3)}
    found = []
    for thing in gc.get_objects():
        if is_a(thing, TracebackType) and id(thing.tb_frame) not in known:
            known.add(id(thing.tb_frame))
            found.append(thing.tb_frame)
    return found


def _hooks(node: Node) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    if node.tensor_hooks is not None:
        found += [("tensor hook", h) for table in node.tensor_hooks.tables.values() for h in table.values()]
    if node.node_hooks is not None:
        found += [("pre-hook", h) for h in node.node_hooks.pre.values()]
        found += [("hook", h) for h in node.node_hooks.post.values()]
    leaf = getattr(node, "variable", None)
    if isinstance(leaf, Tensor) and leaf._post_accumulate:
        found += [("post-accumulate hook", h) for h in leaf._post_accumulate.values()]
    return found


def _held_by(hook: Any) -> dict[str, Any]:
    """What a function has from the function around it, and its defaults."""
    function = getattr(hook, "__func__", hook)
    code, cells = getattr(function, "__code__", None), getattr(function, "__closure__", None) or ()
    found: dict[str, Any] = {}
    for name, cell in zip(getattr(code, "co_freevars", ()), cells, strict=False):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not filled yet
            continue
    for i, value in enumerate(getattr(function, "__defaults__", None) or ()):
        found[f"default {i}"] = value
    return found
