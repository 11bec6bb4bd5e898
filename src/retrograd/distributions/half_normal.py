"""The positive half of the normal distribution."""

from __future__ import annotations

import math

from retrograd.core.tensor import Tensor
from retrograd.distributions import constraints
from retrograd.distributions.normal import Normal
from retrograd.distributions.transformed_distribution import TransformedDistribution
from retrograd.distributions.transforms import AbsTransform
from retrograd.distributions.utils import Given
from retrograd.ops.elementwise.choose import where
from retrograd.ops.tensor.create import zeros_like

__all__ = ["HalfNormal"]


class HalfNormal(TransformedDistribution):
    """Distances from 0 of a normal distribution with this `scale`."""

    arg_constraints: dict[str, constraints.Constraint] = {"scale": constraints.positive}
    support = constraints.nonnegative
    base_dist: Normal

    def __init__(self, scale: Given, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    @property
    def scale(self) -> Tensor:
        """The standard deviation of the whole normal distribution."""
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def mode(self) -> Tensor:
        return zeros_like(self.scale)

    @property
    def variance(self) -> Tensor:
        return self.scale**2 * (1 - 2 / math.pi)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, prob: Tensor) -> Tensor:
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)
