"""Ratios of variances: Fisher's and Snedecor's F distribution."""

from __future__ import annotations

from collections.abc import Sequence

from retrograd.backends.limits import finfo
from retrograd.core.plain import Size
from retrograd.core.tensor import Tensor
from retrograd.distributions import constraints
from retrograd.distributions.distribution import Distribution
from retrograd.distributions.gamma import Gamma
from retrograd.distributions.utils import Given, broadcast_all

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """Ratios of two mean squares of normal numbers, with `df1` and `df2` degrees of freedom."""

    df1: Tensor
    df2: Tensor

    arg_constraints: dict[str, constraints.Constraint] = {
        "df1": constraints.positive,
        "df2": constraints.positive,
    }
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1: Given, df2: Given, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2)
        super().__init__(self.df1.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        b = self.df2.masked_fill(self.df2 <= 2, float("nan"))
        return b / (b - 2)

    @property
    def mode(self) -> Tensor:
        found = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return found.masked_fill(self.df1 <= 2, float("nan"))

    @property
    def variance(self) -> Tensor:
        a, b = self.df1, self.df2.masked_fill(self.df2 <= 4, float("nan"))
        return 2 * b**2 * (a + b - 2) / (a * (b - 2) ** 2 * (b - 4))

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        above = self._gamma1.rsample(sample_shape)
        below = self._gamma2.rsample(sample_shape)
        tiny = finfo(below.dtype).tiny
        below.detach().clamp_(min=tiny)
        ratio = above / below
        ratio.detach().clamp_(min=tiny)
        return ratio

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        a, b, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        front = (a + b).lgamma() - a.lgamma() - b.lgamma()
        return front + a * ratio.log() + (a - 1) * value.log() - (a + b) * (ratio * value).log1p()
