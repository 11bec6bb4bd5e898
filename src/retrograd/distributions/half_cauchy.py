"""The positive half of Cauchy's distribution."""

from __future__ import annotations

import math

from retrograd.core.tensor import Tensor
from retrograd.distributions.cauchy import Cauchy
from retrograd.distributions.half import Half
from retrograd.distributions.utils import Given
from retrograd.ops.tensor.create import full

__all__ = ["HalfCauchy"]


class HalfCauchy(Half):
    """Distances from 0 of a Cauchy distribution with this `scale`, which half of them exceed."""

    base_dist: Cauchy

    def __init__(self, scale: Given, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), validate_args)

    @property
    def mean(self) -> Tensor:
        return full(self._extended_shape(), math.inf, dtype=self.scale.dtype, device=self.scale.device)

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance
