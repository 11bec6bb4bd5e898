"""Running sums, triangles, variances and lists of numbers: kernels against NumPy's functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.backends.pack import PACK
from tests.native.networks import (
    FLOATS,
    assert_close,
    check,
    check_threads,
    layouts,
    needs_pack,
    normal,
    special,
)

pytestmark = needs_pack

SHAPES = [(1,), (9,), (4, 6), (3, 1, 5), (2, 3, 4, 5), (40, 50, 30)]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", SHAPES)
def test_running_sums_and_products(shape: tuple[int, ...], dtype: str) -> None:
    x = special(shape, dtype)
    with np.errstate(all="ignore"):
        for axis in range(len(shape)):
            for product, scan in ((False, np.cumsum), (True, np.cumprod)):
                np.testing.assert_array_equal(PACK.scan(x, axis, False, product), scan(x, axis=axis))
                back = np.flip(scan(np.flip(x, axis), axis=axis), axis)
                np.testing.assert_array_equal(PACK.scan(x, axis, True, product), back)


def test_scans_that_numpy_makes() -> None:
    x = normal((4, 6), "float32")
    assert PACK.scan(x.T, 0, False, False) is None
    assert PACK.scan(x.astype(np.int64), 0, False, False) is None
    assert PACK.scan(x[:0], 0, False, False) is None
    assert PACK.scan(x, 2, False, False) is None
    for layout in layouts(x):
        check(lambda x: rg.cumsum(x, 1), [layout], "g")
        check(lambda x: rg.cumprod(x, 0), [layout], "g")
    check_threads(lambda x: rg.cumsum(x, 1), [normal((300, 400), "float32")], "g")


@pytest.mark.parametrize("dtype", ["bool", "int64", "float16", "float32", "complex64"])
@pytest.mark.parametrize("shape", [(3, 3), (2, 5), (5, 2), (2, 3, 4), (0, 3), (3, 0), (200, 300)])
def test_triangles(shape: tuple[int, ...], dtype: str) -> None:
    x = normal(shape, "float64").astype(dtype)
    for k in (-400, -2, -1, 0, 1, 2, 400):
        np.testing.assert_array_equal(PACK.tril(x, k), np.tril(x, k))
        np.testing.assert_array_equal(PACK.triu(x, k), np.triu(x, k))
    np.testing.assert_array_equal(PACK.tril(x), np.tril(x))
    np.testing.assert_array_equal(PACK.triu(x.swapaxes(-1, -2), k=1), np.triu(x.swapaxes(-1, -2), 1))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("axis", "correction"), [(None, 1), (0, 0), (1, 1), ((1, 2), 0.5), (2, 4), (2, 7)])
def test_variances(axis: Any, correction: float, dtype: str) -> None:
    x = normal((3, 5, 4), dtype) + 100
    count = x.size if axis is None else np.prod([x.shape[a] for a in np.atleast_1d(axis)])
    wide = x.astype(np.float64)
    squares = ((wide - wide.mean(axis=axis, keepdims=True)) ** 2).sum(axis=axis, keepdims=True)
    with np.errstate(all="ignore"):
        wanted = np.asarray(squares / max(count - correction, 0))
    assert_close(PACK.variance(x, axis, correction, True, False), wanted.astype(dtype), 1e-6)
    assert_close(PACK.variance(x, axis, correction, True, True), np.sqrt(wanted).astype(dtype), 1e-6)
    flat = PACK.variance(x, axis, correction, False, False)
    assert flat.shape == x.var(axis=axis).shape


@pytest.mark.parametrize("dim", [None, 0, 1, (0, 1), (0, 2)])
def test_gradients_of_variances(dim: Any) -> None:
    x = normal((3, 5, 4), "float64")
    for keepdim in (False, True):
        check(lambda x, k=keepdim: rg.var(x, dim, keepdim=k), [x], "g")
        check(lambda x, k=keepdim: rg.std(x, dim, keepdim=k), [x], "g")


def test_variances_that_numpy_makes() -> None:
    x = normal((4, 6, 5), "float32")
    assert PACK.variance(x, (0, 2), 1, False, False) is None
    assert PACK.variance(x.T, 0, 1, False, False) is None
    assert PACK.variance(x.astype(np.float16), 0, 1, False, False) is None
    assert PACK.variance(normal((400, 100), "float32"), 0, 1, False, False) is None


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        (True, "bool"), (3, "int64"), (-2.5, "float32"), ([], "float32"), ([[], []], "float32"),
        ([1, 2], "int64"), ([True, 2], "int64"), ((1, 2.5), "float32"), ([[True], (False,)], "bool"),
        ([[1, 2], [3, 4.5]], "float32"), ([[[1]], [[2]]], "int64"), ([float("inf"), float("nan")], "float32"),
        ([1e40], "float32"), ([2**63 - 1, -(2**63)], "int64"),
    ],
)  # fmt: skip
def test_lists_of_numbers(data: Any, dtype: str) -> None:
    found = PACK.numbers(data, None, np.dtype("float32"))
    with np.errstate(over="ignore"):
        wanted = np.array(data, dtype)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


def test_lists_of_numbers_in_another_dtype() -> None:
    f4, f8, i8 = np.dtype("float32"), np.dtype("float64"), np.dtype("int64")
    np.testing.assert_array_equal(PACK.numbers([1, True], f8, f4), np.array([1.0, 1.0]))
    assert PACK.numbers([1.5], f8, f4).dtype == f8
    assert PACK.numbers([1.5], i8, f4) is None
    assert PACK.numbers([1], np.dtype("int32"), f4) is None
    assert PACK.numbers([1.5], None, np.dtype("float16")) is None


@pytest.mark.parametrize(
    "data",
    [[1, [2]], [[1], 2], [[1, 2], [3]], [1j], ["a"], [None], [np.float32(1)], [2**63], [[], [1]], "ab", {}],
)
def test_lists_that_are_left_to_numpy(data: Any) -> None:
    assert PACK.numbers(data, None, np.dtype("float32")) is None
