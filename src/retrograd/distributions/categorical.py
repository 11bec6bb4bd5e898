"""One of several: the categorical distribution."""

from __future__ import annotations

from collections.abc import Sequence

from retrograd.autograd.modes import no_grad
from retrograd.backends.limits import finfo
from retrograd.core.plain import Size
from retrograd.core.tensor import Tensor
from retrograd.distributions import constraints
from retrograd.distributions.distribution import Distribution
from retrograd.distributions.utils import either, lazy_property, listed, logits_to_probs, probs_to_logits
from retrograd.ops.random.sampling import multinomial
from retrograd.ops.shape.reshape import broadcast_tensors
from retrograd.ops.tensor.create import arange, full

__all__ = ["Categorical"]


class Categorical(Distribution):
    """One of K kinds, 0 to K - 1, with probabilities proportional to `probs` along the last dimension, or to the
    exponentials of `logits`.

    >>> import retrograd as rg
    >>> rg.distributions.Categorical(rg.tensor([1.0, 3.0])).log_prob(rg.tensor([0, 1])).exp()
    tensor([0.2500, 0.7500])
    """

    arg_constraints: dict[str, constraints.Constraint] = {
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }
    has_enumerate_support = True

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        name, given = either(probs, logits)
        if given.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if name == "probs":
            self.probs = given / given.sum(-1, True)
        else:
            self.logits = given - given.logsumexp(-1, True)
        self._num_events = self._param.size(-1)
        super().__init__(self._param.shape[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> constraints.Constraint:
        """The numbers of the kinds."""
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def _param(self) -> Tensor:
        return self.probs if "probs" in vars(self) else self.logits

    @lazy_property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities, which add up to 1."""
        return logits_to_probs(self.logits)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._param.size()

    def _nan(self) -> Tensor:
        return full(self._extended_shape(), float("nan"), dtype=self.probs.dtype, device=self.probs.device)

    @property
    def mean(self) -> Tensor:
        return self._nan()

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(-1)

    @property
    def variance(self) -> Tensor:
        return self._nan()

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        with no_grad():
            rows = self.probs.reshape((-1, self._num_events))
            drawn = multinomial(rows, Size(sample_shape).numel(), True)
            return drawn.T.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        index, logits = broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return logits.gather(-1, index[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        finite = self.logits.clamp(min=finfo(self.logits.dtype).min)
        return -(finite * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return listed(arange(self._num_events, device=self._param.device), self._batch_shape, expand)
