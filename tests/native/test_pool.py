"""Pooling: kernels against the formulas over windows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.backends.pack import PACK
from retrograd.ops.nn.sliding import sliding
from tests.native.networks import (
    FLOATS,
    assert_close,
    check,
    check_threads,
    layouts,
    moderate,
    needs_pack,
    normal,
    special,
    without_pack,
)

pytestmark = needs_pack

F = rg.nn.functional

# Size of the input, and the options: size of the windows, stride, padding, dilation, whether they may hang over.
WINDOWS: list[tuple[tuple[int, ...], tuple[Any, ...]]] = [
    ((2, 3, 12), (3,)),
    ((2, 3, 13), (4, 3, 2, 1, True)),
    ((2, 3, 12, 40), (2,)),
    ((3, 12, 40), (3, 2, 1)),
    ((2, 3, 11, 37), (3, 1, 1)),
    ((2, 3, 11, 37), ((3, 2), (2, 3), (1, 1), 1, True)),
    ((2, 3, 20, 20), ((2, 5), (1, 4), (1, 2), (1, 1), True)),
    ((1, 2, 5, 7, 40), (2, (2, 1, 2))),
    ((2, 2, 5, 6, 9), (3, 2, 1, 1, True)),
    ((0, 3, 8, 8), (2,)),
    ((64, 8, 8), (2,)),
    ((4, 5, 8, 8), (2,)),
    ((3, 11, 7, 7), (3, 2, 1, 1, True)),
    ((37, 1, 9, 10), ((2, 3), (3, 2), (0, 1), 1, True)),
    ((2, 17, 6, 16), (3, 1, 1)),
    ((2, 33, 1, 3), ((1, 2), 1, (0, 1))),
    ((3, 9, 4, 5, 6), (2, 1, 1, 1, True)),
]
DILATED: list[tuple[tuple[int, ...], tuple[Any, ...]]] = [
    ((2, 3, 12, 40), (3, 2, 1, 2)),
    ((2, 3, 9, 9), (2, 1, 1, 3)),
    ((2, 3, 5, 6, 9), ((2, 1, 3), (1, 2, 2), (1, 0, 1), (2, 1, 2))),
    ((6, 3, 8, 9), (2, 1, 1, 3, True)),
    ((1, 1, 2, 40), (2, 1, (1, 0), (3, 1), False)),
    ((20, 2, 2, 4), (2, 1, (1, 0), (3, 1), False)),
]


def rounded(shape: tuple[int, ...], dtype: str) -> Any:
    """Numbers of which many are equal: the first of them counts."""
    return normal(shape, dtype).round(1)


def rank_of(shape: tuple[int, ...]) -> int:
    return min(len(shape), 5) - 2 if len(shape) > 3 else 1 if shape[-1] < 20 else 2


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("shape", "options"), WINDOWS + DILATED)
def test_the_largest(shape: tuple[int, ...], options: tuple[Any, ...], dtype: str) -> None:
    f = getattr(F, f"max_pool{rank_of(shape)}d")
    x = rounded(shape, dtype)
    check(lambda x: f(x, *options), [x], "g")
    found = f(rg.from_numpy(x), *options, return_indices=True) if len(options) == 5 else None
    if found is not None:
        with without_pack():
            plain = f(rg.from_numpy(x), *options, return_indices=True)
        for a, b in zip(found, plain, strict=True):
            np.testing.assert_array_equal(a.numpy(), b.numpy())


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("shape", "options"), WINDOWS)
@pytest.mark.parametrize("with_border", [True, False])
def test_averages(shape: tuple[int, ...], options: tuple[Any, ...], with_border: bool, dtype: str) -> None:
    rank = rank_of(shape)
    kernel, stride, padding, _, ceil = (*options, *(None, 0, 1, False)[len(options) - 1 :])
    f = getattr(F, f"avg_pool{rank}d")
    check(lambda x: f(x, kernel, stride, padding, ceil, with_border), [normal(shape, dtype)], "g")


def test_averages_with_a_divisor_of_their_own() -> None:
    check(lambda x: F.avg_pool2d(x, 3, 2, 1, divisor_override=5), [normal((2, 3, 9, 9), "float32")], "g")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("options", [(2,), (3, 1, 1), (3, 2, 1), (2, 3, 1, 2)])
def test_special_numbers(options: tuple[Any, ...], dtype: str) -> None:
    for seed in range(5):
        x = moderate((2, 3, 11, 37), dtype, seed)
        check(lambda x: F.max_pool2d(x, *options), [x], "g")
        check(lambda x: F.avg_pool2d(x, *options[:3]), [x], "g")
    check(lambda x: F.max_pool2d(x, *options), [np.full((1, 1, 9, 9), -np.inf, dtype)], "g")


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_last_nan_and_the_first_inside_a_border(dtype: str) -> None:
    x = np.full((1, 4, 6), -np.inf, dtype)
    x[0, 0, 0] = x[0, 1, 1] = x[0, 0, 3] = np.nan
    values, positions = PACK.max_pool(x, sliding((4, 6), (2, 2), (2, 2), (0, 0), (1, 1)), True)
    np.testing.assert_array_equal(positions[0], [[7, 3, 4], [12, 14, 16]])
    assert np.isnan(values[0, 0, 0])
    assert values[0, 1, 0] == -np.inf


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("size", [(8, 8), (5, 7), (9, 33)])
@pytest.mark.parametrize("options", [(2, 2, 0, 1), (3, 1, 1, 1), (3, 2, 1, 1), (2, 3, 1, 2)])
def test_planes_side_by_side_give_what_each_gives_alone(
    options: tuple[int, ...], size: tuple[int, int], dtype: str
) -> None:
    kernel, stride, padding, dilation = ((n, n) for n in options)
    windows = sliding(size, kernel, stride, padding, dilation)
    divisors = np.asarray(3, dtype)
    for count in (2, 16, 37):
        x = special((count, *size), dtype)
        values, positions = PACK.max_pool(x, windows, True)
        g = normal(values.shape, dtype)
        found = [
            values,
            positions,
            PACK.max_pool_back(g, positions, x.shape, 2),
            PACK.avg_pool(x, windows, divisors),
            PACK.avg_pool_back(g, windows, divisors),
        ]
        for i in range(count):
            one = slice(i, i + 1)
            alone = [
                *PACK.max_pool(x[one], windows, True),
                PACK.max_pool_back(g[one], positions[one], (1, *size), 2),
                PACK.avg_pool(x[one], windows, divisors),
                PACK.avg_pool_back(g[one], windows, divisors),
            ]
            for a, b in zip(found, alone, strict=True):
                np.testing.assert_array_equal(a[one], b)


@pytest.mark.parametrize("name", ["max_pool2d", "avg_pool2d"])
def test_layouts(name: str) -> None:
    for x in [*layouts(normal((3, 4, 9, 8), "float32")), *layouts(normal((5, 16, 9, 8), "float32"))]:
        check(lambda x: getattr(F, name)(x, 2), [x], "g")
        check(lambda x: getattr(F, name)(x, 2).sum(0), [x], "g")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("size", [(4, 5), (1, 1), (9, 37), (7, 2)])
def test_windows_that_divide_the_input_evenly(size: tuple[int, int], dtype: str) -> None:
    for x in (rounded((2, 3, 9, 37), dtype), special((2, 3, 9, 37), dtype)):
        found = F.adaptive_max_pool2d(rg.from_numpy(x), size, return_indices=True)
        with without_pack():
            plain = F.adaptive_max_pool2d(rg.from_numpy(x), size, return_indices=True)
        for a, b in zip(found, plain, strict=True):
            np.testing.assert_array_equal(a.numpy(), b.numpy())
        check(lambda x: F.adaptive_max_pool2d(x, size), [x], "g")


@pytest.mark.parametrize("name", ["max_pool2d", "avg_pool2d"])
def test_no_bit_depends_on_the_number_of_threads(name: str) -> None:
    for shape in ((40, 8, 33, 30), (3, 2, 130, 130), (75, 9, 8, 8)):
        check_threads(lambda x: getattr(F, name)(x, 3, 2, 1), [normal(shape, "float32")], "g")


def test_positions_outside_are_refused() -> None:
    g, shape = np.ones((1, 2, 2), np.float32), (1, 4, 4)
    good, bad = np.zeros((1, 2, 2), np.int64), np.full((1, 2, 2), 16)
    assert_close(PACK.max_pool_back(g, good, shape, 2), np.eye(1, 16, dtype=np.float32).reshape(shape) * 4)
    assert PACK.max_pool_back(g, bad, shape, 2) is None
    assert PACK.max_pool_back(g, -bad, shape, 2) is None
    assert PACK.max_pool_back(g, good, (2, 4, 4), 2) is None


def test_what_is_not_served_is_said() -> None:
    windows = sliding((4, 4), (2, 2), (2, 2), (0, 0), (1, 1))
    assert PACK.max_pool(np.ones((1, 4, 4), np.int64), windows, True) is None
    assert PACK.max_pool(np.ones((1, 4, 5), np.float32), windows, True) is None
    assert PACK.avg_pool(np.ones((1, 4, 4), np.float32), windows, np.ones(3, np.float32)) is None
    assert PACK.max_cover(np.ones((1, 4)), (np.array([[9]]),)) is None
