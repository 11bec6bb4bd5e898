"""Ctrl-C ends a long kernel within a second: its handlers run between two pieces of a loop."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.backends.pack import PACK

pytestmark = [
    pytest.mark.skipif(PACK is None, reason="the native pack is not built"),
    pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer that sends signals"),
]

F = rg.nn.functional


# Makes its operands, and what is to be called.
LONG_KERNELS: dict[str, Callable[[], Callable[[], Any]]] = {
    "matmul, by BLAS": lambda: partial(rg.matmul, *[rg.ones(6000, 6000)] * 2),
    "convolution": lambda: partial(F.conv2d, rg.ones(32, 64, 128, 128), rg.ones(256, 64, 5, 5)),
    "attention": lambda: partial(F.scaled_dot_product_attention, *[rg.ones(4, 8, 16_384, 64)] * 3),
    "pooling": lambda: partial(F.max_pool2d, rg.ones(8, 64, 256, 256), 61, 1),
}


def interrupted(call: Callable[[], Any], after: float) -> float:
    """How long a call goes on after a signal whose handler raises."""
    sent: list[float] = []

    def handler(*_: Any) -> None:
        sent.append(time.monotonic())
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, handler)
    try:
        began = time.monotonic()
        signal.setitimer(signal.ITIMER_REAL, after)
        with pytest.raises(KeyboardInterrupt):
            call()
        return time.monotonic() - began - after
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("name", LONG_KERNELS)
def test_a_long_kernel_is_interrupted(name: str) -> None:
    # Generous for a machine that is busy; without pieces it would be many seconds.
    assert interrupted(LONG_KERNELS[name](), 0.3) < 5.0
    assert rg.ones(3).sum().item() == 3.0  # and all goes on


def test_nothing_is_interrupted_that_writes_what_the_caller_has() -> None:
    parameter = rg.nn.Parameter(rg.ones(30_000_000))
    parameter.grad = rg.ones(30_000_000)
    step = rg.optim.SGD([parameter], lr=1.0)
    with suppress(pytest.fail.Exception):  # where it has ended before
        interrupted(step.step, 0.005)
    assert np.unique(parameter.detach().numpy()).size == 1


@pytest.mark.skipif(sys.platform == "win32", reason="no threads of this kind")
def test_a_kernel_of_another_thread_hears_of_no_signal() -> None:
    import threading

    found: list[float] = []
    thread = threading.Thread(
        target=lambda: found.append((rg.ones(2000, 500) @ rg.ones(500, 2000)).sum().item())
    )
    thread.start()
    thread.join()
    assert found == [2000 * 500 * 2000.0]
