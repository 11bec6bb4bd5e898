"""Parts of a whole: Dirichlet's distribution."""

from __future__ import annotations

from collections.abc import Sequence

from retrograd.core.plain import Size
from retrograd.core.tensor import Tensor
from retrograd.distributions import constraints
from retrograd.distributions.exp_family import ExponentialFamily
from retrograd.ops.elementwise.choose import where
from retrograd.ops.nn.embedding import one_hot
from retrograd.ops.random.gamma_draws import dirichlet_grad, sample_dirichlet

__all__ = ["Dirichlet"]


def _Dirichlet_backward(x: Tensor, concentration: Tensor, grad_output: Tensor) -> Tensor:
    """The gradient of samples by the concentration, from that by the samples."""
    total = concentration.sum(-1, True).expand_as(concentration)
    inside = grad_output - (x * grad_output).sum(-1, True)
    return dirichlet_grad(x, concentration, total) * inside


class Dirichlet(ExponentialFamily):
    """Parts of a whole, one for each `concentration` along the last dimension. Its samples can be differentiated.

    >>> import retrograd as rg
    >>> rg.distributions.Dirichlet(rg.tensor([1.0, 3.0])).mean
    tensor([0.2500, 0.7500])
    """

    arg_constraints: dict[str, constraints.Constraint] = {
        "concentration": constraints.independent(constraints.positive, 1)
    }
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        return sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        a = self.concentration
        return (a - 1).xlogy(value).sum(-1) + a.sum(-1).lgamma() - a.lgamma().sum(-1)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        above = (self.concentration - 1).clamp(min=0.0)
        inside = above / above.sum(-1, True)
        # Without a peak inside, all gathers in one corner.
        corner = one_hot(inside.argmax(-1), above.shape[-1]).to(above)
        return where((self.concentration < 1).all(-1, True), corner, inside)

    @property
    def variance(self) -> Tensor:
        a, total = self.concentration, self.concentration.sum(-1, True)
        return a * (total - a) / (total**2 * (total + 1))

    def entropy(self) -> Tensor:
        a, total = self.concentration, self.concentration.sum(-1)
        pull = (a.size(-1) - total) * total.digamma()
        return a.lgamma().sum(-1) - total.lgamma() - pull - ((a - 1) * a.digamma()).sum(-1)

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.concentration,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return x.lgamma().sum(-1) - x.sum(-1).lgamma()
