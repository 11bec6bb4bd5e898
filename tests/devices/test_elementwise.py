"""What the op table has no rows for, on the strict device: random numbers, writes without a record, questions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from tests.devices.place import HERE, strict_only

X = [[0.5, -1.25, 3.0], [float("inf"), 0.75, float("nan")]]
PLAIN = [[0.5, -1.25, 3.0], [2.0, 0.75, -0.5]]
CHANCES = [[0.5, 0.25, 0.75], [1.0, 0.0, 0.125]]


def on(where: str, values: Any, dtype: Any = rg.float64) -> Any:
    return rg.tensor(values, dtype=dtype).to(where)


def same_on_both(compute: Callable[[str], Any]) -> None:
    """The result stays on the strict device, and is that of the CPU."""
    rg.manual_seed(5)
    wanted = compute("cpu")
    rg.manual_seed(5)
    found = compute(HERE)
    assert str(found.device) == HERE
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found.cpu().numpy(), wanted.numpy(), rtol=1e-12)


FILLS: dict[str, Callable[[Any], Any]] = {
    "uniform_": lambda t: t.uniform_(-1, 2),
    "normal_": lambda t: t.normal_(1, 2),
    "bernoulli_": lambda t: t.bernoulli_(0.25),
    "random_": lambda t: t.random_(10),
    "exponential_": lambda t: t.exponential_(2),
    "cauchy_": lambda t: t.cauchy_(1, 2),
    "geometric_": lambda t: t.geometric_(0.5),
    "log_normal_": lambda t: t.log_normal_(),
}


@strict_only
@pytest.mark.parametrize("name", FILLS)
def test_random_fill(name: str) -> None:
    same_on_both(lambda where: FILLS[name](on(where, PLAIN)))


DRAWS: dict[str, Callable[[Any, Any], Any]] = {
    "bernoulli": lambda t, p: rg.bernoulli(p),
    "bernoulli by number": lambda t, p: rg.bernoulli(t, 0.5),
    "bernoulli_ by tensor": lambda t, p: t.bernoulli_(p),
    "normal around": lambda t, p: rg.normal(t, 2.0),
    "normal with deviation": lambda t, p: rg.normal(0.5, p),
    "normal by both": lambda t, p: rg.normal(t, p),
    "poisson": lambda t, p: rg.poisson(p * 10),
    "binomial": lambda t, p: rg.binomial(p * 0 + 8, p),
    "multinomial": lambda t, p: rg.multinomial(p, 2),
    "multinomial, put back": lambda t, p: rg.multinomial(p, 5, replacement=True),
}


@strict_only
@pytest.mark.parametrize("name", DRAWS)
def test_draw_by_parameters(name: str) -> None:
    same_on_both(lambda where: DRAWS[name](on(where, PLAIN), on(where, CHANCES)))


WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "add_": lambda t, u: t.add_(u, alpha=2),
    "sub_": lambda t, u: t.sub_(1.5),
    "mul_": lambda t, u: t.mul_(u),
    "div_": lambda t, u: t.div_(2),
    "addcmul_": lambda t, u: t.addcmul_(t, u, value=0.5),
    "addcdiv_": lambda t, u: t.addcdiv_(t, u + 3),
    "lerp_": lambda t, u: t.lerp_(u, 0.25),
    "abs_": lambda t, u: t.abs_(),
    "pow_": lambda t, u: t.pow_(2),
    "clamp_": lambda t, u: t.clamp_(-1, 1),
    "zero_": lambda t, u: t.zero_(),
    "fill_": lambda t, u: t.fill_(3),
    "copy_": lambda t, u: t.copy_(u),
    "copy_ from the CPU": lambda t, u: t.copy_(rg.tensor([1.0, 2.0, 3.0])),
    "gt_": lambda t, u: t.gt_(u),
    "logical_and_": lambda t, u: t.logical_and_(u),
    "exp with out": lambda t, u: rg.exp(u, out=t),
    "add with out": lambda t, u: rg.add(t, u, out=t),
    "where of numbers": lambda t, u: rg.where(t > u, 1.0, 2.0),
    "integers by numbers": lambda t, u: (t.long() % 3) ** 2 // 2,
    "clamp of integers": lambda t, u: t.long().clamp(0, 1),
}


@pytest.mark.parametrize("name", WRITES)
def test_write_without_record(name: str) -> None:
    same_on_both(lambda where: WRITES[name](on(where, PLAIN), on(where, CHANCES)))


QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "isnan": rg.isnan,
    "isinf": rg.isinf,
    "isfinite": rg.isfinite,
    "isposinf": rg.isposinf,
    "isneginf": rg.isneginf,
    "isreal": rg.isreal,
    "signbit": rg.signbit,
    "isclose": lambda t: rg.isclose(t, t + 1e-9, equal_nan=True),
    "logical_not": rg.logical_not,
    "nonzero": lambda t: rg.where(t > 0)[1],
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_question_about_elements(name: str) -> None:
    same_on_both(lambda where: QUESTIONS[name](on(where, X)))


def test_questions_about_all() -> None:
    t, u = on(HERE, PLAIN), on(HERE, CHANCES)
    assert rg.allclose(t, t + 1e-9) is True
    assert rg.allclose(t, u) is False
    assert rg.equal(t, t.clone()) is True
    assert rg.equal(t, u) is False


UNDERIVED = [
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "modified_bessel_i0", "modified_bessel_i1",
    "modified_bessel_k0", "modified_bessel_k1", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1",
    "spherical_bessel_j0",
]  # fmt: skip
POLYNOMIALS = [
    "chebyshev_polynomial_t", "chebyshev_polynomial_u", "hermite_polynomial_h", "hermite_polynomial_he",
    "laguerre_polynomial_l", "legendre_polynomial_p", "shifted_chebyshev_polynomial_v",
]  # fmt: skip


@pytest.mark.parametrize("name", UNDERIVED)
def test_function_without_derivative(name: str) -> None:
    points = [-20.0, -5.0, -0.5, 0.0, 0.25, 1.5, 3.0, 12.0, float("inf"), float("nan")]
    same_on_both(lambda where: getattr(rg.special, name)(on(where, points)))


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomial(name: str) -> None:
    same_on_both(
        lambda where: getattr(rg.special, name)(on(where, [-0.5, 0.25, 2.0]), on(where, [0.0, 2.0, 5.0]))
    )
    same_on_both(lambda where: getattr(rg.special, name)(on(where, [-0.5, 0.25, 2.0]), 3))


def test_division_by_zero_is_refused() -> None:
    t = on(HERE, [1, 2], rg.int64)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        t % 0
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        t // (t - 1)


def test_function_of_numpy() -> None:
    t = on(HERE, PLAIN)
    assert np.isclose(t, t + 1e-9).tolist() == [[True] * 3] * 2
    assert np.allclose(t, t + 1) is False
    same_on_both(lambda where: np.multiply(np.sin(on(where, PLAIN)), 2))
