"""Watch: what `detect_nonfinite` adds to a backward whose gradients are all finite.

Note [Looking for NaN]
~~~~~~~~~~~~~~~~~~~~~~
A backward under `detect_nonfinite` runs as always, except that saved values are freed at its end instead of node by
node. Then each gradient that it has left in a leaf or will return is reduced to one number, which a single NaN or Inf
would spoil. Only if that happens does the search in `autograd/nan/search.py` begin, and it can use everything: it runs
the same backward again, node by node, without touching `.grad`, and computes the forward pass again.
"""

from __future__ import annotations

import cmath
from collections.abc import Sequence
from typing import Any

from retrograd.backends.base import backend_of, whole
from retrograd.backends.quiet import QUIET, hush, unhush
from retrograd.core.accumulate import AccumulateGrad
from retrograd.core.modes import current
from retrograd.core.node import Node
from retrograd.core.upward import UPWARD
from retrograd.engine.evaluate import shown
from retrograd.engine.task import ExecInfo, GraphTask
from retrograd.values import Array


class Watch:
    """One backward under `detect_nonfinite`. See Note [Looking for NaN]."""

    def __init__(self, task: GraphTask, given: Sequence[Any], min_topological_nr: int) -> None:
        assert task.root is not None
        self.task = task
        self.start: Node = task.root
        self.given: list[Any] = list(given)
        self.min_topological_nr = min_topological_nr
        task.frees = False
        if current().replaying:
            _leave_out_leaves(task, self.start)

    def finish(self, engine: Any) -> None:
        """Looks at the gradients, frees what a backward frees, and raises if one is not finite.

        `engine` is the engine's state in this thread: hooks that run again must find their own backward there.
        """
        self.nodes: list[Node] = self._ran()
        try:
            if not current().replaying:
                self._check(engine)
        finally:
            if not self.task.keep_graph:
                place = self.task.place
                for node in self.nodes:
                    node.release()
                    node._freed_by = place
                    if node._witness is not None:
                        node._witness = None

    def _ran(self) -> list[Node]:
        """The nodes that have run."""
        info, nodes = self.task.exec_info, [self.start, *self.task.nodes]
        if info is None:
            return nodes
        reached = set(nodes)
        return [n for n, e in info.items() if e.needed and n in reached]

    def _check(self, engine: Any) -> None:
        token = hush(QUIET)
        try:
            what = self._first_bad()
            if what is not None:
                raise UPWARD.find_nonfinite(self, engine, *what)
        finally:
            unhush(token)

    def _first_bad(self) -> tuple[str, Array] | None:
        """The first gradient that is not as it should be: a few words for it, and its array."""
        wanted = current().nonfinite
        for node in self.nodes:
            if type(node) is not AccumulateGrad:
                continue
            leaf = node.variable
            grad = leaf._grad
            if grad is not None:
                array = grad.array
            elif leaf._post_accumulate is not None:
                array = leaf.array  # an optimiser in the hook has already used up the gradient
            else:
                continue
            if not is_fine(array, wanted):
                return f"the gradient of a leaf of shape {list(array.shape)}", array
        for i, value in enumerate(self.task.captured):
            if value is not None:
                array = shown(value, self.task.tensors).array
                if not is_fine(array, wanted):
                    return f"the gradient for input {i} of autograd.grad", array
        return None


NAN, INF = 1, 2


def is_fine(array: Array, wanted: int) -> bool:
    """Whether an array holds nothing of what is looked for: NaN, Inf or both."""
    array = whole(array)
    flat = array.ravel()
    # One NaN or Inf spoils the sum of squares. A sum that overflows all the same is looked at closely.
    return cmath.isfinite(flat.dot(flat)) or flags(array) & wanted == 0


def flags(value: Any) -> int:
    """What an array or a number holds: NAN, INF, both or neither."""
    if isinstance(value, (int, float, complex)):
        return 0 if cmath.isfinite(value) else NAN if cmath.isnan(value) else INF
    if value.dtype.kind not in "fc":
        return 0
    xp = backend_of(value)
    return (NAN if xp.isnan(value).any() else 0) | (INF if xp.isinf(value).any() else 0)


def _leave_out_leaves(task: GraphTask, start: Node) -> None:
    """A backward inside a replayed one, started by a hook: `.grad` has its gradients already."""
    if task.exec_info is None:
        task.exec_info = {}
        for node in (start, *task.nodes):
            info = task.exec_info[node] = ExecInfo()
            info.needed = type(node) is not AccumulateGrad
    else:
        for node, info in task.exec_info.items():
            info.needed = info.needed and type(node) is not AccumulateGrad
