"""Times to failure: Weibull's distribution."""

from __future__ import annotations

from retrograd.core.tensor import Tensor
from retrograd.distributions import constraints
from retrograd.distributions.exponential import Exponential
from retrograd.distributions.transformed_distribution import TransformedDistribution
from retrograd.distributions.transforms import AffineTransform, PowerTransform
from retrograd.distributions.utils import Given, broadcast_all, euler_constant
from retrograd.ops.tensor.create import ones_like

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """Times to failure of a `scale`; with a `concentration` above 1, failures become more likely with time."""

    scale: Tensor
    concentration: Tensor

    arg_constraints: dict[str, constraints.Constraint] = {
        "scale": constraints.positive,
        "concentration": constraints.positive,
    }
    support = constraints.positive

    def __init__(self, scale: Given, concentration: Given, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal: Tensor = self.concentration.reciprocal()
        base = Exponential(ones_like(self.scale), validate_args=validate_args)
        transforms = [
            PowerTransform(exponent=self.concentration_reciprocal),
            AffineTransform(loc=0, scale=self.scale),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    def _moment(self, n: int) -> Tensor:
        """The expected n-th power, for scale 1."""
        return (1 + n / self.concentration).lgamma().exp()

    @property
    def mean(self) -> Tensor:
        return self.scale * self._moment(1)

    @property
    def mode(self) -> Tensor:
        k = self.concentration
        return self.scale * ((k - 1) / k) ** k.reciprocal()

    @property
    def variance(self) -> Tensor:
        return self.scale**2 * (self._moment(2) - self._moment(1) ** 2)

    def entropy(self) -> Tensor:
        k = self.concentration
        return euler_constant * (1 - k.reciprocal()) + (self.scale / k).log() + 1
