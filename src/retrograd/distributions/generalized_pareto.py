"""What lies above a threshold: the generalized Pareto distribution."""

from __future__ import annotations

from collections.abc import Sequence

from retrograd.core.plain import Size
from retrograd.core.tensor import Tensor
from retrograd.distributions import constraints
from retrograd.distributions.distribution import Distribution
from retrograd.distributions.utils import Given, broadcast_all
from retrograd.ops.elementwise.choose import where
from retrograd.ops.random.sampling import rand
from retrograd.ops.tensor.create import full_like, zeros_like

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """How far values lie above the threshold `loc`, of a `scale`; `concentration` says how heavy the tail is.

    With concentration 0 it is the exponential distribution, below that it ends.
    """

    loc: Tensor
    scale: Tensor
    concentration: Tensor

    arg_constraints: dict[str, constraints.Constraint] = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True

    def __init__(
        self, loc: Given, scale: Given, concentration: Given, validate_args: bool | None = None
    ) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.size(), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> constraints.Constraint:
        """From the threshold on; up to an end if the concentration is negative."""
        end = self.loc - self.scale / self.concentration
        return constraints.interval(self.loc, where(self.concentration < 0, end, float("inf")))

    def _bend(self) -> tuple[Tensor, Tensor]:
        """Where the concentration is 0, and the concentration with a 1 there, so that nothing divides by 0."""
        straight = self.concentration.isclose(zeros_like(self.concentration))
        return straight, where(straight, 1.0, self.concentration)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z = (value - self.loc) / self.scale
        straight, c = self._bend()
        return -self.scale.log() - where(straight, z, (1 + 1 / c) * (c * z).log1p())

    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of more than this value."""
        if self._validate_args:
            self._validate_sample(value)
        z = (value - self.loc) / self.scale
        straight, c = self._bend()
        return where(straight, -z, -(c * z).log1p() / c)

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of this value or less."""
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        return self.log_cdf(value).exp()

    def icdf(self, value: Tensor) -> Tensor:
        rest = (-value).log1p()
        straight, c = self._bend()
        return self.loc + self.scale * where(straight, -rest, (-c * rest).expm1() / c)

    @property
    def mean(self) -> Tensor:
        c = self.concentration
        return where(c < 1, self.loc + self.scale / (1 - c), full_like(c, float("nan")))

    @property
    def variance(self) -> Tensor:
        c = self.concentration
        found = self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c))
        return where(c < 0.5, found, full_like(c, float("nan")))

    def entropy(self) -> Tensor:
        return self.scale.log() + self.concentration + 1

    @property
    def mode(self) -> Tensor:
        return self.loc
