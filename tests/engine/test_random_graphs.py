"""The engine against the naive one, and against PyTorch, on graphs that hypothesis grows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import retrograd as rg
from tests.engine import reference
from tests.engine.programs import Program, attached_programs, picked, places, programs, tracked, weights_for

some_places = st.lists(places, min_size=1, max_size=3)
EXAMPLES = settings(max_examples=60)


class Grown:
    """A program run once: its leaves, roots to start from, and what the reference needs to know about them."""

    def __init__(self, program: Program, root_places: list[int], shift: float = 0.0) -> None:
        self.leaves, self.pool = program.grow(rg, shift)
        self.tracked = tracked(self.pool)
        self.roots = picked(self.tracked, root_places)
        self.weights = weights_for(self.roots)
        self.factors: dict[reference.Edge, float] = {}

    def starts(self) -> list[tuple[reference.Edge, Any]]:
        return [(reference.edge_of(r), w) for r, w in zip(self.roots, self.weights, strict=True)]

    def expected(self, **options: Any) -> reference.Run:
        return reference.run(self.starts(), self.factors, **options)

    def backward(self, **options: Any) -> None:
        rg.autograd.backward(self.roots, [rg.Tensor(w, share=True) for w in self.weights], **options)

    def grad(self, inputs: list[Any], **options: Any) -> tuple[Any, ...]:
        return rg.autograd.grad(
            self.roots, inputs, [rg.Tensor(w, share=True) for w in self.weights], allow_unused=True, **options
        )

    def scale(self, where: list[int]) -> None:
        """Puts hooks that scale on some tensors, several on one where a place comes twice."""
        for k, place in enumerate(where):
            tensor = self.tracked[place % len(self.tracked)]
            factor = 2.0 + k
            # An output of a node that got no gradient shows its hooks None.
            tensor.register_hook(lambda g, factor=factor: None if g is None else g * factor)
            edge = reference.edge_of(tensor)
            self.factors[edge] = self.factors.get(edge, 1.0) * factor

    def check_leaves(self, run: reference.Run, times: int = 1) -> None:
        for leaf in self.leaves:
            same(leaf.grad, times_or_none(run.seen.get(reference.edge_of(leaf)), times))


def times_or_none(value: Any, times: int) -> Any:
    return None if value is None else value * times


def same(found: Any, wanted: Any) -> None:
    """A gradient, or none at all."""
    if wanted is None:
        assert found is None
        return
    assert found is not None
    assert found.shape == np.shape(wanted)
    np.testing.assert_allclose(found.detach().numpy(), wanted, rtol=1e-12, atol=1e-13)


@EXAMPLES
@given(programs, some_places)
def test_leaves_get_their_gradients(program, roots):
    grown = Grown(program, roots)
    expected = grown.expected()
    grown.backward()
    grown.check_leaves(expected)


@EXAMPLES
@given(programs, some_places)
def test_nodes_run_once_in_the_order_of_the_contract(program, roots):
    grown = Grown(program, roots)
    expected = grown.expected()
    ran: list[Any] = []
    for node in reference.reachable(node for (node, _), _ in grown.starts()):
        node.register_prehook(lambda grads, node=node: ran.append(node))
    grown.backward()
    assert [n.name() for n in ran] == [n.name() for n in expected.order]
    assert ran == expected.order


@EXAMPLES
@given(programs, some_places, some_places)
def test_hooks_replace_and_retained_gradients_see_it(program, roots, hooked):
    grown = Grown(program, roots)
    grown.scale(hooked)
    for tensor in grown.tracked:
        tensor.retain_grad()
    expected = grown.expected()
    grown.backward()
    for tensor in grown.tracked:
        same(tensor.grad, expected.seen.get(reference.edge_of(tensor)))


@EXAMPLES
@given(programs, some_places)
def test_a_retained_graph_runs_again_and_gradients_add_up(program, roots):
    grown = Grown(program, roots)
    expected = grown.expected()
    grown.backward(retain_graph=True)
    grown.check_leaves(expected)
    grown.backward(retain_graph=True)
    grown.check_leaves(expected, times=2)
    grown.backward()
    grown.check_leaves(expected, times=3)


@EXAMPLES
@given(programs, some_places, some_places, some_places)
def test_grad_gives_exactly_what_is_asked_for(program, roots, wanted, hooked):
    grown = Grown(program, roots)
    grown.scale(hooked)
    inputs = picked(grown.tracked, wanted)
    edges = [reference.edge_of(t) for t in inputs]
    expected = grown.expected(only=edges)
    needed = set(expected.order)
    for edge, found in zip(edges, grown.grad(inputs), strict=True):
        # A node that runs calls its hooks then, after its gradient was captured.
        same(found, (expected.arrived if edge[0] in needed else expected.seen).get(edge))
    assert all(t._grad is None for t in grown.tracked)


@EXAMPLES
@given(programs, some_places, some_places)
def test_grad_of_an_unrelated_tensor_is_none(program, roots, wanted):
    grown = Grown(program, roots)
    stranger = rg.Tensor(np.ones(2), share=True).requires_grad_()
    (far,) = grown.grad([stranger], retain_graph=True)
    assert far is None
    inputs = picked(grown.tracked, wanted)
    edges = [reference.edge_of(t) for t in inputs]
    expected = grown.expected(only=edges)
    *found, far = grown.grad([*inputs, stranger * 2])
    assert far is None
    for edge, f in zip(edges, found, strict=True):
        same(f, expected.arrived.get(edge))


@EXAMPLES
@given(programs, some_places, some_places)
def test_backward_into_some_inputs_touches_no_others(program, roots, wanted):
    grown = Grown(program, roots)
    inputs = picked(grown.tracked, wanted)
    edges = [reference.edge_of(t) for t in inputs]
    expected = grown.expected(only=edges, accumulate=True)
    grown.backward(inputs=inputs)
    chosen = {id(t): e for t, e in zip(inputs, edges, strict=True)}
    for tensor in grown.tracked:
        same(tensor._grad, expected.seen.get(chosen[id(tensor)]) if id(tensor) in chosen else None)


@EXAMPLES
@given(programs, some_places, some_places)
def test_pruned_runs_keep_the_order(program, roots, wanted):
    grown = Grown(program, roots)
    inputs = picked(grown.tracked, wanted)
    expected = grown.expected(only=[reference.edge_of(t) for t in inputs])
    ran: list[Any] = []
    for node in reference.reachable(node for (node, _), _ in grown.starts()):
        node.register_prehook(lambda grads, node=node: ran.append(node))
    grown.grad(inputs)
    assert ran == expected.order


@EXAMPLES
@given(programs, some_places, some_places)
def test_a_recorded_backward_gives_the_same_gradients(program, roots, hooked):
    grown = Grown(program, roots)
    grown.scale(hooked)
    expected = grown.expected()
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", UserWarning
        )  # the cycle that create_graph makes is not the subject here
        grown.backward(create_graph=True)
    grown.check_leaves(expected)


@settings(max_examples=25)
@given(attached_programs, some_places)
def test_second_derivatives_are_differences_of_first_ones(program, roots):
    def first(shift: float) -> tuple[list[Any], list[Any]]:
        grown = Grown(program, roots, shift)
        return grown.leaves, [f for f in grown.grad(grown.leaves, create_graph=True) if f is not None]

    def total(grads: list[Any]) -> float:
        return float(sum(g.detach().numpy().sum() for g in grads))

    leaves, grads = first(0.0)
    wanted = (total(first(1e-6)[1]) - total(first(-1e-6)[1])) / 2e-6
    curved = [g.sum() for g in grads if g.requires_grad]
    second = rg.autograd.grad(curved, leaves, materialize_grads=True) if curved else []
    assert total(second) == pytest.approx(wanted, rel=1e-5, abs=1e-6)


@EXAMPLES
@given(program=programs, roots=some_places, wanted=some_places)
def test_pytorch_agrees(torch, program, roots, wanted):
    found = []
    for lib in (torch, rg):
        leaves, pool = program.grow(lib)
        chosen = picked(tracked(pool), roots)
        inputs = picked(tracked(pool), wanted)
        weights = [lib.tensor(w.tolist(), dtype=lib.float64) for w in weights_for(chosen)]
        asked = lib.autograd.grad(chosen, inputs, weights, retain_graph=True, allow_unused=True)
        lib.autograd.backward(chosen, weights)
        found.append([*asked, *(leaf.grad for leaf in leaves)])
    for theirs, ours in zip(*found, strict=True):
        same(ours, None if theirs is None else theirs.detach().numpy())
