"""Divergences of two distributions of one family."""

from __future__ import annotations

import math
from typing import Any

from retrograd.autograd.backward import grad
from retrograd.core.tensor import Tensor
from retrograd.distributions.bernoulli import Bernoulli
from retrograd.distributions.beta import Beta
from retrograd.distributions.binomial import Binomial
from retrograd.distributions.categorical import Categorical
from retrograd.distributions.cauchy import Cauchy
from retrograd.distributions.continuous_bernoulli import ContinuousBernoulli
from retrograd.distributions.dirichlet import Dirichlet
from retrograd.distributions.exp_family import ExponentialFamily
from retrograd.distributions.exponential import Exponential
from retrograd.distributions.gamma import Gamma
from retrograd.distributions.geometric import Geometric
from retrograd.distributions.gumbel import Gumbel
from retrograd.distributions.half_normal import HalfNormal
from retrograd.distributions.independent import Independent
from retrograd.distributions.kl_registry import kl_divergence, register_kl
from retrograd.distributions.laplace import Laplace
from retrograd.distributions.lowrank_multivariate_normal import (
    LowRankMultivariateNormal,
    low_rank_log_det,
    low_rank_squared_length,
)
from retrograd.distributions.multivariate_normal import MultivariateNormal, squared_length
from retrograd.distributions.normal import Normal
from retrograd.distributions.one_hot_categorical import OneHotCategorical
from retrograd.distributions.pareto import Pareto
from retrograd.distributions.poisson import Poisson
from retrograd.distributions.transformed_distribution import TransformedDistribution
from retrograd.distributions.uniform import Uniform
from retrograd.distributions.utils import _sum_rightmost, euler_constant
from retrograd.ops.linalg.triangular import solve_triangular
from retrograd.ops.nn.activation import softplus

# ---- of single numbers ----------------------------------------------------------------------------------------------


def _weighted(weight: Tensor, difference: Tensor, impossible: Tensor) -> Tensor:
    """Weight * difference of logarithms: infinite where q excludes it, and 0 where p does."""
    found = (weight * difference).masked_fill(impossible, math.inf)
    return found.masked_fill(weight == 0, 0)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    yes = _weighted(p.probs, softplus(-q.logits) - softplus(-p.logits), q.probs == 0)
    no = _weighted(1 - p.probs, softplus(q.logits) - softplus(p.logits), q.probs == 1)
    return yes + no


@register_kl(Beta, Beta)
def _beta(p: Beta, q: Beta) -> Tensor:
    return _dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Binomial, Binomial)
def _binomial(p: Binomial, q: Binomial) -> Tensor:
    if bool((p.total_count < q.total_count).any()):
        raise NotImplementedError(
            "KL between Binomials where q.total_count > p.total_count is not implemented"
        )
    once = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return (p.total_count * once).masked_fill(p.total_count > q.total_count, math.inf)


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Cauchy, q: Cauchy) -> Tensor:
    together = (p.scale + q.scale) ** 2 + (p.loc - q.loc) ** 2
    return together.log() - (4 * p.scale * q.scale).log()


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: ContinuousBernoulli, q: ContinuousBernoulli) -> Tensor:
    norms = p._cont_bern_log_norm() - q._cont_bern_log_norm()
    return p.mean * (p.logits - q.logits) + norms + (-p.probs).log1p() - (-q.probs).log1p()


@register_kl(Exponential, Exponential)
def _exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(Gamma, Gamma)
def _gamma(p: Gamma, q: Gamma) -> Tensor:
    a, b = p.concentration, q.concentration
    shapes = b.lgamma() - a.lgamma() + (a - b) * a.digamma()
    return b * (p.rate / q.rate).log() + shapes + (q.rate - p.rate) * (a / p.rate)


@register_kl(Geometric, Geometric)
def _geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Gumbel, q: Gumbel) -> Tensor:
    ratio, shift = p.scale / q.scale, (q.loc - p.loc) / q.scale
    tail = (shift + (1 + ratio).lgamma()).exp()
    return tail - shift - ratio.log() + ratio * euler_constant - (1 + euler_constant)


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: HalfNormal, q: HalfNormal) -> Tensor:
    return _normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio, apart = p.scale / q.scale, (p.loc - q.loc).abs()
    return apart / q.scale + ratio * (-apart / p.scale).exp() - ratio.log() - 1


@register_kl(Normal, Normal)
def _normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale) ** 2 - 1 - ratio.log())


@register_kl(Pareto, Pareto)
def _pareto(p: Pareto, q: Pareto) -> Tensor:
    ratio = q.alpha / p.alpha
    found = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return found.masked_fill(p.scale < q.scale, math.inf)


@register_kl(Poisson, Poisson)
def _poisson(p: Poisson, q: Poisson) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Uniform, Uniform)
def _uniform(p: Uniform, q: Uniform) -> Tensor:
    found = ((q.high - q.low) / (p.high - p.low)).log()
    return found.masked_fill((q.low > p.low) | (q.high < p.high), math.inf)


# ---- of vectors -----------------------------------------------------------------------------------------------------


@register_kl(Categorical, Categorical)
def _categorical(p: Categorical, q: Categorical) -> Tensor:
    return _weighted(p.probs, p.logits - q.logits, (q.probs == 0).expand(p.probs.shape)).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot_categorical(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return _categorical(p._categorical, q._categorical)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    a, b = p.concentration, q.concentration
    norms = a.sum(-1).lgamma() - b.sum(-1).lgamma() + (b.lgamma() - a.lgamma()).sum(-1)
    return norms + ((a - b) * (a.digamma() - a.sum(-1, True).digamma())).sum(-1)


def _squared_entries(factor: Tensor, of: Tensor) -> Tensor:
    """The sum of the squares of inverse(factor) @ of: the trace of one covariance in terms of another."""
    return (solve_triangular(factor, of, upper=False) ** 2).sum((-2, -1))


def _same_event(p: MultivariateNormal | LowRankMultivariateNormal, q: object) -> None:
    if p.event_shape != getattr(q, "event_shape", None):
        raise ValueError(
            f"KL-divergence between two {type(p).__name__} with different event shapes cannot be computed"
        )


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_normal(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    _same_event(p, q)
    to, of = q._unbroadcasted_scale_tril, p._unbroadcasted_scale_tril
    spread = _squared_entries(to, of) + squared_length(to, q.loc - p.loc)
    return q._half_log_det() - p._half_log_det() + 0.5 * (spread - p.event_shape[0])


def _log_det(d: LowRankMultivariateNormal) -> Tensor:
    return low_rank_log_det(d._unbroadcasted_cov_factor, d._unbroadcasted_cov_diag, d._capacitance_tril)


def _roots(d: LowRankMultivariateNormal) -> tuple[Tensor, ...]:
    """Matrices whose squares add up to the covariance."""
    return d._unbroadcasted_cov_factor, d._unbroadcasted_cov_diag.sqrt().diag_embed()


def _to_low_rank(roots: tuple[Tensor, ...], q: LowRankMultivariateNormal) -> Tensor:
    """The trace of inverse(covariance of q) times the covariance with these roots, by Woodbury's formula."""
    diag = q._unbroadcasted_cov_diag.unsqueeze(-1)
    scaled = (q._unbroadcasted_cov_factor / diag).mT
    parts = [
        (root**2 / diag).sum((-2, -1)) - _squared_entries(q._capacitance_tril, scaled @ root)
        for root in roots
    ]
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


def _distance_to_low_rank(
    p: MultivariateNormal | LowRankMultivariateNormal, q: LowRankMultivariateNormal
) -> Tensor:
    return low_rank_squared_length(
        q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag, q.loc - p.loc, q._capacitance_tril
    )


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _low_rank(p: LowRankMultivariateNormal, q: LowRankMultivariateNormal) -> Tensor:
    _same_event(p, q)
    trace = _to_low_rank(_roots(p), q)
    return 0.5 * (_log_det(q) - _log_det(p) + trace + _distance_to_low_rank(p, q) - p.event_shape[0])


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _full_to_low_rank(p: MultivariateNormal, q: LowRankMultivariateNormal) -> Tensor:
    _same_event(p, q)
    trace = _to_low_rank((p._unbroadcasted_scale_tril,), q)
    log_dets = _log_det(q) - 2 * p._half_log_det()
    return 0.5 * (log_dets + trace + _distance_to_low_rank(p, q) - p.event_shape[0])


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _low_rank_to_full(p: LowRankMultivariateNormal, q: MultivariateNormal) -> Tensor:
    _same_event(p, q)
    to = q._unbroadcasted_scale_tril
    factor, diagonal = _roots(p)
    trace = _squared_entries(to, factor) + _squared_entries(to, diagonal)
    spread = trace + squared_length(to, q.loc - p.loc)
    return 0.5 * (2 * q._half_log_det() - _log_det(p) + spread - p.event_shape[0])


# ---- of distributions made of others --------------------------------------------------------------------------------


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p: ExponentialFamily, q: ExponentialFamily) -> Tensor:
    """A Bregman divergence of the log-normaliser, for two members of one family."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed using Bregman "
            "divergences. Add a formula with register_kl."
        )
    params = [v.detach().requires_grad_() for v in p._natural_params]
    normalizer = p._log_normalizer(*params)
    slopes = grad(normalizer.sum(), params, create_graph=True)
    found = q._log_normalizer(*q._natural_params) - normalizer
    for own, other, slope in zip(params, q._natural_params, slopes, strict=True):
        found = found - _sum_rightmost((other - own) * slope, own.dim() - len(p.batch_shape))
    return found


@register_kl(Independent, Independent)
def _independent(p: Independent[Any], q: Independent[Any]) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("The two distributions count different dimensions as an event")
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    if p.transforms != q.transforms:
        raise NotImplementedError("The two distributions are transformed differently")
    if p.event_shape != q.event_shape:
        raise NotImplementedError("The two distributions have different events")
    return kl_divergence(p.base_dist, q.base_dist)
