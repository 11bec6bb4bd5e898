"""bfloat16 on a GPU: a kind of array of its own, computed natively or in float32, rounded once."""

from __future__ import annotations

from typing import Any

import pytest

import retrograd as rg
from tests.gpu.compare import check, numbers

B = rg.bfloat16


def test_there_and_back() -> None:
    x = rg.tensor([1.0, 2.5, -3.0], dtype=B)
    there = x.cuda()
    assert there.dtype == B
    assert there.is_cuda
    assert rg.equal(there.cpu(), x)
    assert rg.equal(there.float().cpu(), x.float())
    assert rg.equal(rg.ones(3, device="cuda").to(B).cpu(), rg.ones(3, dtype=B))
    assert float(there.sum()) == 0.5
    assert there.tolist() == [1.0, 2.5, -3.0]
    assert "2.5000" in str(there[1])
    assert "bfloat16" in str(there[1])


def test_made_there() -> None:
    assert rg.zeros(2, 3, device="cuda", dtype=B).dtype == B
    assert rg.full((2,), 1.5, device="cuda", dtype=B).tolist() == [1.5, 1.5]
    assert rg.randn(1000, device="cuda", dtype=B).float().std() > 0.8
    assert rg.empty_like(rg.zeros(3, device="cuda", dtype=B)).dtype == B
    assert rg.arange(4, device="cuda", dtype=B).tolist() == [0.0, 1.0, 2.0, 3.0]


def test_rounding_is_the_cpus() -> None:
    x = rg.tensor(numbers(10000)[0] * 1e3).float()
    assert rg.equal(x.cuda().to(B).cpu(), x.to(B))
    x = rg.tensor([float("nan"), float("inf"), -float("inf"), 0.0, 3.4e38, 1e-45])
    assert rg.equal(x.cuda().to(B).cpu()[1:], x.to(B)[1:])
    assert x.cuda().to(B)[0].isnan()


FUNCTIONS: dict[str, Any] = {
    "arithmetic": lambda x, y: x * y + x / (y.abs() + 1) - 2 * x,
    "broadcast": lambda x, y: x[:, :1] * y[0],
    "gelu": lambda x, y: rg.nn.functional.gelu(x) * y.sigmoid(),
    "views": lambda x, y: x.t()[1:].reshape(-1) * y.t()[1:].contiguous().view(-1),
    "cat": lambda x, y: rg.cat([x, y], 1).exp(),
    "index": lambda x, y: x[[0, 2, 2]] * y[1],
    "reductions": lambda x, y: x.mean(0) + y.amax(0) + (x * y).cumsum(0)[1],
    "where": lambda x, y: rg.where(x > 0, x, y),
    "linear": lambda x, y: rg.nn.functional.linear(x, y).relu(),
    "conv": lambda x, y: (
        rg.nn.functional.conv1d(x[None], y[:, :5].reshape(4, 5, 1)[:, :4]) if x.shape[0] == 4 else x
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(name: str) -> None:
    check(FUNCTIONS[name], numbers((4, 6), (4, 6)), B)
    check(FUNCTIONS[name], numbers((4, 6), (4, 6)), rg.float16)


def test_in_place_and_accumulation() -> None:
    x = rg.ones(5, device="cuda", dtype=B)
    x += 1
    x[1:3] = 7.0
    x.mul_(2)
    assert x.tolist() == [4.0, 14.0, 14.0, 4.0, 4.0]
    w = rg.ones(3, device="cuda", dtype=B, requires_grad=True)
    for _ in range(3):
        (w * 2).sum().backward()
    assert w.grad.tolist() == [6.0, 6.0, 6.0]
    assert w.grad.dtype == B


@pytest.mark.parametrize("name", ["Adam", "AdamW", "SGD"])
def test_training(name: str) -> None:
    def trained(where: str) -> Any:
        rg.manual_seed(0)
        model = rg.nn.Sequential(rg.nn.Linear(6, 8), rg.nn.GELU(), rg.nn.LayerNorm(8), rg.nn.Linear(8, 3)).to(
            where, B
        )
        optimizer = getattr(rg.optim, name)(model.parameters(), 0.01)
        x = rg.tensor(numbers((16, 6))[0]).to(B).to(where)
        t = (rg.arange(16) % 3).to(where)
        for _ in range(5):
            optimizer.zero_grad()
            loss = rg.nn.functional.cross_entropy(model(x), t)
            loss.backward()
            optimizer.step()
        return float(loss.detach())

    assert trained("cuda") == pytest.approx(trained("cpu"), rel=0.05)
