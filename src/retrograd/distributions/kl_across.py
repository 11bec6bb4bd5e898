"""Divergences of distributions of different families: -H(p) - E[log q(x)], with what is known of x under p."""

from __future__ import annotations

import math
from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.distributions.bernoulli import Bernoulli
from retrograd.distributions.beta import Beta
from retrograd.distributions.binomial import Binomial
from retrograd.distributions.continuous_bernoulli import ContinuousBernoulli
from retrograd.distributions.distribution import Distribution
from retrograd.distributions.exponential import Exponential
from retrograd.distributions.gamma import Gamma
from retrograd.distributions.gumbel import Gumbel
from retrograd.distributions.kl_registry import register_kl
from retrograd.distributions.laplace import Laplace
from retrograd.distributions.normal import Normal
from retrograd.distributions.pareto import Pareto
from retrograd.distributions.poisson import Poisson
from retrograd.distributions.uniform import Uniform
from retrograd.distributions.utils import euler_constant
from retrograd.ops.tensor.create import full_like

# Where p has values that q excludes.
INFINITE: tuple[tuple[type[Any], tuple[type[Any], ...]], ...] = (
    (Beta, (Pareto,)),
    (ContinuousBernoulli, (Pareto,)),
    (Exponential, (Beta, ContinuousBernoulli, Pareto, Uniform)),
    (Gamma, (Beta, ContinuousBernoulli, Pareto, Uniform)),
    (Gumbel, (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    (Laplace, (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    (Normal, (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    (Pareto, (Beta, ContinuousBernoulli, Uniform)),
    (Poisson, (Bernoulli, Binomial)),
)


def _infinite(p: Distribution, q: Distribution) -> Tensor:
    return full_like(p.mean, math.inf)


for _p, _others in INFINITE:
    for _q in _others:
        register_kl(_p, _q)(_infinite)


# ---- to a family, by the moments of p -------------------------------------------------------------------------------


@register_kl(Beta, Normal)
@register_kl(ContinuousBernoulli, Normal)
@register_kl(Exponential, Normal)
@register_kl(Gamma, Normal)
@register_kl(Gumbel, Normal)
@register_kl(Laplace, Normal)
@register_kl(Uniform, Normal)
def _to_normal(p: Distribution, q: Normal) -> Tensor:
    square = p.variance + (p.mean - q.loc) ** 2
    return -p.entropy() + 0.5 * math.log(2 * math.pi) + q.scale.log() + square / (2 * q.scale**2)


@register_kl(Pareto, Normal)
def _pareto_to_normal(p: Pareto, q: Normal) -> Tensor:
    return _to_normal(p, q).masked_fill(p.alpha <= 2, math.inf)


@register_kl(Beta, Exponential)
@register_kl(ContinuousBernoulli, Exponential)
@register_kl(Gamma, Exponential)
def _to_exponential(p: Distribution, q: Exponential) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@register_kl(Pareto, Exponential)
def _pareto_to_exponential(p: Pareto, q: Exponential) -> Tensor:
    return _to_exponential(p, q).masked_fill(p.alpha <= 1, math.inf)


@register_kl(Uniform, Exponential)
def _uniform_to_exponential(p: Uniform, q: Exponential) -> Tensor:
    return _to_exponential(p, q).masked_fill(p.low < 0, math.inf)


def _to_gamma(p: Distribution, q: Gamma, mean_log: Tensor) -> Tensor:
    a = q.concentration
    return -p.entropy() + a.lgamma() - a * q.rate.log() - (a - 1) * mean_log + q.rate * p.mean


@register_kl(Beta, Gamma)
def _beta_to_gamma(p: Beta, q: Gamma) -> Tensor:
    a, b = p.concentration1, p.concentration0
    return _to_gamma(p, q, a.digamma() - (a + b).digamma())


@register_kl(Exponential, Gamma)
def _exponential_to_gamma(p: Exponential, q: Gamma) -> Tensor:
    return _to_gamma(p, q, -p.rate.log() - euler_constant)


@register_kl(Pareto, Gamma)
def _pareto_to_gamma(p: Pareto, q: Gamma) -> Tensor:
    found = _to_gamma(p, q, p.scale.log() + p.alpha.reciprocal())
    return found.masked_fill(p.alpha <= 1, math.inf)


@register_kl(Uniform, Gamma)
def _uniform_to_gamma(p: Uniform, q: Gamma) -> Tensor:
    return _to_gamma(p, q, _mean_log(p.low, p.high)).masked_fill(p.low < 0, math.inf)


def _mean_log(low: Tensor, high: Tensor) -> Tensor:
    """The mean of log(x) for x from low to high."""
    return (high.xlogy(high) - low.xlogy(low)) / (high - low) - 1


def _to_gumbel(p: Distribution, q: Gumbel, decay: Tensor) -> Tensor:
    """`decay` is the expected exp((loc - x) / scale)."""
    return -p.entropy() + q.scale.log() + (p.mean - q.loc) / q.scale + decay


@register_kl(Exponential, Gumbel)
def _exponential_to_gumbel(p: Exponential, q: Gumbel) -> Tensor:
    return _to_gumbel(p, q, (q.loc / q.scale).exp() / (1 + 1 / (q.scale * p.rate)))


@register_kl(Gamma, Gumbel)
def _gamma_to_gumbel(p: Gamma, q: Gumbel) -> Tensor:
    exponent = q.loc / q.scale - p.concentration * (1 / (q.scale * p.rate)).log1p()
    return _to_gumbel(p, q, exponent.exp())


@register_kl(Normal, Gumbel)
def _normal_to_gumbel(p: Normal, q: Gumbel) -> Tensor:
    return _to_gumbel(p, q, ((q.loc - p.loc) / q.scale + 0.5 * (p.scale / q.scale) ** 2).exp())


@register_kl(Uniform, Gumbel)
def _uniform_to_gumbel(p: Uniform, q: Gumbel) -> Tensor:
    low, high = ((q.loc - p.low) / q.scale).exp(), ((q.loc - p.high) / q.scale).exp()
    return _to_gumbel(p, q, q.scale / (p.high - p.low) * (low - high))


@register_kl(Normal, Laplace)
def _normal_to_laplace(p: Normal, q: Laplace) -> Tensor:
    apart = p.loc - q.loc
    ratio = apart / p.scale
    distance = (
        math.sqrt(2 / math.pi) * p.scale * (-0.5 * ratio**2).exp() + apart * (ratio / math.sqrt(2)).erf()
    )
    return -p.entropy() + (2 * q.scale).log() + distance / q.scale


# ---- to a region ----------------------------------------------------------------------------------------------------


@register_kl(Bernoulli, Poisson)
def _bernoulli_to_poisson(p: Bernoulli, q: Poisson) -> Tensor:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Beta, ContinuousBernoulli)
def _to_continuous_bernoulli(p: Distribution, q: ContinuousBernoulli) -> Tensor:
    return -p.entropy() - p.mean * q.logits - (-q.probs).log1p() - q._cont_bern_log_norm()


def _outside_unit(p: Uniform) -> Tensor:
    return (p.high > 1) | (p.low < 0)


@register_kl(Uniform, ContinuousBernoulli)
def _uniform_to_continuous_bernoulli(p: Uniform, q: ContinuousBernoulli) -> Tensor:
    return _to_continuous_bernoulli(p, q).masked_fill(_outside_unit(p), math.inf)


@register_kl(Uniform, Beta)
def _uniform_to_beta(p: Uniform, q: Beta) -> Tensor:
    a, b = q.concentration1, q.concentration0
    pulls = (a - 1) * _mean_log(p.low, p.high) + (b - 1) * _mean_log(1 - p.high, 1 - p.low)
    found = -p.entropy() - pulls + a.lgamma() + b.lgamma() - (a + b).lgamma()
    return found.masked_fill(_outside_unit(p), math.inf)


@register_kl(Uniform, Pareto)
def _uniform_to_pareto(p: Uniform, q: Pareto) -> Tensor:
    logs = (q.alpha + 1) * _mean_log(p.low, p.high)
    found = -p.entropy() - q.alpha.log() - q.alpha * q.scale.log() + logs
    return found.masked_fill(p.low < q.scale, math.inf)


@register_kl(Beta, Uniform)
@register_kl(ContinuousBernoulli, Uniform)
def _unit_to_uniform(p: Distribution, q: Uniform) -> Tensor:
    found = -p.entropy() + (q.high - q.low).log()
    return found.masked_fill((q.low > 0) | (q.high < 1), math.inf)
