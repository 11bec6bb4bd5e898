"""Mixtures of distributions of one kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retrograd.autograd.modes import no_grad
from retrograd.core.plain import Size
from retrograd.core.tensor import Tensor
from retrograd.distributions import constraints
from retrograd.distributions.categorical import Categorical
from retrograd.distributions.constraints import Constraint, MixtureSameFamilyConstraint
from retrograd.distributions.distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A mixture: a kind is drawn from `mixture_distribution`, then a value from its part of `component_distribution`,
    whose last batch dimension counts the kinds.

    >>> import retrograd as rg
    >>> from retrograd.distributions import Categorical, Normal
    >>> two_hills = MixtureSameFamily(Categorical(rg.ones(2)), Normal(rg.tensor([-1.0, 3.0]), 0.5))
    >>> two_hills.mean
    tensor(1.)
    """

    arg_constraints: dict[str, constraints.Constraint] = {}
    has_rsample = False

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError("The Mixture distribution needs to be an instance of distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                "The Component distribution needs to be an instance of distributions.Distribution"
            )
        batch = component_distribution.batch_shape[:-1]
        for n, m in zip(reversed(mixture_distribution.batch_shape), reversed(batch), strict=False):
            if n not in (1, m) and m != 1:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({mixture_distribution.batch_shape}) is not compatible with "
                    f"`component_distribution.batch_shape`({batch})"
                )
        kinds, parts = mixture_distribution.logits.shape[-1], component_distribution.batch_shape[-1]
        if kinds != parts:
            raise ValueError(
                f"`mixture_distribution component` ({kinds}) does not equal `component_distribution.batch_shape[-1]` "
                f"({parts})"
            )
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        self._num_component = parts
        event = component_distribution.event_shape
        self._event_ndims = len(event)
        super().__init__(batch, event, validate_args=validate_args)

    def _expanded(self, name: str, value: Any, shape: Size) -> Any:
        if name == "_component_distribution":
            return value.expand(shape + (self._num_component,))
        return super()._expanded(name, value, shape)

    @constraints.dependent_property
    def support(self) -> Constraint:
        """That of the components."""
        return MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        """What draws the kind."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """What draws the value."""
        return self._component_distribution

    def _weights(self) -> Tensor:
        """The probabilities of the kinds, beside values of each."""
        probs = self._mixture_distribution.probs
        return probs.reshape(probs.shape + (1,) * self._event_ndims)

    @property
    def mean(self) -> Tensor:
        return (self._weights() * self._component_distribution.mean).sum(-1 - self._event_ndims)

    @property
    def variance(self) -> Tensor:
        """The mean variance of the parts, and the variance of their means."""
        dim, parts = -1 - self._event_ndims, self._component_distribution
        away = parts.mean - self.mean.unsqueeze(dim)
        return (self._weights() * (parts.variance + away**2)).sum(dim)

    def cdf(self, x: Tensor) -> Tensor:
        parts = self._component_distribution.cdf(x.unsqueeze(-1 - self._event_ndims))
        return (parts * self._mixture_distribution.probs).sum(-1)

    def log_prob(self, x: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(x)
        parts = self._component_distribution.log_prob(x.unsqueeze(-1 - self._event_ndims))
        return (parts + self._mixture_distribution.logits.log_softmax(-1)).logsumexp(-1)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        with no_grad():
            dim = len(sample_shape) + len(self._batch_shape)
            kinds = self._mixture_distribution.expand(self._batch_shape).sample(sample_shape)
            values = self._component_distribution.sample(sample_shape)
            index = kinds.reshape(kinds.shape + (1,) * (self._event_ndims + 1))
            index = index.expand((*kinds.shape, 1, *self._event_shape))
            return values.gather(dim, index).squeeze(dim)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution!r},\n  {self.component_distribution!r})"
