"""Dropout at random: what it keeps, what it scales, and that the gradient takes the same way."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg

F = rg.nn.functional
RATE = 0.3
WHOLE_CHANNELS = [("dropout1d", 3), ("dropout2d", 4), ("dropout3d", 5), ("feature_alpha_dropout", 4)]


@pytest.fixture(autouse=True)
def seeded():
    rg.manual_seed(1)


def ones(ndim):
    return rg.ones(60, 50, *([2] * (ndim - 2))).requires_grad_()


@pytest.mark.parametrize(("name", "ndim"), [("dropout", 2), *WHOLE_CHANNELS[:3]])
def test_what_is_kept_is_scaled_so_that_the_mean_stays(name, ndim):
    y = getattr(F, name)(ones(ndim), RATE, True)
    np.testing.assert_allclose(np.unique(y.detach().array), [0, 1 / (1 - RATE)], rtol=1e-6)
    assert abs(y.detach().array.mean() - 1) < 0.05


@pytest.mark.parametrize(("name", "ndim"), WHOLE_CHANNELS)
def test_channels_are_dropped_as_a_whole(name, ndim):
    y = getattr(F, name)(ones(ndim), RATE, True).detach().array.reshape(60, 50, -1)
    assert (y == y[..., :1]).all()
    assert len(np.unique(y)) == 2


@pytest.mark.parametrize("name", ["alpha_dropout", "feature_alpha_dropout"])
def test_alpha_dropout_keeps_mean_and_variance_of_normal_numbers(name):
    y = getattr(F, name)(rg.randn(400, 500), 0.2, True).array
    assert abs(y.mean()) < 0.02
    assert abs(y.var() - 1) < 0.02


@pytest.mark.parametrize("name", ["dropout", "alpha_dropout", "dropout2d", "feature_alpha_dropout"])
def test_the_gradient_is_zero_where_the_element_was_dropped(name):
    x = ones(4)
    y = getattr(F, name)(x, RATE, True)
    (g,) = rg.autograd.grad(y.sum(), x)
    kept = y.detach().array == y.detach().array.max()
    assert ((g.array != 0) == kept).all()
    assert len(np.unique(g.array)) == 2


def test_the_mask_of_native_dropout_says_what_was_kept():
    x = ones(2)
    y, mask = rg.native_dropout(x, RATE, True)
    (g,) = rg.autograd.grad(y.sum(), x)
    assert mask.dtype == rg.bool
    assert ((y.detach().array != 0) == mask.array).all()
    assert ((g.array != 0) == mask.array).all()


@pytest.mark.parametrize("name", ["dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout"])
def test_in_place_forms_write_into_their_argument(name):
    x = rg.ones(60, 50)
    assert getattr(rg, f"{name}_")(x, RATE, True) is x
    assert len(np.unique(x.array)) == 2


def test_dropout_in_place_of_one_sample_gives_the_sample_back():
    x = rg.ones(50, 3)
    assert F.dropout1d(x, RATE, True, inplace=True) is x
    assert x.shape == (50, 3)
    assert (x.array == x.array[:, :1]).all()


def test_gumbel_softmax_chooses_by_the_probabilities():
    logits = rg.tensor([0.5, 0.3, 0.2]).log().expand(20000, 3)
    chosen = F.gumbel_softmax(logits, hard=True).array.round(6)
    assert (chosen.sum(1) == 1).all()
    np.testing.assert_allclose(chosen.mean(0), [0.5, 0.3, 0.2], atol=0.02)


def test_hard_gumbel_softmax_has_the_gradient_of_the_soft_one():
    weights, gradients = rg.tensor([[1.0, 2.0, 3.0]]), []
    for hard in (False, True):
        x = rg.zeros(4, 3).requires_grad_()
        rg.manual_seed(3)
        gradients.append(rg.autograd.grad((F.gumbel_softmax(x, hard=hard) * weights).sum(), x)[0].array)
    np.testing.assert_allclose(*gradients, rtol=1e-6)


def test_dropout_of_attention_weights_keeps_the_mean():
    q, k, v = rg.zeros(1, 200, 4), rg.zeros(1, 100, 4), rg.ones(1, 100, 2)
    y = F.scaled_dot_product_attention(q, k, v, dropout_p=RATE).array
    assert abs(y.mean() - 1) < 0.02
    assert y.std() > 0.01


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("name", ["dropout", "dropout1d", "alpha_dropout", "feature_alpha_dropout"])
def test_every_rate_rounds_as_pytorch_does(torch, name, dtype):
    """Beside PyTorch, bit by bit: in halves a rate that is rounded too early gives another scale."""

    def go(lib):
        lib.manual_seed(0)
        x = lib.full((1, 8, 6), 1.5, dtype=getattr(lib, dtype))
        return [getattr(lib.nn.functional, name)(x, i / 25, True).double().tolist() for i in range(1, 25)]

    assert go(rg) == go(torch)
