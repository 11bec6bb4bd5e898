"""Dropout: elements or channels that are left out at random while training."""

from __future__ import annotations

from retrograd.core.tensor import Tensor
from retrograd.nn import functional as F
from retrograd.nn.module import Module


class _DropoutNd(Module):
    p: float
    inplace: bool

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        """What is printed of it."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Makes elements 0 at random while training, and the others larger, so that the mean stays.

    Args:
        p: the chance of an element to become 0.
        inplace: whether the input is written into.

    >>> import retrograd as rg
    >>> rg.nn.Dropout(0.5).eval()(rg.ones(3))
    tensor([1., 1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """What is left of the input."""
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """Makes whole channels of signals 0 at random while training. The arguments are those of Dropout."""

    def forward(self, input: Tensor) -> Tensor:
        """What is left of the input."""
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """Makes whole channels of images 0 at random while training. The arguments are those of Dropout."""

    def forward(self, input: Tensor) -> Tensor:
        """What is left of the input."""
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """Makes whole channels of volumes 0 at random while training. The arguments are those of Dropout."""

    def forward(self, input: Tensor) -> Tensor:
        """What is left of the input."""
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Dropout after SELU: mean and spread stay as they are. The arguments are those of Dropout."""

    def forward(self, input: Tensor) -> Tensor:
        """What is left of the input."""
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """AlphaDropout of whole channels. The arguments are those of Dropout."""

    def forward(self, input: Tensor) -> Tensor:
        """What is left of the input."""
        return F.feature_alpha_dropout(input, self.p, self.training)
