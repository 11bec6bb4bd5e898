"""Divergences beside PyTorch's: every pair that it registers, with batches, edges and gradients."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import retrograd as rg
from retrograd import distributions as D

from .table import ROWS
from .test_table import close

BY_NAME = {row.name: row for row in reversed(ROWS)}  # the first row of each name


def pairs():
    from retrograd.distributions import kl, kl_registry

    assert kl.kl_divergence is D.kl_divergence
    return sorted(
        (p.__name__, q.__name__) for p, q in kl_registry._KL_REGISTRY if p.__module__.startswith("retrograd.")
    )


def simple(names):
    return [pair for pair in names if all(name in BY_NAME for name in pair)]


def test_every_pair_of_pytorchs_is_registered(torch):
    theirs = {(p.__name__, q.__name__) for p, q in torch.distributions.kl._KL_REGISTRY}
    assert set(pairs()) == theirs
    assert len(theirs) == 87


# Parameters of the second distribution under which the divergence is finite.
INSIDE = {
    ("Beta", "Uniform"): {"low": -0.5, "high": 1.5},
    ("ContinuousBernoulli", "Uniform"): {"low": -0.5, "high": 1.5},
    ("Uniform", "Uniform"): {"low": -9.0, "high": 12.0},
}
FIRST = {
    ("Uniform", "Beta"): {"low": 0.2, "high": 0.7},
    ("Uniform", "ContinuousBernoulli"): {"low": 0.2, "high": 0.7},
    ("Uniform", "Exponential"): {"low": 0.2, "high": 0.7},
    ("Uniform", "Gamma"): {"low": 0.2, "high": 0.7},
    ("Uniform", "Pareto"): {"low": 4.0, "high": 5.0},
    ("Pareto", "Pareto"): {"scale": 4.0, "alpha": 2.0},
}


def arrays(name, batch, seed, given):
    found = BY_NAME[name].arrays(batch, seed)
    return {n: np.full_like(a, given[n]) for n, a in found.items()} if given else found


@pytest.mark.parametrize("names", simple(pairs()), ids="-".join)
@pytest.mark.parametrize("batch", [(), (2, 4)], ids=str)
def test_divergences_and_their_gradients(names, batch, torch):
    results = []
    for lib in (rg, torch):
        p, own = BY_NAME[names[0]].make(lib, arrays(names[0], batch, 1, FIRST.get(names)))
        q, other = BY_NAME[names[1]].make(lib, arrays(names[1], batch, 2, INSIDE.get(names)))
        found = lib.distributions.kl_divergence(p, q)
        if found.requires_grad:
            found.sum().backward()
        results.append([found, *[lib.zeros_like(v) if v.grad is None else v.grad for v in (*own, *other)]])
    for ours, theirs in zip(*results, strict=True):
        assert np.isfinite(theirs.detach().numpy()).all() or names[0] != names[1]
        close(ours, theirs, names[0], rtol=1e-6)


EDGES = {
    "certain events": lambda t, D: D.kl_divergence(
        D.Bernoulli(t([0.0, 1.0, 0.0, 0.5])), D.Bernoulli(t([0.0, 1.0, 1.0, 0.0]))
    ),
    "kinds that never come": lambda t, D: D.kl_divergence(
        D.Categorical(t([[0.0, 1.0], [0.5, 0.5]])), D.Categorical(t([0.0, 1.0]))
    ),
    "more trials": lambda t, D: D.kl_divergence(D.Binomial(3, t([0.3])), D.Binomial(2, t([0.4]))),
    "a wider interval": lambda t, D: D.kl_divergence(D.Uniform(t(0.0), t(2.0)), D.Uniform(t(0.0), t(1.0))),
    "a heavy tail": lambda t, D: D.kl_divergence(
        D.Pareto(t(1.0), t([0.5, 1.5, 3.0])), D.Normal(t(0.0), t(1.0))
    ),
    "a heavy tail to gamma": lambda t, D: D.kl_divergence(
        D.Pareto(t(1.0), t([0.5, 1.5])), D.Gamma(t(2.0), t(1.0))
    ),
    "interval across 0": lambda t, D: D.kl_divergence(D.Uniform(t(-1.0), t(1.0)), D.Gamma(t(2.0), t(1.0))),
    "interval from 0": lambda t, D: D.kl_divergence(D.Uniform(t(0.0), t(1.0)), D.Beta(t(2.0), t(3.0))),
    "log normal": lambda t, D: D.kl_divergence(D.LogNormal(t(0.0), t(1.0)), D.LogNormal(t(1.0), t(2.0))),
    "independent": lambda t, D: D.kl_divergence(
        D.Independent(D.Normal(t([[0.0, 1.0]]), t(1.0)), 1),
        D.Independent(D.Normal(t([[1.0, 1.0]]), t(2.0)), 1),
    ),
    "full and low rank": lambda t, D: D.kl_divergence(
        D.MultivariateNormal(t([0.0, 1.0]), t([[2.0, 0.5], [0.5, 1.0]])),
        D.LowRankMultivariateNormal(t([1.0, 1.0]), t([[1.0], [0.5]]), t([1.0, 2.0])),
    ),
    "chi squared": lambda t, D: D.kl_divergence(D.Chi2(t(3.0)), D.Chi2(t(4.0))),
    "wishart": lambda t, D: D.kl_divergence(
        D.Wishart(t(5.0), t([[2.0, 0.5], [0.5, 1.0]])), D.Wishart(t(4.0), t([[1.0, 0.0], [0.0, 1.0]]))
    ),
}


@pytest.mark.parametrize("name", EDGES)
def test_edges(name, torch):
    run = EDGES[name]
    close(
        run(lambda v: rg.tensor(v, dtype=rg.float64), D),
        run(lambda v: torch.tensor(v, dtype=torch.float64), torch.distributions),
        name,
        rtol=1e-6,
    )


REFUSED = {
    "no formula": lambda D, t: D.kl_divergence(D.VonMises(0.0, 1.0), D.VonMises(0.0, 1.0)),
    "two families": lambda D, t: D.kl_divergence(D.Normal(0.0, 1.0), D.Bernoulli(0.2)),
    "fewer trials": lambda D, t: D.kl_divergence(D.Binomial(2, t(0.3)), D.Binomial(3, t(0.4))),
    "other transforms": lambda D, t: D.kl_divergence(D.Weibull(1.0, 1.0), D.Weibull(1.0, 2.0)),
    "other events": lambda D, t: D.kl_divergence(
        D.Independent(D.Normal(t([0.0]), 1.0), 1), D.Independent(D.Normal(t([0.0]), 1.0), 0)
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_divergence(name, torch):
    for lib in (torch, rg):
        with pytest.raises(NotImplementedError):
            REFUSED[name](lib.distributions, lib.tensor)


def test_batches_of_wishart_distributions():
    """Which PyTorch adds up, by mistake."""
    V = rg.tensor([[2.0, 0.5], [0.5, 1.0]], dtype=rg.float64)
    p, q = D.Wishart(rg.tensor([5.0, 6.0]).double(), V), D.Wishart(rg.tensor([4.0, 4.5]).double(), V)
    each = [
        D.kl_divergence(D.Wishart(a, V), D.Wishart(b, V)).item()
        for a, b in zip(p.df.unbind(), q.df.unbind(), strict=True)
    ]
    assert D.kl_divergence(p, q).tolist() == pytest.approx(each)


# ---- formulas of one's own ------------------------------------------------------------------------------------------


@pytest.fixture
def registry():
    """The register as it was, after a test."""
    from retrograd.distributions import kl_registry

    before = dict(kl_registry._KL_REGISTRY)
    yield kl_registry
    kl_registry._KL_REGISTRY.clear()
    kl_registry._KL_REGISTRY.update(before)
    kl_registry._KL_MEMOIZE.clear()


def test_the_nearest_pair_is_taken(registry):
    class Mine(D.Normal): ...

    class Others(Mine): ...

    normal = D.kl_divergence(D.Normal(0.0, 1.0), D.Normal(1.0, 1.0))
    assert D.kl_divergence(Others(0.0, 1.0), Mine(1.0, 1.0)) == normal  # by inheritance
    D.register_kl(Mine, D.Normal)(lambda p, q: "nearer")
    assert D.kl_divergence(Others(0.0, 1.0), Mine(1.0, 1.0)) == "nearer"
    assert D.kl_divergence(D.Normal(0.0, 1.0), Mine(1.0, 1.0)) == normal


def test_an_ambiguous_pair_warns(registry):
    class Mine(D.Normal): ...

    D.register_kl(Mine, D.Normal)(lambda p, q: "first")
    D.register_kl(D.Normal, Mine)(lambda p, q: "second")
    with pytest.warns(RuntimeWarning, match=r"Ambiguous kl_divergence\(Mine, Mine\)"):
        assert D.kl_divergence(Mine(0.0, 1.0), Mine(1.0, 1.0)) == "first"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert D.kl_divergence(Mine(0.0, 1.0), Mine(1.0, 1.0)) == "first"  # it is said once


def test_only_distributions_are_registered():
    with pytest.raises(TypeError, match="type_p to be a Distribution subclass"):
        D.register_kl(3, D.Normal)
    with pytest.raises(TypeError, match="type_q to be a Distribution subclass"):
        D.register_kl(D.Normal, 3)
