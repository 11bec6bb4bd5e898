"""What goes wrong in a backward that threads share: it reaches the caller, ends the rest, and leaves nothing behind."""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
import traceback
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.core.node import Node
from tests.devices import fake
from tests.engine.together import (
    LIMIT,
    here,
    leaf,
    real_stderr,
    sharing,
    step,
    stuck,
    wait_for,
    watchdog,
    within_limit,
    workers,
)

__all__ = ["real_stderr", "watchdog"]

engine = rg.autograd.Variable._execution_engine
fake.install()
one_and_four = pytest.mark.parametrize("count", [1, 4])


class Mine(Exception):
    """An exception the library cannot know."""


def fail(*args: Any) -> None:
    raise Mine("told so")


class Failing(rg.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 1

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        fail()


def hooked(x: Any, register: Callable[[Any], Any]) -> Any:
    y = x * 1
    register(y)
    return y


def unpack_fails(x: Any) -> Any:
    with rg.autograd.graph.saved_tensors_hooks(lambda t: t, fail):
        return x.sin()


# Where it goes wrong: a function of a leaf whose backward raises.
PLACES: dict[str, Callable[[Any], Any]] = {
    "node": lambda x: step(x, fail),
    "device": lambda x: step(x.to("fake:0"), fail).to("cpu"),
    "function": lambda x: Failing.apply(x),
    "tensor hook": lambda x: hooked(x, lambda y: y.register_hook(fail)),
    "pre-hook": lambda x: hooked(x, lambda y: y.grad_fn.register_prehook(fail)),
    "post-hook": lambda x: hooked(x, lambda y: y.grad_fn.register_hook(fail)),
    "unpack hook": unpack_fails,
    "leaf hook": lambda x: hooked(x, lambda y: x.register_hook(fail)),
    "accumulated": lambda x: hooked(x, lambda y: x.register_post_accumulate_grad_hook(fail)),
    "callback": lambda x: hooked(x, lambda y: y.register_hook(lambda g: engine.queue_callback(fail))),
}
every_place = pytest.mark.parametrize("place", PLACES)


def assert_clean() -> None:
    """The state of this thread and of the process is what it is outside of any backward."""
    assert engine.current_task() is None
    assert engine.is_checkpoint_valid()
    assert rg.is_grad_enabled()
    assert np.geterr()["divide"] == "warn"
    x = leaf([1.0, 2.0])
    with sharing(3):
        (x.sin().sum() + x.to("fake:0").cos().to("cpu").sum() + (x * 2).sum()).backward()
    np.testing.assert_allclose(x.grad.numpy(), np.cos([1, 2]) - np.sin([1, 2]) + 2)


# -- errors reach the caller -----------------------------------------------------------------------------------------


@every_place
@one_and_four
def test_the_error_reaches_the_caller_with_traceback_and_notes(place, count):
    others = [leaf() for _ in range(4)]
    with sharing(count):
        loss = sum(x.sin() for x in others) + PLACES[place](leaf())
        with pytest.raises(Mine, match="told so") as caught:
            loss.backward()
        shown = "".join(traceback.format_exception(caught.value))
        assert "in fail" in shown
        assert "loss.backward()" in shown
        if place != "callback":
            assert "during backward" in shown
        assert caught.value.__cause__ is None
        assert_clean()


@every_place
@one_and_four
def test_nothing_behind_the_error_is_reached(place, count):
    x, behind = leaf(), leaf()
    late: list[str] = []
    with sharing(count):
        y = step(behind * 1, lambda: late.append(here()))
        loss = PLACES[place](y if place not in ("leaf hook", "accumulated", "callback") else x) * 2
        with pytest.raises(Mine):
            loss.backward()
        time.sleep(0.01)
    assert late == []
    assert behind.grad is None


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit, StopIteration, MemoryError])
@pytest.mark.parametrize("place", ["node", "device", "tensor hook", "callback"])
def test_no_kind_of_error_is_lost_on_the_way(place, error, monkeypatch):
    def raise_it(*args: Any) -> None:
        raise error

    monkeypatch.setattr(sys.modules[__name__], "fail", raise_it)
    with sharing(4):
        loss = leaf().sin() + PLACES[place](leaf()) + leaf().cos()
        with pytest.raises(error):
            loss.backward()
    assert_clean()


def test_of_several_errors_one_is_raised():
    with sharing(4):
        for _ in range(20):
            with pytest.raises(Mine, match="told so"):
                sum(step(leaf(), fail) for _ in range(8)).backward()
    assert_clean()


def test_a_device_worker_survives_an_error():
    for _ in range(3):
        with pytest.raises(Mine):
            PLACES["device"](leaf()).backward()
    assert workers().count("retrograd-fake:0-0") == 1
    assert_clean()


# -- nothing is left behind ------------------------------------------------------------------------------------------


@pytest.fixture
def without_collector() -> Iterator[None]:
    """What is freed is freed by its last reference, not by the collector."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def all_dead(refs: list[Any]) -> bool:
    """Whether everything is gone; a worker may need a moment to come back to its queue."""
    end = time.monotonic() + 5
    while any(r() is not None for r in refs) and time.monotonic() < end:
        time.sleep(0.001)
    return all(r() is None for r in refs)


@every_place
@one_and_four
@pytest.mark.usefixtures("without_collector")
def test_a_failed_backward_keeps_no_node_and_no_array(place, count):
    refs: list[Any] = []

    def work() -> None:
        x = leaf(np.ones(4))
        y = PLACES[place](x)
        others = [(x * k).sin() for k in range(1, 4)]
        refs.extend(weakref.ref(t.grad_fn) for t in (y, *others))
        refs.extend(weakref.ref(t.array) for t in (x, *others))
        with pytest.raises(Mine):
            (sum(others) + y).sum().backward()

    with sharing(count):
        work()
    assert all_dead(refs)


@one_and_four
@pytest.mark.usefixtures("without_collector")
def test_a_backward_that_succeeds_keeps_nothing_either(count):
    refs: list[Any] = []

    def work() -> None:
        x = leaf(np.ones(4))
        parts = [(x * k).sin() for k in range(1, 4)] + [x.to("fake:0").exp().to("cpu")]
        refs.extend(weakref.ref(t.grad_fn) for t in parts)
        refs.extend(weakref.ref(t.array) for t in parts)
        sum(parts).sum().backward()
        refs.append(weakref.ref(x.grad.array))

    with sharing(count):
        work()
    assert all_dead(refs), "an idle worker must not keep what it worked on"


@pytest.mark.usefixtures("without_collector")
def test_an_error_from_a_fresh_stack_keeps_nothing():
    refs: list[Any] = []

    def descend(x: Any, depth: int) -> None:
        with rg.enable_grad():
            y = x.sin()
        refs.append(weakref.ref(y.array))
        y.register_hook(fail if depth == 0 else lambda g: descend(x, depth - 1))
        y.backward()

    with pytest.raises(Mine):
        descend(leaf(), 70)
    assert all_dead(refs)


def test_no_worker_is_still_at_it_when_the_error_is_raised():
    """A worker that accumulated later would spoil the next step, whose gradients begin anew."""
    running, ended = threading.Event(), threading.Event()
    x, y = leaf(1.0), leaf(1.0)

    def slow() -> None:
        running.set()
        time.sleep(0.1)
        ended.set()

    def hook(g: Any) -> None:
        wait_for(running)
        fail()

    with sharing(2):
        z = y * 1
        z.register_hook(hook)
        loss = step(x * 1, slow) + z
        assert not ended.is_set()
        with pytest.raises(Mine):
            loss.backward()
        assert ended.is_set()
        x.grad = None
        time.sleep(0.05)
        assert x.grad is None


def test_a_worker_that_failed_first_waits_for_the_others_too():
    ended = threading.Event()
    running = threading.Barrier(2)

    def slow() -> None:
        running.wait(LIMIT)
        time.sleep(0.1)
        ended.set()

    def quick() -> None:
        running.wait(LIMIT)
        fail()

    with sharing(3):
        with pytest.raises(Mine):
            (step(leaf(), slow) + step(leaf(), quick)).backward()
        assert ended.is_set()


@one_and_four
def test_a_graph_may_run_again_after_an_error(count):
    with sharing(count):
        for place in PLACES:
            x = leaf()
            flag = [True]
            a, b = x.sin(), x.exp()

            def once(*args: Any, flag: Any = flag) -> None:
                if flag[0]:
                    fail()

            a.register_hook(once)
            loss = a + b * 1
            with pytest.raises(Mine):
                loss.backward(retain_graph=True)
            flag[0] = False
            x.grad = None
            loss.backward()
            assert x.grad.item() == pytest.approx(np.cos(2) + np.exp(2)), place


# -- errors about errors ---------------------------------------------------------------------------------------------


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")

    __repr__ = __str__


@one_and_four
@pytest.mark.parametrize("anomaly", [False, True])
@pytest.mark.filterwarnings("ignore:Error detected in:UserWarning")
def test_an_exception_that_cannot_be_printed(count, anomaly):
    def speechless(*args: Any) -> None:
        raise Unspeakable

    with sharing(count), rg.autograd.set_detect_anomaly(anomaly):
        for make in (
            lambda x: step(x, speechless),
            lambda x: hooked(x, lambda y: y.register_hook(speechless)),
        ):
            with pytest.raises(Unspeakable):
                (make(leaf()) + leaf().sin()).backward()
    assert_clean()


class Nameless:
    """A hook that answers no question."""

    def __getattribute__(self, name: str) -> Any:
        raise ValueError("no name")

    def __call__(self, *args: Any) -> None:
        fail()


@one_and_four
@pytest.mark.parametrize("place", ["tensor", "pre", "post", "accumulated"])
def test_a_hook_that_cannot_tell_its_name(count, place):
    x = leaf()
    y = x * 1
    register = {
        "tensor": y.register_hook,
        "pre": y.grad_fn.register_prehook,
        "post": y.grad_fn.register_hook,
        "accumulated": x.register_post_accumulate_grad_hook,
    }
    register[place](Nameless())
    with sharing(count), pytest.raises(Mine, match="told so") as caught:
        (y + x.sin()).backward()
    assert "Nameless" in caught.value.__notes__[0]
    assert_clean()


def test_an_exception_whose_notes_are_no_list():
    class Noted(Exception):
        __notes__ = 7

    def hook(g: Any) -> None:
        raise Noted

    x = leaf()
    x.register_hook(hook)
    with pytest.raises(Noted):
        (x * 2).backward()
    assert_clean()


def test_an_exception_that_takes_no_notes_is_still_itself():
    class Closed(Exception):
        __slots__ = ()

        def with_traceback(self, tb: Any) -> Any:
            raise ValueError("no traceback")

    def closed(g: Any) -> None:
        raise Closed

    x = leaf()
    x.register_hook(closed)
    with sharing(4), pytest.raises(Closed):
        (x * 2 + x.sin()).backward()
    assert_clean()


def test_an_error_in_the_handler_of_an_error():
    def hook(g: Any) -> None:
        try:
            fail()
        except Mine:
            raise LookupError("while handling it") from None

    x = leaf()
    x.register_hook(hook)
    with sharing(4), pytest.raises(LookupError, match="while handling"):
        (x * 2 + x.sin()).backward()
    assert_clean()


def test_a_recursion_without_end_in_a_hook_is_an_error_like_others():
    def deeper(g: Any) -> Any:
        return deeper(g)

    x = leaf()
    x.register_hook(deeper)
    with sharing(4), pytest.raises(RecursionError):
        (x * 2 + x.sin()).backward()
    assert_clean()


# -- generators and finalisers ---------------------------------------------------------------------------------------


def test_a_generator_closed_in_the_middle():
    closed: list[float] = []

    def training(x: Any) -> Any:
        try:
            while True:
                (x * 2 + x.sin()).backward()
                yield x.grad.item()
        finally:
            (x * 3 + x.cos()).backward()
            closed.append(x.grad.item())

    def hook(g: Any) -> None:
        steps = training(leaf())
        with rg.enable_grad():
            next(steps)
            steps.close()

    with sharing(4):
        x = leaf()
        x.register_hook(hook)
        within_limit(lambda: (x.sin() + x.cos()).backward())
    assert closed == [pytest.approx(2 + np.cos(2) + 3 - np.sin(2))]
    assert_clean()


def test_a_generator_that_is_inside_a_mode_when_its_backward_fails():
    def guarded(x: Any) -> Any:
        with rg.no_grad(), rg.autograd.set_multithreading_enabled(False):
            yield 1
            with rg.enable_grad():
                Failing.apply(x).backward()

    steps = guarded(leaf())
    next(steps)
    with pytest.raises(Mine):
        next(steps)
    assert rg.autograd.is_multithreading_enabled()
    assert_clean()


class Finalised:
    """Garbage that only the collector frees, and that runs a backward then, on whichever thread that happens."""

    def __init__(self, ran: list[str], where: str) -> None:
        self.ran, self.where, self.me = ran, where, self

    def __del__(self) -> None:
        with rg.enable_grad():
            x = leaf()
            (x.sin() + x.to(self.where).cos().to("cpu") + x.exp()).backward()
        self.ran.append(here())


def test_a_finaliser_may_run_backward_wherever_python_calls_it():
    ran: list[str] = []

    def collect() -> None:
        Finalised(ran, "fake:0")
        gc.collect()

    def work() -> None:
        with sharing(3):
            for _ in range(10):
                parts = [step(leaf(), collect) for _ in range(3)]
                (sum(parts) + leaf().to("fake:0").to("cpu")).backward()
                step(leaf().to("fake:0"), collect).to("cpu").backward()

    within_limit(work)
    gc.collect()  # one that came while another was running did nothing
    assert len(ran) == 40
    assert "retrograd-fake:0-0" in ran, "the worker of a device cannot wait for itself"
    assert_clean()


def test_the_collector_may_come_at_any_time():
    ran: list[str] = []
    before = gc.get_threshold()

    def work() -> None:
        with sharing(3):
            assert_clean_elsewhere()  # all threads are there, and know their modes
            gc.set_threshold(37)
            for _ in range(100):
                Finalised(ran, "fake:0")
                x = leaf(np.ones(3))
                ((x * 2).sin() + (x * 3).cos() + x.to("fake:0").exp().to("cpu")).sum().backward()

    try:
        within_limit(work)
    finally:
        gc.set_threshold(*before)
    gc.collect()
    assert len(ran) == 100
    assert_clean()


def test_the_collector_finds_every_edge_that_a_node_says_it_has():
    """It may come when the third edge is about to be made, and edges beyond the second are made one by one."""
    x = leaf(np.ones(2))
    x.register_hook(lambda g: None)  # so that the collector sees what is recorded on top
    seen, wrong = [], []

    def look(phase: str, info: dict[str, int]) -> None:
        young = [*gc.get_objects(0), *gc.get_objects(1)] if phase == "start" else []
        for node in [thing for thing in young if isinstance(thing, Node)]:
            try:
                seen.append(len(node.next_edges()))
            except Exception as error:  # the collector would swallow it
                wrong.append(repr(error))

    before = gc.get_threshold()
    gc.collect()
    gc.callbacks.append(look)
    try:
        gc.set_threshold(1, 10_000)
        for _ in range(int(os.environ.get("RETROGRAD_REPEATS", "100"))):
            rg.stack([x, x, x, x, x])
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(look)
    assert seen
    assert wrong == []


# -- stopping --------------------------------------------------------------------------------------------------------


def test_a_hook_that_never_returns_holds_up_nobody_but_itself():
    never = threading.Event()
    x = leaf()
    x.register_hook(lambda g: never.wait() and None)
    with sharing(3):
        loss = x.sin() + x.cos() * leaf() + x.to("fake:0").to("cpu")
        blocked = threading.Thread(target=loss.backward, daemon=True)
        blocked.start()
        try:
            for _ in range(5):
                within_limit(assert_clean_elsewhere)
        finally:
            never.set()
            blocked.join(LIMIT)
        if blocked.is_alive():
            raise stuck("the backward whose hook has returned")


def assert_clean_elsewhere() -> None:
    x = leaf(1.0)
    (x * 2 + x.to("fake:0").to("cpu") + x * 3).backward()
    assert x.grad.item() == 6.0
