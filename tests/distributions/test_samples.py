"""Samples: their shapes and moments, their distribution functions, and the gradients that pass them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import retrograd as rg
from retrograd import distributions as D

from .table import BATCHES, ROWS

every_row = pytest.mark.parametrize("row", ROWS, ids=str)
COUNT = 4000


@every_row
@pytest.mark.parametrize("batch", BATCHES, ids=str)
def test_shapes_and_supports(row, batch):
    made, leaves = row.make(rg, row.arrays(batch))
    for shape in ((), (5,), (2, 3)):
        sample = made.sample(shape)
        assert sample.shape == (*shape, *made.batch_shape, *made.event_shape)
        assert not sample.requires_grad
        assert made.support.check(sample).all()
    if made.has_rsample:
        assert made.rsample((2,)).requires_grad
    else:
        with pytest.raises(NotImplementedError, match="does not implement rsample"):
            made.rsample()
    assert all(leaf.grad is None for leaf in leaves)


@every_row
def test_means_and_variances(row):
    """Sample means lie within five standard errors of the mean."""
    made, _ = row.make(rg, row.arrays((2,), seed=1))
    rg.manual_seed(3)
    sample = made.sample((COUNT,)).numpy()
    try:
        mean, variance = made.mean.detach().numpy(), made.variance.detach().numpy()
    except NotImplementedError:
        return
    if row.name == "VonMises":  # directions
        sample, mean = np.cos(sample - mean), 1 - variance
        variance = 0.5 * np.ones_like(mean)
    if np.isfinite(variance).all():
        error = 5 * np.sqrt(variance / COUNT)
        assert (np.abs(sample.mean(0) - mean) < error + 1e-12).all()
        if row.name not in (
            "FisherSnedecor",
            "InverseGamma",
            "Pareto",
            "LogNormal",
            "GeneralizedPareto",
            "VonMises",
        ):
            np.testing.assert_allclose(sample.var(0), variance, rtol=0.25, atol=1e-12)


def with_function():
    """Rows of single continuous numbers with a distribution function."""
    return [row for row in ROWS if row.name != "HalfCauchy" and has_function(row)]


def has_function(row):
    made, _ = row.make(rg, row.arrays(()))
    try:
        made.cdf(made.sample())
    except NotImplementedError:
        return False
    return not made.support.is_discrete and not made.event_shape


@pytest.mark.parametrize("row", with_function(), ids=str)
def test_samples_follow_the_distribution_function(row):
    """The largest distance of Kolmogorov and Smirnov."""
    made, _ = row.make(rg, row.arrays(()))
    rg.manual_seed(5)
    heights = np.sort(made.cdf(made.sample((COUNT,))).detach().numpy())
    steps = np.arange(COUNT + 1) / COUNT
    distance = max((heights - steps[:-1]).max(), (steps[1:] - heights).max())
    assert distance < 1.95 / math.sqrt(COUNT)  # exceeded by one honest draw in a thousand


@pytest.mark.parametrize(
    "row", [r for r in with_function() if r.name not in ("Chi2", "Gamma", "InverseGamma")], ids=str
)
def test_a_quantile_is_the_inverse_of_a_probability(row):
    made, _ = row.make(rg, row.arrays(()))
    value = made.sample((20,))
    np.testing.assert_allclose(
        made.icdf(made.cdf(value)).detach(), value, rtol=1e-3 if row.dtype == "float32" else 1e-6
    )


# ---- discrete ones, by their probabilities --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: D.Bernoulli(0.3),
        lambda: D.Binomial(4, rg.tensor(0.3)),
        lambda: D.Categorical(rg.tensor([0.2, 0.5, 0.3])),
        lambda: D.Geometric(0.4),
        lambda: D.NegativeBinomial(3.0, rg.tensor(0.4)),
        lambda: D.Poisson(2.0),
    ],
    ids=["Bernoulli", "Binomial", "Categorical", "Geometric", "NegativeBinomial", "Poisson"],
)
def test_frequencies_are_the_probabilities(make):
    made = make()
    rg.manual_seed(7)
    sample = made.sample((COUNT,)).numpy()
    for value in np.unique(sample)[:5]:
        p = made.log_prob(rg.tensor(value)).exp().item()
        assert abs((sample == value).mean() - p) < 5 * math.sqrt(p * (1 - p) / COUNT)


def test_a_seed_repeats_samples():
    for row in ROWS:
        made, _ = row.make(rg, row.arrays((2,)))
        rg.manual_seed(11)
        first = made.sample((3,))
        rg.manual_seed(11)
        assert (made.sample((3,)) == first).all()


# ---- gradients through samples --------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", [r for r in ROWS if r.name not in ("LKJCholesky", "Wishart")], ids=str)
def test_the_gradient_of_a_mean_is_the_mean_gradient_of_samples(row):
    made, leaves = row.make(rg, row.arrays(()))
    if (
        not made.has_rsample
        or row.name in ("Cauchy", "HalfCauchy")
        or row.name.startswith(("Relaxed", "Logistic"))
    ):
        return
    rg.manual_seed(13)
    weight = rg.tensor(np.arange(1.0, 1 + math.prod(made.event_shape)).reshape(made.event_shape))
    (made.rsample((20000,)) * weight).sum().backward()
    again, exact = row.make(rg, row.arrays(()))
    mean = (again.mean * weight).sum()
    grads = rg.autograd.grad(mean, exact, materialize_grads=True, allow_unused=True)
    for found, expected in zip([leaf.grad / 20000 for leaf in leaves], grads, strict=True):
        # A factor of a covariance moves the noise, whose mean is 0.
        np.testing.assert_allclose(found, expected, rtol=0.08, atol=0.08)


@pytest.mark.parametrize("concentration", [0.05, 0.5, 1.0, 3.0, 30.0, 250.0, 1e5])
def test_gamma_samples_move_as_pytorchs(concentration, torch):
    a = rg.full((200,), concentration, dtype=rg.float64, requires_grad=True)
    rg.manual_seed(17)
    sample = rg._standard_gamma(a)
    sample.sum().backward()
    theirs = torch._standard_gamma_grad(
        torch.tensor(a.tolist()).double(), torch.tensor(sample.tolist()).double()
    )
    np.testing.assert_allclose(a.grad, theirs, rtol=2e-3, atol=1e-30)


@pytest.mark.parametrize("concentration", [0.3, 1.0, 7.0, 40.0, 300.0])
def test_gamma_samples_keep_their_probability(concentration):
    """Exactly: the total derivative of the distribution function is 0."""
    special = pytest.importorskip("scipy.special")
    x = np.random.default_rng(0).gamma(concentration, size=100)
    slope = rg._standard_gamma_grad(rg.full((100,), concentration, dtype=rg.float64), rg.tensor(x)).numpy()
    step = 1e-4 * concentration
    moved = [
        special.gammaincinv(concentration + s, special.gammainc(concentration, x)) for s in (step, -step)
    ]
    np.testing.assert_allclose(slope, (moved[0] - moved[1]) / (2 * step), rtol=1e-5)


@pytest.mark.parametrize(
    ("a", "b"), [(0.4, 0.6), (1.0, 1.0), (2.0, 7.0), (60.0, 40.0), (2e3, 3e3), (2e5, 3e5)]
)
def test_beta_samples_keep_their_probability(a, b):
    special = pytest.importorskip("scipy.special")
    x = np.clip(np.random.default_rng(0).beta(a, b, size=100), 1e-6, 1 - 1e-6)
    given = [rg.tensor(v) for v in (x, np.full(100, a), np.full(100, a + b))]
    slope = rg._dirichlet_grad(*given).numpy() * (1 - x)
    step = 1e-4 * a
    moved = [special.betaincinv(a + s, b, special.betainc(a, b, x)) for s in (step, -step)]
    np.testing.assert_allclose(slope, (moved[0] - moved[1]) / (2 * step), rtol=2e-5)


def test_dirichlet_samples_move_as_pytorchs(torch):
    a = rg.tensor([[0.3, 2.0, 5.0], [1.0, 1.0, 1.0]], dtype=rg.float64, requires_grad=True)
    rg.manual_seed(19)
    sample = D.Dirichlet(a).rsample((50,))
    weight = rg.tensor([1.0, -2.0, 3.0], dtype=rg.float64)
    (sample * weight).sum().backward()
    x, c, w = (torch.tensor(v.tolist()).double() for v in (sample, a, weight))
    moves = torch._dirichlet_grad(x, c.expand_as(x), c.sum(-1, True).expand_as(x))
    expected = (moves * (w - (x * w).sum(-1, True))).sum(0)
    np.testing.assert_allclose(a.grad, expected, rtol=2e-3)


def test_samples_in_forward_mode_and_in_batches():
    a = rg.tensor([0.5, 2.0, 3.0], dtype=rg.float64)
    rg.manual_seed(23)
    _, tangent = rg.func.jvp(rg._sample_dirichlet, (a,), (rg.ones_like(a),))
    assert abs(tangent.sum().item()) < 1e-12  # parts of a whole stay one
    rg.manual_seed(23)
    again = a.clone().requires_grad_()
    (rg._sample_dirichlet(again) * rg.tensor([1.0, 0.0, 0.0])).sum().backward()
    assert again.grad.sum().item() == pytest.approx(tangent[0].item())
    for draw in (rg._standard_gamma, rg._sample_dirichlet):
        grads = rg.func.vmap(rg.func.grad(lambda v, draw=draw: (draw(v) ** 2).sum()), randomness="different")
        assert grads(rg.rand(4, 3) + 0.5).isfinite().all()
    rows = rg.func.vmap(rg._standard_gamma, randomness="different")(rg.full((3, 2), 2.0))
    assert rows.shape == (3, 2)
    assert len(set(rows.flatten().tolist())) == 6


def test_samples_are_differentiated_once():
    for draw in (rg._standard_gamma, rg._sample_dirichlet):
        a = rg.tensor([1.0, 2.0], requires_grad=True)
        (first,) = rg.autograd.grad((draw(a) ** 2).sum(), a, create_graph=True)
        with pytest.raises(NotImplementedError, match="differentiated once"):
            first.sum().backward()


@pytest.mark.parametrize("draw", [rg._standard_gamma, rg._sample_dirichlet])
def test_shapes_of_the_gamma_distribution_are_floating_point(draw):
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
        draw(rg.tensor([1, 2]))
    with pytest.raises(TypeError, match="Tensor"):
        draw([1.0])
    assert (draw(rg.tensor([0.0, 1.0])) > 0).all()
