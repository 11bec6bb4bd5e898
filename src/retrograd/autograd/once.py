"""`once_differentiable`: a backward that has no derivative of its own, and says so."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from retrograd.backends.dtypes import is_differentiable
from retrograd.core.apply import gradient_edge
from retrograd.core.modes import current
from retrograd.core.node import Grads, Node
from retrograd.core.tensor import Tensor

P = ParamSpec("P")
R = TypeVar("R")


def once_differentiable(fn: Callable[P, R]) -> Callable[P, R]:
    """Marks a `backward` that cannot be differentiated itself: trying to says so instead of giving wrong numbers."""

    @functools.wraps(fn)
    def wrapper(*given: Any, **named: Any) -> Any:  # the context and the gradients
        state = current()
        was_enabled = state.grad_enabled
        state.grad_enabled = False
        try:
            results: Any = fn(*given, **named)
        finally:
            state.grad_enabled = was_enabled
        if not was_enabled or not any(isinstance(g, Tensor) and g.requires_grad for g in given):
            return results
        several = isinstance(results, tuple)
        made = tuple(_undifferentiable(r) for r in (results if several else (results,)))
        return made if several else made[0]

    return wrapper


class Error(Node):
    """Raises when a gradient reaches it: stands behind results that have no second derivative.

    It leads to a leaf that nobody knows, so that a backward reaches it, but no gradient that is asked for lies behind.
    """

    def apply(self, grads: Grads, tensors: bool, owned: int) -> Grads:
        raise RuntimeError(
            "trying to differentiate twice a function that was marked with @once_differentiable"
        )


def _undifferentiable(result: Any) -> Any:
    if not isinstance(result, Tensor) or not is_differentiable(result.array.dtype):
        return result
    made, leaf = Tensor(result.array), Tensor(result.array)
    leaf._requires = True
    node = Error()
    node.set_next_edges([gradient_edge(leaf)])
    node.sequence_nr = current().next_sequence_nr()
    node.add_input(made.array)
    made._node, made._requires = node, True
    return made
