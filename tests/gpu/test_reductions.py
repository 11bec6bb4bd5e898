"""Sums, means, extrema and variances over all kinds of axes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as rg
from tests.gpu.compare import DTYPES, check, numbers

SHAPES = [((5,), None), ((3, 4), 0), ((3, 4), 1), ((70, 33), 0), ((2, 5000), 1), ((1, 100000), 1), ((100000,), 0),
          ((3000, 7), 0), ((1000, 256), 0), ((4, 5, 6), 1), ((4, 5, 6), (0, 2)), ((4, 5, 6), (1, 2)),
          ((8, 3, 9, 2), (0, 2)),          ((4, 1, 6), 1), ((2, 3), (0, 1)), ((300, 40, 50), 1)]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("shape", "dim"), SHAPES, ids=str)
@pytest.mark.parametrize("name", ["sum", "mean", "amax", "amin", "var"])
def test_reduction(name: str, shape: Any, dim: Any, dtype: Any) -> None:
    if name == "var" and shape == (4, 1, 6):
        pytest.skip("one number has no variance")
    options = {} if dim is None else {"dim": dim}
    for keepdim in (False, True) if options else (False,):
        more = {"keepdim": True} if keepdim else {}
        check(lambda x, m=more: getattr(rg, name)(x, **options, **m), numbers(shape), dtype)


def test_strides_and_nothing() -> None:
    for name in ("sum", "mean", "amax", "var"):
        check(lambda x, n=name: getattr(rg, n)(x.t(), 0), numbers((6, 9)))
        check(lambda x, n=name: getattr(rg, n)(x[::2, 1:], 1), numbers((6, 9)))
        check(lambda x, n=name: getattr(rg, n)(x.expand(3, 6, 9), 0), numbers((6, 9)))
    assert rg.zeros(0, 3, device="cuda").sum(0).tolist() == [0.0, 0.0, 0.0]
    assert rg.zeros(3, 0, device="cuda").sum(1).tolist() == [0.0, 0.0, 0.0]


def test_a_nan_wins() -> None:
    x = rg.ones(5000, device="cuda")
    x[4321] = float("nan")
    assert x.amax(0).isnan()
    assert x.amin(0).isnan()
    assert x.sum().isnan()


def test_half_precision_is_summed_in_single() -> None:
    for dtype in (rg.float16, rg.bfloat16):
        assert float(rg.ones(30000, device="cuda", dtype=dtype).sum()) == pytest.approx(30000, rel=0.01)
        assert float(rg.full((1 << 20,), 1.0, device="cuda", dtype=dtype).mean()) == 1.0


def test_sums_are_the_same_each_time() -> None:
    x = rg.randn(1 << 20, device="cuda")
    assert len({float(x.sum()) for _ in range(5)}) == 1
    assert np.isclose(float(x.sum()), float(x.double().sum()), atol=1e-1)
