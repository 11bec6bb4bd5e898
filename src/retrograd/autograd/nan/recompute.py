"""The forward pass computed again from the graph, to see where a non-finite value came from.

Every op can run again on values: the leaves', its saved ones, the constants that its witness keeps. Nodes are visited
in topological order and a value is dropped when its last user has run, so the memory needed is that of a forward pass.
What cannot be known (a custom Function whose result was overwritten, a leaf that an optimiser has stepped since) is
UNKNOWN, and the search says so instead of guessing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from retrograd.autograd.nan.finding import FORWARD, INPUT, Finding
from retrograd.backends.dtypes import is_differentiable
from retrograd.core.accumulate import AccumulateGrad
from retrograd.core.node import GraphRoot, Node
from retrograd.core.op import CONSTANT, Binary, Op, Unary
from retrograd.core.tensor import Tensor
from retrograd.core.upward import UPWARD
from retrograd.core.views import CopySlices
from retrograd.core.witness import unchanged
from retrograd.engine.watch import INF, NAN, flags

topological_nr: attrgetter[Any] = attrgetter("topological_nr")


class Unknown:
    """Stands for a value that cannot be had again."""


UNKNOWN = Unknown()
# Operations by which people put infinities in on purpose: an attention mask, a running maximum's start.
MASKS = {"add", "clamp", "masked_fill", "maskedfill", "maximum", "minimum", "where"}


class Seen:
    """What is known of one node: which inputs and outputs hold NaN or Inf (None where unknown)."""

    def __init__(self, inputs: list[int | None], outputs: list[int | None]) -> None:
        self.inputs = inputs
        self.outputs = outputs


class Forward:
    """The values of a graph's nodes, computed again; what is kept is which of them are not finite."""

    def __init__(self, start: Node) -> None:
        nodes = sorted(reachable(start), key=topological_nr)
        self.seen: dict[Node, Seen] = {}
        self.findings: dict[Node, Finding] = {}  # finite in, not finite out
        self.data: dict[
            tuple[Node, int], Finding
        ] = {}  # leaves and constants that are not finite, by their user
        self.saved: dict[tuple[Node, int], Any] = {}  # by the output that a saved value is
        self.constants: dict[tuple[Node, int], Any] = {}  # by the operand that a saved constant is
        self.values: dict[tuple[Node, int], Any] = {}
        self.users: dict[tuple[Node, int], int] = {}
        for node in nodes:
            self._collect(node)
        for node in nodes:
            self._visit(node)

    # -- what the graph holds ------------------------------------------------------------------------------------

    def _collect(self, node: Node) -> None:
        """Notes the values that a node has saved, and whose outputs it uses."""
        for edge in node.next_edges():
            if edge.function is not None:
                key = (edge.function, edge.input_nr)
                self.users[key] = self.users.get(key, 0) + 1
        for owner in (node, node.write) if isinstance(node, CopySlices) else (node,):
            if isinstance(owner, Op):
                for name in owner.slot_names():
                    self._collect_slot(owner, name)
        for saved in getattr(node, "_saved", ()):
            place = None if saved is None else node if saved.is_output else saved.node
            if place is not None and _is_current(saved.array, saved.counter, saved.version):
                self.saved[place, saved.output_nr] = saved.array

    def _collect_slot(self, node: Op, name: str) -> None:
        value, counter, version, place, nr = node.slot(name)
        if not _is_current(value, counter, version):
            return
        if place is not None:
            self.saved[place, nr] = value
        elif not name.startswith(("out", CONSTANT)):
            _, _, number = name.partition(":")
            self.constants[node, int(number) if number else "xy".index(name)] = value

    # -- one node ------------------------------------------------------------------------------------------------

    def _visit(self, node: Node) -> None:
        if isinstance(node, GraphRoot):
            return
        inputs = [self._input(node, i) for i in range(node.edge_count)]
        outputs = self._outputs(node, inputs)
        for nr, value in enumerate(outputs):
            self.values[node, nr] = value
        seen = self.seen[node] = Seen([_flags(v) for v in inputs], [_flags(v) for v in outputs])
        if not isinstance(node, AccumulateGrad):
            self._note(node, seen, inputs, outputs)
        for edge in node.next_edges():
            if edge.function is not None:
                key = (edge.function, edge.input_nr)
                self.users[key] -= 1
                if not self.users[key]:
                    self.values.pop(key, None)

    def _note(self, node: Node, seen: Seen, inputs: list[Any], outputs: list[Any]) -> None:
        """Keeps what would have to be told of this node, while its values are there."""
        culprit = node.write if isinstance(node, CopySlices) else node
        clean = not any(seen.inputs)
        for i, found in enumerate(seen.inputs):
            source = node.successor(i)
            if found and (source is None or isinstance(source, AccumulateGrad)):
                self.data[node, i] = Finding(INPUT, culprit, i, inputs[i])
                self.data[node, i].constant = source is None
        # A NaN that comes of infinities is told too, in case that they were meant.
        nan_made = any((f or 0) & NAN for f in seen.outputs) and not any((f or 0) & NAN for f in seen.inputs)
        for nr, found in enumerate(seen.outputs):
            if found and (clean or nan_made) and node not in self.findings:
                names = ["input"] if len(inputs) == 1 else [f"input {i}" for i in range(len(inputs))]
                finding = Finding(FORWARD, culprit, nr, outputs[nr], list(zip(names, inputs, strict=True)))
                finding.sure = None not in seen.inputs
                self.findings[node] = finding

    def _input(self, node: Node, i: int) -> Any:
        """The value of operand `i`: another node's result, or a constant."""
        edge = node.edge(i)
        if edge.function is not None:
            return self.values.get((edge.function, edge.input_nr), UNKNOWN)
        kept: Any = UNKNOWN if node._witness is None else node._witness.constants[i]
        if isinstance(kept, tuple):
            value = unchanged(kept)
            kept = UNKNOWN if value is None else value
        return self.constants.get((node, i), UNKNOWN) if isinstance(kept, Unknown) else kept

    def _outputs(self, node: Node, inputs: list[Any]) -> list[Any]:
        if isinstance(node, AccumulateGrad):
            leaf = node.variable
            stepped = leaf._post_accumulate is not None  # an optimiser may have
            return [self.saved.get((node, 0), UNKNOWN if stepped else leaf.array)]
        found = [self.saved.get((node, nr), UNKNOWN) for nr in range(node.num_inputs())]
        results = () if node._witness is None else node._witness.results
        for nr, kept in enumerate(results):
            value = unchanged(kept)
            if isinstance(found[nr], Unknown) and isinstance(value, np.ndarray):
                found[nr] = value
        if not any(isinstance(v, Unknown) for v in found):
            return found
        again = self._written(node, inputs) if isinstance(node, CopySlices) else computed(node, inputs)
        return again if len(again) == len(found) else found

    def _written(self, node: CopySlices, inputs: list[Any]) -> list[Any]:
        """A base after a write through one of its views."""
        start = inputs[0] if node.next0 is not None else None  # a base without a history: taken for finite
        if isinstance(start, Unknown):
            return [UNKNOWN]
        base, part = node.region.laid_out(start)
        write = node.write
        rest = [inputs[i] if write.needs(i) else self._input(write, i) for i in range(1, write.edge_count)]
        (new,) = computed(write, [part, *rest]) or [UNKNOWN]
        if isinstance(new, Unknown):
            return [UNKNOWN]
        part[...] = new
        return [base]

    # -- the way back --------------------------------------------------------------------------------------------

    def source_for(self, node: Node) -> Finding | None:
        """Where the non-finite values that the backward of `node` has used came from; None if it has used none."""
        seen = self.seen.get(node)
        if seen is None:
            return None
        used, own = self._used(node)
        found = next((i for i in used if seen.inputs[i]), None)
        if found is not None:
            return self._follow(node, found)
        if any(seen.outputs) and (own or not any(seen.inputs)):
            return self._origin(node)
        return None

    def _used(self, node: Node) -> tuple[Sequence[int], bool]:
        """Which inputs the formula of the backward has at hand, and whether it has the results."""
        if not isinstance(node, Op):
            return range(node.edge_count), True
        names = [n for n in node.slot_names() if not n.startswith(CONSTANT)]
        numbers = [n.partition(":")[2] or str("xy".index(n)) for n in names if not n.startswith("out")]
        return [int(n) for n in numbers], any(n.startswith("out") for n in names)

    def _follow(self, node: Node, i: int) -> Finding | None:
        """Where the non-finite operand `i` of `node` came from."""
        data = self.data.get((node, i))
        if data is not None:
            return data
        source = node.successor(i)
        return None if source is None else self._origin(source)

    def _origin(self, node: Node) -> Finding | None:
        """The first node on the way from non-finite data or operations to the non-finite output of `node`."""
        nan_maker: Node | None = None
        while True:
            seen = self.seen[node]
            bad = [i for i, found in enumerate(seen.inputs) if found]
            if node in self.findings and any((f or 0) & NAN for f in seen.outputs):
                nan_maker = node
            if not bad:
                return self._made(node, nan_maker)
            i = next((i for i in bad if (seen.inputs[i] or 0) & NAN), bad[0])
            data = self.data.get((node, i))
            if data is not None:
                meant = data.constant and seen.inputs[i] == INF and _function(data.node) in MASKS
                return self._meant(data, nan_maker) if meant and nan_maker is not None else data
            source = node.successor(i)
            assert source is not None
            if source not in self.seen:
                return self._made(node, nan_maker)
            node = source

    def _made(self, node: Node, nan_maker: Node | None) -> Finding | None:
        found = self.findings.get(node)
        if found is not None and nan_maker is not node:
            found.nan_maker = nan_maker
        return found

    def _meant(self, data: Finding, nan_maker: Node) -> Finding:
        """An Inf that was put in on purpose is not the cause; what made a NaN of it is."""
        found = self.findings[nan_maker]
        found.inside = _function(data.node)
        return found

    def first(self) -> Finding | None:
        """The earliest operation with finite inputs and a non-finite output, whether or not it did any harm."""
        clean = [n for n in self.findings if not any(self.seen[n].inputs)]
        known = [n for n in clean if self.findings[n].sure] or clean
        if known:
            return self.findings[min(known, key=attrgetter("sequence_nr"))]
        return next(iter(self.data.values()), None)


def computed(node: Node, inputs: Sequence[Any]) -> list[Any]:
    """The results of an op, run again; empty where it cannot be."""
    if not isinstance(node, Op) or any(isinstance(v, Unknown) for v in inputs) or not _has_constants(node):
        return []
    operands = [Tensor(v, share=True) if isinstance(v, np.ndarray) else v for v in inputs]
    try:
        if isinstance(node, Unary):
            made = UPWARD.apply1(node.fresh(), *operands)
        elif isinstance(node, Binary):
            made = UPWARD.apply2(node.fresh(), *operands)
        else:
            made = UPWARD.apply_n(node.fresh(), operands)
    except Exception:  # noqa: BLE001 - a diagnosis must not fail where it could only know less
        return []
    results = made if isinstance(made, tuple) else (made,)
    return [r.array for r in results if is_differentiable(r.array.dtype)]


def _has_constants(node: Op) -> bool:
    """Whether the constants of an op are there, as they were."""
    slots = [node.slot(name) for name in node.slot_names() if name.startswith(CONSTANT)]
    return all(_is_current(slot.value, slot.counter, slot.version) for slot in slots)


def reachable(start: Node) -> Iterator[Node]:
    """Every node that gradients from `start` can reach, itself included."""
    seen = {start}
    todo = [start]
    while todo:
        node = todo.pop()
        yield node
        for succ in node.successors():
            if succ not in seen:
                seen.add(succ)
                todo.append(succ)


def _flags(value: Any) -> int | None:
    if isinstance(value, Unknown):
        return None
    return 0 if value is None else flags(value)


def _is_current(value: Any, counter: Any, version: int) -> bool:
    """Whether a saved value is a plain array (or number) that nothing has been written into since."""
    if counter is not None and counter.version != version:
        return False
    return isinstance(value, (np.ndarray, int, float, complex))


def _function(node: Node) -> str:
    return node.function_name() if isinstance(node, Op) else node.name()
