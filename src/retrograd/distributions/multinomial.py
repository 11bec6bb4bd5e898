"""How often each of several comes up: the multinomial distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retrograd.autograd.modes import no_grad
from retrograd.core.plain import Size
from retrograd.core.tensor import Tensor
from retrograd.distributions import constraints
from retrograd.distributions.binomial import Binomial
from retrograd.distributions.categorical import Categorical
from retrograd.distributions.distribution import Distribution
from retrograd.distributions.utils import broadcast_all
from retrograd.ops.tensor.create import ones_like

__all__ = ["Multinomial"]


class Multinomial(Distribution):
    """How often each kind comes up in `total_count` draws, with probabilities `probs` or log-probabilities `logits`."""

    arg_constraints: dict[str, constraints.Constraint] = {
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }
    total_count: int

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        shape = self._categorical.param_shape
        super().__init__(self._categorical.batch_shape, shape[-1:], validate_args=validate_args)

    def _expanded(self, name: str, value: Any, shape: Size) -> Any:
        if name == "_binomial":
            return value.expand(shape + self._event_shape)
        return super()._expanded(name, value, shape)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> constraints.Constraint:
        """Counts that add up to the number of draws."""
        return constraints.multinomial(self.total_count)

    @property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self._categorical.probs

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._categorical.param_shape

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        with no_grad():
            kinds = self._categorical.sample((self.total_count, *sample_shape))
            drawn = kinds.permute((*range(1, kinds.dim()), 0))
            counts = self.probs.new_zeros(self._extended_shape(sample_shape))
            counts.scatter_add_(-1, drawn, ones_like(drawn).to(counts))
            return counts

    def entropy(self) -> Tensor:
        n = self.probs.new_tensor(self.total_count)
        counts = self._binomial.enumerate_support(expand=False)[1:]
        chances = self._binomial.log_prob(counts).exp()
        ways = (chances * (counts + 1).lgamma()).sum([0, -1])
        return n * self._categorical.entropy() - (n + 1).lgamma() + ways

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        ways = (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
        never = (value == 0) & (logits == -float("inf"))
        return ways + (logits.masked_fill(never, 0) * value).sum(-1)
