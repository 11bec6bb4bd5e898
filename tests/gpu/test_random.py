"""Random numbers that the GPU draws: their distribution, and that a seed gives them again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import retrograd as rg

stats = pytest.importorskip("scipy.stats")

N = 20_000


def full(value: float) -> Any:
    return rg.full((N,), value, device="cuda")


def empty() -> Any:
    return rg.empty(N, device="cuda")


DRAWS: dict[str, tuple[Callable[..., Any], Any]] = {
    "rand": (lambda g: rg.rand(N, device="cuda", generator=g), stats.uniform()),
    "rand64": (lambda g: rg.rand(N, device="cuda", generator=g, dtype=rg.float64), stats.uniform()),
    "randn": (lambda g: rg.randn(N, device="cuda", generator=g), stats.norm()),
    "randn64": (lambda g: rg.randn(N, device="cuda", generator=g, dtype=rg.float64), stats.norm()),
    "exponential": (lambda g: empty().exponential_(2, generator=g), stats.expon(scale=0.5)),
    "cauchy": (lambda g: empty().cauchy_(1, 2, generator=g), stats.cauchy(1, 2)),
    "lognormal": (
        lambda g: empty().log_normal_(0.5, 0.7, generator=g),
        stats.lognorm(0.7, scale=np.exp(0.5)),
    ),
}
COUNTS: dict[str, tuple[Callable[..., Any], Any]] = {
    "geometric": (lambda g: empty().geometric_(0.3, generator=g), stats.geom(0.3)),
    "poisson": (lambda g: rg.poisson(full(4.0), g), stats.poisson(4)),
    "poisson-many": (lambda g: rg.poisson(full(100.0), g), stats.poisson(100)),
    "binomial": (lambda g: rg.binomial(full(9.0), full(0.3), g), stats.binom(9, 0.3)),
    "binomial-many": (lambda g: rg.binomial(full(200.0), full(0.7), g), stats.binom(200, 0.7)),
    "randint": (lambda g: rg.randint(-3, 5, (N,), device="cuda", generator=g), stats.randint(-3, 5)),
    "bernoulli": (lambda g: full(0.3).bernoulli(generator=g), stats.bernoulli(0.3)),
}


def generator(seed: int) -> Any:
    return rg.Generator("cuda").manual_seed(seed)


@pytest.mark.parametrize("name", DRAWS)
def test_distribution(name: str) -> None:
    draw, wanted = DRAWS[name]
    found = draw(generator(1)).cpu().double().numpy()
    assert stats.kstest(found, wanted.cdf).pvalue > 1e-4


@pytest.mark.parametrize("name", COUNTS)
def test_counts(name: str) -> None:
    draw, wanted = COUNTS[name]
    found = draw(generator(2)).cpu().double().numpy()
    values, counts = np.unique(found, return_counts=True)
    expected = wanted.pmf(values) * N
    enough = expected > 5
    assert enough.sum() >= 2
    chi = (((counts - expected) ** 2) / expected)[enough].sum()
    assert stats.chi2(enough.sum()).sf(chi) > 1e-4
    assert counts[enough].sum() > 0.97 * N


@pytest.mark.parametrize("name", {**DRAWS, **COUNTS})
def test_a_seed_gives_them_again(name: str) -> None:
    draw = {**DRAWS, **COUNTS}[name][0]
    g = generator(3)
    first, second = draw(g).cpu(), draw(g).cpu()
    assert not rg.equal(first, second)
    assert rg.equal(draw(g.manual_seed(3)).cpu(), first)
    state = g.get_state()
    third = draw(g).cpu()
    g.set_state(state)
    assert rg.equal(draw(g).cpu(), third)
    assert rg.equal(third, second)


def test_permutation() -> None:
    p = rg.randperm(1000, device="cuda", generator=generator(4)).cpu()
    assert sorted(p.tolist()) == list(range(1000))
    assert p.tolist() != list(range(1000))


@pytest.mark.parametrize("name", ["dropout", "alpha_dropout", "feature_alpha_dropout", "dropout2d"])
def test_dropout(name: str) -> None:
    x = rg.ones(64, 64, 2, 2, device="cuda", requires_grad=True)
    rg.manual_seed(0)
    y = getattr(rg.nn.functional, name)(x, 0.25, True)
    y.sum().backward()
    y = y.detach()
    lowest = float(y.min())
    share = float((y == lowest).float().mean())
    assert 0.2 < share < 0.3
    assert float((x.grad == 0).float().mean()) == pytest.approx(share)
    rg.manual_seed(0)
    assert rg.equal(getattr(rg.nn.functional, name)(x, 0.25, True), y)
