"""Convolutions: kernels against NumPy's matrix products over windows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.backends.native import CPU_BACKEND
from retrograd.backends.pack import PACK
from retrograd.ops.nn.sliding import sliding
from tests.native.networks import FLOATS, check, check_threads, layouts, moderate, needs_pack, normal

pytestmark = needs_pack

# Size of the input, output channels, size of the kernel, and the options.
FORWARD: list[tuple[tuple[int, ...], int, tuple[int, ...], dict[str, Any]]] = [
    ((2, 3, 12), 4, (3,), {}),
    ((2, 3, 12), 9, (4,), {"stride": 3, "padding": 2, "dilation": 2}),
    ((3, 3, 16, 16), 16, (3, 3), {"padding": 1}),
    ((2, 16, 7, 9), 20, (3, 2), {"padding": (1, 0)}),
    ((2, 8, 17, 20), 40, (3, 3), {"stride": 2, "padding": 1}),
    ((2, 8, 17, 20), 8, (2, 5), {"stride": (3, 2), "padding": (2, 3), "dilation": (2, 1)}),
    ((2, 6, 14, 14), 6, (3, 3), {"padding": 1, "groups": 6}),
    ((2, 6, 14, 35), 12, (3, 3), {"stride": 2, "padding": 1, "groups": 6}),
    ((2, 8, 9, 9), 36, (3, 3), {"groups": 4}),
    ((2, 20, 10, 6), 33, (1, 1), {}),
    ((2, 5, 10, 6), 9, (1, 1), {"stride": 2}),
    ((1, 2, 33, 5), 1, (7, 3), {"padding": (3, 1)}),
    ((2, 3, 5, 6, 7), 8, (2, 3, 2), {"padding": (1, 0, 1)}),
    ((1, 4, 6, 6, 6), 4, (3, 3, 3), {"stride": (2, 1, 2), "padding": 1, "dilation": (1, 2, 1), "groups": 2}),
    ((0, 3, 8, 8), 5, (3, 3), {}),
    ((2, 0, 8, 8), 9, (3, 3), {}),
    ((40, 1, 4, 4), 2, (2, 2), {}),
    ((2, 1, 16, 16), 8, (3, 3), {"padding": 1}),
    ((2, 2, 9, 29), 8, (3, 3), {"padding": 1}),
    ((2, 8, 8, 8), 8, (3, 3), {"padding": 1}),
    ((2, 24, 10, 16), 24, (3, 3), {"padding": 1, "groups": 3}),
    ((1, 5, 6, 40), 7, (3, 3), {}),
    ((2, 3, 1, 15), 3, (1, 3), {"padding": (0, 1)}),
]  # fmt: skip

# Size of the input, output channels per group, size of the kernel, and the options.
TRANSPOSED: list[tuple[tuple[int, ...], int, tuple[int, ...], dict[str, Any]]] = [
    ((2, 3, 7), 9, (3,), {"stride": 2}),
    ((2, 4, 8, 8), 8, (3, 3), {"padding": 1}),
    ((2, 4, 8, 8), 3, (4, 4), {"stride": 2, "padding": 1}),
    ((2, 4, 5, 6), 16, (3, 3), {"stride": (3, 2), "padding": (0, 2), "output_padding": (2, 1), "dilation": (1, 2)}),
    ((2, 6, 5, 6), 2, (2, 2), {"stride": 3, "groups": 3}),
    ((1, 3, 4, 3, 5), 8, (2, 3, 2), {"stride": 2, "padding": 1, "output_padding": 1}),
]  # fmt: skip


def operands(
    shape: tuple[int, ...], rows: int, columns: int, kernel: tuple[int, ...], dtype: str
) -> list[Any]:
    return [normal(shape, dtype), normal((rows, columns, *kernel), dtype, 1)]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("shape", "channels", "kernel", "options"), FORWARD)
def test_convolution(
    shape: tuple[int, ...], channels: int, kernel: tuple[int, ...], options: dict[str, Any], dtype: str
) -> None:
    f = getattr(rg, f"conv{len(kernel)}d")
    arrays = operands(shape, channels, shape[1] // options.get("groups", 1), kernel, dtype)
    check(lambda x, w, b: f(x, w, b, **options), [*arrays, normal((channels,), dtype, 2)], "ggg")
    check(lambda x, w: f(x, w, **options), arrays, "gg")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("shape", "channels", "kernel", "options"), TRANSPOSED)
def test_transposed_convolution(
    shape: tuple[int, ...], channels: int, kernel: tuple[int, ...], options: dict[str, Any], dtype: str
) -> None:
    f = getattr(rg, f"conv_transpose{len(kernel)}d")
    arrays = operands(shape, shape[1], channels, kernel, dtype)
    bias = normal((channels * options.get("groups", 1),), dtype, 2)
    check(lambda x, w, b: f(x, w, b, **options), [*arrays, bias], "ggg")
    check(lambda x, w: f(x, w, **options), arrays, "gg")


@pytest.mark.parametrize("channels", [2, 16])
def test_layouts(channels: int) -> None:
    for x in layouts(normal((3, 4, 9, 8), "float32")):
        for w in layouts(normal((channels, 4, 3, 3), "float32", 1)):
            check(lambda x, w: rg.conv2d(x, w, padding=1), [x, w], "gg")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("channels", [2, 16])
@pytest.mark.parametrize("stride", [1, 2])
def test_special_numbers(channels: int, stride: int, dtype: str) -> None:
    x, w = normal((2, 3, 11, 13), dtype), normal((channels, 3, 3, 3), dtype, 1)
    x[0, 1, 5, 6], x[1, 0, 0, 0], x[1, 2, 10, 12] = np.nan, np.inf, -np.inf
    check(lambda x, w: rg.conv2d(x, w, padding=1, stride=stride), [x, w], "gg")
    w[0, 0, 0, 0] = np.inf
    check(lambda x, w: rg.conv2d(x, w, stride=stride), [normal(x.shape, dtype), w], "-g")


def test_a_gradient_that_was_expanded() -> None:
    arrays = operands((2, 3, 8, 8), 16, 3, (3, 3), "float32")
    check(lambda x, w, b: rg.conv2d(x, w, b).sum((1, 2, 3)), [*arrays, normal((16,), "float32", 2)], "ggg")


@pytest.mark.parametrize(
    ("shape", "channels", "kernel", "options"),
    [
        FORWARD[4],
        FORWARD[7],
        ((40, 3, 32, 32), 16, (3, 3), {"padding": 1}),
        ((2, 64, 20, 20), 80, (3, 3), {}),
    ],
)
def test_no_bit_depends_on_the_number_of_threads(
    shape: tuple[int, ...], channels: int, kernel: tuple[int, ...], options: dict[str, Any]
) -> None:
    arrays = operands(shape, channels, shape[1] // options.get("groups", 1), kernel, "float32")
    bias = normal((channels,), "float32", 2)
    check_threads(lambda x, w, b: rg.conv2d(x, w, b, **options), [*arrays, bias], "ggg")


def test_more_samples_than_get_a_border_at_a_time() -> None:
    arrays = operands((9, 16, 200, 100), 8, 16, (2, 2), "float32")
    check(lambda x, w: rg.conv2d(x, w, padding=1), arrays, "gg", 1e-4)


def test_sums_of_channels() -> None:
    x = moderate((3, 4, 5, 700), "float32")
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(np.isnan(CPU_BACKEND.channel_sums(x)), np.isnan(x.sum((0, 2, 3))))
    y = normal((3, 4, 5, 7000), "float32")
    np.testing.assert_allclose(
        CPU_BACKEND.channel_sums(y), y.sum((0, 2, 3), dtype=np.float64), rtol=1e-5, atol=1e-3
    )
    np.testing.assert_array_equal(CPU_BACKEND.channel_sums(y[:0]), np.zeros(4))


def test_what_is_not_served_is_said() -> None:
    x, w = np.ones((1, 2, 5, 5), np.float32), np.ones((3, 2, 2, 2), np.float32)
    windows = sliding((5, 5), (2, 2), (1, 1), (0, 0), (1, 1))
    assert PACK.conv_correlate(x.astype(np.float16), w, None, windows, 1) is None
    assert PACK.conv_correlate(x, w.astype(np.float64), None, windows, 1) is None
    assert PACK.conv_correlate(x, w, np.ones(3), windows, 1) is None
    assert PACK.conv_correlate(x, w, None, tuple(windows[:5]), 1) is None
    assert PACK.conv_channel_sums(np.ones(3)) is None
