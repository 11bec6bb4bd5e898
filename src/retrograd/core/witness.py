"""Witness: what a recorded operation cannot be computed again without.

While `detect_nonfinite` is on, a node keeps references to those operands that no edge leads to: constants and numbers.
All other operands can be computed again from the graph; so the mode holds no intermediate result that would not be
held anyway. A custom Function cannot be run again, so its node keeps its results instead. No Tensor is kept, only
arrays with the version they had: a Tensor that was written in place would hold the node that holds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retrograd.core.node import Node
from retrograd.core.tensor import Tensor


class Witness:
    """Operands by their number (None where an edge leads to the operand), and the results of a Function."""

    results: tuple[Any, ...] = ()

    def __init__(self, constants: tuple[Any, ...]) -> None:
        self.constants = constants


# A kept value is a number, or an array with its counter and the version that it had.


def kept(value: Any) -> Any:
    """What stands for a constant in a witness."""
    if not isinstance(value, Tensor):
        return value
    counter = value._version_counter()
    return value.array, counter, counter.version


def unchanged(value: Any) -> Any:
    """A kept value, or None if it has been written into since."""
    if not isinstance(value, tuple):
        return value
    array, counter, version = value
    return array if counter.version == version else None


def remember_constants(node: Node, operands: Sequence[Any]) -> None:
    """Keeps the operands that no edge leads to."""
    if len(operands) != 2:
        node._witness = Witness(tuple([None if node.needs(i) else kept(x) for i, x in enumerate(operands)]))
    elif node.next0 is None or node.next1 is None:
        x, y = operands
        node._witness = Witness(
            (kept(x) if node.next0 is None else None, kept(y) if node.next1 is None else None)
        )


def remember_results(node: Node, operands: Sequence[Any], results: Sequence[Any]) -> None:
    """`remember_constants` for a custom Function, which has results to remember too."""
    tensors = [x for x in operands if isinstance(x, Tensor)]
    remember_constants(node, tensors)
    if node._witness is None:
        node._witness = Witness((None,) * len(tensors))
    node._witness.results = tuple([kept(r) for r in results])
