"""What NumPy computes for seconds is interrupted at once, and nothing of it stays."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.backends import pieces
from retrograd.backends.long_calls import LARGE, apart
from tests.interrupting import PATIENCE, interrupted, needs_timer

pytestmark = needs_timer

F = rg.nn.functional
# Makes its operands, and what is to be called.
CALLS: dict[str, Callable[[], Callable[[], Any]]] = {
    "sort": lambda: rg.rand(30_000_000).sort,
    "topk": lambda: lambda x=rg.rand(30_000_000): rg.topk(x, 20_000_000),
    "svd": lambda: lambda x=rg.rand(1200, 1200): rg.linalg.svd(x),
    "solve": lambda: lambda x=rg.rand(4000, 4000): rg.linalg.solve(x, x),
    "randn": lambda: lambda: rg.randn(400_000_000),
    "rand": lambda: lambda: rg.rand(900_000_000),
    "randint": lambda: lambda: rg.randint(0, 9, (200_000_000,)),
    "multinomial": lambda: lambda p=rg.rand(9): rg.multinomial(p, 50_000_000, True),
    "full": lambda: lambda: rg.full((1_000_000_000,), 3, dtype=rg.int8),
    "unfold": lambda: lambda x=rg.rand(4, 16, 256, 256): F.unfold(x, 9, padding=4),
    "repeat": lambda: lambda x=rg.rand(1000): x.repeat(200_000),
    "i0": lambda: lambda x=rg.rand(30_000_000): rg.special.i0(x),
    "ctc_loss": lambda: (
        lambda x=rg.rand(6000, 64, 100), n=[6000] * 64: F.ctc_loss(
            x, rg.ones(64, 400, dtype=rg.int64), n, [400] * 64
        )
    ),
    "logcumsumexp": lambda: lambda x=rg.rand(LARGE + 1): x.logcumsumexp(0),
    "histc": lambda: lambda x=rg.rand(2 * LARGE): rg.histc(x),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_long_call_is_interrupted(name: str) -> None:
    assert interrupted(CALLS[name](), 0.1) < PATIENCE
    assert rg.ones(3).sum().item() == 3.0


def test_other_threads_make_long_calls_themselves() -> None:
    x, found = rg.rand(5_000_000), []
    thread = threading.Thread(target=lambda: found.append((rg.sort(x).values, threading.active_count())))
    before = threading.active_count()
    thread.start()
    thread.join()
    assert found[0][1] <= before + 1
    assert bool((found[0][0][1:] >= found[0][0][:-1]).all())


def test_a_long_call_that_is_interrupted_while_it_starts_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    class Interrupted(threading.Thread):
        def start(self) -> None:
            calls.append(self._args[0].__self__)
            super().start()
            raise KeyboardInterrupt

    monkeypatch.setattr(threading, "Thread", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        apart(abs, (-1,))
    assert [call.abandoned[0] for call in calls] == [1]


def test_an_error_of_a_long_call_is_the_callers() -> None:
    with pytest.raises(rg.linalg.LinAlgError, match="singular"):
        rg.linalg.inv(rg.zeros(600, 600))


@pytest.mark.parametrize("draw", [rg.rand, rg.randn])
@pytest.mark.parametrize("dtype", [rg.float32, rg.float64])
def test_pieces_are_the_numbers_that_are_drawn_at_once(
    draw: Any, dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rg.manual_seed(3)
    whole, next_ones = draw(1001, dtype=dtype), draw(3, dtype=dtype)
    monkeypatch.setattr(pieces, "PIECE", 7)
    rg.manual_seed(3)
    assert np.array_equal(draw(7, 143, dtype=dtype).numpy().ravel(), whole.numpy())
    assert np.array_equal(draw(3, dtype=dtype).numpy(), next_ones.numpy())


def test_pieces_are_the_integers_that_are_drawn_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rg.manual_seed(3)
    whole, next_ones = rg.randint(0, 1000, (1001,)), rg.rand(3)
    monkeypatch.setattr(pieces, "PIECE", 7)
    rg.manual_seed(3)
    assert np.array_equal(rg.randint(0, 1000, (7, 143)).numpy().ravel(), whole.numpy())
    assert np.array_equal(rg.rand(3).numpy(), next_ones.numpy())
    assert rg.full((3, 9), 2).tolist() == [[2] * 9] * 3


def test_a_large_op_is_computed_by_another_thread_and_is_the_same() -> None:
    x = rg.ones(LARGE + 2, dtype=rg.float16)
    assert np.array_equal((x + 0.5)[-3:].numpy(), np.full(3, 1.5, np.float16))
    with pytest.raises(RuntimeError, match="must match|size"):
        x + rg.ones(LARGE + 1, dtype=rg.float16)
