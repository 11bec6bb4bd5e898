"""Softmax, its logarithm and the logarithm of sums of exponentials: kernels against formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.backends.pack import PACK
from tests.native.networks import FLOATS, check, check_threads, layouts, needs_pack, normal, special

pytestmark = needs_pack

FUNCTIONS = ("softmax", "log_softmax", "logsumexp")
SHAPES = [
    ((5,), 0), ((1, 1), 1), ((3, 4), 0), ((7, 33), 1), ((2, 600), 1), ((4, 5, 6), 1), ((3, 300, 2), 0),
    ((2, 9, 200), 1), ((0, 4), 1), ((4, 0, 3), 2), ((40, 1100), 1), ((3, 70, 260), 1),
]  # fmt: skip


def along(name: str, axis: int) -> Any:
    return lambda x: getattr(rg, name)(x, axis)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_shapes_and_axes(name: str, shape: tuple[int, ...], axis: int, dtype: str) -> None:
    check(along(name, axis), [normal(shape, dtype)], "g")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("axis", [0, 1])
def test_special_numbers(name: str, axis: int, dtype: str) -> None:
    for seed in range(5):
        check(along(name, axis), [special((40, 23), dtype, seed)], "g")
    edge = np.array([[np.inf, 1, 2], [-np.inf] * 3, [np.inf, np.nan, 0], [1e30, -1e30, 0]], dtype)
    check(along(name, axis), [edge if axis else np.ascontiguousarray(edge.T)], "g")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_layouts(name: str) -> None:
    for x in layouts(normal((6, 5, 40), "float32")):
        for axis in range(3):
            check(along(name, axis), [x], "g")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_broadcast_gradient(name: str) -> None:
    check(lambda x: getattr(rg, name)(x, 1).sum(0), [normal((30, 17), "float64")], "g")


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(("shape", "axis"), [((300, 700), 1), ((5, 90, 400), 1)])
def test_no_bit_depends_on_the_number_of_threads(name: str, shape: tuple[int, ...], axis: int) -> None:
    check_threads(along(name, axis), [normal(shape, "float32")], "g")


def test_large_differences_underflow_to_zero_and_below_the_normal_range() -> None:
    x = np.array([[0.0, -80.0, -90.0, -100.0, -103.0, -110.0, -1e4, -np.inf]], np.float32)
    found = PACK.softmax(x, 1)
    np.testing.assert_allclose(found, np.exp(x.astype(np.float64)), rtol=1e-6, atol=2e-45)
    assert found[0, -1] == 0


def test_what_is_not_served_is_said() -> None:
    x = np.ones((2, 3), np.float32)
    assert PACK.softmax(x, 1) is not None
    for array, axis in ((x.astype(np.float16), 1), (np.ones((2, 3), int), 1), (x, 2), (x, None), ([1.0], 0)):
        assert PACK.softmax(array, axis) is None
    assert PACK.softmax(np.float32(1), 0) is None
    assert PACK.softmax_backward(x, x[:1], 1) is None
    assert PACK.log_softmax_backward(x, x.astype(float), 1) is None
    assert PACK.logsumexp_backward(x, x, x, 1) is None


def test_a_second_derivative_is_recorded() -> None:
    x = rg.tensor(normal((3, 4), "float64"), requires_grad=True)
    for f in (rg.softmax, rg.log_softmax, rg.logsumexp):
        assert rg.autograd.gradgradcheck(lambda v, f=f: f(v, 1), (x,))
