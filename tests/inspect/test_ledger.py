"""inspect.memory: whose bytes are alive, and who keeps them."""

from __future__ import annotations

import gc

import pytest

import retrograd as rg
from retrograd import nn


@pytest.fixture(autouse=True)
def nothing_else():
    gc.collect()


def holder(ledger, start):
    return next(h for h in ledger.holders if h.name.startswith(start))


def test_bytes_by_kind():
    before = rg.inspect.memory().by_kind
    net = nn.BatchNorm1d(1000)
    x = rg.ones(4, 1000)
    loss = (net(x) ** 2).sum()
    loss.backward()
    now = rg.inspect.memory().by_kind
    grown = {kind: now[kind] - before[kind] for kind in now}
    assert grown["parameters"] == 2 * 4000
    assert grown["gradients"] == 2 * 4000
    assert grown["buffers"] == 2 * 4000 + 8
    assert grown["saved for backward"] == 0
    assert grown["other tensors"] >= 16_000


def test_saved_bytes_by_line():
    w = rg.ones(5000, requires_grad=True)
    kept = w.exp()
    ledger = rg.inspect.memory()
    line = next(line for line in ledger.by_line if "kept = w.exp()" in line)
    assert ledger.by_line[line] == 20_000
    assert kept.requires_grad


def test_the_classic_leak_is_named_with_its_line():
    w = rg.ones(1000, requires_grad=True)

    def train():
        total = 0.0
        for _ in range(10):
            loss = (w.exp() ** 2).sum()
            total += loss
        return rg.inspect.memory(), total

    ledger, _ = train()
    found = holder(ledger, "total in ")
    assert "total += loss" in found.line
    assert found.bytes >= 10 * 4000
    assert "10 times" in found.advice
    assert ".item()" in found.advice
    assert "total += loss" in str(ledger)


def test_a_traceback_that_keeps_a_graph_alive():
    w = rg.ones(1000, requires_grad=True)

    def fail():
        big = w.exp()
        raise ValueError(big.shape)

    with pytest.raises(ValueError, match="1000") as caught:
        fail()
    found = holder(rg.inspect.memory(), "big in ")
    assert "kept by an exception's traceback" in found.name
    assert "big = w.exp()" in found.line
    del caught


def test_a_hook_that_keeps_a_graph_alive():
    w = rg.ones(1000, requires_grad=True)

    def hooked():
        held = w.sin().exp()
        y = w * 2
        y.register_hook(lambda g: g if held is None else None)
        return y

    y = hooked()
    found = holder(rg.inspect.memory(), "held in the tensor hook")
    assert "held = w.sin().exp()" in found.line
    assert y.requires_grad


def test_a_list_of_losses():
    w = rg.ones(1000, requires_grad=True)
    losses = [w.exp().sum() for _ in range(3)]
    names = [h.name for h in rg.inspect.memory().holders]
    assert sum(name.startswith("losses[") for name in names) == 3
    assert len(losses) == 3


def test_nothing_is_named_when_nothing_is_kept():
    w = rg.ones(1000, requires_grad=True)
    loss = (w.exp() ** 2).sum()
    loss.backward()
    assert not [h for h in rg.inspect.memory().holders if h.name.startswith("loss in")]
