"""The inverse gamma distribution."""

from __future__ import annotations

import math

from retrograd.core.tensor import Tensor
from retrograd.distributions import constraints
from retrograd.distributions.gamma import Gamma
from retrograd.distributions.transformed_distribution import TransformedDistribution
from retrograd.distributions.transforms import PowerTransform
from retrograd.distributions.utils import Given
from retrograd.ops.elementwise.choose import where

__all__ = ["InverseGamma"]


class InverseGamma(TransformedDistribution):
    """1 / x of numbers x of a gamma distribution with this `concentration` and `rate`."""

    arg_constraints: dict[str, constraints.Constraint] = {
        "concentration": constraints.positive,
        "rate": constraints.positive,
    }
    support = constraints.positive
    base_dist: Gamma

    def __init__(self, concentration: Given, rate: Given, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, PowerTransform(base.rate.new_tensor(-1)), validate_args=validate_args)

    @property
    def concentration(self) -> Tensor:
        """That of the gamma distribution."""
        return self.base_dist.concentration

    @property
    def rate(self) -> Tensor:
        """That of the gamma distribution."""
        return self.base_dist.rate

    @property
    def mean(self) -> Tensor:
        a = self.concentration
        return where(a > 1, self.rate / (a - 1), math.inf)

    @property
    def mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        a = self.concentration
        return where(a > 2, self.rate**2 / ((a - 1) ** 2 * (a - 2)), math.inf)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()
