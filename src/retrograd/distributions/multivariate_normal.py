"""Normal vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence

from retrograd.core.plain import Size
from retrograd.core.tensor import Tensor
from retrograd.distributions import constraints
from retrograd.distributions.distribution import Distribution
from retrograd.distributions.utils import _standard_normal, lazy_property
from retrograd.ops.linalg.factorizations import linalg_cholesky
from retrograd.ops.linalg.triangular import solve_triangular
from retrograd.ops.shape.reshape import broadcast_shapes
from retrograd.ops.tensor.create import eye

__all__ = ["MultivariateNormal"]


class MultivariateNormal(Distribution):
    """Normal vectors with mean `loc`; their covariance is given as it is, as its inverse or by its Cholesky factor.

    >>> import retrograd as rg
    >>> rg.distributions.MultivariateNormal(rg.zeros(2), rg.eye(2)).log_prob(rg.zeros(2))
    tensor(-1.8379)
    """

    arg_constraints: dict[str, constraints.Constraint] = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = one_matrix(covariance_matrix, precision_matrix, scale_tril)
        batch = broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        vars(self)[name] = matrix.expand((*batch, *matrix.shape[-2:]))
        self.loc: Tensor = loc.expand((*batch, loc.shape[-1]))
        super().__init__(Size(batch), self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = cholesky_factor(name, matrix)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        return self._matrix(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        return self._matrix(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        return self._matrix(self._unbroadcasted_scale_tril.cholesky_inverse())

    def _matrix(self, found: Tensor) -> Tensor:
        return found.expand(self._batch_shape + self._event_shape + self._event_shape)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return (self._unbroadcasted_scale_tril**2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        noise = _standard_normal(shape, self.loc.dtype, self.loc.device)
        return self.loc + (self._unbroadcasted_scale_tril @ noise.unsqueeze(-1)).squeeze(-1)

    def _half_log_det(self) -> Tensor:
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        distance = squared_length(self._unbroadcasted_scale_tril, value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - self._half_log_det()

    def entropy(self) -> Tensor:
        size = self._event_shape[0]
        found = 0.5 * size * (1.0 + math.log(2 * math.pi)) + self._half_log_det()
        return found.expand(self._batch_shape)


def one_matrix(
    covariance: Tensor | None, precision: Tensor | None, scale_tril: Tensor | None
) -> tuple[str, Tensor]:
    """The one matrix that was given, after its name."""
    given = {"covariance_matrix": covariance, "precision_matrix": precision, "scale_tril": scale_tril}
    found = [(name, matrix) for name, matrix in given.items() if matrix is not None]
    if len(found) != 1:
        raise ValueError(
            "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."
        )
    name, matrix = found[0]
    if matrix.dim() < 2:
        raise ValueError(f"{name} must be at least two-dimensional, with optional leading batch dimensions")
    return name, matrix


def cholesky_factor(name: str, matrix: Tensor) -> Tensor:
    """The Cholesky factor of the covariance, by the matrix of this name."""
    if name == "scale_tril":
        return matrix
    return linalg_cholesky(matrix) if name == "covariance_matrix" else _precision_to_scale_tril(matrix)


def _precision_to_scale_tril(precision: Tensor) -> Tensor:
    """The Cholesky factor of the inverse: that of the matrix turned round, inverted and turned back."""
    turned = linalg_cholesky(precision.flip(-2, -1)).flip(-2, -1).mT
    identity = eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return solve_triangular(turned, identity, upper=False)


def squared_length(factor: Tensor, vector: Tensor) -> Tensor:
    """The squares of the lengths of `inverse(factor) @ vector`, for batches of both that broadcast.

    Dimensions that only vectors have are solved for at once, as columns.
    """
    batch = factor.dim() - 2
    samples = vector.dim() - 1 - batch
    if samples <= 0:
        return (solve_triangular(factor, vector.unsqueeze(-1), upper=False) ** 2).sum((-2, -1))
    columns = vector.reshape((-1, *vector.shape[samples:])).movedim(0, -1)
    found = (solve_triangular(factor, columns, upper=False) ** 2).sum(-2).movedim(-1, 0)
    return found.reshape((*vector.shape[:samples], *found.shape[1:]))


# ---- what packages import of PyTorch's -------------------------------------------------------------------------------

_batch_mahalanobis = squared_length


def _batch_mv(bmat: Tensor, bvec: Tensor) -> Tensor:
    """The products of matrices and vectors, both of which may be batches."""
    return (bmat @ bvec.unsqueeze(-1)).squeeze(-1)
