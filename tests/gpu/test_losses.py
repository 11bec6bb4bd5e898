"""Losses of classes, and targets that are no class, of which one hears later."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as rg
from tests.gpu.compare import DTYPES, check, numbers

F = rg.nn.functional


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("shape", [(7, 5), (300, 1000), (4, 3, 6), (2, 5, 3, 4), (9,)], ids=str)
def test_cross_entropy(shape: Any, reduction: str, dtype: Any) -> None:
    classes = shape[0] if len(shape) == 1 else shape[1]
    target = np.random.default_rng(1).integers(0, classes, shape[:1] + shape[2:] if len(shape) > 1 else ())
    target.reshape(-1)[:1] = 0
    weight = abs(numbers(classes, seed=2)[0])

    def loss(x: Any, weighted: bool, ignored: int) -> Any:
        w = rg.tensor(weight).to(x.dtype).to(x.device) if weighted else None
        t = rg.tensor(target).to(x.device)
        return F.cross_entropy(x, t, w, ignore_index=ignored, reduction=reduction)

    for weighted, ignored in ((False, -100), (True, -100), (False, classes - 1), (True, classes - 1)):
        check(lambda x, w=weighted, i=ignored: loss(x, w, i), numbers(shape), dtype)


def test_nll_twice_and_of_narrow_targets() -> None:
    t = rg.tensor([1, 0, 2])
    check(lambda x: F.cross_entropy(x, t.to(x.device)), numbers((3, 4)), order=2)
    check(lambda x: F.nll_loss(x.log_softmax(1), t.to(x.device)), numbers((3, 4)), order=2)


def test_all_ignored() -> None:
    x = rg.randn(3, 4, device="cuda", requires_grad=True)
    loss = F.cross_entropy(x, rg.full((3,), -100, device="cuda"))
    loss.backward()
    assert loss.isnan()
    assert rg.equal(x.grad.cpu(), rg.zeros(3, 4))


def test_a_wrong_target_is_told_of_later() -> None:
    x = rg.randn(3, 4, device="cuda", requires_grad=True)
    loss = F.cross_entropy(x, rg.tensor([0, 4, 1], device="cuda"))
    with pytest.raises(IndexError, match="Target 4 is out of bounds"):
        loss.cpu()
    assert F.cross_entropy(x, rg.tensor([0, 3, 1], device="cuda")).cpu().isfinite()


def test_a_wrong_index_is_told_of_later() -> None:
    table = rg.randn(5, 3, device="cuda")
    F.embedding(rg.tensor([1, 9], device="cuda"), table)
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        rg.cuda.synchronize()
    rg.cuda.synchronize()
