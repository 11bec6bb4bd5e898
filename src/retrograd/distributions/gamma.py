"""The gamma distribution."""

from __future__ import annotations

from collections.abc import Sequence

from retrograd.backends.limits import finfo
from retrograd.core.plain import Size
from retrograd.core.tensor import Tensor
from retrograd.distributions import constraints
from retrograd.distributions.exp_family import ExponentialFamily
from retrograd.distributions.utils import Given, broadcast_all
from retrograd.ops.random.gamma_draws import standard_gamma
from retrograd.ops.tensor.data import as_tensor

__all__ = ["Gamma"]

_standard_gamma = standard_gamma  # the name that packages import


class Gamma(ExponentialFamily):
    """Sums of waiting times: `concentration` of them, at a `rate`. Its samples can be differentiated.

    >>> import retrograd as rg
    >>> rg.distributions.Gamma(2.0, 0.5).mean
    tensor(4.)
    """

    concentration: Tensor
    rate: Tensor

    arg_constraints: dict[str, constraints.Constraint] = {
        "concentration": constraints.positive,
        "rate": constraints.positive,
    }
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, concentration: Given, rate: Given, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate**2

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        value = standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        value.detach().clamp_(min=finfo(value.dtype).tiny)  # its logarithm is finite
        return value

    def log_prob(self, value: Tensor) -> Tensor:
        value = as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        if self._validate_args:
            self._validate_sample(value)
        a, b = self.concentration, self.rate
        return a.xlogy(b) + (a - 1).xlogy(value) - b * value - a.lgamma()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self.concentration.igamma(self.rate * value)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a - self.rate.log() + a.lgamma() + (1 - a) * a.digamma()

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        return (x + 1).lgamma() + (x + 1) * (-y.reciprocal()).log()
