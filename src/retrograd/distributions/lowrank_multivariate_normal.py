"""Normal vectors whose covariance is a diagonal and a few directions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from retrograd.core.plain import Size
from retrograd.core.tensor import Tensor
from retrograd.distributions import constraints
from retrograd.distributions.distribution import Distribution
from retrograd.distributions.multivariate_normal import squared_length
from retrograd.distributions.utils import _standard_normal, lazy_property
from retrograd.ops.linalg.factorizations import linalg_cholesky
from retrograd.ops.linalg.triangular import solve_triangular
from retrograd.ops.shape.reshape import broadcast_shapes
from retrograd.ops.tensor.create import eye

__all__ = ["LowRankMultivariateNormal"]


class LowRankMultivariateNormal(Distribution):
    """Normal vectors with mean `loc` and covariance `cov_factor @ cov_factor.T + diag(cov_diag)`.

    With few columns in the factor, the matrices that are factorised are as small as these.
    """

    arg_constraints: dict[str, constraints.Constraint] = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        size = loc.shape[-1]
        if cov_factor.dim() < 2:
            raise ValueError(
                "cov_factor must be at least two-dimensional, with optional leading batch dimensions"
            )
        if cov_factor.shape[-2] != size:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {size} x m")
        if cov_diag.shape[-1:] != (size,):
            raise ValueError(f"cov_diag must be a batch of vectors with shape {(size,)}")
        try:
            batch = broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}"
            ) from error
        self.loc: Tensor = loc.expand((*batch, size))
        self.cov_diag: Tensor = cov_diag.expand((*batch, size))
        self.cov_factor: Tensor = cov_factor.expand((*batch, *cov_factor.shape[-2:]))
        super().__init__(Size(batch), loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = capacitance(cov_factor, cov_diag)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        """The diagonal of the covariance."""
        found = (self._unbroadcasted_cov_factor**2).sum(-1) + self._unbroadcasted_cov_diag
        return found.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        return linalg_cholesky(self.covariance_matrix)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        factor, diag = self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag
        return self._matrix(factor @ factor.mT + diag.diag_embed())

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance, by the small matrix that Woodbury's formula inverts."""
        factor, diag = self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag
        half = solve_triangular(self._capacitance_tril, factor.mT / diag.unsqueeze(-2), upper=False)
        return self._matrix(diag.reciprocal().diag_embed() - half.mT @ half)

    def _matrix(self, found: Tensor) -> Tensor:
        return found.expand(self._batch_shape + self._event_shape + self._event_shape)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        few = shape[:-1] + self.cov_factor.shape[-1:]
        along = _standard_normal(few, self.loc.dtype, self.loc.device)
        alone = _standard_normal(shape, self.loc.dtype, self.loc.device)
        spread = (self._unbroadcasted_cov_factor @ along.unsqueeze(-1)).squeeze(-1)
        return self.loc + spread + self._unbroadcasted_cov_diag.sqrt() * alone

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        factor, diag, small = (
            self._unbroadcasted_cov_factor,
            self._unbroadcasted_cov_diag,
            self._capacitance_tril,
        )
        distance = low_rank_squared_length(factor, diag, value - self.loc, small)
        log_det = low_rank_log_det(factor, diag, small)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + log_det + distance)

    def entropy(self) -> Tensor:
        log_det = low_rank_log_det(
            self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag, self._capacitance_tril
        )
        found = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + log_det)
        return found.expand(self._batch_shape)


def capacitance(factor: Tensor, diag: Tensor) -> Tensor:
    """The Cholesky factor of I + Wᵀ inverse(D) W, the small matrix of Woodbury's formula."""
    inner = factor.mT / diag.unsqueeze(-2) @ factor
    return linalg_cholesky(inner + eye(inner.shape[-1], dtype=inner.dtype, device=inner.device))


def low_rank_log_det(factor: Tensor, diag: Tensor, small: Tensor) -> Tensor:
    """The logarithm of the determinant of W Wᵀ + D."""
    return 2 * small.diagonal(dim1=-2, dim2=-1).log().sum(-1) + diag.log().sum(-1)


def low_rank_squared_length(factor: Tensor, diag: Tensor, x: Tensor, small: Tensor) -> Tensor:
    """xᵀ inverse(W Wᵀ + D) x, by Woodbury's formula."""
    inner = (factor.mT / diag.unsqueeze(-2) @ x.unsqueeze(-1)).squeeze(-1)
    return (x**2 / diag).sum(-1) - squared_length(small, inner)
