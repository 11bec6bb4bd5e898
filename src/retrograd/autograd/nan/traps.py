"""The `where` trap and its relatives: a result that was masked, and whose gradient is NaN all the same.

`where(x > 0, log(x), 0)` drops log(0), but the backward of log still gets a gradient there: exactly 0. Times its slope,
1 / 0, it is NaN. Whatever else drops elements has the same effect: a mask that is multiplied, an index, a
clamp. Two things tell such a NaN from others: the gradient that came in is exactly 0 at every bad element, and on its
way from the root it has passed a node that made it so.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from retrograd.autograd.nan.finding import Finding
from retrograd.backends.base import whole
from retrograd.backends.casts import maker_of
from retrograd.core.node import Node
from retrograd.core.op import Binary, Op
from retrograd.core.views import CopySlices

WHERE: str = "where"
FILL: str = "masked_fill"
PRODUCT: str = "mask"
SELECTION: str = "selection"
CLAMP: str = "clamp"
WRITE: str = "write"
# What drops elements, by the name of its node.
_KINDS = {
    "Where": WHERE,
    "MaskedFill": FILL,
    "MaskedScatter": FILL,
    "IndexPut": WRITE,
    "IndexFill": WRITE,
    "torch::autograd::CopySlices": WRITE,
    **dict.fromkeys(("Relu", "Threshold", "Clamp", "ClampMin", "ClampMax", "Hardtanh"), CLAMP),
    **dict.fromkeys(("Maximum", "Minimum", "Fmax", "Fmin"), CLAMP),
    **dict.fromkeys(("Index", "IndexSelect", "MaskedSelect", "Gather", "Take", "Slice", "Select"), SELECTION),
    **dict.fromkeys(("Max", "Min", "Amax", "Amin", "Median", "Kthvalue", "Topk"), SELECTION),
}


def stem(node: Node) -> str:
    """`Log` for LogBackward0."""
    return node.name().rstrip("0123456789").removesuffix("Backward")


class Masker:
    """A node that drops elements: its gradients are 0 there, whatever comes in."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.kind: str = _KINDS.get(stem(node), PRODUCT)

    def drops(self, bad: Any, nodes: dict[Node, None]) -> bool:
        """Whether all it gives to `nodes` is 0 at the bad elements (or somewhere, if shapes have changed since)."""
        node = self.node
        ones: list[Any] = [
            maker_of(node.input_dtype(i)).ones(node.input_shape(i), node.input_dtype(i))
            for i in range(node.num_inputs())
        ]
        try:
            results = node.apply(ones, False, 0)
        except Exception:  # noqa: BLE001 - an unpack hook that works only once: a diagnosis must not fail for it
            return False
        found = False
        for i, result in enumerate(results):
            if result is None or node.successor(i) not in nodes:
                continue
            zero = np.asarray(whole(result)) == 0
            if not (zero[bad].all() if zero.shape == bad.shape else zero.any()):
                return False
            found = True
        return found


def masks(node: Node) -> bool:
    """Whether a node may drop elements."""
    if isinstance(node, Binary) and stem(node) == "Mul":
        return any(_is_mask(node, i) for i in (0, 1) if node.needs(i))
    return stem(node) in _KINDS and isinstance(node, (Op, CopySlices))


def _is_mask(node: Binary, i: int) -> bool:
    """Whether operand `i` was multiplied by a constant of zeros and ones."""
    other = node.y if i == 0 else node.x
    if node.needs(1 - i) or not isinstance(other, np.ndarray) or not other.ndim:
        return False
    return bool(((other == 0) | (other == 1)).all() and (other == 0).any())


def masker_of(found: Finding, senders: dict[Node, list[Node]]) -> Masker | None:
    """The nearest node between the root and the culprit that has dropped the bad elements; None: it is no trap."""
    bad = ~np.isfinite(whole(found.raw))
    if not all(_is_zero(whole(g), bad) for g in found.given if g is not None):
        return None
    between: dict[Node, None] = {
        found.node: None
    }  # the culprit and what lies on its way from the root, nearest first
    todo = deque([found.node])
    while todo:
        for sender in senders.get(todo.popleft(), ()):
            if sender not in between:
                between[sender] = None
                todo.append(sender)
    for node in between:
        if node is not found.node and masks(node):
            masker = Masker(node)
            if masker.drops(bad, between):
                return masker
    return None


def spoilt_mask(node: Node | None) -> Masker | None:
    """A product with a mask that has made a NaN of an Inf, in the forward pass: 0 * inf."""
    return Masker(node) if node is not None and stem(node) == "Mul" and masks(node) else None


def _is_zero(given: Any, bad: Any) -> bool:
    """Whether the gradient that came in is exactly 0 at every bad element."""
    if given.ndim < bad.ndim and given.shape == bad.shape[: given.ndim]:
        given = given.reshape(
            given.shape + (1,) * (bad.ndim - given.ndim)
        )  # a reduction has dropped the last ones
    try:
        spread = np.broadcast_to(given, bad.shape)
    except ValueError:
        return not given.any()
    return not spread[bad].any()
