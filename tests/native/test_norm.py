"""Normalisation of layers, groups and batches: kernels against formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.backends.pack import PACK
from retrograd.nn import functional as F
from tests.native.networks import (
    FLOATS,
    check,
    check_threads,
    layouts,
    needs_pack,
    normal,
    special,
    without_pack,
)

pytestmark = needs_pack

# Which of weight and bias are given.
GIVEN = [(False, False), (True, False), (False, True), (True, True)]


def parameters(size: int | tuple[int, ...], given: tuple[bool, bool], dtype: str) -> list[Any]:
    shape = (size,) if isinstance(size, int) else size
    return [normal(shape, dtype, 3 + i) if there else None for i, there in enumerate(given)]


def layer(count: int) -> Any:
    """Normalisation over the last `count` dimensions."""
    return lambda x, w, b: F.layer_norm(x, tuple(x.shape)[-count:], w, b, 1e-3)


def group(count: int) -> Any:
    return lambda x, w, b: F.group_norm(x, count, w, b, 1e-3)


def batch(training: bool) -> Any:
    """Normalisation over the batch, by copies of the running statistics."""

    def of(x: Any, w: Any, b: Any, mean: Any, var: Any) -> Any:
        copies = (None, None) if mean is None else (mean.clone(), var.clone())
        return F.batch_norm(x, *copies, w, b, training, 0.3, 1e-3)

    return of


LAYERS = [
    ((7, 5), 1),
    ((3, 40), 1),
    ((2, 3, 4), 2),
    ((6,), 1),
    ((1, 1000), 1),
    ((70, 513), 1),
    ((0, 4), 1),
]
GROUPS = [((2, 4, 3), 2), ((3, 6, 5, 7), 3), ((4, 6), 3), ((2, 3, 1, 50), 1), ((9, 16, 20, 20), 4)]
BATCHES = [(8, 3), (5, 4, 3), (6, 3, 5, 7), (700, 129), (3, 2, 1, 2), (4, 2, 20, 30), (16, 8, 30, 30)]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize(("shape", "count"), LAYERS)
def test_layers(shape: tuple[int, ...], count: int, given: tuple[bool, bool], dtype: str) -> None:
    x = normal(shape, dtype) + np.asarray(2, dtype)
    check(layer(count), [x, *parameters(shape[-count:], given, dtype)], "ggg")


@pytest.mark.parametrize("wanted", ["g--", "-g-", "--g", "gg-", "g-g", "-gg"])
def test_gradients_that_nobody_wants(wanted: str) -> None:
    x = normal((4, 6, 5), "float64")
    check(layer(1), [x, *parameters(5, (True, True), "float64")], wanted)
    check(group(3), [x, *parameters(6, (True, True), "float64")], wanted)
    check(batch(True), [x, *parameters(6, (True, True), "float64"), None, None], wanted + "--")
    mean, var = normal((6,), "float64"), normal((6,), "float64") ** 2
    check(batch(False), [x, *parameters(6, (True, True), "float64"), mean, var], wanted + "--")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize(("shape", "count"), GROUPS)
def test_groups(shape: tuple[int, ...], count: int, given: tuple[bool, bool], dtype: str) -> None:
    check(group(count), [normal(shape, dtype), *parameters(shape[1], given, dtype)], "ggg")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("shape", BATCHES)
def test_batches(shape: tuple[int, ...], training: bool, given: tuple[bool, bool], dtype: str) -> None:
    x = normal(shape, dtype) + np.asarray(2, dtype)
    mean, var = normal((shape[1],), dtype, 5), normal((shape[1],), dtype, 6) ** 2
    check(batch(training), [x, *parameters(shape[1], given, dtype), mean, var], "ggg--")
    if training:
        check(batch(True), [x, *parameters(shape[1], given, dtype), None, None], "ggg--")


@pytest.mark.parametrize("shape", [(8, 3), (6, 3, 5, 7)])
def test_running_statistics_move_as_they_do_without_the_pack(shape: tuple[int, ...]) -> None:
    found = []
    for plain in (False, True):
        mean, var = rg.zeros(3), rg.ones(3)
        x = rg.from_numpy(normal(shape, "float32"))
        if plain:
            with without_pack():
                F.batch_norm(x, mean, var, training=True)
        else:
            F.batch_norm(x, mean, var, training=True)
        found.append((mean.numpy(), var.numpy()))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("dtype", FLOATS)
def test_special_numbers(dtype: str) -> None:
    x = special((12, 6, 10), dtype)
    wb = parameters(6, (True, True), dtype)
    check(layer(1), [x, *parameters(10, (True, True), dtype)], "ggg")
    check(group(2), [x, *wb], "ggg")
    check(batch(True), [x, *wb, None, None], "ggg--")
    check(batch(False), [x, *wb, normal((6,), dtype), 1 + normal((6,), dtype) ** 2], "ggg--")
    check(batch(True), [np.ascontiguousarray(x[:, :, 0]), *wb, None, None], "ggg--")


def test_layouts() -> None:
    wb = parameters(6, (True, True), "float32")
    for x in layouts(normal((5, 6, 9), "float32")):
        check(layer(1), [x, *parameters(9, (True, True), "float32")], "ggg")
        check(group(3), [x, *wb], "ggg")
        check(batch(True), [x, *wb, None, None], "ggg--")


@pytest.mark.parametrize("shape", [(200, 300), (20, 16, 30, 30), (5000, 20)])
def test_no_bit_depends_on_the_number_of_threads(shape: tuple[int, ...]) -> None:
    x, wb = normal(shape, "float32"), parameters(shape[1], (True, True), "float32")
    check_threads(layer(1), [x, *parameters(shape[-1], (True, True), "float32")], "ggg")
    check_threads(batch(True), [x, *wb, None, None], "ggg--")
    check_threads(group(2), [x, *wb], "ggg")


def test_numbers_far_from_zero_keep_their_variance() -> None:
    x = (1e4 + np.random.default_rng(0).standard_normal((64, 512))).astype(np.float32)
    exact = x.astype(np.float64)
    exact = (exact - exact.mean(1, keepdims=True)) / exact.std(1, keepdims=True)
    np.testing.assert_allclose(PACK.layer_norm(x, None, None, 0.0, 1)[0], exact, atol=2e-3)


def test_what_is_not_served_is_said() -> None:
    x, w = np.ones((2, 4), np.float32), np.ones(4, np.float32)
    assert PACK.layer_norm(x, w, None, 0.1, 1) is not None
    for args in (
        (x.astype(np.float16), None, None),
        (x, w.astype(float), None),
        (x, w[:3], None),
        (x, w[::-1], None),
    ):
        assert PACK.layer_norm(*args, 0.1, 1) is None
    assert PACK.group_norm(x, w, None, 0.1, 3) is None
    assert PACK.group_norm(x, w, None, 0.1, 0) is None
    assert PACK.batch_norm(x, w, None, w, None, 0.1) is None
    assert PACK.batch_norm(w, None, None, None, None, 0.1) is None


def test_a_second_derivative_is_recorded() -> None:
    x = rg.tensor(normal((3, 4, 2), "float64"), requires_grad=True)
    w = rg.tensor(normal((4,), "float64"), requires_grad=True)
    assert rg.autograd.gradgradcheck(lambda x, w: F.group_norm(x, 2, w), (x, w))
    assert rg.autograd.gradgradcheck(lambda x, w: F.batch_norm(x, None, None, w, training=True), (x, w))
