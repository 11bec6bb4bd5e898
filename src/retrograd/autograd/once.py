"""`once_differentiable`: a backward that has no derivative of its own, and says so."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

import numpy as np

from retrograd.backends.dtypes import is_differentiable
from retrograd.core.link import gradient_edge
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
    """Raises when a gradient reaches it."""

    def __init__(self, message: str) -> None:
        self.message = message

    def apply(self, grads: Grads, tensors: bool, owned: int) -> Grads:
        raise RuntimeError(self.message)

    def name(self) -> str:
        return "torch::autograd::Error"


def _undifferentiable(results: tuple[Any, ...]) -> tuple[Any, ...]:
    """The results of a backward, which have no second derivative.

    Behind them is an error. It leads to leaves that nobody knows, one for each result, so that a backward reaches it,
    but no gradient that is asked for lies behind.
    """
    leaves: list[Any] = []
    for result in results:
        if isinstance(result, Tensor) and is_differentiable(result.array.dtype):
            result = Tensor(result.array, share=True)
            result._requires = True
        leaves.append(result)
    return behind_error(
        "trying to differentiate twice a function that was marked with @once_differentiable", leaves
    )


def behind_error(message: str, values: Sequence[Any]) -> tuple[Any, ...]:
    """Twins of the tensors among these values, which have one node behind all of them that raises."""
    node = Error(message)
    edges: list[Edge] = []
    made: list[Any] = []
    for i, value in enumerate(values):
        if isinstance(value, Tensor) and is_differentiable(value.array.dtype):
            edges.append(gradient_edge(value) if value.requires_grad else Edge(None, 0))
            twin = Tensor(value.array, share=True)
            twin._node, twin.output_nr, twin._requires = node, i, True
            node.add_input(twin.array)
            made.append(twin)
        else:
            edges.append(Edge(None, 0))
            node.add_input(np.empty(0))  # no gradient will come
            made.append(value)
    node.set_next_edges(edges)
    node.sequence_nr = current().next_sequence_nr()
    return tuple(made)
