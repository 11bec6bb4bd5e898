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
    "cauchy_": lambda x: (x * 1).cauchy_(),
    "geometric_": lambda x: (x * 1).geometric_(0.5),
    "log_normal_": lambda x: (x * 1).log_normal_(),
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


def test_binomial_counts_have_no_derivative():
    p = rg.tensor([0.0, 1.0], requires_grad=True)
    counts = rg.binomial(rg.tensor([5.0, 7.0]), p)
    assert counts.tolist() == [0.0, 7.0]
    with pytest.raises(RuntimeError, match="derivative for aten::binomial is not implemented"):
        counts.sum().backward()


@pytest.mark.parametrize("reduce", [rg.scatter_reduce, rg.index_reduce], ids=["scatter", "index"])
def test_products_with_two_zeros_are_differentiated_once(reduce):
    x, y = rg.tensor([2.0], requires_grad=True), rg.tensor([0.0, 3.0, 0.0], requires_grad=True)
    out = reduce(x, 0, rg.tensor([0, 0, 0]), y, "prod")
    (first,) = rg.autograd.grad(out.sum(), y, create_graph=True)
    assert first.tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(RuntimeError, match="Double backward is unsupported for src when >1 zeros"):
        rg.autograd.grad(first.sum(), y)
