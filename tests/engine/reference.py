"""A naive engine, to compare the real one with.

It sorts the graph by itself, keeps everything in plain dictionaries,
sums with `+` and runs nodes by calling them. It
knows one kind of hook: a factor for the gradient that arrives at an edge.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

import retrograd as rg

Edge = tuple[Any, int]  # a node and the number of one of its inputs


class Run(NamedTuple):
    """What one backward did."""

    arrived: dict[Edge, np.ndarray]  # the sum of what was sent to each edge
    seen: dict[Edge, np.ndarray]  # the same after the hooks of that edge
    order: list[Any]  # the nodes that ran


def edge_of(tensor: Any) -> Edge:
    """Where the gradient of a tensor arrives."""
    return tuple(rg.autograd.graph.get_gradient_edge(tensor))[:2]


def reachable(roots: Iterable[Any]) -> set[Any]:
    """All nodes that gradients from `roots` could reach."""
    found: set[Any] = set()
    waiting = list(roots)
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += [n for n, _ in node.next_functions if n is not None]
    return found


def leading_to(goals: set[Any], nodes: set[Any]) -> set[Any]:
    """Those of `nodes` with a successor that is, or leads to, a goal."""
    found: set[Any] = set()
    grown = True
    while grown:
        more = {n for n in nodes - found if any(s in goals or s in found for s, _ in n.next_functions)}
        found |= more
        grown = bool(more)
    return found


def priority(node: Any) -> tuple[bool, int]:
    return node.name().endswith("AccumulateGrad"), node._sequence_nr()


def run(
    roots: Iterable[tuple[Edge, np.ndarray]],
    factors: Mapping[Edge, float] | None = None,
    only: Iterable[Edge] | None = None,
    accumulate: bool = False,
) -> Run:
    """Sends gradients into the graph; with `only`, no further than those edges need."""
    roots, factors = list(roots), factors or {}
    nodes = reachable(node for (node, _), _ in roots)
    goals = None if only is None else {node for node, _ in only}
    needed = nodes if goals is None else leading_to(goals, nodes) | (goals if accumulate else set())
    visited = nodes if goals is None else (needed | goals) & nodes
    waiting = edges_into(nodes)
    result = Run({}, {}, [])
    for edge, grad in roots:
        result.arrived[edge] = result.arrived.get(edge, 0) + grad
    ready = list(dict.fromkeys(n for (n, _), _ in roots if waiting[n] == 0))
    while ready:
        node = max(ready, key=priority)  # the first of equals
        ready.remove(node)
        for edge in [e for e in result.arrived if e[0] is node and node in visited]:
            result.seen[edge] = result.arrived[edge] * factors.get(edge, 1.0)
        if node in needed:
            result.order.append(node)
            ready += passed_on(node, result, waiting)
    return result


def edges_into(nodes: set[Any]) -> dict[Any, int]:
    """How many gradients each node waits for."""
    counts = dict.fromkeys(nodes, 0)
    for node in nodes:
        for succ, _ in node.next_functions:
            if succ is not None:
                counts[succ] += 1
    return counts


def passed_on(node: Any, result: Run, waiting: dict[Any, int]) -> Iterator[Any]:
    """Runs a node, adds what it gives to where it goes, and tells which nodes wait for nothing more."""
    for (succ, nr), grad in zip(node.next_functions, local(node, result.seen), strict=True):
        if succ is None:
            continue
        if grad is not None:
            result.arrived[succ, nr] = result.arrived.get((succ, nr), 0) + summed_to(grad, succ, nr)
        waiting[succ] -= 1
        if waiting[succ] == 0:
            yield succ


def local(node: Any, seen: Mapping[Edge, np.ndarray]) -> list[np.ndarray | None]:
    """The node's own formula; AccumulateGrad is the end of the road."""
    if not node.next_functions:
        return []
    grads = [seen.get((node, nr)) for nr in range(node.num_inputs())]
    with rg.no_grad():
        found = node(*(None if g is None else rg.Tensor(np.asarray(g), share=True) for g in grads))
    return [None if f is None else f.array for f in (found if isinstance(found, tuple) else (found,))]


def summed_to(grad: np.ndarray, node: Any, nr: int) -> np.ndarray:
    """The gradient of a broadcast operand."""
    shape = node.input_shape(nr)
    while grad.ndim > len(shape):
        grad = grad.sum(0)
    for axis, n in enumerate(shape):
        if n == 1 != grad.shape[axis]:
            grad = grad.sum(axis, keepdims=True)
    return grad
