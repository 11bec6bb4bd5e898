"""Softmax and normalisation of rows: short and long ones, odd sizes, all dtypes, second derivatives."""

from __future__ import annotations

from typing import Any

import pytest

import retrograd as rg
from tests.gpu.compare import DTYPES, check, numbers

F = rg.nn.functional
SIZES = [(3, 1), (5, 7), (33, 64), (9, 768), (4, 1000), (3, 4096), (2, 4097), (2, 20000)]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SIZES, ids=str)
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp"])
def test_softmax(name: str, shape: Any, dtype: Any) -> None:
    check(lambda x: getattr(rg, name)(x, 1), numbers(shape), dtype)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_twice_and_along_another_axis(name: str) -> None:
    check(lambda x: getattr(rg, name)(x, 1), numbers((5, 64)), order=2)
    check(lambda x: getattr(rg, name)(x, 0), numbers((5, 64)), order=2)
    check(lambda x: getattr(rg, name)(x, 0), numbers((5, 64)), rg.bfloat16)
    check(lambda x: getattr(rg, name)(x.t(), 1), numbers((64, 5)))


def test_softmax_of_infinities() -> None:
    x = rg.tensor([[0.0, float("-inf")], [float("-inf")] * 2], device="cuda")
    assert rg.equal(x.softmax(1)[0].cpu(), rg.tensor([1.0, 0.0]))
    assert x.softmax(1)[1].isnan().all()
    assert float(x.logsumexp(1)[1]) == float("-inf")


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SIZES[1:], ids=str)
def test_layer_norm(shape: Any, dtype: Any) -> None:
    n = shape[1]
    check(lambda x: F.layer_norm(x, (n,)), numbers(shape), dtype)
    check(lambda x, w, b: F.layer_norm(x, (n,), w, b), numbers(shape, n, n), dtype)


def test_layer_norm_twice_and_of_parts() -> None:
    arrays = numbers((4, 3, 10), (3, 10), (3, 10))
    check(lambda x, w, b: F.layer_norm(x, (3, 10), w, b), arrays, order=2)
    check(lambda x, w: F.layer_norm(x, (3, 10), w), arrays[:2])
    many = numbers((5000, 48), 48, 48)
    check(lambda x, w, b: F.layer_norm(x, (48,), w, b), many)
    x, w, b = (rg.tensor(a).float().cuda().requires_grad_() for a in many)
    grads = rg.autograd.grad(F.layer_norm(x, (48,), w, b).sum(), [w, b])
    assert grads[1].unique().tolist() == [5000.0]


def test_layer_norm_of_half_with_single_weights() -> None:
    x, w, b = (rg.tensor(a).float().cuda() for a in numbers((6, 64), 64, 64))
    for dtype in (rg.float16, rg.bfloat16):
        ours = F.layer_norm(x.to(dtype).requires_grad_(), (64,), w.requires_grad_(), b.requires_grad_())
        assert ours.dtype == dtype
        ours.float().sum().backward()
        assert w.grad.dtype == rg.float32
        wanted = F.layer_norm(x.to(dtype).float(), (64,), w, b)
        assert (ours.float() - wanted).abs().max() < 0.05


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SIZES[1:], ids=str)
def test_rms_norm(shape: Any, dtype: Any) -> None:
    n = shape[1]
    check(lambda x, w: F.rms_norm(x, (n,), w, 1e-5), numbers(shape, n), dtype)


def test_rms_norm_twice() -> None:
    check(lambda x, w: F.rms_norm(x, (10,), w, 1e-5), numbers((4, 10), 10), order=2)
    check(lambda x: F.rms_norm(x, (10,), None, 1e-5), numbers((4, 10)), order=2)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(2, 4, 5), (3, 6, 8, 8), (2, 8, 3, 7, 5), (4, 6)], ids=str)
def test_group_norm(shape: Any, dtype: Any) -> None:
    c = shape[1]
    check(lambda x, w, b: F.group_norm(x, 2, w, b), numbers(shape, c, c), dtype)
    check(lambda x: F.group_norm(x, c), numbers(shape), dtype) if len(shape) > 2 else None


def test_group_norm_twice() -> None:
    check(lambda x, w, b: F.group_norm(x, 2, w, b), numbers((2, 4, 5), 4, 4), order=2)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(4, 3), (5, 3, 7), (8, 4, 16, 16), (2, 70, 3, 5)], ids=str)
def test_batch_norm(shape: Any, dtype: Any) -> None:
    c = shape[1]
    check(lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), numbers(shape, c, c), dtype)
    mean, var = (abs(a) for a in numbers(c, c, seed=3))

    def evaluated(x: Any, w: Any, b: Any) -> Any:
        given = [rg.tensor(v).to(x.dtype).to(x.device) for v in (mean, var)]
        return F.batch_norm(x, *given, w, b, training=False)

    check(evaluated, numbers(shape, c, c), dtype)


def test_batch_norm_twice_and_its_running_statistics() -> None:
    check(lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), numbers((4, 3, 5), 3, 3), order=2)
    x = rg.tensor(numbers((16, 5, 9))[0] * 3 + 7).float()
    ours, theirs = rg.nn.BatchNorm1d(5).cuda(), rg.nn.BatchNorm1d(5)
    for _ in range(3):
        ours(x.cuda())
        theirs(x)
    assert rg.allclose(ours.running_mean.cpu(), theirs.running_mean, rtol=1e-4)
    assert rg.allclose(ours.running_var.cpu(), theirs.running_var, rtol=1e-4)
    ours.eval(), theirs.eval()
    assert rg.allclose(ours(x.cuda()).cpu(), theirs(x), atol=1e-4)
