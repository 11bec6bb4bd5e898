"""Backward inside backward: a hook may run another, on graphs of its own or on the one that is running.

Hooks run without recording, as the backward itself does; one that computes a graph switches recording on.
"""

from __future__ import annotations

import contextvars
import sys
import threading
import warnings
from contextlib import nullcontext
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.utils.checkpoint import checkpoint
from tests.devices import fake
from tests.engine.together import here, leaf, real_stderr, sharing, watchdog

__all__ = ["real_stderr", "watchdog"]

engine = rg.autograd.Variable._execution_engine
fake.install()


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


# -- hundreds deep ---------------------------------------------------------------------------------------------------


def through_hooks(x: Any, depth: int, at: Any) -> None:
    y = times(x, 1)
    y.register_hook(lambda g: below(through_hooks, x, depth, at))
    y.backward()


def through_functions(x: Any, depth: int, at: Any) -> None:
    class Descend(rg.autograd.Function):
        @staticmethod
        def forward(ctx: Any, t: Any) -> Any:
            return t * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            below(through_functions, x, depth, at)
            return g

    with rg.enable_grad():
        Descend.apply(x).backward()


def through_callbacks(x: Any, depth: int, at: Any) -> None:
    y = times(x, 1)
    y.register_hook(lambda g: engine.queue_callback(lambda: below(through_callbacks, x, depth, at)))
    y.backward()


def through_checkpoints(x: Any, depth: int, at: Any) -> None:
    runs: list[int] = []

    def function(t: Any) -> Any:
        runs.append(1)
        if len(runs) == 2:
            below(through_checkpoints, x, depth, at)
        return t.sin()

    with rg.enable_grad():
        checkpoint(function, x, use_reentrant=True).backward()


def below(how: Any, x: Any, depth: int, at: Any) -> None:
    """What a level does: the test's own part, and one level more."""
    at(depth)
    if depth:
        how(x, depth - 1, at)


WAYS = [through_hooks, through_functions, through_callbacks, through_checkpoints]
ways = pytest.mark.parametrize("how", WAYS)


def nothing(depth: int) -> None:
    pass


@ways
@pytest.mark.parametrize("depth", [59, 60, 61, 300])
def test_backwards_nest_hundreds_deep(how, depth):
    x = leaf(0.0)
    how(x, depth, nothing)
    assert x.grad.item() == depth + 1
    assert engine.current_task() is None
    assert rg.is_grad_enabled()


def test_backwards_nest_a_thousand_deep_in_all_ways_at_once():
    x = leaf(0.0)

    def descend(depth: int) -> None:
        if depth:
            WAYS[depth % len(WAYS)](x, 0, lambda _: descend(depth - 1))

    descend(1000)
    assert x.grad.item() == 1000


def test_a_recorded_backward_nests_as_deep():
    x = leaf(3.0)

    def descend(depth: int) -> Any:
        with rg.enable_grad():
            y = x * x
        if depth:
            y.register_hook(lambda g: descend(depth - 1) and None)
        return rg.autograd.grad(y, x, create_graph=True)[0]

    g = descend(200)
    assert (g.item(), g.requires_grad) == (6.0, True)


def test_a_hook_with_many_frames_of_its_own_finds_a_stack_for_them():
    x = leaf()

    def long_way(frames: int, depth: int) -> None:
        if frames:
            long_way(frames - 1, depth)
        elif depth:
            descend(depth - 1)

    def descend(depth: int) -> None:
        y = times(x, 1)
        y.register_hook(lambda g: long_way(40, depth))
        y.backward()

    descend(100)
    assert x.grad.item() == 101


@ways
def test_sixty_deep_the_stack_is_a_fresh_one(how):
    threads: list[int] = []
    frames: list[int] = []

    def note(depth: int) -> None:
        threads.append(threading.get_ident())
        frame, count = sys._getframe(), 0
        while frame is not None:
            frame, count = frame.f_back, count + 1
        frames.append(count)

    how(leaf(0.0), 130, note)
    stacks = list(dict.fromkeys(threads))
    assert len(stacks) >= 3
    assert threads == sorted(threads, key=stacks.index), (
        "a level runs on the stack of the one above, or on a new one"
    )
    assert all(threads.count(stack) <= 60 for stack in stacks)
    assert max(frames) < sys.getrecursionlimit()
    assert frames[threads.index(stacks[1])] < frames[threads.index(stacks[1]) - 1]


def test_threads_of_fresh_stacks_end_with_their_backward():
    before = threading.active_count()
    through_hooks(leaf(), 150, nothing)
    for thread in threading.enumerate():
        if thread.name == "retrograd-reentry":
            thread.join(30)
    assert threading.active_count() == before


@pytest.mark.parametrize("kind", [RuntimeError, KeyboardInterrupt])
def test_where_there_is_no_thread_the_stack_of_the_caller_serves(kind, monkeypatch):
    start, names = threading.Thread.start, []

    def refuse(self: threading.Thread) -> None:
        names.append(self.name)
        if kind is KeyboardInterrupt:  # which comes when the thread is about to run
            start(self)
        raise kind("can't start new thread")

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10_000)  # what one stack must hold
    try:
        with monkeypatch.context() as meanwhile:
            meanwhile.setattr(threading.Thread, "start", refuse)
            with nullcontext() if kind is RuntimeError else pytest.raises(KeyboardInterrupt):
                through_hooks(leaf(), 70, nothing)
    finally:
        sys.setrecursionlimit(limit)
    assert set(names) == {"retrograd-reentry"}
    through_hooks(leaf(), 70, nothing)


def test_a_signal_that_raises_while_a_thread_starts_lets_one_of_both_do_the_work(monkeypatch):
    start = threading.Thread.start

    def interrupted(self: threading.Thread) -> None:
        start(self)
        raise RuntimeError("from a signal's handler")

    x = leaf()
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(threading.Thread, "start", interrupted)
        through_hooks(x, 70, nothing)
    again = leaf()
    through_hooks(again, 70, nothing)
    assert x.grad.item() == again.grad.item()


@ways
def test_each_depth_is_a_task_of_its_own(how):
    tasks: list[Any] = []
    how(leaf(0.0), 130, lambda depth: tasks.append(engine.current_task()))
    assert len(set(map(id, tasks))) == 131
    steps = {b.depth - a.depth for a, b in pairwise(tasks)}
    assert steps <= {1, 2}  # a re-entrant checkpoint is a backward inside a backward by itself
    assert all(a is b or a is b.outer or a is b.outer.outer for a, b in pairwise(tasks))


def test_modes_are_carried_to_the_fresh_stack_and_back():
    seen: list[Any] = []
    variable = contextvars.ContextVar("variable", default="unset")
    variable.set("mine")

    def note(depth: int) -> None:
        state = (
            rg.is_grad_enabled(),
            rg.is_anomaly_enabled(),
            rg.autograd.is_multithreading_enabled(),
            variable.get(),
            np.geterr()["divide"],
        )
        seen.append((here(), state))

    with (
        rg.autograd.set_multithreading_enabled(False),
        rg.autograd.set_detect_anomaly(True),
        warnings.catch_warnings(),
    ):
        through_hooks(leaf(), 70, note)
        assert rg.is_anomaly_enabled()
    assert len({name for name, _ in seen}) == 2
    assert {state for _, state in seen} == {(False, True, False, "mine", "ignore")}
    assert rg.is_grad_enabled()


def test_a_mode_that_a_deep_hook_leaves_on_is_on_for_its_caller():
    x = leaf()
    changed: list[bool] = []

    def note(depth: int) -> None:
        if depth == 0:
            rg.autograd.set_multithreading_enabled(False)
        changed.append(rg.autograd.is_multithreading_enabled())

    through_hooks(x, 65, note)
    assert changed == [True] * 65 + [False]
    assert not rg.autograd.is_multithreading_enabled()
    rg.autograd.set_multithreading_enabled(True)


def test_nodes_are_numbered_on_across_stacks():
    numbers: list[int] = []

    def note(depth: int) -> None:
        with rg.enable_grad():
            numbers.append((leaf() * 2).grad_fn._sequence_nr())

    through_hooks(leaf(), 130, note)
    assert numbers == sorted(set(numbers))


@ways
def test_an_error_below_comes_up_through_every_stack(how):
    class Mine(Exception):
        pass

    def note(depth: int) -> None:
        if depth == 0:
            raise Mine("from below")

    x = leaf(0.0)
    with pytest.raises(Mine, match="from below") as caught:
        how(x, 130, note)
    names = [entry.name for entry in caught.traceback]
    assert names.count(how.__name__) == 131
    assert names[-1] == "note"
    assert engine.current_task() is None
    assert rg.is_grad_enabled()
    x.grad = None
    how(x, 130, nothing)
    assert x.grad.item() == 131


def test_an_error_below_may_be_handled_half_way():
    x, w = leaf(), leaf()

    def note(depth: int) -> None:
        if depth == 0:
            raise KeyError("from below")
        if depth == 30:
            with pytest.raises(KeyError, match="from below"):
                through_hooks(w, depth - 1, note)
            raise StopIteration

    with pytest.raises(StopIteration):
        through_hooks(x, 130, note)
    assert engine.current_task() is None


def test_callbacks_of_inner_and_outer_backwards_do_not_mix():
    x, inner = leaf(), leaf()
    log: list[str] = []

    def hook(grad: Any) -> None:
        engine.queue_callback(lambda: log.append("outer"))
        y = times(inner, 2)
        y.register_hook(lambda g: engine.queue_callback(lambda: log.append("inner")))
        y.backward()
        log.append("between")

    x.register_hook(hook)
    (x * 3).backward()
    assert log == ["inner", "between", "outer"]


def test_captures_of_inner_and_outer_backwards_do_not_mix():
    x = leaf(3.0)
    y = x * x
    z = y * x
    entered: list[int] = []
    found: list[float] = []

    def hook(grad: Any) -> None:
        entered.append(1)
        if len(entered) < 4:
            found.append(rg.autograd.grad(z, x, retain_graph=True)[0].item())

    y.register_hook(hook)
    (g,) = rg.autograd.grad(z, x, retain_graph=True)
    assert g.item() == 27.0
    assert found == [27.0] * 3
    assert x.grad is None


# -- shared backwards inside one another -----------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [3, 70])
def test_shared_backwards_nest(depth):
    leaves: list[Any] = []

    def descend(level: int) -> None:
        x = leaf(float(level))
        leaves.append(x)
        with rg.enable_grad():
            a, b = x.to("fake:0").sin().to("cpu"), x.cos()
            y = a * b + a
        if level < depth:
            a.register_hook(lambda g: descend(level + 1))
        y.backward()

    with sharing(3):
        descend(0)
    expected = [np.cos(2 * v) + np.cos(v) for v in range(depth + 1)]
    np.testing.assert_allclose([x.grad.item() for x in leaves], expected)
