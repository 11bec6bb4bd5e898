"""What distributions of yes and no share: a probability or the logarithm of its odds, of which each gives the other."""

from __future__ import annotations

from retrograd.core.plain import Size
from retrograd.core.tensor import Tensor
from retrograd.distributions.utils import lazy_property, logits_to_probs, probs_to_logits


class Odds:
    """`probs` and `logits`, of which one is given and the other computed when it is asked for."""

    @lazy_property
    def logits(self) -> Tensor:
        """The logarithms of the odds."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        """The probability of 1, or of success."""
        return logits_to_probs(self.logits, is_binary=True)


class ByOdds(Odds):
    """As `Odds`; the one that was given is the parameter, whose shape can be asked for.

    >>> import retrograd as rg
    >>> rg.distributions.Bernoulli(logits=rg.tensor([0.0])).probs
    tensor([0.5000])
    """

    @property
    def _param(self) -> Tensor:
        return self.probs if "probs" in vars(self) else self.logits

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._param.size()
