"""Yes or no: the Bernoulli distribution."""

from __future__ import annotations

from collections.abc import Sequence

from retrograd.autograd.modes import no_grad
from retrograd.core.plain import Size
from retrograd.core.tensor import Tensor
from retrograd.distributions import constraints
from retrograd.distributions.exp_family import ExponentialFamily
from retrograd.distributions.odds import ByOdds
from retrograd.distributions.utils import (
    Given,
    broadcast_all,
    either,
    listed,
)
from retrograd.ops.nn.activation import softplus
from retrograd.ops.nn.binary_cross_entropy import binary_cross_entropy_with_logits
from retrograd.ops.random.sampling import bernoulli
from retrograd.ops.tensor.create import arange

__all__ = ["Bernoulli"]


class Bernoulli(ByOdds, ExponentialFamily):
    """1 with probability `probs`, else 0; or by `logits`, the logarithms of the odds.

    >>> import retrograd as rg
    >>> rg.distributions.Bernoulli(rg.tensor([0.25])).log_prob(rg.tensor([1.0])).exp()
    tensor([0.2500])
    """

    arg_constraints: dict[str, constraints.Constraint] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0

    def __init__(
        self, probs: Given | None = None, logits: Given | None = None, validate_args: bool | None = None
    ) -> None:
        name, given = either(probs, logits)
        (vars(self)[name],) = broadcast_all(given)
        super().__init__(self._param.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        return (self.probs >= 0.5).to(self.probs).masked_fill(self.probs == 0.5, float("nan"))

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        with no_grad():
            return bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return listed(
            arange(2, dtype=self._param.dtype, device=self._param.device), self._batch_shape, expand
        )

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.probs.logit(),)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return softplus(x)
