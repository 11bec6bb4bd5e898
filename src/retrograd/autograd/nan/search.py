"""The search for the first cause of a NaN or Inf in a gradient.

Note [The first cause]
~~~~~~~~~~~~~~~~~~~~~~
1. The backward runs again, node by node, and every gradient is looked at. Each bad gradient knows what it is to blame
   on: the node (or hook, or sum) that made it from finite ones. So the leaf with the bad gradient names its culprit,
   and bad values that were masked on their way (and did no harm) are not mistaken for it.
2. The forward pass is computed again. If the culprit's formula has used a forward value that was not finite, that value
   is followed back to the operation that made it from finite ones, or to a leaf or constant that held it.
3. If the bad elements of the culprit's result had a gradient of exactly 0 coming in, something has masked them: 0 times
   an infinite slope. What masked them is looked for on the way from the root: see `autograd/nan/traps.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from retrograd.autograd.nan.explain import message
from retrograd.autograd.nan.finding import BACKWARD, GRADIENT, HOOK, SUM, Finding
from retrograd.autograd.nan.recompute import Forward
from retrograd.autograd.nan.traps import Masker, masker_of, spoilt_mask
from retrograd.backends.base import as_array
from retrograd.core.accumulate import AccumulateGrad
from retrograd.core.modes import current
from retrograd.core.node import Node
from retrograd.core.op import Binary, Unary
from retrograd.engine.buffer import InputBuffer
from retrograd.engine.evaluate import match_receivers, run_posthooks, run_prehooks, run_tensor_hooks
from retrograd.engine.task import ExecInfo, GraphTask
from retrograd.engine.watch import Watch, flags
from retrograd.errors import NonFiniteError


def search(watch: Watch, engine: Any, what: str, bad: Any) -> NonFiniteError:
    """The error for a backward whose result `bad` is not finite. See Note [The first cause]."""
    state = current()
    before = state.special, state.grad_enabled, state.replaying
    state.special, state.grad_enabled, state.replaying = 0, False, True
    replay = Replay(watch)
    engine.task = replay.task
    masker: Masker | None = None
    try:
        failure = replay.run()
        forward = Forward(watch.start)
        found = replay.culprit()
        if found is not None and found.kind == BACKWARD:
            masker = masker_of(found, replay.senders)
            source = forward.source_for(found.node)
            if source is not None:
                found = source
                masker = spoilt_mask(source.nan_maker) or masker
        elif found is None and failure is not None:
            found = forward.first()
    finally:
        engine.task = watch.task
        state.special, state.grad_enabled, state.replaying = before
    return message(what, bad, found, masker, failure)


class Replay:
    """The same backward once more, on bare arrays, with every gradient looked at; `.grad` stays as it is."""

    def __init__(self, watch: Watch) -> None:
        self.task: GraphTask = GraphTask(True, False, False, watch.task.outer)
        self.task.compute_dependencies(watch.start, watch.min_topological_nr)
        self.exec_info: dict[Node, ExecInfo] | None = watch.task.exec_info
        self.task.exec_info = self.exec_info
        self.start: Node = watch.start
        self.given: list[Any] = watch.given
        self.blame: dict[Node, Finding] = {}  # why what arrives at a node is bad
        self.senders: dict[Node, list[Node]] = {}
        self.ends: list[Finding] = []  # what bad gradients of leaves and captures are to blame on, in order
        self.count: int = 0

    def run(self) -> Exception | None:
        """Runs all nodes in the engine's order; what hooks or Functions raise the second time ends it."""
        task = self.task
        task.begin([_bare(v) for v in self.given])
        try:
            while (node := task.queue.pop()) is not None:
                self._step(node, task.taken(node))
        except Exception as error:  # noqa: BLE001 - whatever users' code raises
            return error
        finally:
            task.let_go()
        return None

    def culprit(self) -> Finding | None:
        """What the bad gradients are to blame on; the earliest, if there are several."""
        return min(self.ends, key=attrgetter("order"), default=None)

    def _found(self, finding: Finding) -> Finding:
        self.count += 1
        finding.order = self.count
        return finding

    def _step(self, node: Node, buffer: InputBuffer) -> None:
        """What `evaluate` does, with a look at the gradients between its steps."""
        info = None if self.exec_info is None else self.exec_info.get(node)
        if self.exec_info is not None and info is None:
            return
        self._arrived(node, buffer)
        captured = info is not None and bool(info.captures)
        runs = info is None or info.needed
        if captured and runs:
            self._end(node)  # captured as it arrives; hooks come later
        if node.tensor_hooks is not None:
            hooks = [h for table in node.tensor_hooks.tables.values() for h in table.values()]
            run_tensor_hooks(node, buffer, False)
            self._hooked(node, buffer.values, hooks)
        if captured and not runs:
            self._end(node)
        if not runs:
            return
        if node.node_hooks is not None and node.node_hooks.pre:
            hooks = list(node.node_hooks.pre.values())
            run_prehooks(node, buffer, False)
            self._hooked(node, buffer.values, hooks)
        if isinstance(node, AccumulateGrad):
            self._end(node)
            return
        self._apply(node, buffer.values)

    def _arrived(self, node: Node, buffer: InputBuffer) -> None:
        """A gradient that is bad although all its parts were not: the root's own, or a sum that overflowed."""
        bad = _first(buffer.values)
        if bad is None:
            self.blame.pop(node, None)
        elif node not in self.blame:
            kind = GRADIENT if node is self.start else SUM
            self.blame[node] = self._found(Finding(kind, node, bad, buffer.values[bad]))

    def _hooked(self, node: Node, values: Sequence[Any], hooks: Sequence[Any]) -> None:
        """Hooks may spoil a gradient, and they may mend it."""
        bad = _first(values)
        if bad is None:
            self.blame.pop(node, None)
        elif node not in self.blame:
            finding = self.blame[node] = self._found(Finding(HOOK, node, bad, values[bad]))
            finding.hooks = hooks

    def _end(self, node: Node) -> None:
        if node in self.blame:
            self.ends.append(self.blame[node])

    def _apply(self, node: Node, given: Sequence[Any]) -> None:
        """Runs the formula and sends its results on, each with what it is to blame on if it is bad."""
        results = [_bare(r) for r in node.apply(given, False, 0)][: node.edge_count]
        made = match_receivers(node, results, False)
        blame = [self._blame(node, i, given, results[i], made[i]) for i in range(len(made))]
        if node.node_hooks is not None and node.node_hooks.post:
            before = made
            made = run_posthooks(node, made, given, False)
            blame = [self._posthook_blame(node, i, b, before[i], made[i]) for i, b in enumerate(blame)]
        for i, value in enumerate(made):
            edge = node.edge(i)
            succ = edge.function
            if succ is None:
                continue
            self.senders.setdefault(succ, []).append(node)
            reason = blame[i]
            if reason is not None and succ not in self.blame:
                self.blame[succ] = reason
            if self.task.sends_to(succ) and self.task.arrive(succ, edge.input_nr, value, False):
                self.task.queue.push(succ)

    def _blame(self, node: Node, i: int, given: Sequence[Any], raw: Any, value: Any) -> Finding | None:
        """What result `i` is to blame on, if it is bad."""
        if value is None or not flags(value) or node.successor(i) is None:
            return None
        if node in self.blame:
            return self.blame[node]
        shown = raw if flags(raw) else value
        finding = Finding(BACKWARD, node, i, shown, [*_saved(node), *_named("incoming gradient", given)])
        finding.given, finding.raw = given, shown
        return self._found(finding)

    def _posthook_blame(
        self, node: Node, i: int, reason: Finding | None, before: Any, after: Any
    ) -> Finding | None:
        if after is None or not flags(after):
            return None
        if reason is not None or (before is not None and flags(before)):
            return reason
        assert node.node_hooks is not None
        finding = self._found(Finding(HOOK, node, i, after))
        finding.hooks = list(node.node_hooks.post.values())
        return finding


def _named(name: str, values: Sequence[Any]) -> list[tuple[str, Any]]:
    if len(values) == 1:
        return [(name, values[0])]
    return [(f"{name} {k}", v) for k, v in enumerate(values)]


def _saved(node: Node) -> list[tuple[str, Any]]:
    """What the formula of an op has at hand, by the name that a message gives it."""
    if not isinstance(node, (Unary, Binary)):
        return []
    names = {"x": "input" if isinstance(node, Unary) else "input 0", "y": "input 1", "out": "output"}
    return [(names[name], node.slot(name).value) for name in node.slot_names() if name in names]


def _bare(value: Any) -> Any:
    """A gradient without its Tensor."""
    if value is None:
        return None
    return as_array(getattr(value, "array", value))


def _first(values: Sequence[Any]) -> int | None:
    """The number of the first bad gradient."""
    return next((i for i, v in enumerate(values) if v is not None and flags(v)), None)
