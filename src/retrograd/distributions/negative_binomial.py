"""Successes before several failures: the negative binomial distribution."""

from __future__ import annotations

from collections.abc import Sequence

from retrograd.autograd.modes import no_grad
from retrograd.core.plain import Size
from retrograd.core.tensor import Tensor
from retrograd.distributions import constraints
from retrograd.distributions.distribution import Distribution
from retrograd.distributions.gamma import Gamma
from retrograd.distributions.utils import (
    Given,
    broadcast_all,
    either,
    lazy_property,
    logits_to_probs,
    probs_to_logits,
)
from retrograd.ops.nn.activation import logsigmoid
from retrograd.ops.random.sampling import poisson

__all__ = ["NegativeBinomial"]


class NegativeBinomial(Distribution):
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
    def _param(self) -> Tensor:
        return self.probs if "probs" in vars(self) else self.logits

    @lazy_property
    def logits(self) -> Tensor:
        """The logarithms of the odds."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        """The probability of success."""
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._param.size()

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
