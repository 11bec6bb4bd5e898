"""Elements and slices named by an index: kernels against NumPy's functions, bit by bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.backends.pack import PACK
from tests.native.networks import check, check_threads, needs_pack, normal

pytestmark = needs_pack

SHAPES = [(7,), (4, 6), (3, 5, 4), (2, 3, 4, 5)]
DTYPES = ["bool", "int16", "int64", "float32", "float64", "complex64", "complex128"]


def places(shape: tuple[int, ...], axis: int, count: int, seed: int = 1) -> Any:
    """An index along an axis, smaller than an array of this shape along the others."""
    sizes = [count if d == axis else max(n - 1, 1) for d, n in enumerate(shape)]
    return np.random.default_rng(seed).integers(0, shape[axis], sizes)


def cut(x: Any, index: Any, axis: int) -> Any:
    """An array without what lies beyond the index along the other axes."""
    return x[tuple(slice(None) if d == axis else slice(0, n) for d, n in enumerate(index.shape))]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_elements_are_read(shape: tuple[int, ...], dtype: str) -> None:
    x = normal(shape, "float64").astype(dtype)
    for axis in range(len(shape)):
        for count in (0, 1, 9):
            index = places(shape, axis, count)
            wanted = np.take_along_axis(cut(x, index, axis), index, axis)
            np.testing.assert_array_equal(PACK.take_along(x, index, axis), wanted)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_elements_are_written(shape: tuple[int, ...], dtype: str) -> None:
    for axis in range(len(shape)):
        out = normal(shape, "float64").astype(dtype)
        index = places(shape, axis, shape[axis])
        for values in (normal(index.shape, "float64", 5).astype(dtype), np.array(3, dtype)):
            wanted = out.copy()
            np.put_along_axis(cut(wanted, index, axis), index, values, axis)
            assert PACK.put_along(out, index, axis, values)
            np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES)
def test_elements_are_added(shape: tuple[int, ...], dtype: str) -> None:
    for axis in range(len(shape)):
        out, index = normal(shape, "float64").astype(dtype), places(shape, axis, 9)
        values = normal(index.shape, "float64", 5).astype(dtype)
        key = list(np.indices(index.shape, sparse=True))
        key[axis] = index
        wanted = out.copy()
        np.add.at(wanted, tuple(key), values)
        assert PACK.add_along(out, index, axis, values)
        np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_slices_are_taken(shape: tuple[int, ...], dtype: str) -> None:
    x = normal(shape, "float64").astype(dtype)
    for index in (np.array([[1, -1], [0, 1]]), np.array(1), np.zeros((0, 2), np.int64)):
        np.testing.assert_array_equal(PACK.take(x, index), np.take(x, index))
        for axis in range(len(shape)):
            np.testing.assert_array_equal(PACK.take(x, index, axis), np.take(x, index, axis))
            np.testing.assert_array_equal(PACK.take(x, index, axis=axis), np.take(x, index, axis))


def test_what_numpy_does_is_left_to_it() -> None:
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(PACK.take(x.T, np.array([1]), 0), x.T[[1]])
    np.testing.assert_array_equal(PACK.take(x, [1, 0], mode="clip"), [1, 0])
    np.testing.assert_array_equal(PACK.take(x.astype(np.float16), np.array([1])), [1])
    with pytest.raises(IndexError, match="out of bounds"):
        PACK.take(x, np.array([6]))
    with pytest.raises(IndexError, match="out of bounds"):
        PACK.take(x, np.array([-3]), 0)


def test_what_is_not_served_is_said() -> None:
    x, index = np.ones((2, 3), np.float32), np.array([[0], [1]])
    assert PACK.take_along(x, index, 1) is not None
    for wrong in (index - 1, index + 3, index.astype(np.int32), index[0], np.zeros((3, 1), np.int64)):
        assert PACK.take_along(x, wrong, 1) is None
    assert PACK.take_along(x.T, index.T, 1) is None
    assert PACK.take_along(x, index, 2) is None
    assert PACK.put_along(x, index, 1, np.ones((2, 2), np.float32)) is None
    assert PACK.put_along(x, index, 1, np.ones((2, 1))) is None
    assert PACK.add_along(x.astype(np.int16), index, 1, np.ones((2, 1), np.int16)) is None
    x.flags.writeable = False
    assert PACK.put_along(x, index, 1, x[:, :1]) is None
    assert PACK.add_along(x, index, 1, x[:, :1]) is None


def test_the_first_index_outside_is_found() -> None:
    index = np.array([[0, 4], [-2, 9]])
    assert PACK.outside(index, -2, 10) is None
    assert PACK.outside(index, 0, 10) == -2
    assert PACK.outside(index, 0, 4) == 4
    assert PACK.outside(index[:0], 0, 0) is None
    assert PACK.outside(index.astype(np.int32), 0, 10) is NotImplemented
    assert PACK.outside([0], 0, 10) is NotImplemented


def test_functions_that_pick() -> None:
    x = normal((6, 5), "float32")
    index = np.random.default_rng(0).integers(0, 5, (6, 3))
    check(lambda x, i: rg.gather(x, 1, i), [x, index], "g-")
    check(
        lambda x, i, s: rg.scatter(x, 1, i, s), [x, np.arange(3)[None].repeat(6, 0), x[:, :3].copy()], "g-g"
    )
    check(lambda x, i, s: rg.scatter_add(x, 1, i, s), [x, index, x[:, :3].copy()], "g-g")
    check(lambda x, i: rg.scatter(x, 1, i, 2.0), [x, index], "g-")
    check(lambda x: rg.max(x, 1).values, [x], "g")
    check(lambda x: rg.topk(x, 2).values, [x], "g")
    check(lambda x, i: rg.take(x, i), [x, index], "g-")
    check(lambda x, i: x[:, i], [x, index[:5]], "g-")


def test_no_bit_depends_on_the_number_of_threads() -> None:
    index = np.random.default_rng(0).integers(0, 300, (400, 200))
    check_threads(lambda x, i: rg.gather(x, 1, i), [normal((400, 300), "float32"), index], "g-")
