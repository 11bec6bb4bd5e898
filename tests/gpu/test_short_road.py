"""The short road: what the native pack computes on CuPy's arrays, beside the CPU. See Note [The short road]."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.backends.gpu.launch import ROAD, close_road, open_road

F = rg.nn.functional
DTYPES = [rg.float32, rg.float64]


@pytest.fixture(autouse=True)
def _open() -> None:
    if not ROAD.short:
        pytest.skip("there is no native pack, or more than one GPU: CuPy serves")


def numbers(seed: int, *shape: int, dtype: Any = rg.float64) -> Any:
    found = np.random.default_rng(seed).normal(size=shape)
    return rg.tensor(found, dtype=dtype)


def agree(f: Callable[..., Any], *xs: Any, tolerance: float = 0.0) -> None:
    """A function gives the same on the CPU and on the GPU, and so do its gradients."""
    tolerance = tolerance or (1e-10 if xs[0].dtype == rg.float64 else 3e-4)
    here = [x.detach().clone().requires_grad_() for x in xs]
    there = [x.detach().cuda().requires_grad_() for x in xs]
    a, b = f(*here), f(*there)
    assert b.is_cuda
    assert a.shape == b.shape
    np.testing.assert_allclose(b.detach().cpu().numpy(), a.detach().numpy(), rtol=tolerance, atol=tolerance)
    g = numbers(99, *a.shape, dtype=a.dtype)
    a.backward(g)
    b.backward(g.cuda())
    for x, y in zip(here, there, strict=True):
        assert y.grad.is_cuda
        np.testing.assert_allclose(y.grad.cpu().numpy(), x.grad.numpy(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "shapes",
    [((8,), (8,)), ((3, 5), (5,)), ((4, 1, 3), (2, 1)), ((2, 3), ()), ((1,), (7, 3)), ((0, 3), (3,))],
)
def test_shapes(dtype: Any, shapes: Any) -> None:
    x, y = (numbers(i, *shape, dtype=dtype) for i, shape in enumerate(shapes))
    agree(lambda x, y: x * y + x.tanh() - 2.0 * y, x, y)


@pytest.mark.parametrize("dtype", DTYPES)
def test_strides(dtype: Any) -> None:
    x, y = numbers(0, 6, 8, dtype=dtype), numbers(1, 8, 6, dtype=dtype)
    agree(lambda x, y: x * y.t(), x, y)
    agree(lambda x, y: (x.t() * y.t().t()).exp(), x, y)
    agree(lambda x, y: x[::2, 1:] * y.t()[::2, 1:], x, y)
    agree(lambda x, y: x.sum(1, keepdim=True).expand(6, 8) * y.t(), x, y)
    agree(lambda x, y: x.flip(0) * y[:, :1].t(), x, y)


def test_columns_stay_columns() -> None:
    x = rg.randn(4, 5, device="cuda").t()
    assert (x * x).stride() == x.stride()
    assert (x * rg.randn(5, 4, device="cuda")).stride() == (4, 1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("m", "k", "n"), [(3, 4, 5), (64, 256, 256), (1, 7, 1), (33, 1, 9), (5, 8, 1)])
def test_products(dtype: Any, m: int, k: int, n: int) -> None:
    x, y, b = numbers(0, m, k, dtype=dtype), numbers(1, k, n, dtype=dtype), numbers(2, n, dtype=dtype)
    agree(lambda x, y: x @ y, x, y)
    agree(lambda x, y: (y.t() @ x.t()).t(), x, y)
    agree(lambda x, y, b: rg.addmm(b, x, y), x, y, b)
    agree(lambda x, y, b: F.linear(x, y, b), x, numbers(3, n, k, dtype=dtype), b)
    agree(lambda x, y: x[:, 1:] @ y[1:], numbers(4, m, k + 1, dtype=dtype), numbers(5, k + 1, n, dtype=dtype))
    agree(lambda x, y: x @ y, numbers(6, 3, m, k, dtype=dtype), numbers(7, 3, k, n, dtype=dtype))
    agree(lambda x, y: x @ y.mT, numbers(8, 2, 3, m, k, dtype=dtype), numbers(9, 2, 3, n, k, dtype=dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_sums(dtype: Any) -> None:
    x = numbers(0, 5, 70, 33, dtype=dtype)
    for axis in (None, 0, 1, 2, (0, 1), (1, 2), (0, 2), (-1,)):
        agree(lambda x, axis=axis: x.sum() if axis is None else x.sum(axis), x)
        agree(lambda x, axis=axis: x.mean() if axis is None else x.mean(axis, keepdim=True), x)
    agree(lambda x: x.sum(), numbers(1, 100_000, dtype=dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_losses(dtype: Any, reduction: str) -> None:
    for n in (10, 200_000):
        x, y = numbers(0, n, dtype=dtype), numbers(1, n, dtype=dtype)
        agree(lambda x, y: F.mse_loss(x, y, reduction=reduction), x, y)
        agree(lambda x, y: F.smooth_l1_loss(x, y, reduction=reduction, beta=0.7), x, y)
        agree(lambda x, y: F.huber_loss(x, y, reduction=reduction, delta=0.7), x, y)
        t = rg.rand(n, dtype=dtype)
        agree(lambda x, t: F.binary_cross_entropy_with_logits(x, t, reduction=reduction), x, t)


OPTIMIZERS = {
    "SGD": lambda ps: rg.optim.SGD(ps, 0.1),
    "momentum": lambda ps: rg.optim.SGD(ps, 0.1, momentum=0.9, dampening=0.1, weight_decay=0.01),
    "nesterov": lambda ps: rg.optim.SGD(ps, 0.1, momentum=0.9, nesterov=True, maximize=True),
    "Adam": lambda ps: rg.optim.Adam(ps, 0.1),
    "amsgrad": lambda ps: rg.optim.Adam(ps, 0.1, amsgrad=True, weight_decay=0.1, maximize=True),
    "AdamW": lambda ps: rg.optim.AdamW(ps, 0.1, weight_decay=0.1),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps(name: str) -> None:
    shapes = [(3,), (100, 7), (20_001,), ()] * 20
    here = [numbers(i, *s, dtype=DTYPES[i % 2]).requires_grad_() for i, s in enumerate(shapes)]
    there = [x.detach().cuda().requires_grad_() for x in here]
    both = [OPTIMIZERS[name](here), OPTIMIZERS[name](there)]
    for step in range(3):
        for i, (x, y) in enumerate(zip(here, there, strict=True)):
            x.grad = numbers(100 * step + i, *x.shape, dtype=x.dtype)
            y.grad = x.grad.cuda()
        for optimizer in both:
            optimizer.step()
    for x, y in zip(here, there, strict=True):
        rtol = 1e-9 if x.dtype == rg.float64 else 1e-4
        np.testing.assert_allclose(y.detach().cpu().numpy(), x.detach().numpy(), rtol=rtol, atol=rtol)


def test_memory_is_used_again_and_only_when_it_is_free(cupy: Any) -> None:
    x = rg.ones(8, device="cuda")
    y = x + 1
    view, pointer = y.array[2:], y.array.data
    del y
    others = [x * i for i in range(50)]
    assert float(view.sum()) == 12
    assert all(o.array.data.ptr != pointer.ptr for o in others)
    assert [float(o[0]) for o in others] == list(range(50))
    before = rg.cuda.memory_allocated()
    del others
    assert rg.cuda.memory_allocated() < before


def test_arrays_are_cupys_own(cupy: Any) -> None:
    x = (rg.ones(3, 4, device="cuda") * 2).array
    assert type(x) is cupy.ndarray
    assert x.flags.owndata
    assert cupy.array_equal(x.T.copy(), cupy.full((4, 3), 2, "f4"))
    x.shape = (4, 3)
    assert rg.as_tensor(x).mul(2).shape == (4, 3)


def test_threads() -> None:
    """Each thread has gradients of its own; one that has not used the GPU before is no exception."""
    found: list[Any] = []

    def run(k: int) -> None:
        x = rg.full((50,), float(k), device="cuda", requires_grad=True)
        for _ in range(20):
            x.grad = None
            (x * x * x).sum().backward()
        found.append((k, x.grad.cpu().numpy()))

    threads = [threading.Thread(target=run, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(found) == 8
    for k, grad in found:
        np.testing.assert_allclose(grad, 3.0 * k * k)


def test_a_backward_follows_the_streams_of_its_forward() -> None:
    n = 1 << 22
    x = rg.ones(n, device="cuda", requires_grad=True)
    streams = [rg.cuda.Stream() for _ in range(3)]
    for _ in range(5):
        x.grad = None
        parts = []
        for k, stream in enumerate(streams):
            stream.wait_stream(rg.cuda.current_stream())
            with rg.cuda.stream(stream):
                y = x
                for _ in range(10):
                    y = y * 1.0 + 0.1
                parts.append((y * (k + 1)).sum())
                assert parts[-1].grad_fn._stream == stream.cuda_stream
        for stream in streams:
            rg.cuda.current_stream().wait_stream(stream)
        sum(parts).backward()
        assert rg.cuda.current_stream() == rg.cuda.default_stream()
        assert float((x.grad - 6).abs().max()) == 0


def test_a_closed_road_gives_the_same(cupy: Any) -> None:
    x = rg.randn(5, 6, device="cuda")
    ours = (x.tanh() * x + 1).sum(0)
    close_road(cupy)
    try:
        theirs = (x.tanh() * x + 1).sum(0)
    finally:
        open_road(cupy)
    assert rg.allclose(ours, theirs)
