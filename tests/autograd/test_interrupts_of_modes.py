"""Ctrl-C while a mode is entered, held or left: afterwards everything is as it was before."""

from __future__ import annotations

import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import retrograd as rg
from retrograd.__config__ import is_compiled
from retrograd.autograd import forward_ad, graph
from retrograd.core.modes import ThreadState, current

pytestmark = [
    pytest.mark.skipif(not is_compiled(), reason="interpreted code may be interrupted between any two calls"),
    pytest.mark.skipif(
        sys.version_info >= (3, 14), reason="a with block may be interrupted before it begins"
    ),
    pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers that interrupt"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # of what Python swallows
]

INTERRUPTS = 300
x = rg.ones(3)


def same(tensor: Any) -> Any:
    return tensor


def cube(t: Any) -> Any:
    return (t * t * t).sum()


# What is interrupted, each again and again; the names are those of modes and transforms.
BLOCKS: dict[str, Callable[[], Any]] = {
    "no_grad": rg.no_grad,
    "enable_grad": rg.enable_grad,
    "inference_mode": rg.inference_mode,
    "detect_anomaly": lambda: rg.autograd.detect_anomaly(check_nan=False),
    "detect_nonfinite": rg.autograd.detect_nonfinite,
    "saved_tensors_hooks": lambda: graph.saved_tensors_hooks(same, same),
    "save_on_cpu": graph.save_on_cpu,
    "disable_saved_tensors_hooks": lambda: graph.disable_saved_tensors_hooks("not here"),
    "allow_mutation_on_saved_tensors": graph.allow_mutation_on_saved_tensors,
    "dual_level": forward_ad.dual_level,
    "device": lambda: rg.device("cpu"),
}
CALLS: dict[str, Callable[[], Any]] = {
    "decorated": rg.no_grad()(lambda: x * 2),
    "grad": lambda: rg.func.grad(cube)(x),
    "jvp": lambda: rg.func.jvp(cube, (x,), (x,)),
    "vmap": lambda: rg.vmap(cube)(rg.ones(2, 3)),
    "hessian": lambda: rg.func.hessian(cube)(x),
}


def held(block: Callable[[], Any]) -> Callable[[], None]:
    def program() -> None:
        with block():
            pass

    return program


@pytest.fixture(autouse=True)
def an_alarm_is_an_interrupt() -> Iterator[None]:
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def state() -> dict[str, Any]:
    names = [name for name in dir(ThreadState) if not name.startswith("_") and name != "sequence_nr"]
    return {
        name: value
        for name in names
        if not callable(value := getattr(current(), name)) or name == "write_guard"
    }


@pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled")
@pytest.mark.parametrize("name", [*BLOCKS, *CALLS])
def test_an_interrupt_leaves_no_mode_on(name):
    program = held(BLOCKS[name]) if name in BLOCKS else CALLS[name]
    program()
    before, rng, came = state(), random.Random(0), 0
    for _ in range(INTERRUPTS):
        try:
            end = time.monotonic() + 0.2
            signal.setitimer(signal.ITIMER_REAL, rng.uniform(2e-5, 4e-4))
            while time.monotonic() < end:
                program()
        except KeyboardInterrupt:
            came += 1
        assert state() == before, f"after interrupt {came}"
    assert came > INTERRUPTS * 0.9, "Python swallows those that come while it frees something"
