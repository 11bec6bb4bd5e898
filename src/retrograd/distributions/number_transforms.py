"""Transforms of single numbers."""

from __future__ import annotations

import math
from typing import Any

from retrograd.backends.limits import finfo
from retrograd.core.tensor import Tensor
from retrograd.distributions import constraints
from retrograd.distributions.constraints import Constraint
from retrograd.distributions.distribution import Distribution
from retrograd.distributions.transform import Parameterless, Shape, Transform
from retrograd.distributions.utils import (
    Given,
    _sum_rightmost,
    broadcast_all,
)
from retrograd.ops.nn.activation import softplus
from retrograd.ops.shape.reshape import broadcast_shapes
from retrograd.ops.tensor.create import full_like


def clipped_sigmoid(x: Tensor) -> Tensor:
    """1 / (1 + exp(-x)), inside the bounds."""
    limits = finfo(x.dtype)
    return x.sigmoid().clamp(min=limits.tiny, max=1.0 - limits.eps)


class ExpTransform(Parameterless):
    """y = exp(x)."""

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class PowerTransform(Transform):
    """y = x**exponent, of positive numbers."""

    exponent: Tensor

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Given, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if self._cache_size == cache_size else PowerTransform(self.exponent, cache_size)

    @property
    def sign(self) -> Any:
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and bool((self.exponent == other.exponent).all())

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Shape) -> Shape:
        return broadcast_shapes(shape, self.exponent.shape)

    def inverse_shape(self, shape: Shape) -> Shape:
        return broadcast_shapes(shape, self.exponent.shape)


class SigmoidTransform(Parameterless):
    """y = 1 / (1 + exp(-x)), inside the bounds."""

    domain = constraints.real
    codomain = constraints.unit_interval
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return clipped_sigmoid(x)

    def _inverse(self, y: Tensor) -> Tensor:
        limits = finfo(y.dtype)
        inside = y.clamp(min=limits.tiny, max=1.0 - limits.eps)
        return inside.log() - (-inside).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x) - softplus(x)


class SoftplusTransform(Parameterless):
    """y = log(1 + exp(x))."""

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x)


class TanhTransform(Parameterless):
    """y = tanh(x). With `cache_size=1` the inverse is exact where tanh is 1."""

    domain = constraints.real
    codomain: Any = constraints.interval(-1.0, 1.0)
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AbsTransform(Parameterless):
    """y = abs(x), whose inverse is the positive one."""

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class AffineTransform(Transform):
    """y = loc + scale * x, of events with `event_dim` dimensions."""

    bijective = True

    def __init__(self, loc: Given, scale: Given, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc = loc
        self.scale = scale
        self._event_dim = event_dim

    @property
    def event_dim(self) -> int:
        return self._event_dim

    def _space(self) -> Constraint:
        return (
            constraints.real
            if self._event_dim == 0
            else constraints.independent(constraints.real, self._event_dim)
        )

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Constraint:
        """All numbers."""
        return self._space()

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Constraint:
        """All numbers."""
        return self._space()

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return AffineTransform(self.loc, self.scale, self._event_dim, cache_size)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AffineTransform):
            return False
        return _equal(self.loc, other.loc) and _equal(self.scale, other.scale)

    @property
    def sign(self) -> Any:
        if isinstance(self.scale, Tensor):
            return self.scale.sign()
        return (self.scale > 0) - (self.scale < 0)

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if isinstance(self.scale, Tensor):
            found = self.scale.abs().log()
        else:
            found = full_like(x, math.log(abs(self.scale)))
        return _sum_rightmost(found.expand(x.shape), self._event_dim)

    def _shape(self, shape: Shape) -> Shape:
        given = [v.shape for v in (self.loc, self.scale) if isinstance(v, Tensor)]
        return broadcast_shapes(shape, *given)

    def forward_shape(self, shape: Shape) -> Shape:
        return self._shape(shape)

    def inverse_shape(self, shape: Shape) -> Shape:
        return self._shape(shape)


def _equal(a: Given, b: Given) -> bool:
    same = a == b
    return bool(same.all()) if isinstance(same, Tensor) else bool(same)


class CumulativeDistributionTransform(Transform):
    """y = cdf(x) of a distribution of single numbers: it makes its samples uniform."""

    bijective = True
    codomain = constraints.unit_interval
    sign = +1

    def __init__(self, distribution: Distribution, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:
        """Where the distribution lies."""
        return self.distribution.support

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return CumulativeDistributionTransform(self.distribution, cache_size)

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self.distribution.log_prob(x)
