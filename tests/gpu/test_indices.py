"""Elements that an index names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as rg
from tests.gpu.compare import DTYPES, check, numbers

F = rg.nn.functional


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    "shape", [((5, 4), (5, 9)), ((5, 4), (3, 2)), ((2, 3, 4), (2, 8, 4)), ((5000, 3), (5000, 1))], ids=str
)
def test_gather(shape: Any, dtype: Any) -> None:
    size, picked = shape
    i = np.random.default_rng(0).integers(0, size[1], picked)
    check(lambda x: x.gather(1, rg.tensor(i).to(x.device)), numbers(size), dtype)


def test_gather_twice() -> None:
    i = rg.tensor([[0, 0], [2, 1]])
    check(lambda x: x.gather(1, i.to(x.device)) ** 3, numbers((2, 3)), order=2)


def test_scatter_add() -> None:
    i = np.random.default_rng(0).integers(0, 4, (300, 5))
    check(lambda x, y: x.scatter_add(0, rg.tensor(i).to(x.device), y), numbers((4, 5), (300, 5)))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("width", [1, 7, 64, 1030])
def test_embedding(width: int, dtype: Any) -> None:
    i = np.random.default_rng(0).integers(0, 11, (13, 5))
    for options in ({}, {"padding_idx": 3}, {"scale_grad_by_freq": True}):
        check(
            lambda w, o=options: F.embedding(rg.tensor(i).to(w.device), w, **o), numbers((11, width)), dtype
        )


def test_embedding_is_the_same_each_time() -> None:
    w = rg.randn(65, 96, device="cuda", requires_grad=True)
    i = rg.randint(0, 65, (8192,), device="cuda")
    g = rg.randn(8192, 96, device="cuda")
    first = rg.autograd.grad(F.embedding(i, w), w, g)[0]
    assert all(rg.equal(rg.autograd.grad(F.embedding(i, w), w, g)[0], first) for _ in range(3))
    check(lambda w: F.embedding(i.to(w.device), w) ** 2, numbers((65, 3)), order=2, tolerance=1e-3)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dropout_noise(dtype: Any) -> None:
    x = rg.ones(100003, device="cuda", dtype=dtype, requires_grad=True)
    rg.manual_seed(1)
    y = F.dropout(x, 0.3)
    y.sum().backward()
    y = y.detach()
    kept = (y != 0).double().mean()
    assert abs(float(kept) - 0.7) < 0.01
    assert float(y.max()) == pytest.approx(1 / 0.7, rel=1e-2)
    assert rg.equal(x.grad, y)
    rg.manual_seed(1)
    assert rg.equal(F.dropout(x, 0.3), y)
    assert not rg.equal(F.dropout(x, 0.3), y)
