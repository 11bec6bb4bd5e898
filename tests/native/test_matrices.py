"""Small matrices and searches: LU, triangular systems, resampling, sorted values, against the plain array code."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg
from retrograd.backends.numpy_backend import NUMPY
from retrograd.backends.pack import PACK
from retrograd.ops.linalg import lapack
from retrograd.ops.nn.resample import average_taps, cubic_taps, linear_taps, nearest_taps
from retrograd.ops.reduce.unique import Searchsorted
from tests.native.networks import FLOATS, assert_close, check, check_threads, needs_pack, normal, special

pytestmark = needs_pack

MATRICES = [(1, 1), (3, 3), (2, 5), (5, 2), (48, 48), (2, 3, 4, 4), (3, 1, 2)]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", MATRICES)
def test_lu(shape: tuple[int, ...], dtype: str) -> None:
    a = normal(shape, dtype)
    for x in (a, np.round(a), np.zeros_like(a), a.swapaxes(-1, -2)):
        for found, wanted in zip(PACK.lu(x), lapack.lu_factor(NUMPY, x), strict=True):
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found, wanted)
    spoilt = a.copy()
    spoilt[..., -1, 0] = np.nan
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(PACK.lu(spoilt)[1], lapack.lu_factor(NUMPY, spoilt)[1])


def test_what_lu_leaves_to_numpy() -> None:
    assert PACK.lu(np.ones((49, 2))) is None
    assert PACK.lu(np.ones((0, 2))) is None
    assert PACK.lu(np.ones(3)) is None
    assert PACK.lu(np.ones((3, 3), "complex64")) is None


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(1,), (4,), (2, 3), (2, 1, 5)])
def test_permutations(shape: tuple[int, ...], dtype: str) -> None:
    pivots = np.random.default_rng(0).integers(1, 6, shape).astype("int32")
    for rows in (5, 7):
        wanted = lapack.permutation(NUMPY, pivots, rows, np.dtype(dtype))
        np.testing.assert_array_equal(PACK.permutation(pivots, rows, np.dtype(dtype)), wanted)
    assert PACK.permutation(pivots, 3, np.dtype(dtype)) is None or pivots.max() <= 3
    assert PACK.permutation(pivots - 1, 1, np.dtype(dtype)) is None
    assert PACK.permutation(pivots, 5, np.dtype("int64")) is None


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (48, 48), (2, 3, 4, 4)])
def test_triangular_systems(shape: tuple[int, ...], dtype: str) -> None:
    n = shape[-1]
    a, b = normal(shape, dtype) / n + 3 * np.eye(n, dtype=dtype), normal((*shape[:-1], 2), dtype)
    for matrix in (a, a.swapaxes(-1, -2)):
        for upper in (False, True):
            unseen = np.tri(n, k=-int(upper)) == upper
            spoilt = np.where(unseen, np.nan, matrix).astype(dtype)
            for unit in (False, True):
                wanted = lapack.solve_triangle(NUMPY, spoilt, b, upper, unit)
                assert_close(PACK.solve_triangle(spoilt, b, upper, unit), wanted)


def test_triangular_systems_that_numpy_solves() -> None:
    a = np.ones((3, 3))
    assert PACK.solve_triangle(a, np.ones((2, 2)), True, False) is None
    assert PACK.solve_triangle(a, np.ones((2, 3, 2)), True, False) is None
    assert PACK.solve_triangle(a, np.ones((3, 2), "float32"), True, False) is None
    assert PACK.solve_triangle(np.ones((49, 49)), np.ones((49, 1)), True, False) is None


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_resampling(axis: int, dtype: str) -> None:
    x = special((5, 5, 5), dtype)
    for taps in (
        nearest_taps(5, 8, None, False),
        linear_taps(5, 8, None, True),
        cubic_taps(5, 3, None, False),
        average_taps(5, 3),
        average_taps(3, 5).transposed(),
    ):
        with np.errstate(all="ignore"):
            wanted = taps.by_taps(NUMPY, x, taps.index, taps.weight, axis)
        np.testing.assert_array_equal(PACK.resample(x, taps.index, taps.weight, axis), wanted)
    assert PACK.resample(x, np.full((1, 2), 5), np.ones((1, 2)), axis) is None
    assert PACK.resample(x, np.full((1, 2), -1), np.ones((1, 2)), axis) is None


def test_resampling_in_networks() -> None:
    x = normal((2, 3, 5, 7), "float32")
    check(lambda t: rg.nn.functional.adaptive_avg_pool2d(t, (3, 4)), [x], "g")
    check(lambda t: rg.nn.functional.interpolate(t, scale_factor=2, mode="bilinear"), [x], "g")
    check(lambda t: rg.nn.functional.interpolate(t, (4, 9), mode="bicubic"), [x], "g")
    check_threads(
        lambda t: rg.nn.functional.interpolate(t, (90, 200), mode="bilinear"),
        [normal((3, 4, 30, 40), "float32")],
        "g",
    )


@pytest.mark.parametrize("dtype", [*FLOATS, "int64", "int32"])
@pytest.mark.parametrize("right", [False, True])
def test_places_among_sorted_values(right: bool, dtype: str) -> None:
    rng = np.random.default_rng(0)
    rows = np.sort(rng.integers(0, 9, (3, 7)), axis=-1).astype(dtype)
    values = rng.integers(-1, 10, (3, 5)).astype(dtype)
    if dtype in FLOATS:
        rows[0, -1], values[0, 0], values[1, 1], values[2, 2] = np.nan, np.nan, np.inf, -np.inf
    order = np.ascontiguousarray(rng.permuted(np.tile(np.arange(7), (3, 1)), axis=1))
    mixed = np.empty_like(rows)
    np.put_along_axis(mixed, order, rows, -1)
    for narrow in (False, True):
        op = Searchsorted(right, np.dtype("int32" if narrow else "int64"))
        for given in ((rows, values, None), (mixed, values, order), (rows[1], values, None)):
            wanted = op.searched(NUMPY, given[0], given[2], given[1])
            found = PACK.search(*given, right, narrow)
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found, wanted)
    assert not PACK.search(rows[:, :0], values, None, right, False).any()
    assert PACK.search(rows, values, order + 7, right, False) is None
    assert PACK.search(rows, values[:2], None, right, False) is None
    assert PACK.search(rows, values.astype("float16"), None, right, False) is None


def test_writing_over_an_array() -> None:
    x, y = np.zeros((2, 3)), np.arange(6.0).reshape(2, 3)
    assert PACK.is_open(x)
    assert PACK.copy_over(x, y)
    np.testing.assert_array_equal(x, y)
    for dtype in ("int64", "float32", "complex64"):
        number = np.zeros((2, 3), dtype)
        assert PACK.copy_over(number, y > 2)
        np.testing.assert_array_equal(number, y > 2)
    x.flags.writeable = False
    for other in (x, x.T, y.T, y[:, :2], [1.0]):
        assert not PACK.is_open(other) or other is y
        assert not PACK.copy_over(other, y)
    for values in (y.T, y.astype("float32"), y[:1], [1.0]):
        assert not PACK.copy_over(y, values)
