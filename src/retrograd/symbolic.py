"""Functions of numbers that PyTorch's compiler may trace: here they are what Python has."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any


class SymInt:
    """PyTorch's integers that a compiler traces. Nothing here is one: it is for `isinstance` and annotations."""


class SymFloat:
    """PyTorch's floats that a compiler traces, as `SymInt`."""


class SymBool:
    """PyTorch's truth values that a compiler traces, as `SymInt`."""


def sym_int(a: Any) -> int:
    """A number as an integer, towards zero.

    >>> sym_int(-2.5)
    -2
    """
    return int(a)


def sym_float(a: Any) -> float:
    """A number as a float."""
    return float(a)


def sym_max(a: Any, b: Any) -> Any:
    """The larger of two numbers; a float if one of them is."""
    found = max(a, b)
    return float(found) if isinstance(a, float) or isinstance(b, float) else found


def sym_min(a: Any, b: Any) -> Any:
    """The smaller of two numbers; a float if one of them is."""
    found = min(a, b)
    return float(found) if isinstance(a, float) or isinstance(b, float) else found


def sym_not(a: Any) -> bool:
    """The opposite of a truth value."""
    return not a


def sym_sqrt(a: Any) -> float:
    """The root of a number."""
    return math.sqrt(a)


def sym_sum(args: Iterable[Any]) -> Any:
    """The sum of numbers."""
    return sum(args)


def sym_ite(b: bool, t: Any, f: Any) -> Any:
    """`t` if b is true, or else `f`."""
    return t if b else f


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ()) -> Any:
    """Calls one of two functions.

    >>> import retrograd as rg
    >>> cond(rg.tensor(True), lambda x: x + 1, lambda x: x - 1, (rg.zeros(2),))
    tensor([1., 1.])
    """
    return (true_fn if pred else false_fn)(*operands)


def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any) -> Any:
    """Calls `body_fn` with what it gave before, as long as `cond_fn` of that is true.

    >>> import retrograd as rg
    >>> while_loop(lambda x: x < 5, lambda x: (x * 2,), (rg.tensor(1),))
    (tensor(8),)
    """
    carried = tuple(carried_inputs)
    while cond_fn(*carried):
        carried = tuple(body_fn(*carried))
    return carried
