"""The positive half of the normal distribution."""

from __future__ import annotations

import math

from retrograd.core.tensor import Tensor
from retrograd.distributions.half import Half
from retrograd.distributions.normal import Normal
from retrograd.distributions.utils import Given

__all__ = ["HalfNormal"]


class HalfNormal(Half):
    """Distances from 0 of a normal distribution with this `scale`, the standard deviation of the whole."""

    base_dist: Normal

    def __init__(self, scale: Given, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), validate_args)

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        return self.scale**2 * (1 - 2 / math.pi)
