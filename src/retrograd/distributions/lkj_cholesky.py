"""Cholesky factors of random correlations: the LKJ distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from retrograd.autograd.modes import no_grad
from retrograd.backends.limits import finfo
from retrograd.core.plain import Size
from retrograd.core.tensor import Tensor
from retrograd.distributions import constraints
from retrograd.distributions.beta import Beta
from retrograd.distributions.distribution import Distribution
from retrograd.distributions.utils import Given, broadcast_all
from retrograd.ops.random.sampling import randn
from retrograd.ops.tensor.create import arange

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Lower Cholesky factors of correlation matrices with `dim` rows, as Lewandowski, Kurowicka and Joe draw them: all
    alike with concentration 1, nearer to the identity with a larger one.
    """

    concentration: Tensor

    arg_constraints: dict[str, constraints.Constraint] = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Given = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        event = Size((dim, dim))
        # The squared length of the part of a row that is left of the diagonal, row by row.
        before = (arange(dim, dtype=self.concentration.dtype, device=self.concentration.device) - 1).clamp(
            min=0
        )
        rest = self.concentration.unsqueeze(-1) + 0.5 * (dim - 2) - 0.5 * before
        self._beta = Beta(before + 0.5, rest)
        super().__init__(self.concentration.size(), event, validate_args=validate_args)

    def _expanded(self, name: str, value: Any, shape: Size) -> Any:
        if name == "_beta":
            return value.expand(shape + (self.dim,))
        return super()._expanded(name, value, shape)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        with no_grad():
            lengths = self._beta.sample(sample_shape).unsqueeze(-1)
            shape, like = self._extended_shape(sample_shape), self.concentration
            noise = randn(shape, dtype=like.dtype, device=like.device).tril(-1)
            size = noise.norm(dim=-1, keepdim=True)
            # The first row has nothing left of the diagonal.
            rows = lengths.sqrt() * (noise / size.masked_fill(size == 0, 1.0))
            diagonal = (1 - (rows**2).sum(-1)).clamp(min=finfo(rows.dtype).tiny).sqrt()
            return rows + diagonal.diag_embed()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        like, rows = self.concentration, self.dim - 1
        order = arange(2, self.dim + 1, dtype=like.dtype, device=like.device)
        power = 2 * (like - 1).unsqueeze(-1) + self.dim - order
        found = (power * value.diagonal(dim1=-2, dim2=-1)[..., 1:].log()).sum(-1)
        alpha = like + 0.5 * rows
        norm = (alpha - 0.5).mvlgamma(p=rows) - rows * alpha.lgamma()
        return found - (0.5 * rows * math.log(math.pi) + norm)
