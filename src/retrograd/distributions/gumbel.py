"""The largest of many: the Gumbel distribution."""

from __future__ import annotations

import math

from retrograd.backends.limits import finfo
from retrograd.core.tensor import Tensor
from retrograd.distributions import constraints
from retrograd.distributions.transformed_distribution import TransformedDistribution
from retrograd.distributions.transforms import AffineTransform, ExpTransform
from retrograd.distributions.uniform import Uniform
from retrograd.distributions.utils import Given, broadcast_all, euler_constant
from retrograd.ops.tensor.create import full_like

__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    """The Gumbel distribution around `loc`, of a `scale`: of the largest among many numbers."""

    loc: Tensor
    scale: Tensor

    arg_constraints: dict[str, constraints.Constraint] = {
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real

    def __init__(self, loc: Given, scale: Given, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        limits = finfo(self.loc.dtype)
        inside = full_like(self.loc, limits.tiny), full_like(self.loc, 1 - limits.eps)
        twice = [ExpTransform().inv, AffineTransform(0, -1.0)] * 2
        transforms = [*twice[:3], AffineTransform(self.loc, -self.scale)]
        super().__init__(
            Uniform(*inside, validate_args=validate_args), transforms, validate_args=validate_args
        )

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        y = (self.loc - value) / self.scale
        return y - y.exp() - self.scale.log()

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * euler_constant

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev**2

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + euler_constant)
