"""Mixed precision on a GPU: autocast and GradScaler."""

from __future__ import annotations

from typing import Any

import pytest

import retrograd as rg

F = rg.nn.functional


@pytest.mark.parametrize("dtype", [None, rg.float16, rg.bfloat16], ids=str)
def test_lists(dtype: Any) -> None:
    lower = dtype or rg.float16
    x = rg.randn(4, 4, device="cuda")
    with rg.autocast("cuda", dtype):
        y = x @ x
        assert y.dtype == lower
        assert F.linear(x, x).dtype == lower
        assert F.conv1d(x[None], x[:, :, None]).dtype == lower
        assert (y + y).dtype == lower
        assert y.softmax(1).dtype == F.layer_norm(y, (4,)).dtype == F.group_norm(y, 2).dtype == rg.float32
        assert F.mse_loss(y, y).dtype == F.cross_entropy(y, rg.arange(4, device="cuda")).dtype == rg.float32
        assert (x.double() @ x.double()).dtype == rg.float64
        assert (x.cpu() @ x.cpu()).dtype == rg.float32
    assert (x @ x).dtype == rg.float32
    with rg.autocast("cpu"):
        assert (x @ x).dtype == rg.float32


@pytest.mark.parametrize("dtype", [rg.float16, rg.bfloat16], ids=str)
def test_training_with_a_scaler(dtype: Any) -> None:
    rg.manual_seed(0)
    model = rg.nn.Sequential(
        rg.nn.Linear(8, 32), rg.nn.GELU(), rg.nn.LayerNorm(32), rg.nn.Linear(32, 1)
    ).cuda()
    optimizer = rg.optim.Adam(model.parameters(), 1e-2)
    scaler = rg.amp.GradScaler("cuda", enabled=dtype == rg.float16)
    x = rg.randn(64, 8, device="cuda")
    t = x.sum(1, keepdim=True)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        with rg.autocast("cuda", dtype):
            loss = F.mse_loss(model(x), t)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.3 * losses[0]
    assert all(p.grad.dtype == rg.float32 for p in model.parameters())
