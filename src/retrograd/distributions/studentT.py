"""Student's t distribution."""  # noqa: N999 - torch's name

from __future__ import annotations

import math
from collections.abc import Sequence

from retrograd.core.plain import Size
from retrograd.core.tensor import Tensor
from retrograd.distributions import constraints
from retrograd.distributions.chi2 import Chi2
from retrograd.distributions.distribution import Distribution
from retrograd.distributions.utils import Given, _standard_normal, broadcast_all
from retrograd.ops.elementwise.choose import where

__all__ = ["StudentT"]


class StudentT(Distribution):
    """Student's t distribution with `df` degrees of freedom, around `loc` and of a `scale`."""

    df: Tensor
    loc: Tensor
    scale: Tensor

    arg_constraints: dict[str, constraints.Constraint] = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True

    def __init__(
        self, df: Given, loc: Given = 0.0, scale: Given = 1.0, validate_args: bool | None = None
    ) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc.masked_fill(self.df <= 1, float("nan"))

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        found = self.scale**2 * self.df / (self.df - 2)
        return where(self.df > 2, found, float("inf")).masked_fill(self.df <= 1, float("nan"))

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        noise = _standard_normal(shape, self.df.dtype, self.df.device)
        return self.loc + self.scale * noise * (self._chi2.rsample(sample_shape) / self.df).rsqrt()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        df, y = self.df, (value - self.loc) / self.scale
        width = self.scale.log() + 0.5 * (df * math.pi).log()
        front = (0.5 * (df + 1)).lgamma() - (0.5 * df).lgamma() - width
        return front - 0.5 * (df + 1) * (y**2 / df).log1p()

    def entropy(self) -> Tensor:
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        beta = half.lgamma() + 0.5 * math.log(math.pi) - more.lgamma()
        spread = more * (more.digamma() - half.digamma())
        return self.scale.log() + spread + 0.5 * self.df.log() + beta
