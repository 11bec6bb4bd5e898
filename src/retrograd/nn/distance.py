"""How far vectors are from each other: PairwiseDistance, CosineSimilarity."""

from __future__ import annotations

from retrograd.core.tensor import Tensor
from retrograd.nn import functional as F
from retrograd.nn.module import Module


class PairwiseDistance(Module):
    """The p-norm of the difference of the vectors of two tensors.

    Args:
        p: of the norm.
        eps: what is added to the difference.
        keepdim: whether the last dimension stays, of size 1.

    >>> import retrograd as rg
    >>> rg.nn.PairwiseDistance()(rg.tensor([[3.0, 0.0]]), rg.tensor([[0.0, 4.0]]))
    tensor([5.])
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """The distances."""
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """The cosine of the angle between the vectors of two tensors.

    Args:
        dim: along which the vectors lie.
        eps: what their lengths are at least.

    >>> import retrograd as rg
    >>> rg.nn.CosineSimilarity()(rg.tensor([[1.0, 0.0]]), rg.tensor([[2.0, 0.0]]))
    tensor([1.])
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """The cosines."""
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
