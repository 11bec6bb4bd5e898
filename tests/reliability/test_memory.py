"""Reductions of large tensors make no copies of them."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

import retrograd as rg

F = rg.nn.functional
SIZE = 4_000_000


def peak(call: Callable[[], Any]) -> int:
    """The most bytes that a call has at a time."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.logsumexp(0),
        lambda x: x.view(1000, -1).logsumexp((0, 1)),
        lambda x: x.nansum(),
        lambda x: x.view(1000, -1).nansum(0),
        lambda x: x.sum(dtype=rg.float64),
        lambda x: (x > 0.5).sum(),
        lambda x: x.norm(3),
        lambda x: x.var(),
        lambda x: rg.allclose(x, x),
        lambda x: rg.equal(x, x),
        lambda x: rg.dist(x, x),
        lambda x: rg.dist(x, x, 3),
        lambda x: F.mse_loss(x, x),
        lambda x: F.huber_loss(x, x, reduction="sum"),
    ],
)
def test_a_reduction_needs_no_copy_of_its_input(call: Callable[[Any], Any]) -> None:
    x = rg.rand(SIZE)
    assert peak(lambda: call(x)) < 0.35 * x.array.nbytes


@pytest.mark.parametrize(
    "call",
    [
        lambda x: F.softmax(x, 1),
        lambda x: F.log_softmax(x, 0),
        lambda x: rg.xlogy(x, x),
        lambda x: rg.digamma(x),
        lambda x: rg.special.i0(x),
    ],
)
def test_a_function_of_each_element_needs_its_result_and_little_more(call: Callable[[Any], Any]) -> None:
    x = rg.rand(1000, SIZE // 1000)
    assert peak(lambda: call(x)) < 1.6 * x.array.nbytes
