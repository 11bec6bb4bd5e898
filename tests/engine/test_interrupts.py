"""Ctrl-C during a backward: it ends within a node, at whatever moment it comes and however deep."""

from __future__ import annotations

import _thread
import contextvars
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.__config__ import is_compiled
from retrograd.core import accumulate
from retrograd.engine.ready import StoppedQueue
from tests.devices import fake
from tests.engine.test_faults import assert_clean
from tests.engine.test_reentrant import nothing, through_callbacks, through_hooks, ways
from tests.engine.together import here, interrupt, leaf, real_stderr, sharing, step, watchdog

__all__ = ["real_stderr", "watchdog"]

engine = rg.autograd.Variable._execution_engine
fake.install()


@pytest.fixture(autouse=True)
def interrupts_arrive() -> Iterator[None]:
    """A shell that starts the tests in the background has Python ignore interrupts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


# One that comes just before a thread falls asleep is noted, but does not wake it; `interrupt_main` is such a one.
arrivals = pytest.mark.parametrize("arrive", [interrupt, _thread.interrupt_main])


def test_an_interrupt_ends_a_shared_backward_within_a_node():
    ran: list[str] = []

    def long() -> None:
        ran.append("long")
        if len(ran) == 1:
            interrupt()
        time.sleep(0.05)

    with sharing(2):
        y = leaf()
        for _ in range(50):
            y = step(y, long)
        with pytest.raises(KeyboardInterrupt):
            (y * 1 + y.sin()).backward()
    assert len(ran) < 10
    assert_clean()


@arrivals
def test_an_interrupt_reaches_a_caller_who_waits_for_a_device(arrive):
    ran: list[str] = []

    def long() -> None:
        ran.append(here())
        if len(ran) == 1:
            arrive()
        time.sleep(0.05)

    y = leaf().to("fake:0")
    for _ in range(50):
        y = step(y, long)
    with pytest.raises(KeyboardInterrupt):
        y.to("cpu").backward()
    assert len(ran) < 10
    assert set(ran) == {"retrograd-fake:0-0"}
    time.sleep(0.1)
    assert len(ran) < 10
    assert_clean()


def interrupted_at(number: int) -> Callable[..., Any]:
    """A profile function that raises KeyboardInterrupt at one of the moments at which Python does, in the engine.

    These are the beginning of a function and the end of a call into C; they are counted as they come.
    """
    left = [number]
    # The way out (what could be saved from one interrupt would fall to the next), and generators, which Python closes.
    outside = ("_finish", "release", "<genexpr>")

    def profile(frame: Any, event: str, arg: Any) -> None:
        if event not in ("call", "c_return") or not is_ours(frame.f_code.co_filename):
            return
        if event == "c_return" and arg.__name__ == "set" and isinstance(arg.__self__, contextvars.ContextVar):
            return  # the one call whose result must not be lost: it says how NumPy's warnings were
        if event == "call" and frame.f_code.co_name in outside:
            return
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt

    return profile


def is_ours(file: str) -> bool:
    return "retrograd/engine" in file or file.endswith("retrograd/core/accumulate.py")


def held_locks() -> list[int]:
    """Which of the locks for `.grad` another thread could not have."""
    found: list[int] = []

    def look() -> None:
        for number, lock in enumerate(accumulate.LOCKS):
            if lock.acquire(blocking=False):
                lock.release()
            else:
                found.append(number)

    other = threading.Thread(target=look)
    other.start()
    other.join()
    return found


def branches() -> Any:
    x = leaf()
    return (x * x).sin() + x.exp() * x


def with_hook() -> Any:
    y = branches()
    y.register_hook(lambda g: inner())
    return y


def with_callback() -> Any:
    y = branches()
    y.register_hook(lambda g: engine.queue_callback(inner))
    return y


def retained() -> Any:
    x = leaf()
    y = x.exp()
    y.retain_grad()
    return (y * x).sin() + y


def products() -> Any:
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    return ((x @ x).sin() + x @ (x * 2)).sum()


def across() -> Any:
    x = leaf()
    return (x.to("fake:0").sin() * 2).to("cpu") + x.cos()


@pytest.mark.skipif(is_compiled(), reason="a compiled engine has no such moments")
@pytest.mark.parametrize("make", [branches, with_hook, with_callback, retained, products, across])
@pytest.mark.parametrize("count", [1, 3])
def test_an_interrupt_at_any_moment_leaves_the_engine_usable(make, count):
    for number in range(1, 5000):
        with sharing(count):
            y = make()
            try:
                sys.setprofile(interrupted_at(number))
                try:
                    y.backward()
                finally:
                    sys.setprofile(None)
            except KeyboardInterrupt:
                state = engine.current_task(), rg.is_grad_enabled(), engine.is_checkpoint_valid()
                assert state == (None, True, True), number
                assert np.geterr()["divide"] == "warn", number
                assert not held_locks(), number
            else:
                break
    else:
        pytest.fail("the backward never came to its end")
    assert number > 20
    assert_clean()


def inner() -> None:
    with rg.enable_grad():
        y = leaf().exp()
    y.backward()


# -- deep down ---------------------------------------------------------------------------------------------------------


@ways
@arrivals
def test_an_interrupt_of_the_caller_ends_the_backward_below(how, arrive):
    reached: list[int] = []

    def note(depth: int) -> None:
        reached.append(depth)
        if depth == 20:
            arrive()
            # A fresh stack is another thread: the caller is woken meanwhile, on a busy machine a little later.
            until = time.monotonic() + 10
            while not isinstance(engine.current_task().queue, StoppedQueue) and time.monotonic() < until:
                time.sleep(0.01)

    x = leaf(0.0)
    with pytest.raises(KeyboardInterrupt):
        how(x, 130, note)
    assert min(reached) >= 18, "it goes on for no more than the node it is at"
    assert engine.current_task() is None
    assert rg.is_grad_enabled()
    x.grad = None
    how(x, 65, nothing)
    assert x.grad.item() == 66


def test_an_interrupt_ends_a_shared_backward_on_a_fresh_stack():
    ran: list[str] = []
    x = leaf()

    def wait() -> None:
        interrupt()
        threading.Event().wait(0.3)

    def note(depth: int) -> None:
        if depth:
            return
        with rg.enable_grad():
            loss = sum(step(step(leaf(), lambda: ran.append("late")), wait) for _ in range(3))
        loss.backward()

    with sharing(2), pytest.raises(KeyboardInterrupt):
        through_hooks(x, 70, note)
    assert len(ran) < 3
    assert engine.current_task() is None


def test_an_interrupt_that_comes_too_late_for_the_backward_below_is_not_lost():
    x = leaf()
    ended: list[int] = []

    def note(depth: int) -> None:
        if depth == 0:
            interrupt()

    def swallow(depth: int) -> None:
        try:
            through_hooks(x, depth, note)
        except KeyboardInterrupt:
            ended.append(1)
            raise

    with pytest.raises(KeyboardInterrupt):
        through_callbacks(x, 58, lambda depth: None if depth else swallow(1))
    assert ended == [1]
    assert engine.current_task() is None
