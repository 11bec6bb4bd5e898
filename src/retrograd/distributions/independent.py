"""Batches as events: dimensions of a distribution that count as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from retrograd.core.plain import Size
from retrograd.core.tensor import Tensor
from retrograd.distributions import constraints
from retrograd.distributions.constraints import Constraint
from retrograd.distributions.distribution import Distribution
from retrograd.distributions.utils import _sum_rightmost

__all__ = ["Independent"]

D = TypeVar("D", bound=Distribution)


class Independent(Distribution, Generic[D]):
    """A distribution of which so many batch dimensions, counted from the right, are one event.

    >>> import retrograd as rg
    >>> from retrograd.distributions import Normal
    >>> diagonal = Independent(Normal(rg.zeros(3), 1.0), 1)
    >>> diagonal.batch_shape, diagonal.event_shape, diagonal.log_prob(rg.zeros(3))
    (torch.Size([]), torch.Size([3]), tensor(-2.7568))
    """

    arg_constraints: dict[str, constraints.Constraint] = {}

    def __init__(
        self,
        base_distribution: D,
        reinterpreted_batch_ndims: int,
        validate_args: bool | None = None,
    ) -> None:
        batch = base_distribution.batch_shape
        if reinterpreted_batch_ndims > len(batch):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
                f"{reinterpreted_batch_ndims} vs {len(batch)}"
            )
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        self.has_rsample: bool = base_distribution.has_rsample
        self.has_enumerate_support: bool = (
            reinterpreted_batch_ndims == 0 and base_distribution.has_enumerate_support
        )
        cut = len(batch) - reinterpreted_batch_ndims
        super().__init__(
            batch[:cut], batch[cut:] + base_distribution.event_shape, validate_args=validate_args
        )

    def _expanded(self, name: str, value: Any, shape: Size) -> Any:
        if name == "base_dist":
            return value.expand(shape + self._event_shape[: self.reinterpreted_batch_ndims])
        return super()._expanded(name, value, shape)

    @constraints.dependent_property
    def support(self) -> Constraint:
        """That of the distribution, with more dimensions in an event."""
        found: Constraint = self.base_dist.support
        count = self.reinterpreted_batch_ndims
        return constraints.independent(found, count) if count else found

    @property
    def mean(self) -> Tensor:
        return self.base_dist.mean

    @property
    def mode(self) -> Tensor:
        return self.base_dist.mode

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        return _sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        return _sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist!r}, {self.reinterpreted_batch_ndims})"
