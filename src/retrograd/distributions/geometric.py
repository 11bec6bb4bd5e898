"""Failures before a success: the geometric distribution."""

from __future__ import annotations

from collections.abc import Sequence

from retrograd.autograd.modes import no_grad
from retrograd.backends.limits import finfo
from retrograd.core.plain import Size
from retrograd.core.tensor import Tensor
from retrograd.distributions import constraints
from retrograd.distributions.distribution import Distribution
from retrograd.distributions.odds import Odds
from retrograd.distributions.utils import Given, broadcast_all, either
from retrograd.ops.nn.binary_cross_entropy import binary_cross_entropy_with_logits
from retrograd.ops.random.sampling import rand
from retrograd.ops.tensor.create import zeros_like

__all__ = ["Geometric"]


class Geometric(Odds, Distribution):
    """How many trials fail before the first success, which has probability `probs`, or log-odds `logits`."""

    arg_constraints: dict[str, constraints.Constraint] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(
        self, probs: Given | None = None, logits: Given | None = None, validate_args: bool | None = None
    ) -> None:
        name, given = either(probs, logits)
        (vars(self)[name],) = broadcast_all(given)
        super().__init__(vars(self)[name].size(), validate_args=validate_args)
        if self._validate_args and name == "probs" and not bool((self.probs > 0).all()):
            invalid = self.probs[self.probs <= 0]
            raise ValueError(
                f"Expected parameter probs (Tensor of shape {tuple(self.probs.shape)}) of distribution {self!r} to be "
                f"positive but found invalid values:\n{invalid}"
            )

    @property
    def mean(self) -> Tensor:
        return 1 / self.probs - 1

    @property
    def mode(self) -> Tensor:
        return zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1 / self.probs - 1) / self.probs

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            u = rand(shape, dtype=self.probs.dtype, device=self.probs.device)
            return (u.clamp(min=finfo(u.dtype).tiny).log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        certain = (probs == 1) & (value == 0)
        return value * (-probs.masked_fill(certain, 0)).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs
