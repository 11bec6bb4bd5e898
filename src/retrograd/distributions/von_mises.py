"""Directions: von Mises's distribution on the circle."""

from __future__ import annotations

import math
from collections.abc import Sequence

from retrograd.autograd.modes import no_grad
from retrograd.core.plain import Size
from retrograd.core.tensor import Tensor
from retrograd.distributions import constraints
from retrograd.distributions.distribution import Distribution
from retrograd.distributions.utils import Given, broadcast_all, lazy_property
from retrograd.ops.elementwise.choose import where
from retrograd.ops.random.sampling import rand
from retrograd.ops.special.bessel import i0e, i1e
from retrograd.ops.tensor.create import zeros

__all__ = ["VonMises"]


class VonMises(Distribution):
    """Angles, in radians, around `loc`: the nearer the larger the `concentration`."""

    loc: Tensor
    concentration: Tensor

    arg_constraints: dict[str, constraints.Constraint] = {
        "loc": constraints.real,
        "concentration": constraints.positive,
    }
    support = constraints.real
    has_rsample = False

    def __init__(self, loc: Given, concentration: Given, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.size(), validate_args=validate_args)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        k = self.concentration
        return k * ((value - self.loc).cos() - 1) - math.log(2 * math.pi) - i0e(k).log()

    @lazy_property
    def _proposal_r(self) -> Tensor:
        """The parameter of the wrapped Cauchy distribution that samples are chosen from (Best and Fisher)."""
        k = self.concentration.double()
        tau = 1 + (1 + 4 * k**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * k)
        found = (1 + rho**2) / (2 * rho)
        return where(k < 1e-5, 1 / k + k, found)  # where rho is a difference of near numbers

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            k, r = self.concentration.double().expand(shape), self._proposal_r.expand(shape)
            angles = zeros(shape, dtype=k.dtype, device=k.device)
            found = angles != 0
            while not found.all():
                u = rand((3, *shape), dtype=k.dtype, device=k.device)
                z = (math.pi * u[0]).cos()
                f = (1 + r * z) / (r + z)
                c = k * (r - f)
                good = (c * (2 - c) - u[1] > 0) | ((c / u[1]).log() + 1 - c >= 0)
                drawn = (u[2] - 0.5).sign() * f.clamp(min=-1, max=1).acos()
                angles = where(good, drawn, angles)  # who has an angle may get another, as in PyTorch
                found |= good
            turned = (angles + math.pi + self.loc) % (2 * math.pi) - math.pi
            return turned.to(self.loc.dtype)

    @property
    def mean(self) -> Tensor:
        """The mean direction."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The circular variance: 1 less the length of the mean direction."""
        return 1 - i1e(self.concentration) / i0e(self.concentration)
