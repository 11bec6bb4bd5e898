"""Reductions of large tensors make no copies of them."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.backends.kernels import blocks
from retrograd.ops.index import mask
from retrograd.ops.nn import margin_loss
from retrograd.ops.reduce import histogram

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
        lambda x: x.mean(dtype=rg.float64),
        lambda x: x.view(1000, -1).mean(1, dtype=rg.float64),
        lambda x: (x > -1).prod(),
        lambda x: (x > 0.5).sum(),
        lambda x: x.norm(3),
        lambda x: x.var(),
        lambda x: rg.allclose(x, x),
        lambda x: rg.equal(x, x),
        lambda x: rg.dist(x, x),
        lambda x: rg.dist(x, x, 3),
        lambda x: F.mse_loss(x, x),
        lambda x: F.huber_loss(x, x, reduction="sum"),
        lambda x: rg.histc(x),
        lambda x: rg.histogram(x, 10),
        lambda x: x.view(4000, -1).topk(3),
        lambda x: x.view(4000, -1).topk(3, 0),
        lambda x: x.view(4000, -1).kthvalue(3),
        lambda x: x.view(4000, -1).median(1),
        lambda x: x.view(4000, -1).nanmedian(0),
        lambda x: x.view(4000, -1).mode(),
        lambda x: F.multi_margin_loss(x.view(4000, -1), rg.zeros(4000, dtype=rg.int64)),
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
        lambda x: F.glu(x),
        lambda x: rg.nan_to_num(x),
        lambda x: x.renorm(2, 0, 1.0),
        lambda x: F.soft_margin_loss(x, x, reduction="none"),
        lambda x: x.logcumsumexp(1),
        lambda x: rg.isin(x, x[0, :3]),
        lambda x: x.median(),
        lambda x: x.nanmedian(),
        lambda x: rg.unique_consecutive(x),
    ],
)
def test_a_function_of_each_element_needs_its_result_and_little_more(call: Callable[[Any], Any]) -> None:
    x = rg.rand(1000, SIZE // 1000)
    assert peak(lambda: call(x)) < 1.6 * x.array.nbytes


@pytest.mark.parametrize(
    ("call", "copies"),
    [
        (lambda x: x.nonzero(), 4.6),  # two numbers of twice the size
        (lambda x: rg.searchsorted(x[0].sort().values, x), 2.6),
        (lambda x: rg.unique(x), 2.6),
        (lambda x: x.quantile(0.5, 0), 2.9),
        (lambda x: x.nanquantile(0.5, 1), 2.9),
        (lambda x: F.multilabel_margin_loss(x.view(-1, 80), rg.zeros(SIZE // 80, 80, dtype=rg.int64)), 2.9),
    ],
)
def test_what_is_sorted_or_found_needs_few_copies(call: Callable[[Any], Any], copies: float) -> None:
    x = rg.rand(1000, SIZE // 1000)
    assert peak(lambda: call(x)) < copies * x.array.nbytes


@pytest.mark.parametrize("function", [F.softmax, F.log_softmax, lambda x, dim: F.layer_norm(x, x.shape[1:])])
@pytest.mark.parametrize("dim", [0, 1])
def test_half_precision_is_not_copied_as_a_whole(function: Any, dim: int) -> None:
    x = rg.rand(1000, SIZE // 1000).half()
    assert peak(lambda: function(x, dim)) < 1.6 * x.array.nbytes


def in_blocks(call: Callable[[], Any], monkeypatch: pytest.MonkeyPatch, limit: int) -> Any:
    for module in (blocks, histogram, mask, margin_loss):
        monkeypatch.setattr(module, "LIMIT", limit)
    return call()


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.median(0),
        lambda x: x.nanmedian(1),
        lambda x: x.mode(2),
        lambda x: x.topk(2, 1),
        lambda x: x.kthvalue(2, 0),
        lambda x: x.cummax(1),
        lambda x: x.cummin(2),
        lambda x: (F.softmax(x.half(), 1),),
        lambda x: (F.layer_norm(x.half(), (4, 6)),),
        lambda x: (F.glu(x, 2), F.glu(x, 1)),
        lambda x: (x.nonzero(), x.bool().nonzero()),
        lambda x: (rg.histc(x, 5), rg.histogram(x, 4).hist),
        lambda x: (rg.nan_to_num(x), rg.isin(x, x[0, 0]), rg.bucketize(x, x[0, 0].sort().values)),
        lambda x: (F.multi_margin_loss(x[0], rg.tensor([1, 0, 5, 2]), reduction="none"),),
        lambda x: (F.multilabel_margin_loss(x[0], rg.tensor([[1, 0, 5, -1, 0, 0]] * 4), reduction="none"),),
        lambda x: (F.soft_margin_loss(x, x.sign()),),
    ],
)
def test_block_by_block_is_the_same(call: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    rg.manual_seed(1)
    x = (rg.randn(5, 4, 6) * 3).round() / 2
    whole = call(x)
    for found, wanted in zip(in_blocks(lambda: call(x), monkeypatch, 7), whole, strict=True):
        assert found.dtype == wanted.dtype
        assert np.array_equal(found.numpy(), wanted.numpy())
