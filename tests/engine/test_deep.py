"""A chain of a million nodes, in a thread with a small stack: nothing may recurse over a graph.

That it ends without recursion is our own doing: see Note [Freeing deep graphs] and Note [Freeing interpreted nodes].
"""

from __future__ import annotations

import gc
import sys
import threading
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.__config__ import is_compiled
from retrograd.core.node import Node
from retrograd.inspect.text import graph_text

LONG = 1_000_000
MODERATE = 20_000
ENOUGH = 4_000  # for a recursion to be more than the small stack holds
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
    return rg.Tensor(np.asarray(value), share=True).requires_grad_()


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


# -- the end of graphs that a user has made deep ---------------------------------------------------------------------


class Doubled(rg.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        ctx.also = x
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 2


class Finalised(Doubled):
    def __del__(self) -> None:
        ENDED.append(self.next_functions)  # the graph is there as long as somebody may look at it


ENDED: list[Any] = []


def hooked(y: Any) -> Any:
    made = y * 2
    made.register_hook(lambda grad, holds=y: grad)
    return made


def node_hooked(y: Any) -> Any:
    made = y * 2
    made.grad_fn.register_prehook(lambda grads, holds=y: grads)
    return made


def with_metadata(y: Any) -> Any:
    """A graph that is not deep by itself."""
    made = leaf() * 2
    made.grad_fn.metadata["before"] = [y]
    return made


def kept_packed(y: Any) -> Any:
    with rg.autograd.graph.saved_tensors_hooks(lambda t: (t,), lambda packed: packed[0]):
        return y * y


def written(y: Any) -> Any:
    y[0].mul_(1.0)
    return y


STEPS: dict[str, Callable[[Any], Any]] = {
    "saves itself": lambda y: y * y,
    "views": lambda y: y.view(1).view(()),
    "writes into views": written,
    "many edges": lambda y: rg.stack([y, y, y, y]).mean(0),
    "a user's function": Doubled.apply,
    "a user's function with a finaliser": Finalised.apply,
    "hooks that hold tensors": hooked,
    "hooks of nodes that hold tensors": node_hooked,
    "metadata that holds tensors": with_metadata,
    "packed": kept_packed,
}


def recorded_again(y: Any, x: Any) -> Any:
    return rg.autograd.grad(y.sum(), x, create_graph=True, allow_unused=True)


def run_backward(y: Any, x: Any) -> Any:
    y.sum().backward()
    return y


def in_a_circle(y: Any, x: Any) -> Any:
    y.grad_fn.metadata["itself"] = y


def in_a_circle_of_gradients(y: Any, x: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the circle
        y.sum().backward(create_graph=True)


ENDS = [None, run_backward, recorded_again, in_a_circle, in_a_circle_of_gradients]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("end", ENDS, ids=lambda end: getattr(end, "__name__", "dropped"))
def test_deep_graphs_of_users_end_on_a_small_stack(step, end):
    def work() -> None:
        x = leaf([0.5] if step == "writes into views" else 0.5)
        y = x * 1
        for _ in range(ENOUGH):
            y = STEPS[step](y)
        held = [y if end is None else end(y, x)]
        gone = weakref.ref(y.grad_fn)
        del y, x
        held.clear()
        gc.collect()
        assert gone() is None

    ENDED.clear()
    on_a_small_stack(work)
    assert all(len(edges) == 1 for edges in ENDED)


def test_deep_duals_end_on_a_small_stack():
    def work() -> None:
        with rg.autograd.forward_ad.dual_level():
            y = rg.autograd.forward_ad.make_dual(leaf(0.5), leaf(0.5))
            for _ in range(ENOUGH):
                y = y * y
            tangent = rg.autograd.forward_ad.unpack_dual(y).tangent
        assert tangent.requires_grad
        del y
        del tangent

    on_a_small_stack(work)


def test_a_deep_graph_may_end_in_the_finaliser_of_another():
    class Holder:
        def __init__(self, depth: int) -> None:
            self.held = chain(leaf(), ENOUGH)
            self.depth = depth

        def __del__(self) -> None:
            if self.depth:
                self.held.grad_fn.metadata["next"] = Holder(self.depth - 1)
            FINISHED.append(self.depth)

    FINISHED: list[int] = []
    on_a_small_stack(lambda: Holder(3) and None)
    gc.collect()
    assert FINISHED == [3, 2, 1, 0]


@pytest.mark.skipif(
    sys.version_info[:2] == (3, 13) and not is_compiled(),
    reason="Python 3.13 recurses over chains of a user's own, and interpreted tensors are part of them",
)
def test_deep_chains_of_tensors_alone_end_on_a_small_stack():
    def work() -> None:
        y = rg.zeros(1)
        for i in range(ENOUGH):
            other = rg.zeros(1)
            if i % 2:
                other.grad = y
            else:
                other.before = [y]
            y = other

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
