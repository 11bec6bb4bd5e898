"""Parts of a whole, made of normal numbers."""

from __future__ import annotations

from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.distributions import constraints
from retrograd.distributions.normal import Normal
from retrograd.distributions.transformed_distribution import TransformedDistribution
from retrograd.distributions.transforms import StickBreakingTransform
from retrograd.distributions.utils import Given

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """K parts of a whole, broken off by K - 1 normal numbers with means `loc` and deviations `scale`."""

    arg_constraints: dict[str, constraints.Constraint] = {
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.simplex
    base_dist: Any

    def __init__(self, loc: Given, scale: Given, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    @property
    def loc(self) -> Tensor:
        """The means of the normal numbers."""
        found: Tensor = self.base_dist.base_dist.loc
        return found

    @property
    def scale(self) -> Tensor:
        """The deviations of the normal numbers."""
        found: Tensor = self.base_dist.base_dist.scale
        return found
