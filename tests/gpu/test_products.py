"""Products of matrices by cuBLAS: layouts, sizes, dtypes."""

from __future__ import annotations

from typing import Any

import pytest

import retrograd as rg
from tests.gpu.compare import DTYPES, check, numbers

SIZES = [(3, 4, 5), (1, 7, 1), (64, 1, 33), (17, 128, 64), (128, 256, 96)]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_matrices(sizes: Any, dtype: Any) -> None:
    m, k, n = sizes
    t = None if dtype.itemsize > 2 else 2e-2
    check(lambda x, y: x @ y, numbers((m, k), (k, n)), dtype, tolerance=t)
    check(lambda x, y: x.t() @ y, numbers((k, m), (k, n)), dtype, tolerance=t)
    check(lambda x, y: x @ y.t(), numbers((m, k), (n, k)), dtype, tolerance=t)
    check(lambda x, y: x[::2] @ y[:, ::2], numbers((m, k), (k, n)), dtype, tolerance=t)
    check(lambda x, y: x @ y, numbers((3, m, k), (3, k, n)), dtype, tolerance=t)
    check(lambda x, y: x.transpose(1, 2) @ y, numbers((3, k, m), (3, k, n)), dtype, tolerance=t)
    check(lambda x, y: x @ y, numbers((2, 3, m, k), (k, n)), dtype, tolerance=t)
    check(lambda x, w, b: rg.nn.functional.linear(x, w, b), numbers((m, k), (n, k), n), dtype, tolerance=t)
    check(
        lambda b, x, y: rg.addmm(b, x, y, alpha=2.0, beta=0.5),
        numbers((m, n), (m, k), (k, n)),
        dtype,
        tolerance=t,
    )


def test_products_twice_and_of_nothing() -> None:
    check(lambda x, y: (x @ y).tanh(), numbers((3, 4), (4, 5)), order=2)
    assert (rg.zeros(0, 3, device="cuda") @ rg.zeros(3, 2, device="cuda")).shape == (0, 2)
    assert (rg.ones(2, 0, device="cuda") @ rg.ones(0, 2, device="cuda")).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_full_precision_unless_tf32_is_allowed() -> None:
    x, y = (rg.tensor(a).cuda() for a in numbers((1024, 1024), (1024, 1024)))
    exact = x @ y
    error = (x.float() @ y.float() - exact).abs().max()
    assert error < 4e-4
    rg.backends.cuda.matmul.allow_tf32 = True
    try:
        assert 4e-4 < (x.float() @ y.float() - exact).abs().max() < 0.5
    finally:
        rg.backends.cuda.matmul.allow_tf32 = False


def test_many_streams() -> None:
    x = rg.randn(300, 300, device="cuda")
    wanted = x @ x
    rg.cuda.synchronize()
    streams = [rg.cuda.Stream() for _ in range(4)]
    found = []
    for s in streams:
        with rg.cuda.stream(s):
            found.append(x @ x)
    rg.cuda.synchronize()
    assert all(rg.allclose(f, wanted) for f in found)
