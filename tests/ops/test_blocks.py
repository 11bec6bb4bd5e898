"""Variances and norms of large arrays: computed block by block, in little memory, to the same numbers."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.backends.kernels import blocks

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "var": lambda x: x.var(),
    "std along rows": lambda x: x.std(0),
    "var_mean along columns": lambda x: rg.var_mean(x, -1)[0],
    "norm": lambda x: x.norm(),
    "norm along rows": lambda x: x.norm(dim=0),
    "1-norm": lambda x: x.norm(p=1),
    "3-norm": lambda x: x.norm(p=3),
    "largest": lambda x: x.norm(p=float("inf")),
    "smallest": lambda x: x.norm(p=-float("inf")),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_little_memory_is_taken(name: str, dtype: str) -> None:
    x = rg.Tensor(np.ones((1500, 1000), dtype), share=True)
    FUNCTIONS[name](x)
    tracemalloc.start()
    try:
        FUNCTIONS[name](x)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < x.array.nbytes


@pytest.mark.parametrize("shape", [(7, 1), (1, 9), (4, 5), (3, 4, 5), (2, 1, 3, 4), (60,)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "float16"])
def test_blocks_give_what_the_whole_gives(monkeypatch: Any, shape: tuple[int, ...], dtype: str) -> None:
    monkeypatch.setattr(blocks, "LIMIT", 5)
    rng = np.random.default_rng(3)
    parts = rng.standard_normal((2, *shape))
    whole = (parts[0] + 1j * parts[1] if dtype.startswith("c") else parts[0]).astype(dtype)
    for array in (whole, whole.T, whole[..., ::-1], np.broadcast_to(whole, (2, *shape))):
        for axis in (None, 0, array.ndim - 1, tuple(range(array.ndim))):
            for how, reduce in (("add", np.sum), ("maximum", np.max), ("minimum", np.min)):
                for keepdims in (False, True):
                    found = blocks.reduced(how, abs, array, axis, keepdims, ())
                    wanted = reduce(abs(array), axis=axis, keepdims=keepdims)
                    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
                    np.testing.assert_allclose(found, wanted, rtol=1e-2 if dtype == "float16" else 1e-5)


def test_every_element_is_in_one_block() -> None:
    for shape in ((3, 4, 5), (400, 700), (2, 3 * blocks.LIMIT), (3 * blocks.LIMIT, 2)):
        for array in (np.zeros(shape, np.int8), np.zeros(shape, np.int8).T):
            cuts = blocks.places(array.shape, array.strides)
            for at in cuts:
                array[at] += 1
                assert array[at].size <= blocks.LIMIT
            assert array.min() == array.max() == 1


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_what_is_not_finite_is_not_lost(number: float) -> None:
    x = np.ones((600, 400), np.float32)
    x[599, 1] = number
    for p in (1, 2, 3, float("inf")):
        found = rg.Tensor(x, share=True).norm(p=p).item()
        assert found == number or (np.isnan(number) and np.isnan(found))
    assert np.isnan(rg.Tensor(x, share=True).var().item())
