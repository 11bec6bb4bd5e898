"""Attention in one kernel, and by chunks of heads and queries: masks, shared heads, layouts, long sequences, dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.backends.gpu import attention
from tests.gpu.compare import DTYPES, check, numbers

attend = rg.nn.functional.scaled_dot_product_attention


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    "sizes",
    [
        (2, 3, 5, 7, 4), (1, 2, 33, 33, 16), (2, 2, 64, 128, 64), (1, 1, 1, 9, 8), (1, 2, 130, 70, 96),
        (1, 2, 200, 200, 128), (1, 3, 257, 257, 40), (1, 1, 70, 70, 136),
    ],
    ids=str,
)  # fmt: skip
def test_attention(sizes: Any, dtype: Any) -> None:
    n, h, rows, keys, width = sizes
    arrays = numbers((n, h, rows, width), (n, h, keys, width), (n, h, keys, width))
    t = None if dtype.itemsize > 2 else 4e-2
    check(attend, arrays, dtype, tolerance=t)
    check(lambda q, k, v: attend(q, k, v, is_causal=True), arrays, dtype, tolerance=t)
    check(lambda q, k, v: attend(q, k, v, scale=0.3), arrays, dtype, tolerance=t)
    for shape in ((rows, keys), (n, h, rows, keys), (n, 1, 1, keys), (1, h, rows, 1)):
        mask = numbers(shape, seed=5)[0]
        check(
            lambda q, k, v, m=mask: attend(q, k, v, rg.tensor(m).to(q.dtype).to(q.device)),
            arrays,
            dtype,
            tolerance=t,
        )
    seen = np.random.default_rng(1).random((rows, keys)) > 0.5
    seen[0] = False  # a query that sees nothing
    check(lambda q, k, v: attend(q, k, v, rg.tensor(seen).to(q.device)), arrays, dtype, tolerance=t)


def test_heads_beside_each_other() -> None:
    arrays = numbers((2, 9, 4, 8), (2, 9, 4, 8), (2, 9, 4, 8))
    check(lambda q, k, v: attend(*(x.transpose(1, 2) for x in (q, k, v)), is_causal=True), arrays)
    q = rg.randn(2, 9, 4, 8, device="cuda").transpose(1, 2)
    assert attend(q, q, q).transpose(1, 2).is_contiguous()


@pytest.mark.parametrize("dtype", [rg.float32, rg.bfloat16, rg.float64], ids=str)
def test_shared_heads(dtype: Any) -> None:
    arrays = numbers((2, 6, 70, 8), (2, 2, 90, 8), (2, 2, 90, 8))
    t = 4e-2 if dtype == rg.bfloat16 else None
    check(lambda q, k, v: attend(q, k, v, enable_gqa=True), arrays, dtype, tolerance=t)


def test_one_number_as_gradient() -> None:
    check(lambda q, k, v: attend(q, k, v).sum(), numbers((1, 2, 9, 8), (1, 2, 9, 8), (1, 2, 9, 8)))


@pytest.mark.parametrize("dtype", [rg.float32, rg.bfloat16], ids=str)
def test_same_bits(dtype: Any) -> None:
    def run() -> list[Any]:
        q, k, v = (rg.tensor(a).to(dtype).cuda().requires_grad_() for a in arrays)
        out = attend(q, k, v, is_causal=True)
        out.float().square().sum().backward()
        return [out.detach(), q.grad, k.grad, v.grad]

    arrays = numbers(*3 * [(2, 4, 300, 64)])
    assert all(rg.equal(a, b) for a, b in zip(run(), run(), strict=True))


def test_twice() -> None:
    check(attend, numbers((1, 2, 4, 4), (1, 2, 4, 4), (1, 2, 4, 4)), order=2)


def test_small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention, "CHUNK", 4 * 17 * 3)
    arrays = numbers((2, 3, 40, 8), (2, 3, 17, 8), (2, 3, 17, 8))
    check(lambda q, k, v: attend(q, k, v, is_causal=True), arrays, rg.float64)
    mask = numbers((2, 3, 40, 17), seed=4)[0]
    check(lambda q, k, v: attend(q, k, v, rg.tensor(mask).to(q.dtype).to(q.device)), arrays, rg.float64)


def test_memory_of_a_long_sequence() -> None:
    q = rg.randn(1, 1, 16384, 64, device="cuda", dtype=rg.bfloat16, requires_grad=True)
    rg.cuda.reset_peak_memory_stats()
    before = rg.cuda.memory_allocated()
    attend(q, q, q).float().sum().backward()
    assert rg.cuda.max_memory_allocated() - before < 16384 * 16384 * 2  # what all weights would take
