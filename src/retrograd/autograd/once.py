"""`once_differentiable`: a backward that has no derivative of its own, and says so."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np

from retrograd.backends.dtypes import is_differentiable
from retrograd.core.apply import gradient_edge
from retrograd.core.modes import current
from retrograd.core.node import Edge, Grads, Node
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
        made = _undifferentiable(results if several else (results,))
        return made if several else made[0]

    return wrapper


class Error(Node):
    """Raises when a gradient reaches it: stands behind results that have no second derivative.

    It leads to leaves that nobody knows, one for each result, so that a backward reaches it, but no gradient that is
    asked for lies behind.
    """

    def apply(self, grads: Grads, tensors: bool, owned: int) -> Grads:
        raise RuntimeError(
            "trying to differentiate twice a function that was marked with @once_differentiable"
        )

    def name(self) -> str:
        return "torch::autograd::Error"


def _undifferentiable(results: tuple[Any, ...]) -> tuple[Any, ...]:
    """The results of a backward, with one node behind all of them."""
    node = Error()
    edges: list[Edge] = []
    made: list[Any] = []
    for i, result in enumerate(results):
        if isinstance(result, Tensor) and is_differentiable(result.array.dtype):
            leaf, result = Tensor(result.array), Tensor(result.array)
            leaf._requires = True
            edges.append(gradient_edge(leaf))
            result._node, result.output_nr, result._requires = node, i, True
            node.add_input(result.array)
        else:
            edges.append(Edge(None, 0))
            node.add_input(np.empty(0))  # no gradient will come
        made.append(result)
    node.set_next_edges(edges)
    node.sequence_nr = current().next_sequence_nr()
    return tuple(made)
