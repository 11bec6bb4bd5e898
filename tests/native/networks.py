"""What the tests of the kernels of networks share: operands, the same computation without the pack, and comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.backends.native import NativeBackend
from retrograd.backends.numpy_backend import NumpyBackend
from retrograd.backends.pack import PACK

# `formula` is no kernel: classes that are used for the first time ask it once, and would be without theirs for good.
KERNELS = [
    name
    for name in vars(NativeBackend)
    if not name.startswith("_") and name != "formula" and hasattr(NumpyBackend, name)
]
FLOATS = ("float32", "float64")

needs_pack = pytest.mark.skipif(PACK is None, reason="the native pack is not built")


def normal(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def special(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Any:
    """Ordinary numbers with zeros, infinities, NaN, large and tiny ones among them."""
    rng = np.random.default_rng(seed)
    values = [0.0, -0.0, np.inf, -np.inf, np.nan, 90.0, -200.0, np.finfo(dtype).tiny, np.finfo(dtype).max]
    return np.where(
        rng.random(shape) < 0.15, rng.choice(values, shape), 3 * normal(shape, dtype, seed)
    ).astype(dtype)


def moderate(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Any:
    """Special numbers without the largest: whether sums of those overflow depends on their order."""
    x = special(shape, dtype, seed)
    return np.where(np.isfinite(x) & (np.abs(x) > 1e30), x.dtype.type(7), x)


def layouts(x: Any) -> Iterator[Any]:
    """An array of two dimensions or more and others of its shape that lie in memory in other ways."""
    yield x
    yield np.asfortranarray(x)
    yield np.ascontiguousarray(x[::-1])[::-1]
    yield np.repeat(x, 2, axis=-1)[..., ::2]
    yield np.broadcast_to(x[:1], x.shape)


@contextmanager
def without_pack() -> Iterator[None]:
    """Kernels of networks are computed by their formulas."""
    with pytest.MonkeyPatch.context() as patch:
        for name in KERNELS:
            patch.setattr(NativeBackend, name, getattr(NumpyBackend, name))
        yield


@contextmanager
def threads(count: int) -> Iterator[None]:
    before = PACK.threads()
    PACK.set_threads(count)
    try:
        yield
    finally:
        PACK.set_threads(before)


def assert_close(found: Any, wanted: Any, rtol: float | None = None) -> None:
    """Equal within rounding; NaN and infinities at the same places."""
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    sizes = np.abs(wanted[np.isfinite(wanted)])
    slack = (2e-5 if wanted.dtype == np.float32 else 1e-12) if rtol is None else rtol
    np.testing.assert_allclose(found, wanted, rtol=slack, atol=slack * float(sizes.max(initial=0)))


def results(f: Callable[..., Any], arrays: list[Any], wanted: str, seed: int = 9) -> list[Any]:
    """The result of `f` and the gradients of those operands that `wanted` marks with "g", as bare arrays."""
    operands = [None if a is None else rg.from_numpy(a) for a in arrays]
    for x, mark in zip(operands, wanted, strict=True):
        if mark == "g" and x is not None:
            x.requires_grad_()
    out = f(*operands)
    out.backward(rg.from_numpy(np.asarray(normal(tuple(out.shape), str(out.detach().numpy().dtype), seed))))
    grads = [
        x.grad.numpy() for x, mark in zip(operands, wanted, strict=True) if x is not None and mark == "g"
    ]
    return [out.detach().numpy(), *grads]


def check(f: Callable[..., Any], arrays: list[Any], wanted: str, rtol: float | None = None) -> None:
    """The same with the pack as without it."""
    found = results(f, arrays, wanted)
    with without_pack():
        plain = results(f, arrays, wanted)
    for a, b in zip(found, plain, strict=True):
        assert_close(a, b, rtol)


def check_threads(f: Callable[..., Any], arrays: list[Any], wanted: str) -> None:
    """The same bits, however many threads there are."""
    with threads(1):
        alone = results(f, arrays, wanted)
    for count in (2, 5):
        with threads(count):
            for a, b in zip(results(f, arrays, wanted), alone, strict=True):
                assert a.tobytes() == b.tobytes()
