"""Nearly yes or no: Bernoulli distributions whose samples can be differentiated."""

from __future__ import annotations

from collections.abc import Sequence

from retrograd.core.plain import Size
from retrograd.core.tensor import Tensor
from retrograd.distributions import constraints
from retrograd.distributions.distribution import Distribution
from retrograd.distributions.odds import ByOdds
from retrograd.distributions.transformed_distribution import TransformedDistribution
from retrograd.distributions.transforms import SigmoidTransform
from retrograd.distributions.utils import (
    Given,
    broadcast_all,
    clamp_probs,
    either,
)
from retrograd.ops.nn.activation import softplus
from retrograd.ops.random.sampling import rand

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(ByOdds, Distribution):
    """The log-odds of samples of `RelaxedBernoulli`."""

    arg_constraints: dict[str, constraints.Constraint] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.real
    has_rsample = True

    def __init__(
        self,
        temperature: Tensor,
        probs: Given | None = None,
        logits: Given | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        name, given = either(probs, logits)
        (vars(self)[name],) = broadcast_all(given)
        super().__init__(self._param.size(), validate_args=validate_args)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        chance = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(rand(shape, dtype=chance.dtype, device=chance.device))
        noise = u.log() - (-u).log1p()
        return (noise + chance.log() - (-chance).log1p()) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        away = logits - value * self.temperature
        return self.temperature.log() + away - 2 * softplus(away)


class RelaxedBernoulli(TransformedDistribution):
    """Numbers between 0 and 1 that lie near 0 and 1 if the `temperature` is low; gradients pass them."""

    arg_constraints: dict[str, constraints.Constraint] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.unit_interval
    base_dist: LogitRelaxedBernoulli

    def __init__(
        self,
        temperature: Tensor,
        probs: Given | None = None,
        logits: Given | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    @property
    def temperature(self) -> Tensor:
        """How far from 0 and 1 the numbers lie."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """The logarithms of the odds."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """The probability of 1."""
        return self.base_dist.probs
