"""Operations whose gradient is 0 because they are random, and those that refuse one."""

from __future__ import annotations

from typing import Any

import pytest

import retrograd as rg

DRAWS: dict[str, Any] = {
    "bernoulli": lambda x: rg.bernoulli(x),
    "poisson": lambda x: rg.poisson(x),
    "normal by mean": lambda x: rg.normal(x, 1.0),
    "normal by deviation": lambda x: rg.normal(0.0, x),
    "normal by both": lambda x: rg.normal(x, x),
    "normal_": lambda x: (x * 1).normal_(),
    "uniform_": lambda x: (x * 1).uniform_(),
    "bernoulli_": lambda x: (x * 1).bernoulli_(0.5),
    "bernoulli_ by a tensor": lambda x: (x * 1).bernoulli_(x),
    "random_": lambda x: (x * 1).random_(5),
    "exponential_": lambda x: (x * 1).exponential_(),
}


@pytest.mark.parametrize("kind", DRAWS)
def test_a_random_result_does_not_depend_on_its_arguments(kind):
    x = rg.tensor([0.25, 0.5, 0.75], requires_grad=True)
    out = DRAWS[kind](x)
    assert out.shape == (3,)
    assert out.requires_grad
    out.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("divide", [rg.floor_divide, lambda x, y: x // y], ids=["function", "operator"])
def test_floor_division_has_no_derivative(divide):
    x = rg.tensor([5.0], requires_grad=True)
    y = divide(x, 2.0)
    assert y.tolist() == [2.0]
    with pytest.raises(RuntimeError, match="derivative for .*floor_divide.* is not implemented"):
        y.backward()
    assert x.grad is None


@pytest.mark.parametrize("p", [0.25, 0.5])
def test_dropout_scales_the_gradient_of_what_it_keeps(p):
    x = rg.ones(1000, requires_grad=True)
    out = rg.nn.functional.dropout(x, p)
    out.sum().backward()
    assert x.grad.tolist() == out.tolist()
    assert sorted(set(out.tolist())) == pytest.approx([0.0, 1 / (1 - p)])
