"""Memory that the cyclic collector cannot see: counts of references kept in C."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable

import numpy as np
import pytest

import retrograd as rg
from retrograd.nn import functional as F


def small_graph() -> None:
    x = rg.ones(3, requires_grad=True)
    ((x * 2 + 1).tanh() / x).sum().backward()


def second_order() -> None:
    x = rg.ones(3, requires_grad=True)
    (g,) = rg.autograd.grad((x**3).sum(), x, create_graph=True)
    g.sum().backward()


def views_and_writes() -> None:
    x = rg.ones(2, 3, requires_grad=True)
    y = x * 1
    y[0] = y[1] * 2
    y.t().mul_(2)
    y.sum().backward()


def hooks() -> None:
    x = rg.ones(3, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: g * 2)
    y.retain_grad()
    y.sum().backward()


def network() -> None:
    w = rg.ones(4, 4, requires_grad=True)
    F.cross_entropy(F.relu(rg.ones(2, 4) @ w), rg.tensor([0, 1])).backward()


def attributes_and_references() -> None:
    x = rg.ones(3, requires_grad=True)
    x.note = {"a": 1}
    x.grad_fn_note = weakref.ref((x * 2).grad_fn)


def an_error() -> None:
    with pytest.raises(RuntimeError):
        rg.ones(3, requires_grad=True).backward()
    with pytest.raises((RuntimeError, TypeError)):
        rg.ones(3) + "a"
    with pytest.raises(RuntimeError):
        rg.ones(2) @ rg.ones(3)


@pytest.mark.parametrize(
    "work", [small_graph, second_order, views_and_writes, hooks, network, attributes_and_references, an_error]
)
def test_repeated_work_leaves_no_memory_behind(work: Callable[[], None]) -> None:
    rounds = 300
    grown = []
    for _ in range(4):  # a cache may fill in one round, not in all of them
        before = _blocks()
        for _ in range(rounds):
            work()
        grown.append(_blocks() - before)
    assert min(grown) < rounds // 10, grown


def _blocks() -> int:
    """How many pieces of memory Python has handed out."""
    gc.collect()
    return sys.getallocatedblocks()


def test_constants_are_not_used_up() -> None:
    """A missing reference count shows where an object is used again and again and never owned."""
    constants = [None, True, (), np.dtype("float32"), rg.float32, type(rg.ones(1))]
    before = [sys.getrefcount(constant) for constant in constants]
    for _ in range(2000):
        small_graph()
    gc.collect()
    after = [sys.getrefcount(constant) for constant in constants]
    assert all(abs(a - b) < 500 for a, b in zip(after, before, strict=True)), (before, after)
