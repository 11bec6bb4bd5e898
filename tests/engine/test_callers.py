"""Several Python threads that call backward at once: on graphs of their own, on shared leaves, on one graph."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.errors import FreedGraphError
from tests.devices import fake
from tests.engine.test_parallel import random_program
from tests.engine.together import (
    LIMIT,
    at_once,
    here,
    leaf,
    many_switches,
    real_stderr,
    sharing,
    step,
    wait_for,
    watchdog,
)

__all__ = ["real_stderr", "watchdog"]

engine = rg.autograd.Variable._execution_engine
fake.install()
CALLERS = 8
one_and_four = pytest.mark.parametrize("count", [1, 4])


@pytest.fixture(autouse=True)
def busy_switching():
    with many_switches():
        yield


def raised(outcomes: list[Any]) -> list[BaseException]:
    return [o for o in outcomes if isinstance(o, BaseException)]


# -- graphs of their own ---------------------------------------------------------------------------------------------


@one_and_four
def test_graphs_of_their_own(count):
    def work(seed: int) -> list[Any]:
        found = []
        for k in range(6):
            leaves, pool = random_program(100 * seed + k).grow(rg)
            sum(t.sum() for t in pool if t.requires_grad).backward()
            found.append([None if x.grad is None else x.grad.tolist() for x in leaves])
        return found

    alone = [work(seed) for seed in range(CALLERS)]
    with sharing(count):
        assert at_once(*[lambda seed=seed: work(seed) for seed in range(CALLERS)]) == alone


def test_second_derivatives_of_their_own():
    def work() -> list[float]:
        found = []
        for k in range(1, 20):
            x = leaf(float(k))
            (g,) = rg.autograd.grad(x * x * x, x, create_graph=True)
            g.backward()
            found.append(x.grad.item())
        return found

    assert at_once(*[work] * CALLERS) == [[6.0 * k for k in range(1, 20)]] * CALLERS


def test_the_worker_of_a_device_serves_all_callers():
    def work() -> list[float]:
        x = leaf([1.0, 2.0, 3.0])
        for _ in range(20):
            ((x.to("fake:0") * 2).to("cpu") + x.to("fake:1").to("cpu")).sum().backward()
        return x.grad.tolist()

    assert at_once(*[work] * CALLERS) == [[60.0] * 3] * CALLERS


# -- shared leaves ---------------------------------------------------------------------------------------------------


@one_and_four
def test_accumulation_into_a_shared_leaf_loses_nothing(count):
    x = leaf(np.ones(50))

    def work() -> None:
        for _ in range(100):
            (x * 1 + x * 2).sum().backward()

    with sharing(count):
        assert not raised(at_once(*[work] * CALLERS))
    assert x.grad.tolist() == [3.0 * 100 * CALLERS] * 50


def test_the_first_gradients_of_a_leaf_meet_too():
    for _ in range(60):
        x = leaf(1.0)
        at_once(*[lambda x=x: (x * 1).backward()] * CALLERS)
        assert x.grad.item() == CALLERS


@pytest.mark.filterwarnings("ignore:Using backward.. with create_graph=True:UserWarning")
def test_recorded_gradients_meet_too():
    x = leaf(1.0)

    def work() -> None:
        for _ in range(20):
            (x * x).backward(create_graph=True)

    at_once(*[work] * CALLERS)
    assert x.grad.item() == 2.0 * 20 * CALLERS
    x.grad = None  # breaks the cycle


def test_a_leaf_has_one_accumulator_whoever_makes_it():
    for _ in range(60):
        x = leaf()
        nodes = at_once(*[lambda x=x: rg.autograd.graph.get_gradient_edge(x).node] * CALLERS)
        assert len(set(map(id, nodes))) == 1


def test_every_backward_calls_the_hooks_of_a_shared_leaf():
    x = leaf(1.0)
    before: list[int] = []
    after: list[int] = []
    x.register_hook(lambda g: before.append(1))
    x.register_post_accumulate_grad_hook(lambda t: after.append(1))

    def work() -> None:
        for _ in range(50):
            (x * 2).backward()

    at_once(*[work] * CALLERS)
    assert (len(before), len(after)) == (50 * CALLERS, 50 * CALLERS)


def test_hooks_may_be_registered_and_removed_while_others_run_backward():
    x = leaf(1.0)
    calls: list[int] = []

    def change() -> None:
        for _ in range(200):
            x.register_hook(lambda g: calls.append(1)).remove()

    def work() -> None:
        for _ in range(100):
            (x * 2).backward()

    assert not raised(at_once(*[change, work] * 4))
    assert x.grad.item() == 2.0 * 100 * 4


# -- a shared graph --------------------------------------------------------------------------------------------------


def shared_graph(x: Any, y: Any) -> Any:
    """Its first nodes save nothing, so that the branches are where callers meet."""
    return x.sin().sum() + (y * y).sum() + (x.exp() * y.cos()).sum()


@one_and_four
def test_a_retained_graph_serves_all_callers(count):
    x, y = leaf([0.1, 0.2]), leaf([0.3, 0.4])
    loss = shared_graph(x, y)
    with sharing(count):
        wanted = rg.autograd.grad(loss, (x, y), retain_graph=True)

        def work() -> list[Any]:
            return [
                [g.tolist() for g in rg.autograd.grad(loss, (x, y), retain_graph=True)] for _ in range(30)
            ]

        found = at_once(*[work] * CALLERS)
    assert found == [[[g.tolist() for g in wanted]] * 30] * CALLERS


def test_retained_gradients_of_a_shared_graph_add_up():
    x = leaf(np.ones(300_000))  # NumPy lets other threads run while it adds so many
    y = x * 2
    y.retain_grad()
    loss = (y * 3).sum()
    at_once(*[lambda: [loss.backward(retain_graph=True) for _ in range(30)]] * CALLERS)
    assert np.unique(y.grad.numpy()) == 3.0 * 30 * CALLERS
    assert np.unique(x.grad.numpy()) == 6.0 * 30 * CALLERS


@one_and_four
def test_without_retaining_exactly_one_caller_wins(count):
    with sharing(count):
        for _ in range(60):
            x, y = leaf([0.1, 0.2]), leaf([0.3, 0.4])
            loss = shared_graph(x, y)
            (wanted,) = rg.autograd.grad(loss, y, retain_graph=True)
            outcomes = at_once(*[loss.backward] * CALLERS)
            assert outcomes.count(None) == 1, outcomes
            assert all("second time" in str(e) for e in raised(outcomes))
            assert {type(e) for e in raised(outcomes)} == {FreedGraphError}
            assert y.grad.tolist() == wanted.tolist(), "the losers leave no gradient"


def test_callers_that_share_differently_have_one_winner_too():
    """One caller may use helpers, the other may not."""
    for _ in range(60):
        x, y = leaf([0.1, 0.2]), leaf([0.3, 0.4])
        loss = shared_graph(x, y)

        def alone(loss: Any = loss) -> None:
            with rg.autograd.set_multithreading_enabled(False):
                loss.backward()

        with sharing(4):
            outcomes = at_once(alone, loss.backward, alone, loss.backward)
        assert outcomes.count(None) == 1, outcomes


def test_a_graph_that_saved_nothing_serves_all_callers():
    for _ in range(30):
        x = leaf(1.0)
        loss = (x + 1) + (x - (-x))
        assert at_once(*[loss.backward] * CALLERS) == [None] * CALLERS
        assert x.grad.item() == 3.0 * CALLERS


@one_and_four
def test_those_who_retain_and_the_one_who_frees(count):
    with sharing(count):
        for _ in range(30):
            x, y = leaf([0.1, 0.2]), leaf([0.3, 0.4])
            loss = shared_graph(x, y)
            keep = [lambda loss=loss: loss.backward(retain_graph=True)] * 4
            outcomes = at_once(*keep, loss.backward)
            assert outcomes[-1] is None
            assert {type(e) for e in raised(outcomes)} <= {FreedGraphError}


@one_and_four
def test_a_caller_who_failed_gives_his_claims_back(count):
    def fail(g: Any) -> None:
        raise KeyError("mine")

    with sharing(count):
        for _ in range(20):
            x, y = leaf([0.1, 0.2]), leaf([0.3, 0.4])
            a, b = x * x, y * y
            loss = a.sum() + b.sum()
            handle = b.register_hook(fail)
            with pytest.raises(KeyError):
                loss.backward()
            handle.remove()
            b.sum().backward()
            assert y.grad.tolist() == [0.6, 0.8]


@one_and_four
def test_a_node_that_failed_may_run_in_another_backward(count):
    failing = [True]

    def unpack(t: Any) -> Any:
        if failing[0]:
            raise KeyError("mine")
        return t

    x, y = leaf([0.1, 0.2]), leaf([0.3, 0.4])
    with rg.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
        a = x.sin()
    loss = a.sum() + y.sum()
    with sharing(count):
        with pytest.raises(KeyError):
            loss.backward()
        failing[0] = False
        loss.backward()
    np.testing.assert_allclose(x.grad.numpy(), np.cos([0.1, 0.2]))


# -- modes -----------------------------------------------------------------------------------------------------------


def test_modes_are_each_threads_own():
    meet = threading.Barrier(3)

    def work(mode: Any) -> Any:
        with mode:
            meet.wait(LIMIT)
            x = leaf()
            state = rg.is_grad_enabled(), rg.is_inference_mode_enabled(), (x * 2).requires_grad
            meet.wait(LIMIT)
        return *state, rg.is_grad_enabled()

    found = at_once(
        lambda: work(rg.no_grad()), lambda: work(rg.enable_grad()), lambda: work(rg.inference_mode())
    )
    assert found[:2] == [(False, False, False, True), (True, False, True, True)]
    assert found[2][:2] == (False, True)


def test_a_new_thread_begins_with_grad_mode_on():
    with rg.no_grad():
        assert at_once(rg.is_grad_enabled) == [True]


def test_the_running_backward_is_each_threads_own():
    inside, leave = threading.Event(), threading.Event()
    x = leaf()

    def hook(g: Any) -> None:
        inside.set()
        wait_for(leave)

    x.register_hook(hook)

    def look() -> Any:
        wait_for(inside)
        try:
            return engine.current_task()
        finally:
            leave.set()

    assert at_once((x * 2).backward, look) == [None, None]


def test_callbacks_run_on_the_thread_that_called_backward():
    def work() -> bool:
        seen: list[str] = []
        x = leaf()
        x.register_hook(lambda g: engine.queue_callback(lambda: seen.append(here())))
        (x * 2).backward()
        return seen == [here()]

    assert at_once(*[work] * CALLERS) == [True] * CALLERS


# -- errors and waits ------------------------------------------------------------------------------------------------


@one_and_four
def test_an_error_in_one_backward_leaves_the_others_alone(count):
    x = leaf(1.0)

    def fail() -> None:
        raise KeyError("mine")

    def work(failing: bool) -> int:
        failures = 0
        for _ in range(30):
            loss = x * 1 + step(x, fail if failing else int)
            try:
                loss.backward()
            except KeyError:
                failures += 1
        return failures

    with sharing(count):
        outcomes = at_once(*[lambda f=f: work(f) for f in (True, False) * 3])
        assert outcomes == [30, 0] * 3
        x.grad = None
        (x * 1 + x * 2).backward()
    assert x.grad.item() == 3.0


@one_and_four
def test_a_hook_that_blocks_holds_up_only_its_own_backward(count):
    shared_leaf = leaf(1.0)
    go = threading.Event()
    blocked = [leaf() for _ in range(4)]
    for x in blocked:
        x.register_hook(lambda g: wait_for(go))

    def block(x: Any) -> None:
        (x.sin() + x.cos() + shared_leaf * 0 + x.to("fake:0").to("cpu")).backward()

    def work() -> None:
        for _ in range(30):
            (shared_leaf * 1 + shared_leaf.to("fake:0").to("cpu") * 2).backward()

    def go_on() -> None:
        at_once(*[work] * 3)
        go.set()

    with sharing(count):
        outcomes = at_once(*[lambda x=x: block(x) for x in blocked], go_on)
    assert outcomes == [None] * 5
    assert shared_leaf.grad.item() == 3.0 * 30 * 3


def test_a_hook_may_start_threads_that_run_backward_and_wait_for_them():
    x = leaf(1.0)
    inner = [(x * (k + 2)) for k in range(4)]

    def hook(t: Any) -> None:
        handle.remove()
        at_once(*[y.backward for y in inner])

    handle = x.register_post_accumulate_grad_hook(hook)
    with sharing(4):
        (x * 1).backward()
    assert x.grad.item() == 1 + 2 + 3 + 4 + 5


def test_a_thread_may_end_while_the_graph_it_made_lives():
    (y,) = at_once(lambda: leaf([1.0, 2.0]).sin())
    time.sleep(0.01)
    y.sum().backward()
    assert y.grad_fn.next_functions[0][0].variable.grad is not None
