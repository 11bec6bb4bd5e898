"""inspect.memory: whose bytes are alive, and who keeps them."""

from __future__ import annotations

import functools
import gc
import tracemalloc
import weakref
from collections import deque

import numpy as np
import pytest

import retrograd as rg
from retrograd import nn
from retrograd.__config__ import is_compiled


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


def test_the_classic_leak_after_backwards():
    w = rg.ones(1000, requires_grad=True)
    total = 0.0
    for _ in range(10):
        loss = (w.exp() ** 2).sum()
        loss.backward()
        total += loss
    found = holder(rg.inspect.memory(), "total in ")
    assert "total += loss" in found.line
    assert found.bytes == 0
    assert found.nodes > 30  # of ten losses, and of their sum
    assert "10 times, and each time's nodes are kept" in found.advice
    assert total.requires_grad


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


class Box:
    pass


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = None


def closure_over(value):
    held = value
    return lambda: held


def generator_over(value):
    yield 1
    assert value is not None


def box_with(value):
    box = Box()
    box.loss = value
    return box


def net_with(value):
    net = nn.Sequential(Net())
    net[0].last = value
    return net


def started(generator):
    next(generator)
    return generator


HELD = {
    "object": (box_with, "kept.loss"),
    "object in a list": (lambda value: [box_with(value)], "kept[0].loss"),
    "module": (net_with, "kept.0.last"),
    "dictionary of lists": (lambda value: {"history": [value]}, "kept['history'][0]"),
    "deque": (lambda value: deque([value]), "kept[0]"),
    "closure": (closure_over, "kept → held"),
    "generator": (lambda value: started(generator_over(value)), "kept → value"),
    "partial": (lambda value: functools.partial(print, value), "kept.args[0]"),
    "node": (lambda value: value.grad_fn, "kept"),
}


@pytest.mark.parametrize("how", HELD)
def test_whatever_holds_a_graph_is_named(how):
    if how == "node" and is_compiled():
        pytest.skip("the collector does not see compiled nodes: decision 10")
    w = rg.ones(1000, requires_grad=True)
    hold, name = HELD[how]
    kept = hold(w.exp())
    found = holder(rg.inspect.memory(), f"{name} in test_whatever")
    assert found.bytes == 4000
    assert "kept = hold(w.exp())" in found.line
    assert kept is not None


def test_a_class_that_holds_a_graph():
    w = rg.ones(1000, requires_grad=True)

    class Best:
        loss = w.exp()

    assert holder(rg.inspect.memory(), "Best.loss in ").bytes == 4000
    assert Best is not None


def test_a_gradient_with_a_graph_of_its_own():
    w = rg.ones(1000, requires_grad=True)
    (grad,) = rg.autograd.grad((w.exp() ** 2).sum(), w, create_graph=True)
    w.grad = grad
    del grad
    assert holder(rg.inspect.memory(), "w.grad in ").bytes >= 4000


def test_many_losses_in_a_list_are_one_holder():
    w = rg.ones(1000, requires_grad=True)
    losses = [(w * i).exp().sum() for i in range(1500)]
    found = holder(rg.inspect.memory(), "losses[…] (1,500 of them)")
    assert found.bytes == 1500 * 4000
    assert ".item()" in found.advice
    assert len(losses) == 1500


def test_the_ledger_is_what_the_allocator_says():
    first = rg.inspect.memory().total
    tracemalloc.start()
    net = nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 64), nn.ReLU())
    loss = (net(rg.ones(128, 64)) ** 2).mean()
    arrays = tracemalloc.DomainFilter(inclusive=True, domain=np.lib.tracemalloc_domain)
    alive = sum(trace.size for trace in tracemalloc.take_snapshot().filter_traces([arrays]).traces)
    tracemalloc.stop()
    assert rg.inspect.memory().total - first == pytest.approx(alive, rel=0.01)
    assert loss.requires_grad


def test_nothing_is_named_when_nothing_is_kept():
    w = rg.ones(1000, requires_grad=True)
    loss = (w.exp() ** 2).sum()
    loss.backward()
    assert not [h for h in rg.inspect.memory().holders if h.name.startswith("loss in")]


def test_objects_that_cannot_be_asked_do_no_harm():
    class Thing:
        pass

    thing = Thing()
    gone, lazy = weakref.proxy(thing), nn.LazyLinear(3)
    del thing
    gc.collect()
    with pytest.raises(ReferenceError):
        isinstance(gone, nn.Module)
    assert lazy.has_uninitialized_params()
    assert rg.inspect.memory().total >= 0
