"""Distributions of transformed numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retrograd.autograd.modes import no_grad
from retrograd.core.plain import Size
from retrograd.core.tensor import Tensor
from retrograd.distributions import constraints
from retrograd.distributions.constraints import Constraint
from retrograd.distributions.distribution import Distribution
from retrograd.distributions.independent import Independent
from retrograd.distributions.transforms import ComposeTransform, Transform
from retrograd.distributions.utils import _sum_rightmost

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """What becomes of a distribution when its samples go through transforms.

    >>> import retrograd as rg
    >>> from retrograd.distributions import Normal, transforms
    >>> log_normal = TransformedDistribution(Normal(0.0, 1.0), [transforms.ExpTransform()])
    >>> log_normal.log_prob(rg.tensor(1.0)), log_normal.support
    (tensor(-0.9189), GreaterThan(lower_bound=0.0))
    """

    arg_constraints: dict[str, constraints.Constraint] = {}

    def __init__(
        self,
        base_distribution: Distribution,
        transforms: Transform | list[Transform],
        validate_args: bool | None = None,
    ) -> None:
        self.transforms: list[Transform] = _listed(transforms)
        whole = ComposeTransform(self.transforms)
        base_shape = base_distribution.batch_shape + base_distribution.event_shape
        if len(base_shape) < whole.domain.event_dim:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {whole.domain.event_dim}, but got "
                f"{base_shape}."
            )
        # Parameters of transforms may have a larger batch; and what they map together is one event.
        shape = whole.forward_shape(base_shape)
        expanded = Size(whole.inverse_shape(shape))
        event_dim = len(base_distribution.event_shape)
        if base_shape != expanded:
            base_distribution = base_distribution.expand(expanded[: len(expanded) - event_dim])
        if whole.domain.event_dim > event_dim:
            base_distribution = Independent(base_distribution, whole.domain.event_dim - event_dim)
        self.base_dist = base_distribution
        self.has_rsample: bool = base_distribution.has_rsample
        change = whole.codomain.event_dim - whole.domain.event_dim
        cut = len(shape) - max(whole.codomain.event_dim, event_dim + change)
        super().__init__(Size(shape[:cut]), Size(shape[cut:]), validate_args=validate_args)

    def _expanded(self, name: str, value: Any, shape: Size) -> Any:
        if name != "base_dist":
            return super()._expanded(name, value, shape)
        inner: tuple[int, ...] = shape + self._event_shape
        for transform in reversed(self.transforms):
            inner = transform.inverse_shape(inner)
        return value.expand(inner[: len(inner) - len(value.event_shape)])

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Constraint:
        """Where the last transform leads."""
        if not self.transforms:
            return self.base_dist.support  # type: ignore[no-any-return]
        found: Constraint = self.transforms[-1].codomain
        more = len(self._event_shape) - found.event_dim
        return constraints.independent(found, more) if more > 0 else found

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        with no_grad():
            return self._through(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        return self._through(self.base_dist.rsample(sample_shape))

    def _through(self, x: Tensor) -> Tensor:
        for transform in self.transforms:
            x = transform(x)
        return x

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        event_dim = len(self._event_shape)
        stretch: Tensor | float = 0.0
        y = value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            change = transform.log_abs_det_jacobian(x, y)
            stretch = stretch + _sum_rightmost(change, event_dim - transform.domain.event_dim)
            y = x
        inner = self.base_dist.log_prob(y)
        return _sum_rightmost(inner, event_dim - len(self.base_dist.event_shape)) - stretch

    def _monotonize_cdf(self, value: Tensor) -> Tensor:
        """Turns probabilities round where the transforms fall."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        return self._monotonize_cdf(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        return self._through(self.base_dist.icdf(self._monotonize_cdf(value)))


def _listed(transforms: Any) -> list[Transform]:
    if isinstance(transforms, Transform):
        return [transforms]
    if not isinstance(transforms, list):
        raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
    if not all(isinstance(t, Transform) for t in transforms):
        raise ValueError("transforms must be a Transform or a list of Transforms")
    return transforms
