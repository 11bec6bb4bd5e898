"""A chain of a million nodes, in a thread with a small stack: nothing may recurse over a graph."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.core.node import Node
from retrograd.inspect.text import graph_text

LONG = 1_000_000
MODERATE = 20_000
SMALL_STACK = 256 * 1024


def on_a_small_stack(work: Callable[[], Any]) -> Any:
    """Runs `work` in a thread of 256 KiB of stack, and passes on what it returns or raises."""
    outcome: list[Any] = []

    def target() -> None:
        try:
            outcome.append((True, work()))
        except BaseException as error:
            outcome.append((False, error))

    before = threading.stack_size(SMALL_STACK)
    try:
        thread = threading.Thread(target=target)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    good, value = outcome[0]
    if not good:
        raise value
    return value


def leaf(value: float = 1.0) -> Any:
    return rg.Tensor(np.asarray(value)).requires_grad_()


def chain(x: Any, length: int) -> Any:
    y = x
    for _ in range(length):
        y = y + 1.0
    return y


def living(*kinds: type) -> int:
    return sum(isinstance(o, kinds) for o in gc.get_objects())


def test_a_million_nodes_run_backwards_print_and_are_freed():
    def work() -> None:
        gc.collect()
        gc.disable()  # the collector would walk the chain again and again, and hide a cycle
        try:
            before = living(Node, rg.Tensor)
            x = leaf()
            y = chain(x, LONG)
            assert y.grad_fn.topological_nr == LONG
            y.backward()
            assert x.grad.item() == 1.0
            text = graph_text(y, max_nodes=5)
            assert text.splitlines()[0].startswith("AddBackward0")
            del y
            assert living(Node, rg.Tensor) == before + 2  # the leaf and its gradient
        finally:
            gc.enable()

    on_a_small_stack(work)


SHAPES: dict[str, Callable[[Any], Any]] = {
    "saves its inputs": lambda x: rolled(x, lambda y: y.sin()),
    "saves its outputs": lambda x: rolled(x, lambda y: y.tanh()),
    "diamonds": lambda x: rolled(x, lambda y: (y + y) * 0.5),
    "ladder": lambda x: ladder(x),
    "several outputs": lambda x: rolled(x, lambda y: sum_of_parts(y)),
    "in place": lambda x: rolled(x * 1, in_place),
}


def rolled(x: Any, step: Callable[[Any], Any]) -> Any:
    for _ in range(MODERATE):
        x = step(x)
    return x


def ladder(x: Any) -> Any:
    a, b = x * 1, x * 1
    for _ in range(MODERATE):
        a = a * 0.5 + b * 0.5
    return a + b


def sum_of_parts(y: Any) -> Any:
    a, b = rg.stack([y, y]).unbind()
    return a * 0.5 + b * 0.5


def in_place(y: Any) -> Any:
    y *= 1.0
    return y


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("how", ["backward", "grad", "grad of a part", "recorded", "never run"])
def test_deep_graphs_of_every_shape_on_a_small_stack(shape, how):
    def work() -> None:
        x = leaf(0.5)
        y = SHAPES[shape](x)
        if how == "backward":
            y.backward()
            assert np.isfinite(x.grad.item())
        elif how == "grad":
            assert np.isfinite(rg.autograd.grad(y, x)[0].item())
        elif how == "grad of a part":
            other = leaf()
            assert rg.autograd.grad(y + other, [other])[0].item() == 1.0
        elif how == "recorded":
            (first,) = rg.autograd.grad(y, x, create_graph=True)
            assert np.isfinite(first.item())

    on_a_small_stack(work)


def test_a_deep_graph_that_fails_half_way_is_freed_too():
    def work() -> None:
        x = leaf()
        y = chain(x, MODERATE)

        def refuse(grad: Any) -> None:
            raise ValueError("here")

        x.register_hook(refuse)
        with pytest.raises(ValueError, match="here"):
            y.backward()

    on_a_small_stack(work)


def test_logging_a_deep_graph_does_not_recurse(caplog):
    def work() -> None:
        x = leaf()
        chain(x, 2_000).backward()
        assert x.grad.item() == 1.0

    with caplog.at_level("DEBUG", logger="retrograd.autograd.graph"):
        on_a_small_stack(work)
    assert sum("Executing" in m for m in caplog.messages) == 2_001


def test_the_graph_has_one_node_per_operation():
    x = leaf()
    x.register_hook(lambda g: None)  # so that the collector sees what is recorded on top
    gc.collect()
    before = living(Node)
    y = chain(x, MODERATE)
    assert living(Node) == before + MODERATE + 1  # and the leaf's accumulator
    del y
    assert living(Node) == before
