"""The positive half of a distribution that is symmetric around 0."""

from __future__ import annotations

import math
from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.distributions import constraints
from retrograd.distributions.distribution import Distribution
from retrograd.distributions.transformed_distribution import TransformedDistribution
from retrograd.distributions.transforms import AbsTransform
from retrograd.ops.elementwise.choose import where
from retrograd.ops.tensor.create import zeros_like


class Half(TransformedDistribution):
    """Distances from 0, which have twice the density of the `whole` distribution there."""

    arg_constraints: dict[str, constraints.Constraint] = {"scale": constraints.positive}
    support = constraints.nonnegative
    base_dist: Any

    def __init__(self, whole: Distribution, validate_args: bool | None = None) -> None:
        super().__init__(whole, AbsTransform(), validate_args=validate_args)

    @property
    def scale(self) -> Tensor:
        """That of the whole distribution."""
        scale: Tensor = self.base_dist.scale
        return scale

    @property
    def mode(self) -> Tensor:
        return zeros_like(self.scale)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        found: Tensor = 2 * self.base_dist.cdf(value) - 1
        return found

    def icdf(self, prob: Tensor) -> Tensor:
        found: Tensor = self.base_dist.icdf((prob + 1) / 2)
        return found

    def entropy(self) -> Tensor:
        found: Tensor = self.base_dist.entropy() - math.log(2)
        return found
