"""What the tests of threads share: calls at once, nodes that tell who runs them, and an end to every wait."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.core.op import Unary
from retrograd.engine import parallel
from retrograd.engine.threads import SETTINGS

LIMIT = 60.0  # seconds until something counts as stuck, on a machine that is busy with other things


@pytest.fixture(scope="session")
def real_stderr(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Where the run's own messages go, not what pytest collects for the report of a test."""
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with (
        capture.global_and_fixture_disabled() if capture else nullcontext(),
        os.fdopen(os.dup(2), "w") as file,
    ):
        yield file


@pytest.fixture(autouse=True)
def watchdog(real_stderr: Any) -> Iterator[None]:
    """Ends the run, with all stacks, if a test neither passes nor fails. Modules that import both have it."""
    faulthandler.dump_traceback_later(3 * LIMIT, exit=True, file=real_stderr)
    yield
    faulthandler.cancel_dump_traceback_later()


def stuck(what: str) -> AssertionError:
    """The failure of a test that waits for something that does not come; shows where every thread stands."""
    faulthandler.dump_traceback(file=sys.__stderr__, all_threads=True)
    return AssertionError(f"{what} is stuck; the stacks of all threads are in stderr")


def at_once(*functions: Callable[[], Any], limit: float = LIMIT) -> list[Any]:
    """Calls all functions at the same time, each on a thread of its own; what each returned, or raised."""
    outcomes: list[Any] = [None] * len(functions)
    start = threading.Barrier(len(functions))

    def call(i: int) -> None:
        start.wait(limit)
        try:
            outcomes[i] = functions[i]()
        except BaseException as error:
            outcomes[i] = error

    threads = [threading.Thread(target=call, args=(i,), daemon=True) for i in range(len(functions))]
    for thread in threads:
        thread.start()
    for i, thread in enumerate(threads):
        thread.join(limit)
        if thread.is_alive():
            raise stuck(f"call {i} of {len(functions)}")
    return outcomes


def within_limit(function: Callable[[], Any], limit: float = LIMIT) -> Any:
    """What `function` returns or raises, called on another thread, so that the test ends even if it does not."""
    (outcome,) = at_once(function, limit=limit)
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


def interrupt() -> None:
    """Ctrl-C: the main thread gets a KeyboardInterrupt, also where it waits."""
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def wait_for(event: threading.Event, what: str = "an event") -> None:
    if not event.wait(LIMIT):
        raise stuck(what)


class Company:
    """The threads that came by. The first one waits for a second, so that no machine is too busy for both to come."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self._met = threading.Event()

    def join(self) -> None:
        self.names.add(here())
        if len(self.names) > 1 or not self._met.wait(LIMIT):
            self._met.set()


@contextmanager
def sharing(threads: int, large: int = 0) -> Iterator[None]:
    """Every node with a built-in formula counts as large, and a backward may use so many threads."""
    before = parallel.LARGE, SETTINGS.num_threads
    parallel.LARGE = large
    rg.set_num_threads(threads)
    try:
        yield
    finally:
        parallel.LARGE, SETTINGS.num_threads = before


@contextmanager
def many_switches() -> Iterator[None]:
    """Python switches threads as often as it can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


class Step(Unary):
    """The identity; running backwards it calls something, on whichever thread runs it. It counts as built in."""

    laborious = True

    def __init__(self, action: Callable[[], Any]) -> None:
        self.action = action

    def forward(self, xp: Any, x: Any) -> Any:
        return x.copy()

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        self.action()
        return g * 1


def step(x: Any, action: Callable[[], Any]) -> Any:
    """`x`, and a node that calls `action` in backward."""
    return Step(action).on(x)


def leaf(value: Any = 2.0) -> Any:
    return rg.Tensor(np.asarray(value, float), share=True).requires_grad_()


def here() -> str:
    """The name of this thread."""
    return threading.current_thread().name


def workers() -> list[str]:
    """The engine's threads that are alive."""
    return [t.name for t in threading.enumerate() if t.name.startswith("retrograd-")]
