"""Successes before several failures: the negative binomial distribution."""

from __future__ import annotations

from collections.abc import Sequence

from retrograd.autograd.modes import no_grad
from retrograd.core.plain import Size
from retrograd.core.tensor import Tensor
from retrograd.distributions import constraints
from retrograd.distributions.distribution import Distribution
from retrograd.distributions.gamma import Gamma
from retrograd.distributions.odds import ByOdds
from retrograd.distributions.utils import (
    Given,
    broadcast_all,
    either,
    lazy_property,
)
from retrograd.ops.nn.activation import logsigmoid
from retrograd.ops.random.sampling import poisson

__all__ = ["NegativeBinomial"]


class NegativeBinomial(ByOdds, Distribution):
    """How many trials succeed, with probability `probs` or log-odds `logits`, before `total_count` of them fail."""

    arg_constraints: dict[str, constraints.Constraint] = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(
        self,
        total_count: Given,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, given = either(probs, logits)
        count, vars(self)[name] = broadcast_all(total_count, given)
        self.total_count: Tensor = count.type_as(self._param)
        super().__init__(self._param.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        return self.mean / (-self.logits).sigmoid()

    @lazy_property
    def _gamma(self) -> Gamma:
        """The rates of the Poisson distributions that this one is a mixture of."""
        return Gamma(self.total_count, (-self.logits).exp(), validate_args=False)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        with no_grad():
            return poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n = self.total_count
        chance = n * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        ways = (n + value).lgamma() - (value + 1).lgamma() - n.lgamma()
        return chance + ways.masked_fill(n + value == 0, 0.0)
