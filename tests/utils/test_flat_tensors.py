"""Tensors in one, as `torch._utils` has them."""

from __future__ import annotations

from typing import Any

import pytest

import retrograd as rg
import retrograd._utils


def some(lib: Any) -> list[Any]:
    return [lib.arange(6.0).view(2, 3).t(), lib.ones(()), lib.zeros(0, 2)]


def test_tensors_are_joined_and_parted_as_in_pytorch(torch: Any) -> None:
    flat = [lib._utils._flatten_dense_tensors(some(lib)) for lib in (torch, rg)]
    assert flat[0].tolist() == flat[1].tolist()
    parts = [
        lib._utils._unflatten_dense_tensors(f, some(lib)) for lib, f in zip((torch, rg), flat, strict=True)
    ]
    assert [p.tolist() for p in parts[0]] == [p.tolist() for p in parts[1]]
    parts[1][0].fill_(7)
    assert flat[1].tolist() == [7] * 6 + [1]


@pytest.mark.parametrize("limit", [0, 4, 16, 24, 1000])
def test_lists_have_one_dtype_and_a_limit(limit: int, torch: Any) -> None:
    def lists(lib: Any) -> list[Any]:
        tensors = [lib.ones(n) for n in (3, 5, 1, 2, 8)] + [lib.ones(2, dtype=lib.int64)]
        return [[(len(t), str(t.dtype)) for t in part] for part in lib._utils._take_tensors(tensors, limit)]

    assert lists(rg) == lists(torch)
