"""Reductions against NumPy's functions of the same names: axes, dtypes, layouts, special numbers, accuracy."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from retrograd.backends.pack import PACK
from tests.native.test_elementwise import layouts, numbers

pytestmark = pytest.mark.skipif(PACK is None, reason="the native pack is not built")

FLOATS = ("float32", "float64")
SUMS = ("sum", "mean", "prod")
EXACT = ("max", "amax", "min", "amin", "any", "all")
PLACES = ("argmax", "argmin")


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def plain_numbers(shape: tuple[int, ...], dtype: str) -> Any:
    """Numbers without infinities and NaN, which would hide what a sum is."""
    x = np.random.default_rng(3).uniform(0.5, 1.5, shape)
    return (x * 6 - 5).astype(dtype) if dtype == "int64" else x.astype(dtype)


def same(got: Any, wanted: Any, tolerance: float = 0.0) -> None:
    """Equal in dtype, shape, layout and (nearly) in values; 0-dim results may be arrays where NumPy's are scalars."""
    assert got.dtype == wanted.dtype
    assert got.shape == wanted.shape
    large = [i for i, n in enumerate(wanted.shape) if n > 1]
    assert [got.strides[i] for i in large] == [wanted.strides[i] for i in large]
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=0)


def axes_of(ndim: int) -> Iterator[Any]:
    yield None
    yield from range(-ndim, ndim)
    for count in range(ndim + 1):
        yield from itertools.combinations(range(ndim), count)


SHAPES = (
    (),
    (1,),
    (5,),
    (64,),
    (100,),
    (3, 4),
    (7, 1),
    (1, 7),
    (2, 3, 4),
    (5, 1, 6),
    (2, 3, 4, 5),
    (3, 70, 2),
    (9, 200),
)


@pytest.mark.parametrize("dtype", [*FLOATS, "int64", "bool", "float16", "int32"])
@pytest.mark.parametrize("name", SUMS)
def test_sums_over_all_axes(name: str, dtype: str) -> None:
    for shape in SHAPES:
        x = np.asarray(plain_numbers(shape, dtype))
        for axis in axes_of(x.ndim):
            for keepdims in (False, True):
                wanted = getattr(np, name)(x, axis=axis, keepdims=keepdims)
                tolerance = {"float32": 1e-5, "float64": 1e-14}.get(dtype, 0.0)
                same(getattr(PACK, name)(x, axis=axis, keepdims=keepdims), wanted, tolerance)


@pytest.mark.parametrize("dtype", [*FLOATS, "int64", "bool", "float16"])
@pytest.mark.parametrize("name", EXACT)
def test_extrema_and_truths_over_all_axes(name: str, dtype: str) -> None:
    for shape in SHAPES:
        x = np.asarray(numbers(shape, dtype))
        for axis in axes_of(x.ndim):
            for keepdims in (False, True):
                wanted = getattr(np, name)(x, axis=axis, keepdims=keepdims)
                same(getattr(PACK, name)(x, axis, keepdims=keepdims), wanted)


@pytest.mark.parametrize("dtype", [*FLOATS, "int64", "bool"])
@pytest.mark.parametrize("name", PLACES)
def test_places_of_extrema(name: str, dtype: str) -> None:
    for shape in SHAPES:
        x = np.asarray(numbers(shape, dtype))
        for axis in (None, *range(-x.ndim, x.ndim)):
            for keepdims in (False, True):
                same(
                    getattr(PACK, name)(x, axis=axis, keepdims=keepdims),
                    getattr(np, name)(x, axis=axis, keepdims=keepdims),
                )


@pytest.mark.parametrize("name", ["sum", "max", "argmin", "all"])
def test_layouts(name: str) -> None:
    x = np.round(numbers((4, 6, 10), "float64"))
    x = np.where(np.isfinite(x) & (np.abs(x) < 9), x, 3.0)
    for view in layouts(x):
        for axis in (None, 0, 1, 2, (0, 1), (0, 2), (1, 2)):
            if not (isinstance(axis, tuple) and name == "argmin"):
                same(getattr(PACK, name)(view, axis=axis), getattr(np, name)(view, axis=axis))


@pytest.mark.parametrize("name", [*SUMS, *EXACT, *PLACES])
def test_empty_arrays(name: str) -> None:
    for shape, axis in (((0,), None), ((0, 3), 0), ((0, 3), 1), ((2, 0), (0, 1)), ((2, 0, 3), 1)):
        if name in PLACES and isinstance(axis, tuple):
            continue
        x = np.zeros(shape)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy's about the mean of nothing
            try:
                wanted = getattr(np, name)(x, axis=axis)
            except ValueError:
                with pytest.raises(ValueError, match="empty|zero-size"):
                    getattr(PACK, name)(x, axis=axis)
                continue
            same(getattr(PACK, name)(x, axis=axis), wanted)


def test_arguments_that_are_wrong_or_rare_go_to_numpy() -> None:
    x = np.arange(6.0).reshape(2, 3)
    for axis in (2, -3, (0, 0), (0, 5)):
        with pytest.raises(ValueError, match="axis"):
            PACK.sum(x, axis=axis)
    with pytest.raises(TypeError):
        PACK.sum(x, axis="0")
    with pytest.raises(TypeError):
        PACK.sum()
    same(PACK.sum(x, dtype="float32"), np.sum(x, dtype="float32"))
    same(PACK.sum(x, axis=0, out=np.zeros(3)), np.array([3.0, 5, 7]))
    same(PACK.max(x, axis=1, initial=4.0), np.array([4.0, 5]))
    same(PACK.sum(x, 1, where=x > 1), np.sum(x, 1, where=x > 1))
    same(PACK.sum(x, axis=np.int64(1)), np.sum(x, axis=1))
    assert PACK.sum([1, 2, 3]) == 6
    assert PACK.any([0, 1])
    assert isinstance(PACK.sum(np.ma.masked_array([1.0, 2.0], [True, False])), float)
    same(PACK.sum(np.arange(4) * 1j), np.sum(np.arange(4) * 1j))


@pytest.mark.parametrize("dtype", [*FLOATS, "int64"])
@pytest.mark.parametrize(
    "shape",
    [
        (200_001,),
        (3, 70_000),
        (70_000, 3),
        (300, 250),
        (40, 30, 100),
        (2, 40_000, 2),
        (17, 5, 1300),
        (1, 90_000),
    ],
)
def test_large_arrays(shape: tuple[int, ...], dtype: str) -> None:
    x, special = plain_numbers(shape, dtype), np.asarray(numbers(shape, dtype))
    tolerance = {"float32": 2e-4, "float64": 1e-12}.get(dtype, 0.0)  # NumPy's own error in long columns
    for axis in axes_of(x.ndim):
        same(PACK.sum(x, axis=axis), np.sum(x, axis=axis), tolerance)
        for name in ("max", "min", "any", "all"):
            same(getattr(PACK, name)(special, axis=axis), getattr(np, name)(special, axis=axis))
        if not isinstance(axis, tuple):
            same(PACK.argmax(special, axis=axis), np.argmax(special, axis=axis))
            same(PACK.argmin(x, axis=axis), np.argmin(x, axis=axis))


@pytest.mark.parametrize("name", ["max", "min"])
def test_one_nan_is_enough(name: str) -> None:
    for n in (1, 7, 64, 65, 1000, 5000, 200_000):
        for place in {0, n // 2, n - 1}:
            x = np.zeros(n, "float32")
            x[place] = np.nan
            assert np.isnan(getattr(PACK, name)(x))
            assert getattr(PACK, "arg" + name)(x) == place
            column = x.reshape(-1, 1) * np.ones((1, 3), "float32")
            assert np.isnan(getattr(PACK, name)(column, axis=0)).all()
            assert getattr(PACK, "arg" + name)(column, axis=0).tolist() == [place] * 3


def test_sums_are_accurate() -> None:
    rng = np.random.default_rng(5)
    for n in (1000, 100_000, 1_000_000):
        x = rng.random(n).astype("float32")
        true = math.fsum(x.tolist())
        assert abs(float(PACK.sum(x)) - true) <= 4e-7 * true
        x = rng.random((n, 2)).astype("float32")
        for column in (0, 1):
            true = math.fsum(x[:, column].tolist())
            assert abs(float(PACK.sum(x, axis=0)[column]) - true) <= 4e-6 * true


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    x = plain_numbers((500, 333), "float32")
    before = PACK.threads()
    results = []
    try:
        for count in (1, 2, 5):
            PACK.set_threads(count)
            results.append(
                [PACK.sum(x, axis=a).tobytes() for a in (None, 0, 1)] + [PACK.mean(x.T, axis=0).tobytes()]
            )
    finally:
        PACK.set_threads(before)
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("axis", [None, 0, (0, 2), (2,)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_sums_and_means_without_keywords(dtype: str, axis: Any, keepdims: bool) -> None:
    x = np.arange(24, dtype=dtype).reshape(2, 3, 4)
    for quick, name in ((PACK.sum_of, "sum"), (PACK.mean_of, "mean")):
        np.testing.assert_array_equal(
            quick(x, axis, keepdims), getattr(PACK, name)(x, axis=axis, keepdims=keepdims)
        )


@pytest.mark.parametrize(
    "x", [np.arange(3), np.ones(0), np.ones((4, 4))[::2], np.ones(3, "float16"), 1.0, None]
)
def test_what_has_no_quick_sum(x: Any) -> None:
    assert PACK.sum_of(x, None, False) is NotImplemented
    assert PACK.mean_of(x, None, False) is NotImplemented
