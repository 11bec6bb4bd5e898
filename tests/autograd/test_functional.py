"""`autograd.functional`: what the comparison with PyTorch does not cover."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg
from retrograd.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp

STRATEGIES = [
    pytest.param({}, id="rows"),
    pytest.param({"vectorize": True}, id="vectorized"),
    pytest.param({"vectorize": True, "strategy": "forward-mode"}, id="forward"),
]


def mixed(x, y):
    return (x @ y).tanh(), (x.sum() * y).exp()


def points():
    x = rg.tensor([[0.1, -0.2, 0.3], [0.2, 0.5, -0.4]], dtype=rg.float64)
    y = rg.tensor([0.3, -0.1, 0.2], dtype=rg.float64)
    return x, y


def energy(x, y):
    return (x @ y).sin().sum() + (y**3).sum()


@pytest.mark.parametrize("options", STRATEGIES)
def test_jacobian_has_the_shape_of_the_output_then_of_the_input(options):
    blocks = jacobian(mixed, points(), **options)
    assert [[tuple(block.shape) for block in row] for row in blocks] == [
        [(2, 2, 3), (2, 3)],
        [(3, 2, 3), (3, 3)],
    ]


@pytest.mark.parametrize("options", STRATEGIES)
def test_all_ways_to_a_jacobian_agree(options):
    for row, expected in zip(jacobian(mixed, points(), **options), jacobian(mixed, points()), strict=True):
        for a, b in zip(row, expected, strict=True):
            np.testing.assert_allclose(a.array, b.array, rtol=1e-12)


@pytest.mark.parametrize("options", STRATEGIES)
def test_jacobian_of_empty_outputs_and_inputs_is_empty(options):
    assert jacobian(lambda x: x[:0], rg.ones(3), **options).shape == (0, 3)
    assert jacobian(lambda x: x * 2, rg.zeros(0), **options).shape == (0, 0)
    assert jacobian(lambda x: x.sum(), rg.zeros(0), **options).shape == (0,)


def test_products_are_products_with_the_jacobian():
    x = rg.tensor([0.5, -1.0, 2.0], dtype=rg.float64)
    v = rg.tensor([1.0, 2.0, -3.0], dtype=rg.float64)

    def f(x):
        return rg.stack([x.prod(), (x * x).sum()])

    matrix = jacobian(f, x).array
    np.testing.assert_allclose(jvp(f, x, v)[1].array, matrix @ v.array)
    np.testing.assert_allclose(vjp(f, x, v[:2])[1].array, v.array[:2] @ matrix)


def test_products_are_products_with_the_hessian():
    x, y = points()
    v = (rg.ones_like(x), rg.ones_like(y))
    blocks = hessian(energy, (x, y))
    summed = [
        sum(b.array.reshape(*p.shape, -1).sum(-1) for b in row) for row, p in zip(blocks, (x, y), strict=True)
    ]
    for product in (hvp, vhp):
        for got, expected in zip(product(energy, (x, y), v)[1], summed, strict=True):
            np.testing.assert_allclose(got.array, expected)


@pytest.mark.parametrize(
    "options", [{}, {"vectorize": True}, {"vectorize": True, "outer_jacobian_strategy": "forward-mode"}]
)
def test_hessian_is_symmetric_and_has_no_graph(options):
    blocks = hessian(energy, points(), **options)
    np.testing.assert_allclose(blocks[0][1].array, np.moveaxis(blocks[1][0].array, 0, -1))
    assert not any(block.requires_grad for row in blocks for block in row)


def test_forward_mode_leaves_the_inputs_and_no_graph_behind():
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    block = jacobian(lambda x: x * x, x, vectorize=True, strategy="forward-mode")
    assert not block.requires_grad
    assert x.grad is None
    plain = rg.tensor([1.0, 2.0])
    hessian(lambda x: (x**3).sum(), plain, vectorize=True, outer_jacobian_strategy="forward-mode")
    assert not plain.requires_grad


def test_forward_mode_takes_tuples_for_tuples():
    blocks = jacobian(lambda x: (x * 2,), (rg.ones(2),), vectorize=True, strategy="forward-mode")
    assert isinstance(blocks, tuple)
    assert isinstance(blocks[0], tuple)


def test_forward_mode_uses_the_jvp_of_a_custom_function():
    class Double(rg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def jvp(ctx, tangent):
            return tangent * 5  # on purpose not 2: it shows who was asked

    assert jacobian(Double.apply, rg.ones(1), vectorize=True, strategy="forward-mode").tolist() == [[5.0]]


def test_inputs_computed_under_no_grad_start_a_graph_without_a_warning():
    w = rg.tensor([1.0, 2.0], requires_grad=True)
    with rg.no_grad():
        x = (w * w).sum()
    assert jacobian(lambda x: x**2, x).item() == 10.0


def test_strict_error_says_how_to_be_lenient():
    with pytest.raises(RuntimeError, match="strict=False gives zeros"):
        vjp(lambda x, y: x.sum(), (rg.ones(2), rg.ones(2)), strict=True)


def test_strict_jacobian_with_a_graph_names_the_input():
    with pytest.raises(
        RuntimeError, match="jacobian of the user-provided function is independent of input 1"
    ):
        jacobian(lambda x, y: x.exp().sum() + y, (rg.ones(2), rg.ones(())), strict=True, create_graph=True)


def test_an_error_about_a_list_says_tuple():
    with pytest.raises(TypeError, match=r"use tuple\(\.\.\.\)"):
        jacobian(lambda x: x, [rg.ones(2)])


def test_a_missing_vector_is_described():
    with pytest.raises(RuntimeError, match=r"pass v of the same shape"):
        jvp(lambda x: x, rg.ones(2))


def test_grad_mode_is_put_back_after_an_error():
    with rg.no_grad():
        with pytest.raises(ZeroDivisionError):
            vjp(lambda x: 1 / 0, rg.ones(2))
        assert not rg.is_grad_enabled()
