"""Objects die when their last user lets go, with the cyclic collector switched off: the graph has no cycles."""

from __future__ import annotations

import functools
import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.core.node import Node


@pytest.fixture(autouse=True)
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.freeze()  # what others have left is not counted, object by object, for every test
    gc.disable()
    yield
    gc.enable()


def leaf(values: Any = (0.3, 0.6)) -> Any:
    return rg.Tensor(np.asarray(values, float), share=True).requires_grad_()


def living() -> int:
    return sum(isinstance(o, (Node, rg.Tensor)) for o in gc.get_objects())


# What each op keeps for its backward differs: nothing, inputs, outputs, both.
OPS: dict[str, Callable[[Any], Any]] = {
    "nothing kept": lambda x: x + 1,
    "inputs kept": lambda x: x.sin(),
    "output kept": lambda x: x.exp(),
    "both kept": lambda x: x.sgn(),
    "two operands": lambda x: x * (x + 1),
    "power": lambda x: x**x,
    "a view": lambda x: x[0:1],
    "several outputs": lambda x: x.unbind()[0],
    "several inputs": lambda x: rg.stack([x, x * 2]),
    "a reduction": lambda x: x.sum(),
    "written in place": lambda x: (x * 1).mul_(2).exp_(),
}
every_op = pytest.mark.parametrize("kind", OPS)


@every_op
def test_a_graph_never_run_dies_with_its_result(kind):
    x = leaf()
    before = living()
    y = OPS[kind](x)
    node = weakref.ref(y.grad_fn)
    del y
    assert node() is None
    assert living() == before


@every_op
def test_a_node_kept_alone_keeps_no_tensor(kind):
    x = leaf()
    y = OPS[kind](x)
    result, node = weakref.ref(y), y.grad_fn
    del y
    assert result() is None
    assert node.name().endswith(("0", "1"))


@every_op
@pytest.mark.parametrize("retain", [False, True])
def test_a_graph_that_ran_dies_with_its_result(kind, retain):
    x = leaf()
    OPS[kind](x).sum().backward()
    before = living()
    y = OPS[kind](x).sum()
    y.backward(retain_graph=retain)
    node = weakref.ref(y.grad_fn)
    del y
    assert node() is None
    assert living() == before


@every_op
def test_a_recorded_backward_dies_with_its_results(kind):
    x = leaf()
    before = living()
    y = OPS[kind](x).sum()
    (first,) = rg.autograd.grad(y, x, create_graph=True)
    if first.requires_grad:
        rg.autograd.grad(first.sum(), x, allow_unused=True)
    del y, first
    assert living() == before


def test_backward_frees_saved_arrays():
    x = leaf()
    y = x * 1
    array = weakref.ref(y.array)
    z = y.sin()
    del y
    assert array() is not None  # kept by sin for its backward
    total = z.sum()
    total.backward()
    assert array() is None


def test_a_retained_graph_keeps_them():
    x = leaf()
    y = x * 1
    array = weakref.ref(y.array)
    z = y.sin().sum()
    del y
    z.backward(retain_graph=True)
    assert array() is not None
    del z
    assert array() is None


def test_a_leaf_dies_with_its_gradient_and_accumulator():
    x = leaf()
    y = (x * x).sum()
    y.backward()
    tensor, grad = weakref.ref(x), weakref.ref(x.grad)
    del x
    assert tensor() is not None  # the graph's accumulator still holds it
    del y
    assert tensor() is None
    assert grad() is None


def test_an_accumulator_lives_only_as_long_as_a_graph():
    x = leaf()
    y = x * 2
    accumulator = weakref.ref(y.grad_fn.next_functions[0][0])
    assert accumulator() is not None
    del y
    assert accumulator() is None


@pytest.mark.parametrize("where", ["leaf", "tensor", "pre", "post", "accumulated"])
def test_hooks_make_no_cycle(where):
    x = leaf()
    before = living()
    y = x * 2
    register = {
        "leaf": x.register_hook,
        "tensor": y.register_hook,
        "pre": y.grad_fn.register_prehook,
        "post": y.grad_fn.register_hook,
        "accumulated": x.register_post_accumulate_grad_hook,
    }[where]
    handle = register(lambda *args: None)
    y.sum().backward()
    x.grad = None
    del y, register, handle
    assert living() == before


def test_retained_gradients_make_no_cycle():
    x = leaf()
    before = living()
    y = x * 2
    y.retain_grad()
    y.sum().backward()
    x.grad = None
    del y
    assert living() == before


def test_a_failed_backward_leaves_nothing_but_its_traceback():
    x = leaf()
    before = living()
    y = x * 2

    def refuse(grad: Any) -> None:
        raise ValueError

    y.register_hook(refuse)
    with pytest.raises(ValueError) as caught:
        y.sum().backward()
    del caught, y, refuse
    gc.collect()  # a traceback holds frames, which hold it
    assert living() == before


def test_a_gradient_edge_keeps_the_node_not_the_tensor():
    x = leaf()
    y = x * 2
    edge = rg.autograd.graph.get_gradient_edge(y)
    tensor = weakref.ref(y)
    del y
    assert tensor() is None
    rg.autograd.backward([edge], [rg.Tensor(np.ones(2), share=True)])
    assert x.grad.tolist() == [2.0, 2.0]


def test_a_thousand_steps_of_training_leave_no_more_than_one():
    w = leaf([0.5, -0.5])

    def step() -> None:
        loss = ((w * 2).tanh() - 1).square().sum()
        loss.backward()
        with rg.no_grad():
            w.sub_(0.01 * w.grad)
        w.grad = None

    step()
    before = living()
    for _ in range(1000):
        step()
    assert living() == before
    assert np.isfinite(w.array).all()


def test_backward_with_create_graph_makes_a_cycle_the_collector_can_see():
    x = leaf()
    before = living()
    y = (x * x).sum()
    with pytest.warns(UserWarning, match="reference cycle"):
        y.backward(create_graph=True)
    dead = weakref.ref(x)
    del x, y
    gc.collect()
    assert dead() is None
    assert living() <= before


def len_of(things: list[Any], *_: Any) -> None:
    """A hook that has hold of something."""
    assert len(things)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("register", ["tensor", "node", "leaf", "post accumulate"])
def test_a_cycle_through_a_hook_is_collected(register, when):
    """The hook refers to a result of what it is registered on, which is recorded after it, or was before."""
    x = leaf()
    y = x * 2
    results: list[rg.Tensor] = []
    if when == "after":
        results.append((x * y.exp()).sum())
    hook = functools.partial(len_of, results)
    if register == "tensor":
        y.register_hook(hook)
    elif register == "node":
        y.grad_fn.register_hook(hook)
    elif register == "leaf":
        x.register_hook(hook)
    else:
        x.register_post_accumulate_grad_hook(hook)
    z = x * 3 + y.exp()
    results.append((z * z).sum())
    dead = weakref.ref(results[0])
    before = living()
    del x, y, z, results, hook
    gc.collect()
    assert dead() is None
    assert living() < before


def test_a_collection_that_begins_in_code_without_builtins():
    """As when `namedtuple` makes a class: what the collector calls may not count on the globals around it."""
    x = leaf()
    y = x * 2
    results = [(x * y.exp()).sum()]
    y.register_hook(functools.partial(len_of, results))
    dead = weakref.ref(results[0])
    del x, y, results
    eval("collect()", {"__builtins__": {}, "collect": gc.collect})
    assert dead() is None


def test_a_long_chain_is_freed_without_the_collector():
    x = leaf()
    y = x
    for _ in range(1000):
        y = y * 1.5
    dead = weakref.ref(y.grad_fn)
    del y
    assert dead() is None
