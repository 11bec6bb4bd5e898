"""Ctrl-C ends a long kernel within a second: its handlers run between two pieces of a loop."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.backends.pack import PACK
from tests.interrupting import PATIENCE, interrupted, needs_timer

pytestmark = [
    pytest.mark.skipif(PACK is None, reason="the native pack is not built"),
    needs_timer,
]

F = rg.nn.functional


# Makes its operands, and what is to be called.
LONG_KERNELS: dict[str, Callable[[], Callable[[], Any]]] = {
    "matmul, by BLAS": lambda: partial(rg.matmul, *[rg.ones(6000, 6000)] * 2),
    "products of many matrices": lambda: partial(rg.matmul, *[rg.ones(64, 1200, 1200)] * 2),
    "convolution": lambda: partial(F.conv2d, rg.ones(32, 64, 128, 128), rg.ones(256, 64, 5, 5)),
    "attention": lambda: partial(F.scaled_dot_product_attention, *[rg.ones(4, 8, 16_384, 64)] * 3),
    "exp": lambda: partial(rg.exp, rg.ones(100_000_000)),
    "where": lambda: partial(rg.where, rg.ones(100_000_000, dtype=rg.bool), 2.0, rg.ones(100_000_000)),
    "running sum": lambda: partial(rg.cumsum, rg.ones(100_000_000), 0),
    "copy": lambda: rg.ones(10_000, 10_000).t().contiguous,
    "join": lambda: partial(rg.cat, [rg.ones(50_000_000)] * 8),
    "ones": lambda: partial(rg.ones, 500_000_000),
    "triangle": lambda: rg.ones(10_000, 10_000).tril,
    "recurrent layer": lambda: partial(rg.nn.LSTM(256, 512), rg.ones(500, 64, 256)),
    "pooling": lambda: partial(F.max_pool2d, rg.ones(8, 64, 256, 256), 61, 1),
}


@pytest.mark.parametrize("name", LONG_KERNELS)
def test_a_long_kernel_is_interrupted(name: str) -> None:
    assert interrupted(LONG_KERNELS[name](), 0.3) < PATIENCE
    assert rg.ones(3).sum().item() == 3.0  # and all goes on


@pytest.mark.parametrize(
    ("left", "right"),
    [((5, 520, 520), (520, 520)), ((520, 520), (5, 520, 520)), ((1, 5, 520, 520), (2, 1, 520, 260))],
)
def test_a_product_in_strips_is_the_product(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)  # whole numbers, which take long enough for strips
    a, b = rng.integers(-9, 9, left), rng.integers(-9, 9, right)
    found = PACK.matmul(a, b)
    assert found.dtype == np.int64
    assert np.array_equal(found, (a.astype(float) @ b.astype(float)).astype(np.int64))


def test_nothing_is_interrupted_that_writes_what_the_caller_has() -> None:
    parameter = rg.nn.Parameter(rg.ones(30_000_000))
    parameter.grad = rg.ones(30_000_000)
    step = rg.optim.SGD([parameter], lr=1.0)
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
