"""Rows of a table, added up by index: kernels against NumPy's functions, bit by bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.backends.pack import PACK
from retrograd.nn import functional as F
from tests.native.networks import FLOATS, check, check_threads, layouts, needs_pack, normal

pytestmark = needs_pack

SIZES = [(10, 4, 3), (4096, 1000, 64), (3000, 50, 33), (5, 100000, 8), (40000, 7, 1), (0, 5, 4)]


def operands(n: int, count: int, width: int, dtype: str) -> tuple[Any, Any]:
    """Rows and their indices."""
    return normal((n, width), dtype), np.random.default_rng(1).integers(0, count, n)


def added(out: Any, indices: Any, x: Any) -> Any:
    np.add.at(out, indices, x)
    return out


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("n", "count", "width"), SIZES)
def test_rows_are_added_up(n: int, count: int, width: int, dtype: str) -> None:
    x, indices = operands(n, count, width, dtype)
    zeros = np.zeros((count, width), dtype)
    kept = indices != 2
    often = np.bincount(indices, minlength=count)[indices][:, None].astype(dtype)
    np.testing.assert_array_equal(
        PACK.sum_rows(x, indices, count, -1, False), added(zeros.copy(), indices, x)
    )
    np.testing.assert_array_equal(
        PACK.sum_rows(x, indices, count, 2, False), added(zeros.copy(), indices[kept], x[kept])
    )
    np.testing.assert_array_equal(
        PACK.sum_rows(x, indices, count, -1, True), added(zeros.copy(), indices, x / often)
    )


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("n", "count", "width"), SIZES)
def test_rows_are_added_in_place(n: int, count: int, width: int, dtype: str) -> None:
    x, indices = operands(n, count, width, dtype)
    indices[::2] -= count
    out = normal((count, width), dtype, 4)
    wanted = added(out.copy(), indices, x)
    assert PACK.add_rows(out, 0, indices, x)
    np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_slices_are_added_along_any_axis(axis: int) -> None:
    out = normal((4, 5, 6), "float32", 4)
    indices = np.array([[3, -1], [0, 3]])
    x = normal((*out.shape[:axis], 2, 2, *out.shape[axis + 1 :]), "float32")
    wanted = added(out.copy(), (slice(None),) * axis + (indices,), x)
    assert PACK.add_rows(out, axis, indices, x)
    np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("options", [{}, {"padding_idx": 3}, {"scale_grad_by_freq": True}])
def test_embeddings(options: dict[str, Any]) -> None:
    indices = np.random.default_rng(0).integers(0, 50, (20, 30))
    check(lambda i, w: F.embedding(i, w, **options), [indices, normal((50, 40), "float32")], "-g")


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags(mode: str) -> None:
    indices = np.random.default_rng(0).integers(0, 50, (20, 30))
    check(
        lambda i, w: F.embedding_bag(i, w, mode=mode, padding_idx=4),
        [indices, normal((50, 8), "float64")],
        "-g",
    )


def test_rows_by_other_functions() -> None:
    indices = np.random.default_rng(0).integers(0, 50, 70)
    table = normal((50, 40), "float32")
    check(lambda x, i: rg.index_select(x, 0, i), [table, indices], "g-")
    check(lambda x, i: x[i], [table, indices], "g-")
    check(lambda x, i, s: rg.index_add(x, 0, i, s), [table, indices, normal((70, 40), "float32")], "g-g")


def test_layouts_of_gradients() -> None:
    indices = np.random.default_rng(0).integers(0, 9, 30)
    for x in layouts(normal((30, 7), "float32")):
        wanted = added(np.zeros((9, 7), np.float32), indices, x)
        np.testing.assert_array_equal(PACK.sum_rows(x, indices, 9, -1, False), wanted)


def test_no_bit_depends_on_the_number_of_threads() -> None:
    indices = np.random.default_rng(0).integers(0, 500, (90, 40))
    check_threads(lambda i, w: F.embedding(i, w), [indices, normal((500, 64), "float32")], "-g")


def test_what_is_not_served_is_said() -> None:
    table, indices = np.ones((5, 2), np.float32), np.array([1, 4])
    assert PACK.sum_rows(table, indices, 5, -1, False) is None
    assert PACK.sum_rows(table[:2], np.array([1, 7]), 5, -1, False) is None
    assert PACK.sum_rows(table[:2], np.array([1, 7]), 5, 7, False) is not None
    table.flags.writeable = False
    assert PACK.add_rows(table, 0, indices, table[:2]) is None
