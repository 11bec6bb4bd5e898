"""How many of several trials succeed: the binomial distribution."""

from __future__ import annotations

from collections.abc import Sequence

from retrograd.autograd.modes import no_grad
from retrograd.core.plain import Size
from retrograd.core.tensor import Tensor
from retrograd.distributions import constraints
from retrograd.distributions.distribution import Distribution
from retrograd.distributions.odds import ByOdds
from retrograd.distributions.utils import (
    Given,
    broadcast_all,
    either,
    listed,
)
from retrograd.ops.random.sampling import binomial
from retrograd.ops.tensor.create import arange

__all__ = ["Binomial"]


class Binomial(ByOdds, Distribution):
    """How many of `total_count` trials succeed, each with probability `probs`; or by `logits`, the log-odds."""

    arg_constraints: dict[str, constraints.Constraint] = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True

    def __init__(
        self,
        total_count: Given = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, given = either(probs, logits)
        count, vars(self)[name] = broadcast_all(total_count, given)
        self.total_count: Tensor = count.type_as(self._param)
        super().__init__(self._param.size(), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> constraints.Constraint:
        """Counts up to the number of trials."""
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n, logits = self.total_count, self.logits
        ways = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        # n log(1 + odds), from the side where the exponential is small.
        return ways + value * logits - n * (logits.clamp(min=0) + (-logits.abs()).exp().log1p())

    def entropy(self) -> Tensor:
        self._require_one_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        self._require_one_count("enumerate_support")
        count = int(self.total_count.max().item())
        param = self._param
        return listed(arange(1 + count, dtype=param.dtype, device=param.device), self._batch_shape, expand)

    def _require_one_count(self, method: str) -> None:
        if not bool((self.total_count == self.total_count.max()).all()):
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{method}`.")
