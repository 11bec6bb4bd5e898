"""Backward inside backward: a hook may run another, on graphs of its own or on the one that is running.

Hooks run without recording, as the backward itself does; one that computes a graph switches recording on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as rg

engine = rg.autograd.Variable._execution_engine


def leaf(value: Any = 2.0) -> Any:
    return rg.Tensor(np.asarray(value, float)).requires_grad_()


def times(x: Any, number: float) -> Any:
    with rg.autograd.enable_grad():
        return x * number


def test_hooks_do_not_record():
    x = leaf()
    seen: list[bool] = []
    x.register_hook(lambda g: seen.append((x * 2).requires_grad))
    (x * 3).backward()
    assert seen == [False]


@pytest.mark.parametrize("depth", [1, 2, 50])
def test_hooks_may_nest_backwards(depth):
    leaves = [leaf() for _ in range(depth + 1)]
    entered: list[int] = []

    def descend(level: int) -> None:
        entered.append(level)
        x = leaves[level]
        if level < depth:
            x.register_hook(lambda g: descend(level + 1))
        times(x, level + 1).backward()

    descend(0)
    assert entered == list(range(depth + 1))
    assert [x.grad.item() for x in leaves] == [level + 1 for level in range(depth + 1)]


def test_an_inner_backward_may_accumulate_into_the_same_leaf():
    x = leaf()
    y = x * 3

    def hook(grad: Any) -> None:
        times(x, 5).backward()

    y.register_hook(hook)
    y.backward()
    assert x.grad.item() == 8.0


def test_an_inner_backward_may_run_the_same_retained_graph():
    x = leaf()
    y = x * 3
    runs: list[int] = []

    def hook(grad: Any) -> None:
        runs.append(1)
        if len(runs) < 4:
            y.backward(retain_graph=True)

    y.register_hook(hook)
    y.backward(retain_graph=True)
    assert len(runs) == 4
    assert x.grad.item() == 12.0


def test_the_outer_backward_goes_on_where_it_was():
    x, other = leaf(), leaf()
    a, b = x.sin(), x.cos()
    z = a + b
    ran: list[str] = []
    for t in (a, b):
        t.grad_fn.register_prehook(lambda grads, name=t.grad_fn.name(): ran.append(name))

    def hook(grad: Any) -> None:
        with rg.autograd.enable_grad():
            inner = other.tanh().exp()
        for node in (inner.grad_fn, inner.grad_fn.next_functions[0][0]):
            node.register_prehook(lambda grads, name=node.name(): ran.append(name))
        inner.backward()

    b.register_hook(hook)
    z.backward()
    assert ran == ["ExpBackward0", "TanhBackward0", "CosBackward0", "SinBackward0"]
    assert x.grad.item() == pytest.approx(np.cos(2) - np.sin(2))


def test_grad_inside_a_hook_gives_values_not_side_effects():
    x = leaf(3.0)
    y = x * x
    found: list[float] = []

    def hook(grad: Any) -> Any:
        with rg.autograd.enable_grad():
            w = leaf(4.0)
            (g,) = rg.autograd.grad(w * w, w)
        found.append(g.item())
        return grad * g

    y.register_hook(hook)
    y.backward()
    assert found == [8.0]
    assert x.grad.item() == 48.0


def test_grad_mode_inside_hooks_is_that_of_their_own_backward():
    x, inner = leaf(), leaf()
    modes: list[bool] = []

    def hook(grad: Any) -> None:
        modes.append(rg.is_grad_enabled())
        handle = inner.register_hook(lambda g: modes.append(rg.is_grad_enabled()))
        with rg.autograd.enable_grad():
            y = inner * inner
        rg.autograd.grad(y, inner, create_graph=True)
        handle.remove()
        modes.append(rg.is_grad_enabled())

    x.register_hook(hook)
    (x * 2).backward()
    assert modes == [False, True, False]
    assert rg.is_grad_enabled()


def test_each_depth_has_its_own_task():
    x, inner = leaf(), leaf()
    tasks: list[Any] = []
    inner.register_hook(lambda g: tasks.append(engine.current_task()))

    def hook(grad: Any) -> None:
        tasks.append(engine.current_task())
        times(inner, 2).backward()
        tasks.append(engine.current_task())

    x.register_hook(hook)
    (x * 2).backward()
    outer, nested, again = tasks
    assert outer is again
    assert nested is not outer
    assert (outer.depth, nested.depth) == (0, 1)
    assert engine.current_task() is None
