"""Elementwise kernels against NumPy's functions of the same names: values, dtypes, layouts, special numbers."""

from __future__ import annotations

import itertools
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from retrograd.backends.pack import PACK

pytestmark = pytest.mark.skipif(PACK is None, reason="the native pack is not built")

FLOATS = ("float32", "float64")
EXACT1 = (
    "negative",
    "absolute",
    "abs",
    "square",
    "reciprocal",
    "sqrt",
    "sign",
    "floor",
    "ceil",
    "trunc",
    "rint",
)
MATH1 = ("exp", "exp2", "expm1", "log", "log2", "log1p", "tanh", "sin", "cos")
TRUTH1 = ("isnan", "isinf", "isfinite", "logical_not")
ARITHMETIC = (
    "add", "subtract", "multiply", "true_divide", "divide", "maximum", "minimum", "fmax", "fmin", "power",
)  # fmt: skip
TRUTH2 = (
    "less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "logical_and", "logical_or", "logical_xor",
)  # fmt: skip


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def numbers(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Any:
    """Ordinary numbers with a few special ones among them, where the dtype has some."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if dtype == "int64":
        return rng.integers(-9, 9, shape)
    values = (3 * rng.standard_normal(shape)).astype(dtype)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, np.finfo(dtype).tiny, np.finfo(dtype).max]
    chosen = rng.random(shape) < 0.2
    return np.where(chosen, rng.choice(np.array(special, dtype), shape), values).astype(dtype)


def layouts(x: Any) -> Iterator[Any]:
    """The same array, and others of its dtype in many layouts."""
    yield x
    yield x.T
    yield x[::-1]
    yield x[..., ::2]
    yield x[..., 1:]
    yield np.moveaxis(x, 0, -1)
    yield np.swapaxes(np.ascontiguousarray(np.swapaxes(x, 0, -1)), 0, -1)
    yield np.broadcast_to(x[:1], x.shape)
    yield np.broadcast_to(x[..., :1], x.shape)
    yield np.broadcast_to(x[0, 0, 0], x.shape)


def same(got: Any, wanted: Any, ulps: int = 0) -> None:
    """Equal in dtype, shape, order of memory and values; 0-dim results may be arrays where NumPy's are scalars."""
    assert type(got) in {np.ndarray, type(wanted)}
    assert got.dtype == wanted.dtype
    assert got.shape == wanted.shape
    if isinstance(wanted, np.ndarray) and isinstance(got, np.ndarray) and got.size > 1:
        large = [i for i, n in enumerate(wanted.shape) if n > 1]
        assert [got.strides[i] for i in large] == [wanted.strides[i] for i in large]
    if ulps == 0 or wanted.dtype.kind != "f":
        np.testing.assert_array_equal(got, wanted)
        return
    finite = np.isfinite(wanted)
    np.testing.assert_array_equal(np.where(finite, 0, got), np.where(finite, 0, wanted))
    near = np.abs(got - wanted) <= ulps * np.spacing(np.abs(wanted))
    assert np.all(near | ~finite), (got[~near & finite][:5], wanted[~near & finite][:5])


SHAPES = ((), (1,), (3,), (8,), (17,), (0,), (2, 0), (5, 7), (3, 1, 4), (2, 3, 4, 5), (1, 1), (130, 17))


@pytest.mark.parametrize("name", EXACT1 + MATH1 + TRUTH1)
@pytest.mark.parametrize("dtype", FLOATS)
def test_functions_of_one_array(name: str, dtype: str) -> None:
    for shape in SHAPES:
        x = numbers(shape, dtype)
        same(getattr(PACK, name)(x), getattr(np, name)(x), 4 if name in MATH1 else 0)
        assert np.array_equal(x, numbers(shape, dtype), equal_nan=True)


@pytest.mark.parametrize(
    "name", ["negative", "absolute", "square", "sign", "logical_not", "floor", "exp", "isnan"]
)
@pytest.mark.parametrize("dtype", ["int64", "bool", "int32", "float16", "complex64", "uint8", ">f4"])
def test_other_dtypes_of_one_array(name: str, dtype: str) -> None:
    x = numbers((3, 5), "int64").astype(dtype)
    try:
        wanted = getattr(np, name)(x)
    except TypeError:
        with pytest.raises(TypeError):
            getattr(PACK, name)(x)
        return
    same(getattr(PACK, name)(x), wanted)


@pytest.mark.parametrize("name", ["exp", "negative", "isnan", "sin"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_layouts_of_one_array(name: str, dtype: str) -> None:
    for x in layouts(numbers((4, 6, 10), dtype)):
        same(getattr(PACK, name)(x), getattr(np, name)(x), 4)


@pytest.mark.parametrize("name", ARITHMETIC + TRUTH2)
@pytest.mark.parametrize("dtype", [*FLOATS, "int64", "bool"])
def test_functions_of_two_arrays(name: str, dtype: str) -> None:
    if dtype == "bool" and name == "subtract":
        pytest.skip("NumPy does not subtract booleans")
    for shape in SHAPES:
        x, y = numbers(shape, dtype), numbers(shape, dtype, 1)
        if name == "power" and dtype == "int64":
            y = np.abs(y)
        same(getattr(PACK, name)(x, y), getattr(np, name)(x, y), 2 if name == "power" else 0)


@pytest.mark.parametrize("name", [*ARITHMETIC, "less", "equal", "logical_and"])
@pytest.mark.parametrize("dtype", [*FLOATS, "int64"])
@pytest.mark.parametrize("number", [2, -1, 0, 0.5, 2.0, -0.0, np.inf, np.nan, 1e300, 2**40, 2**60, True, 1j])
def test_python_numbers_take_the_dtype_of_the_array(name: str, dtype: str, number: Any) -> None:
    for x in (numbers((7,), dtype), numbers((4, 6), dtype).T, numbers((4, 6), dtype)[:, ::2]):
        for args in ((x, number), (number, x)):
            try:
                wanted = getattr(np, name)(*args)
            except (TypeError, ValueError, OverflowError) as error:
                with pytest.raises(type(error)):
                    getattr(PACK, name)(*args)
                continue
            same(getattr(PACK, name)(*args), wanted, 2 if name == "power" else 0)


BROADCASTS = (
    ((5, 7), (7,)), ((5, 7), (5, 1)), ((5, 1), (1, 7)), ((5, 7), ()), ((5, 7), (1,)), ((5, 7), (1, 1)), ((1,), ()),
    ((2, 3, 4), (3, 1)), ((2, 3, 4), (2, 1, 4)), ((2, 1, 4), (1, 3, 1)), ((0, 3), (3,)), ((4, 0), (4, 1)),
    ((2, 3, 4, 5), (3, 1, 5)), ((1, 5), (5, 1)), ((2, 2, 2, 2, 2, 2, 2, 2, 2), (2,)),
)  # fmt: skip


@pytest.mark.parametrize(("one", "other"), BROADCASTS)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["add", "subtract", "maximum", "less"])
def test_broadcasting(one: tuple[int, ...], other: tuple[int, ...], dtype: str, name: str) -> None:
    x, y = numbers(one, dtype), numbers(other, dtype, 1)
    same(getattr(PACK, name)(x, y), getattr(np, name)(x, y))
    same(getattr(PACK, name)(y, x), getattr(np, name)(y, x))


@pytest.mark.parametrize("name", ["subtract", "less"])
def test_layouts_of_two_arrays(name: str) -> None:
    x, y = numbers((4, 6, 10), "float32"), numbers((4, 6, 10), "float32", 1)
    for a, b in itertools.product(layouts(x), layouts(y)):
        try:
            wanted = getattr(np, name)(a, b)
        except ValueError:
            with pytest.raises(ValueError, match="broadcast"):
                getattr(PACK, name)(a, b)
            continue
        same(getattr(PACK, name)(a, b), wanted)


def test_shapes_that_do_not_fit_are_refused_in_numpys_words() -> None:
    with pytest.raises(ValueError, match="could not be broadcast together"):
        PACK.add(np.ones(3), np.ones(4))


def test_mixed_dtypes_and_other_objects_go_to_numpy() -> None:
    x = numbers((3,), "float32")
    for y in (
        numbers((3,), "float64"),
        [1, 2, 3],
        np.float64(2),
        np.float32(2),
        np.arange(3),
        2 + 1j,
        (1.0, 2.0, 3.0),
    ):
        same(PACK.add(x, y), np.add(x, y))
        same(PACK.multiply(y, x), np.multiply(y, x))
    matrix = np.ma.masked_array([1.0, 2.0], [True, False])
    assert type(PACK.add(matrix, matrix)) is type(matrix)
    assert PACK.add([1], [2]).tolist() == [3]
    assert PACK.exp(0.0) == 1.0


def test_keywords_and_methods_of_numpys_functions() -> None:
    x = numbers((4,), "float64")
    same(PACK.add(x, x, dtype="float32"), np.add(x, x, dtype="float32"))
    same(PACK.exp(x, where=x > 0, out=np.zeros(4)), np.exp(x, where=x > 0, out=np.zeros(4)))
    same(PACK.add.reduce(np.arange(4.0)), np.add.reduce(np.arange(4.0)))
    same(PACK.maximum.accumulate(np.array([1.0, 3, 2])), np.array([1.0, 3, 3]))
    total = np.zeros(3)
    PACK.add.at(total, [0, 0, 2], 1.0)
    assert total.tolist() == [2, 0, 1]
    assert PACK.add.__name__ == "add"
    assert "add" in repr(PACK.add)
    with pytest.raises(TypeError):
        PACK.add(x)
    with pytest.raises(AttributeError):
        _ = PACK.add.nothing


@pytest.mark.parametrize("dtype", [*FLOATS, "int64", "bool", "float16"])
def test_results_written_into_an_array(dtype: str) -> None:
    for shape, other in (
        ((5,), (5,)),
        ((3, 4), (4,)),
        ((3, 4), ()),
        ((0,), (0,)),
        ((), ()),
        ((300, 200), (300, 200)),
    ):
        x, y = np.asarray(numbers(shape, dtype)), np.asarray(numbers(other, dtype, 1))
        wanted = np.add(x, y)
        out = np.empty(shape, dtype)
        assert PACK.add(x, y, out=out) is out
        same(out, np.asarray(wanted))
        mine = x.copy()
        assert PACK.add_into(mine, y) is mine
        same(mine, np.asarray(wanted))
        mine = x.copy()
        assert PACK.add(mine, y, out=mine) is mine
        same(mine, np.asarray(wanted))


def test_adding_into_other_layouts() -> None:
    y = numbers((6, 4), "float32")
    for make in (lambda: np.ones((4, 6), "float32").T, lambda: np.ones((6, 8), "float32")[:, ::2]):
        got, wanted = make(), make()
        wanted += y
        same(PACK.add_into(got, y), wanted)


def test_adding_into_overlapping_memory() -> None:
    got, wanted = np.arange(10.0), np.arange(10.0)
    PACK.add_into(got[1:], got[:-1])
    wanted[1:] += wanted[:-1].copy()
    same(got, wanted)
    got, wanted = np.arange(9.0).reshape(3, 3), np.arange(9.0).reshape(3, 3)
    PACK.add_into(got, got.T)
    wanted += wanted.T.copy()
    same(got, wanted)
    got = np.arange(9.0).reshape(3, 3)
    PACK.add_into(got, got[0])
    same(got, np.arange(9.0).reshape(3, 3) + np.arange(3.0))


def test_adding_into_what_cannot_be_written() -> None:
    frozen = np.ones(3)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        PACK.add_into(frozen, np.ones(3))
    with pytest.raises(ValueError, match="broadcast"):
        PACK.add_into(np.ones(3), np.ones((2, 3)))
    with pytest.raises(TypeError, match="two arrays"):
        PACK.add_into(np.ones(3))


@pytest.mark.parametrize("dtype", [*FLOATS, "int64", "bool"])
def test_where(dtype: str) -> None:
    for shape in SHAPES:
        c, x, y = numbers(shape, "bool", 2), numbers(shape, dtype), numbers(shape, dtype, 1)
        same(PACK.where(c, x, y), np.where(c, x, y))
        for number in (0, 1.5, -1, np.nan, True):
            same(PACK.where(c, x, number), np.where(c, x, number))
            same(PACK.where(c, number, y), np.where(c, number, y))
    same(PACK.where(np.array([True, False]), 1.0, 2.0), np.where(np.array([True, False]), 1.0, 2.0))
    assert PACK.where(np.array([False, True]))[0].tolist() == [1]


def test_where_in_other_shapes_and_layouts() -> None:
    c, x, y = (
        numbers((4, 6, 10), "bool", 2),
        numbers((4, 6, 10), "float32"),
        numbers((4, 6, 10), "float32", 1),
    )
    for a, b, d in itertools.product(layouts(c), layouts(x), layouts(y)):
        if a.shape == b.shape == d.shape:
            same(PACK.where(a, b, d), np.where(a, b, d))
    for shapes in (((4, 1), (6,), ()), ((), (3, 2), (2,)), ((2, 1, 3), (4, 1), (1, 1))):
        c, x, y = numbers(shapes[0], "bool"), numbers(shapes[1], "float64"), numbers(shapes[2], "float64", 1)
        same(PACK.where(c, x, y), np.where(c, x, y))
    same(PACK.where(x > 0, x.astype("float32"), y), np.where(x > 0, x.astype("float32"), y))


LARGE = 70_001  # enough for several threads


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", [*EXACT1, *MATH1, *TRUTH1])
def test_large_arrays(name: str, dtype: str) -> None:
    x = numbers((LARGE,), dtype)
    same(getattr(PACK, name)(x), getattr(np, name)(x), 4 if name in MATH1 else 0)
    x = numbers((300, 250), dtype)
    for view in (
        x.T,
        x[:, ::2],
        x[::-1],
        np.broadcast_to(x[0], (400, 250)),
        np.broadcast_to(x[0, 0], (LARGE,)),
    ):
        same(getattr(PACK, name)(view), getattr(np, name)(view), 4 if name in MATH1 else 0)


@pytest.mark.parametrize("shapes", [((LARGE,), (LARGE,)), ((300, 250), (250,)), ((300, 250), (300, 1)),
                                    ((2, LARGE), (LARGE,)), ((300, 250), ()), ((40, 1, 50), (40, 1))])  # fmt: skip
@pytest.mark.parametrize("name", ["add", "true_divide", "minimum", "greater"])
def test_large_pairs(name: str, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    for dtype in FLOATS:
        x, y = numbers(shapes[0], dtype), numbers(shapes[1], dtype, 1)
        same(getattr(PACK, name)(x, y), getattr(np, name)(x, y))
        same(getattr(PACK, name)(x, 1.5), getattr(np, name)(x, 1.5))


def test_large_angles_are_exact() -> None:
    for dtype in FLOATS:
        x = np.array([1e5, 1e6, 2e6, 1e10, 1e22, -3e8, 0.1] * 100, dtype)
        same(PACK.sin(x), np.sin(x.astype(np.longdouble)).astype(dtype), 2)
        same(PACK.cos(x), np.cos(x.astype(np.longdouble)).astype(dtype), 2)


@pytest.mark.parametrize("name", [*MATH1, "power"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_odd_numbers_do_not_change_those_beside_them(name: str, dtype: str) -> None:
    """Stretches of numbers without an infinity, NaN or the like take a shorter way, to the same results."""
    x = np.random.default_rng(1).uniform(0.1, 2, 1500).astype(dtype)
    more = (np.full(1500, 0.3, dtype),) if name == "power" else ()
    wanted = getattr(PACK, name)(x, *more)
    odd = x.copy()
    odd[::301] = [np.inf, np.nan, -1.0, 0.0, np.finfo(dtype).tiny / 4]
    got = getattr(PACK, name)(odd, *more)
    same(got[::301], getattr(np, name)(odd, *more)[::301], 4)
    got[::301] = wanted[::301]
    same(got, wanted, 4 if name in {"sin", "cos"} else 0)


@pytest.mark.parametrize("name", MATH1)
def test_functions_are_accurate(name: str) -> None:
    rng = np.random.default_rng(0)
    for dtype in FLOATS:
        x = np.concatenate([rng.uniform(-low, low, 20_000) for low in (1e-3, 1.0, 20.0, 800.0)]).astype(dtype)
        wanted = getattr(np, name)(x.astype(np.longdouble))
        got = getattr(PACK, name)(x)
        unit = np.spacing(np.abs(wanted.astype(dtype))).astype(np.longdouble)
        normal = np.isfinite(wanted.astype(dtype))
        assert np.max(np.abs(got.astype(np.longdouble) - wanted)[normal] / unit[normal]) < 2.6
        assert np.array_equal(got[~normal], wanted[~normal].astype(dtype), equal_nan=True)


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    x = numbers((400, 300), "float32")
    before = PACK.threads()
    results = []
    try:
        for count in (1, 2, 5):
            PACK.set_threads(count)
            results.append((PACK.tanh(x), PACK.add(x, x[0]), PACK.where(x > 0, x, 0.0)))
    finally:
        PACK.set_threads(before)
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            assert a.tobytes() == b.tobytes()


def test_kernels_do_not_warn_nor_leave_flags_behind() -> None:
    x = np.array([0.0, -1.0, np.inf, 1e308])
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        PACK.log(x)
        PACK.true_divide(x, 0.0)
        PACK.subtract(x, x)
        PACK.exp(x)
        PACK.power(x, 0.5)
        assert np.add(np.ones(3), 1.0).tolist() == [2, 2, 2]
        assert np.ones(40).sum() == 40


def test_many_threads_at_once() -> None:
    x = numbers((LARGE,), "float64")
    wanted = np.multiply(x, 2.0)
    found: list[bool] = []

    def work() -> None:
        for _ in range(20):
            found.append(np.array_equal(PACK.multiply(x, 2.0), wanted, equal_nan=True))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 80
    assert all(found)


def test_copies() -> None:
    for dtype in (*FLOATS, "int64", "bool", "complex128", "int16", "float16"):
        for x in layouts(np.asarray(numbers((4, 6, 10), "int64")).astype(dtype)):
            same(PACK.copy(x), np.copy(x))
            got = PACK.dense_copy(x)
            same(got, np.array(x, order="C", copy=True))
            assert not np.may_share_memory(got, x)
    for x in (np.array(2.0), np.zeros((0, 3)), np.zeros((3, 0)).T, np.ones((2, 1, 1, 3, 1)).T):
        same(PACK.dense_copy(x), np.array(x, order="C", copy=True))
    assert PACK.copy([1, 2]).tolist() == [1, 2]
    assert PACK.copy(np.array(["a", None], object)).tolist() == ["a", None]
    assert PACK.dense_copy(np.array(["a", None], object)).tolist() == ["a", None]


@pytest.mark.parametrize(
    "shape", [(300, 200), (33, 47), (1, 70_000), (5, 70, 200), (3, 40, 30, 20), (257, 129)]
)
@pytest.mark.parametrize("dtype", [*FLOATS, "bool"])
def test_copies_of_matrices_that_lie_column_by_column(shape: tuple[int, ...], dtype: str) -> None:
    x = np.asarray(numbers(shape, dtype))
    for order in itertools.permutations(range(len(shape))):
        same(PACK.dense_copy(x.transpose(order)), np.array(x.transpose(order), order="C", copy=True))
    same(
        PACK.dense_copy(x[..., 1:, 1:].swapaxes(-1, -2)),
        np.array(x[..., 1:, 1:].swapaxes(-1, -2), order="C", copy=True),
    )


@pytest.mark.parametrize("name", ["zeros", "ones", "empty"])
def test_filled_arrays(name: str) -> None:
    for shape in (0, 3, (), (2, 3), (0, 4), (300, 400), [2, 2], (np.int64(2), 3)):
        for dtype in (*map(np.dtype, (*FLOATS, "int64", "bool", "complex64", ">f8")), "float32", float):
            for got in (getattr(PACK, name)(shape, dtype), getattr(PACK, name)(shape, dtype=dtype)):
                wanted = getattr(np, name)(shape, dtype)
                assert (got.dtype, got.shape, got.flags.c_contiguous) == (wanted.dtype, wanted.shape, True)
                if name != "empty":
                    np.testing.assert_array_equal(got, wanted)
    same(PACK.zeros(3), np.zeros(3))
    same(PACK.ones((2, 3), order="F", dtype=np.dtype("float32")), np.ones((2, 3), order="F", dtype="float32"))
    for wrong in (-1, (2, -3), "x", 1.5):
        with pytest.raises((ValueError, TypeError)):
            getattr(PACK, name)(wrong, np.dtype("float32"))


@pytest.mark.parametrize("name", ["zeros_like", "ones_like", "empty_like"])
def test_filled_arrays_like_others(name: str) -> None:
    for dtype in (*FLOATS, "int64", "bool", "int8"):
        for x in layouts(np.asarray(numbers((4, 6, 10), "int64")).astype(dtype)):
            got, wanted = getattr(PACK, name)(x), getattr(np, name)(x)
            assert (got.dtype, got.shape, got.strides) == (wanted.dtype, wanted.shape, wanted.strides)
            if name != "empty_like":
                np.testing.assert_array_equal(got, wanted)
    assert getattr(PACK, name)(np.zeros(3), dtype="int64").dtype == "int64"
