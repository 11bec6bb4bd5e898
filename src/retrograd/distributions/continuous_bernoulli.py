"""The continuous Bernoulli distribution: numbers between 0 and 1, such as grey values."""

from __future__ import annotations

import math
from collections.abc import Sequence

from retrograd.core.plain import Size
from retrograd.core.tensor import Tensor
from retrograd.distributions import constraints
from retrograd.distributions.exp_family import ExponentialFamily
from retrograd.distributions.odds import ByOdds
from retrograd.distributions.utils import (
    Given,
    broadcast_all,
    clamp_probs,
    either,
    lazy_property,
    logits_to_probs,
)
from retrograd.ops.elementwise.choose import where
from retrograd.ops.random.sampling import rand

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(ByOdds, ExponentialFamily):
    """Numbers between 0 and 1 with a density that grows as probs**x (1 - probs)**(1 - x).

    Between the probabilities of `lims` the formulas divide 0 by 0, and series stand for them.
    """

    arg_constraints: dict[str, constraints.Constraint] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        probs: Given | None = None,
        logits: Given | None = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        name, given = either(probs, logits)
        (param,) = broadcast_all(given)
        if name == "probs":
            inside = constraints.unit_interval.check(param)
            if (self._validate_args if validate_args is None else validate_args) and not bool(inside.all()):
                raise ValueError("The parameter probs has invalid values: probabilities lie between 0 and 1")
            param = clamp_probs(param)
        vars(self)[name] = param
        self._lims = lims
        super().__init__(param.size(), validate_args=validate_args)

    @lazy_property
    def probs(self) -> Tensor:
        """The probability that a Bernoulli distribution would have."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _stable(self) -> Tensor:
        """Where the formulas do not divide 0 by 0."""
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut_probs(self) -> Tensor:
        """The probabilities, without those for which there are series."""
        return where(self._stable(), self.probs, self._lims[0])

    def _cont_bern_log_norm(self) -> Tensor:
        """The logarithm of what makes the density one: 2 artanh(1 - 2 probs) / (1 - 2 probs)."""
        p = self._cut_probs()
        found = ((-p).log1p() - p.log()).abs().log() - (1 - 2 * p).abs().log()
        square = (self.probs - 0.5) ** 2
        return where(self._stable(), found, math.log(2) + (4 / 3 + 104 / 45 * square) * square)

    @property
    def mean(self) -> Tensor:
        p, x = self._cut_probs(), self.probs - 0.5
        found = p / (2 * p - 1) + 1 / ((-p).log1p() - p.log())
        return where(self._stable(), found, 0.5 + (1 / 3 + 16 / 45 * x**2) * x)

    @property
    def stddev(self) -> Tensor:
        return self.variance.sqrt()

    @property
    def variance(self) -> Tensor:
        p, square = self._cut_probs(), (self.probs - 0.5) ** 2
        found = p * (p - 1) / (1 - 2 * p) ** 2 + 1 / ((-p).log1p() - p.log()) ** 2
        return where(self._stable(), found, 1 / 12 - (1 / 15 - 128 / 945 * square) * square)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        chance = value * logits - logits.clamp(min=0) - (-logits.abs()).exp().log1p()
        return chance + self._cont_bern_log_norm()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        p = self._cut_probs()
        found = (p**value * (1 - p) ** (1 - value) + p - 1) / (2 * p - 1)
        return where(self._stable(), found, value).clamp(min=0, max=1)

    def icdf(self, value: Tensor) -> Tensor:
        p = self._cut_probs()
        found = ((-p + value * (2 * p - 1)).log1p() - (-p).log1p()) / (p.log() - (-p).log1p())
        return where(self._stable(), found, value)

    def entropy(self) -> Tensor:
        rest, own = (-self.probs).log1p(), self.probs.log()
        return self.mean * (rest - own) - self._cont_bern_log_norm() - rest

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.logits,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        """The logarithm of (exp(x) - 1) / x, by a series near 0."""
        stable = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        cut = where(stable, x, (self._lims[0] - 0.5))
        found = (cut.exp() - 1).abs().log() - cut.abs().log()
        return where(stable, found, 0.5 * x + x**2 / 24 - x**4 / 2880)
