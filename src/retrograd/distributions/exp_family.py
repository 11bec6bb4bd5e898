"""Exponential families: entropy and divergence from the derivatives of the log-normaliser."""

from __future__ import annotations

from retrograd.autograd.backward import grad
from retrograd.core.tensor import Tensor
from retrograd.distributions.distribution import Distribution
from retrograd.distributions.utils import _sum_rightmost

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """A distribution with density exp(t(x) · θ - F(θ) + k(x)).

    Owes `_natural_params`, θ, and `_log_normalizer`, F; for its entropy `_mean_carrier_measure`, the expected k(x).
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        """θ: what stands before the statistics of x."""
        raise NotImplementedError(f"{type(self)} does not say its natural parameters")

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        """F: what makes the probabilities add up to 1."""
        raise NotImplementedError(f"{type(self)} does not say its log-normaliser")

    @property
    def _mean_carrier_measure(self) -> Tensor | float:
        """The expected k(x)."""
        raise NotImplementedError(f"{type(self)} does not say its mean carrier measure")

    def entropy(self) -> Tensor:
        """The entropy, as a Bregman divergence: F(θ) - θ · ∇F(θ) - E[k(x)]."""
        carrier = self._mean_carrier_measure
        params = [p.detach().requires_grad_() for p in self._natural_params]
        normalizer = self._log_normalizer(*params)
        slopes = grad(normalizer.sum(), params, create_graph=True)
        result = normalizer - carrier
        for param, slope in zip(params, slopes, strict=True):
            result = result - _sum_rightmost(param * slope, param.dim() - len(self._batch_shape))
        return result
