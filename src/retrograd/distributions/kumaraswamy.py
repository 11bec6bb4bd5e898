"""Kumaraswamy's distribution, much like the beta distribution."""

from __future__ import annotations

import math

from retrograd.core.tensor import Tensor
from retrograd.distributions import constraints
from retrograd.distributions.transformed_distribution import TransformedDistribution
from retrograd.distributions.transforms import AffineTransform, PowerTransform
from retrograd.distributions.uniform import Uniform
from retrograd.distributions.utils import Given, broadcast_all, euler_constant
from retrograd.ops.elementwise.choose import where
from retrograd.ops.tensor.create import full_like

__all__ = ["Kumaraswamy"]


class Kumaraswamy(TransformedDistribution):
    """A number between 0 and 1 whose distribution function is 1 - (1 - x**concentration1)**concentration0."""

    concentration1: Tensor
    concentration0: Tensor

    arg_constraints: dict[str, constraints.Constraint] = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval

    def __init__(
        self, concentration1: Given, concentration0: Given, validate_args: bool | None = None
    ) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        edges = full_like(self.concentration0, 0), full_like(self.concentration0, 1)
        transforms = [
            PowerTransform(exponent=self.concentration0.reciprocal()),
            AffineTransform(loc=1.0, scale=-1.0),
            PowerTransform(exponent=self.concentration1.reciprocal()),
        ]
        super().__init__(
            Uniform(*edges, validate_args=validate_args), transforms, validate_args=validate_args
        )

    def _moment(self, n: int) -> Tensor:
        """The expected n-th power."""
        a, b = 1 + n / self.concentration1, self.concentration0
        return b * (a.lgamma() + b.lgamma() - (a + b).lgamma()).exp()

    @property
    def mean(self) -> Tensor:
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        peak = (a >= 1) & (b >= 1) & (a * b > 1)
        base = where(peak, (a - 1) / (a * b - 1), math.nan)
        return base ** a.reciprocal()

    @property
    def variance(self) -> Tensor:
        return self._moment(2) - self.mean**2

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = (b + 1).digamma() + euler_constant
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - a.log() - b.log()
