"""Losses: kernels against formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.backends.pack import PACK
from retrograd.nn import functional as F
from tests.native.networks import FLOATS, check, check_threads, layouts, needs_pack, normal, special

pytestmark = needs_pack

PAIRS: dict[str, dict[str, float]] = {
    "mse_loss": {}, "smooth_l1_loss": {"beta": 0.7}, "huber_loss": {"delta": 0.4}, "binary_cross_entropy": {},
    "binary_cross_entropy_with_logits": {},
}  # fmt: skip
REDUCTIONS = ("none", "mean", "sum")


def of_pair(name: str, reduction: str) -> Any:
    return lambda x, t: getattr(F, name)(x, t, reduction=reduction, **PAIRS[name])


def pair(name: str, shape: tuple[int, ...], dtype: str) -> list[Any]:
    rng = np.random.default_rng(4)
    x = rng.random(shape) if name == "binary_cross_entropy" else 2 * rng.standard_normal(shape)
    return [np.asarray(x, dtype), np.asarray(rng.random(shape), dtype)]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("name", PAIRS)
def test_losses_of_pairs(name: str, reduction: str, dtype: str) -> None:
    for shape in ((), (1,), (5, 7), (3, 0), (33, 1030)):
        check(of_pair(name, reduction), pair(name, shape, dtype), "g-")


@pytest.mark.parametrize("name", PAIRS)
def test_gradients_of_the_target(name: str) -> None:
    check(of_pair(name, "mean"), pair(name, (6, 9), "float64"), "gg")
    check(of_pair(name, "none"), pair(name, (6, 9), "float64"), "-g")


@pytest.mark.parametrize(
    "name", ["mse_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy_with_logits"]
)
@pytest.mark.parametrize("dtype", FLOATS)
def test_special_numbers(name: str, dtype: str) -> None:
    for reduction in REDUCTIONS:
        check(of_pair(name, reduction), [special((9, 31), dtype), special((9, 31), dtype, 1)], "g-")


@pytest.mark.parametrize("dtype", FLOATS)
def test_certain_probabilities(dtype: str) -> None:
    x, t = np.array([0, 1, 0, 1, 0.5, 1e-30], dtype), np.array([0, 1, 1, 0, 0.25, 1], dtype)
    check(of_pair("binary_cross_entropy", "none"), [x, t], "g-")


def test_what_is_no_probability_is_refused() -> None:
    ones = rg.ones(3000)
    for wrong in (1.5, -0.1, float("nan")):
        x = np.full(3000, 0.5, np.float32)
        x[-1] = wrong
        with pytest.raises(RuntimeError, match="between 0 and 1"):
            F.binary_cross_entropy(rg.from_numpy(x), ones)


@pytest.mark.parametrize("name", PAIRS)
def test_layouts(name: str) -> None:
    x, t = pair(name, (8, 40), "float32")
    for a in layouts(x):
        for b in layouts(t):
            check(of_pair(name, "sum"), [a, b], "g-")


@pytest.mark.parametrize("name", PAIRS)
def test_no_bit_depends_on_the_number_of_threads(name: str) -> None:
    check_threads(of_pair(name, "mean"), pair(name, (300, 500), "float32"), "g-")


# -- classes -------------------------------------------------------------------------------------------------------

CLASSES = [(5,), (6, 3), (64, 10), (2, 4, 5), (2, 3, 4, 5), (40, 1000), (1, 3, 70, 80), (0, 3)]


def of_classes(name: str, reduction: str, weighted: bool, **options: Any) -> Any:
    """A loss of (x, target, weight) as one of operands that are arrays."""
    return lambda x, t, w: getattr(F, name)(x, t, w if weighted else None, reduction=reduction, **options)


def classes(shape: tuple[int, ...], dtype: str) -> list[Any]:
    rng = np.random.default_rng(2)
    count = shape[0] if len(shape) == 1 else shape[1]
    target = np.asarray(rng.integers(0, count, () if len(shape) == 1 else (shape[0], *shape[2:])))
    return [normal(shape, dtype), target, np.asarray(rng.random(count), dtype)]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("name", ["nll_loss", "cross_entropy"])
def test_losses_of_classes(name: str, reduction: str, weighted: bool, dtype: str) -> None:
    for shape in CLASSES:
        check(of_classes(name, reduction, weighted), classes(shape, dtype), "g--")


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_ignored_classes(reduction: str, weighted: bool) -> None:
    x, target, weight = classes((50, 7), "float32")
    target[::3] = -100
    x[0], x[3] = -np.inf, np.nan
    check(of_classes("nll_loss", reduction, weighted), [x, target, weight], "g--")
    check(of_classes("nll_loss", reduction, weighted, ignore_index=4), [x, target % 7, weight], "g--")
    target[:] = -100
    check(of_classes("nll_loss", reduction, weighted), [x, target, weight], "g--")


def test_a_weight_of_zero_silences_an_infinite_loss() -> None:
    x = np.array([[-np.inf, 0.0], [0.0, -np.inf]], np.float32)
    weight = np.array([0.0, 1.0], np.float32)
    check(of_classes("nll_loss", "sum", True), [x, np.array([0, 0]), weight], "g--")


def test_label_smoothing_and_probabilities() -> None:
    check(of_classes("cross_entropy", "mean", True, label_smoothing=0.2), classes((9, 5), "float64"), "g--")
    p = np.random.default_rng(0).random((9, 5))
    check(lambda x, t: F.cross_entropy(x, t), [normal((9, 5), "float64"), p], "gg")


def test_a_class_that_there_is_not_is_named() -> None:
    x, target, _ = classes((6, 3), "float32")
    for wrong in (3, -1):
        target[4] = wrong
        assert PACK.nll(x, target, None, 1, -100) is None
        with pytest.raises(IndexError, match=f"Target {wrong} is out of bounds"):
            F.nll_loss(rg.from_numpy(x), rg.from_numpy(target))


def test_layouts_of_log_probabilities() -> None:
    x, target, weight = classes((12, 5), "float32")
    for a in layouts(x):
        check(of_classes("nll_loss", "none", True), [a, target, weight], "g--")


def test_no_bit_of_a_class_loss_depends_on_the_number_of_threads() -> None:
    f = of_classes("cross_entropy", "mean", True)
    check_threads(f, classes((90, 600), "float32"), "g--")
    check_threads(f, classes((2, 5, 200, 200), "float32"), "g--")


def test_small_bytes_as_classes() -> None:
    x, target, weight = classes((6, 3), "float32")
    check(of_classes("nll_loss", "mean", True), [x, target.astype(np.uint8), weight], "g--")


def test_second_derivatives_are_recorded() -> None:
    x = rg.tensor(np.random.default_rng(0).random((3, 4)) * 0.8 + 0.1, requires_grad=True)
    t = rg.tensor(np.random.default_rng(1).random((3, 4)))
    for name in PAIRS:
        assert rg.autograd.gradgradcheck(lambda v, name=name: of_pair(name, "mean")(v, t), (x,))
    places = rg.tensor([1, 0, 3])
    assert rg.autograd.gradgradcheck(lambda v: F.cross_entropy(v, places), (x,))
