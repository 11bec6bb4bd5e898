"""why_no_grad: where the path from an output back to a parameter is cut."""

from __future__ import annotations

import sys
from collections import deque
from typing import Any, NamedTuple

from retrograd.core.accumulate import AccumulateGrad
from retrograd.core.lost import MADE, Lost
from retrograd.core.node import Node
from retrograd.core.places import made_at
from retrograd.core.tensor import Tensor
from retrograd.errors import operand_error

MOST_CUTS = 5  # how many cuts are named when none is known to be the one

_ENDS = "The output was cut off from a graph here (freed by now, so whether it held the parameter cannot be told):"


class Cut(NamedTuple):
    """A note, and the node of the output's graph where the cut-off value comes back in (None: the output itself)."""

    lost: Lost
    entry: Node | None


class Search:
    """Walks back from an output, through cuts where what stood before them is still alive."""

    def __init__(self, output: Tensor, parameter: Tensor | None) -> None:
        self.parameter = parameter
        self.path: list[Cut] | None = (
            None  # the cuts between the output and the parameter; [] if it is reached
        )
        self.cuts: list[Cut] = []  # every cut met
        # Nodes of one side of a cut are all walked before the next cut is crossed: the path found has the fewest.
        self.todo: deque[tuple[Any, tuple[Cut, ...]]] = deque()
        self.seen: set[int] = set()
        self._enter(output.grad_fn if output.grad_fn is not None else output, ())
        if output.grad_fn is None:
            self._cross(output._lost, None, ())
        while self.todo and self.path is None:
            self._visit(*self.todo.popleft())

    def _enter(self, place: Any, crossed: tuple[Cut, ...]) -> None:
        """Notes a node (or a leaf before a cut) for a visit; those on this side of a cut come first."""
        if id(place) not in self.seen:
            self.seen.add(id(place))
            self.todo.append((place, crossed))

    def _visit(self, place: Any, crossed: tuple[Cut, ...]) -> None:
        here = deque([place])
        while here:
            node = here.popleft()
            if self._is_parameter(node):
                self.path = list(crossed)
                return
            if not isinstance(node, Node):
                continue
            self._cross(node._lost, node, crossed)
            for successor in node.successors():
                if id(successor) not in self.seen:
                    self.seen.add(id(successor))
                    here.append(successor)

    def _cross(self, lost: Lost | None, entry: Node | None, crossed: tuple[Cut, ...]) -> None:
        for note in [] if lost is None else lost.all():
            if note.why == MADE:
                continue
            cut = Cut(note, entry)
            self.cuts.append(cut)
            before = None if note.source is None else note.source()
            if before is not None:
                self._enter(before, (*crossed, cut))

    def _is_parameter(self, place: Any) -> bool:
        if self.parameter is None:
            return False
        if isinstance(place, AccumulateGrad):
            return place.variable is self.parameter
        return place is self.parameter or (self.parameter._node is not None and place is self.parameter._node)


def why_no_grad(output: Tensor, parameter: Tensor | None = None) -> str:
    """Prints, and returns, why `output.backward()` gives `parameter` no gradient: what cut the path, on which line.

    Args:
        output: the tensor whose backward is in question: a loss.
        parameter: the tensor that gets no gradient; without it, the answer is about `output` alone.

    >>> import retrograd as rg
    >>> w = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> features = w.exp()
    >>> text = rg.why_no_grad((features.detach() * 2).sum(), w)  # doctest: +ELLIPSIS
    No gradient reaches the parameter: the path from the output to it is cut.
      Tracking was lost by detach(), which gives the values without the graph: File ...
    """
    if not isinstance(output, Tensor):
        raise operand_error("why_no_grad", "output", 1, output)
    if parameter is not None and not isinstance(parameter, Tensor):
        raise operand_error("why_no_grad", "parameter", 2, parameter)
    text = _about_output(output) if parameter is None else explain(output, parameter)
    sys.stdout.write(text + "\n")
    return text


def _about_output(output: Tensor) -> str:
    if output.requires_grad:
        return "The output requires grad: backward() works from here. Give a parameter to ask about the path to it."
    if output._lost is None:
        return "The output has no history: no tensor with requires_grad=True took part in computing it."
    return f"The output has no history. {output._lost.text()}"


def explain(output: Tensor, parameter: Tensor) -> str:
    """Why the gradient of an output does not reach a parameter, or that it does."""
    if not parameter.requires_grad:
        why = "" if parameter._lost is None else f" {parameter._lost.text()}"
        return f"The parameter itself has requires_grad=False, so nothing computes a gradient for it.{why}"
    found = Search(output, parameter)
    if found.path is None:
        return _unconnected(output, found)
    if not found.path:
        hint = (
            ""
            if parameter.is_leaf
            else " It is no leaf, so .grad is kept only after parameter.retain_grad()."
        )
        return f"There is a path from the output to the parameter: backward() gives it a gradient.{hint}"
    lines = ["No gradient reaches the parameter: the path from the output to it is cut."]
    for cut in found.path:
        lines += _told(cut)
    return "\n".join(lines)


def _told(cut: Cut) -> list[str]:
    lines = [f"  {cut.lost.sentence()}"]
    if cut.entry is not None and made_at(cut.entry) is not None:
        lines.append(
            f"  What was cut off came back as a constant in {cut.entry.name()}: {made_at(cut.entry)}"
        )
    return lines


def _unconnected(output: Tensor, found: Search) -> str:
    """No path, not even through cuts: the parameter was not used, or what stood before a cut is gone."""
    if found.cuts:
        lines = [f"No gradient reaches the parameter. {_ENDS}"]
        for cut in found.cuts[:MOST_CUTS]:
            lines += _told(cut)
        return "\n".join(lines)
    if not output.requires_grad:
        return f"No gradient reaches the parameter. {_about_output(output)}"
    return (
        "Nothing the output was computed from is this tensor. If it should have been: a name that was assigned anew "
        "(w = w * 1, w = w.to(...)) means another tensor than before."
    )
