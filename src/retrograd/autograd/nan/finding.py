"""Finding: a place where finite values became non-finite ones, with the numbers that show it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from retrograd.backends.base import whole
from retrograd.core.node import Node

# Where it happened.
FORWARD, BACKWARD, INPUT, GRADIENT, HOOK, SUM, UNKNOWN = (
    "forward",
    "backward",
    "input",
    "gradient",
    "hook",
    "sum",
    "unknown",
)


class Finding:
    """One place. What it keeps of arrays is words; only a formula's own arrays are kept, for the look at traps."""

    order: int = 0  # which place of a replay it is
    given: Any = None  # BACKWARD: the gradient that went in, and the one that came out
    raw: Any = None
    hooks: Sequence[Any] = ()  # HOOK: those that may have done it
    constant: bool = False  # INPUT: whether it is a constant, not a leaf
    sure: bool = True  # FORWARD: whether all inputs are known to be finite
    nan_maker: Node | None = None  # FORWARD, of an Inf: what made a NaN of it
    inside: str = ""  # FORWARD, of a NaN: that an Inf was among the inputs, and where that came from

    def __init__(
        self, kind: str, node: Node, i: int, value: Any, beside: Sequence[tuple[str, Any]] = ()
    ) -> None:
        self.kind = kind
        self.node = node
        self.i = i  # which input's gradient, or which operand
        self.value: Any = value if isinstance(value, (int, float, complex)) else np.asarray(whole(value))
        self.dtype: Any = getattr(value, "dtype", None)
        self.what: str = described(value)
        self.numbers: str = _numbers(self.value, beside)


def described(value: Any) -> str:
    """`NaN at 2 of 6 elements, first at [0, 1]`."""
    array = np.asarray(whole(value))
    bad = ~np.isfinite(array)
    count = int(bad.sum())
    nan = bool(np.isnan(array).any())
    name = "NaN" if nan and not np.isinf(array).any() else "NaN and Inf" if nan else "Inf"
    if array.size == 1:
        return name
    return f"{name} at {count} of {array.size} elements, first at {list(first_bad(array))}"


def first_bad(array: Any) -> tuple[int, ...]:
    """The index of the first element that is not finite."""
    flat = int(np.argmax(~np.isfinite(array)))
    return tuple(int(k) for k in np.unravel_index(flat, array.shape))


def _numbers(value: Any, beside: Sequence[tuple[str, Any]]) -> str:
    """The values at the first bad element: those that went in, and what came out."""
    array = np.asarray(whole(value))
    index = first_bad(array)
    found = [f"{name} = {_number(v, array.shape, index)}" for name, v in beside if _has(v, array.shape)]
    found.append(f"result = {array[index].item()!r}")
    return ", ".join(found)


def _has(value: Any, shape: tuple[int, ...]) -> bool:
    """Whether a value has a single element for each element of an array of that shape."""
    if isinstance(value, (int, float, complex)):
        return True
    return hasattr(value, "shape") and (value.size == 1 or tuple(value.shape) == tuple(shape))


def _number(value: Any, shape: tuple[int, ...], index: tuple[int, ...]) -> str:
    if isinstance(value, (int, float, complex)):
        return repr(value)
    return repr(value.item() if value.size == 1 else value[index].item())
