"""Sample covariances of normal vectors: the Wishart distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from retrograd.core.places import warn
from retrograd.core.plain import Size
from retrograd.core.tensor import Tensor
from retrograd.distributions import constraints
from retrograd.distributions.chi2 import Chi2
from retrograd.distributions.exp_family import ExponentialFamily
from retrograd.distributions.multivariate_normal import cholesky_factor, one_matrix
from retrograd.distributions.utils import Given, _standard_normal, lazy_property
from retrograd.ops.linalg.solve import linalg_slogdet_of
from retrograd.ops.shape.reshape import broadcast_shapes
from retrograd.ops.tensor.create import arange
from retrograd.ops.tensor.data import tensor

__all__ = ["Wishart"]


class Wishart(ExponentialFamily):
    """Sums of x xᵀ over `df` normal vectors x with mean 0, of a covariance that is given as it is, as its inverse or by
    its Cholesky factor.
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        df: Given,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, matrix = one_matrix(covariance_matrix, precision_matrix, scale_tril)
        count = df if isinstance(df, Tensor) else tensor(df, dtype=matrix.dtype, device=matrix.device)
        batch, event = broadcast_shapes(matrix.shape[:-2], count.shape), matrix.shape[-2:]
        if bool((count <= event[-1] - 1).any()):
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {event[-1] - 1}.")
        vars(self)[name] = matrix.expand((*batch, *event))
        self.df: Tensor = count.expand(batch)
        if bool((self.df < event[-1]).any()):
            warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.",
                UserWarning,
            )
        super().__init__(Size(batch), event, validate_args=validate_args)
        self._unbroadcasted_scale_tril = cholesky_factor(name, matrix)
        # Squares of lengths in ever fewer dimensions: the diagonal of Bartlett's decomposition.
        lost = arange(event[-1], dtype=self.df.dtype, device=self.df.device)
        self._dist_chi2 = Chi2(df=self.df.unsqueeze(-1) - lost.expand((*batch, event[-1])))

    @property
    def arg_constraints(self) -> Any:
        """The matrices, and the degrees of freedom, which are more than the size of the matrix less 1."""
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self._event_shape[-1] - 1),
        }

    def _expanded(self, name: str, value: Any, shape: Size) -> Any:
        if name == "_dist_chi2":
            return value.expand(shape + self._event_shape[-1:])
        return super()._expanded(name, value, shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        return self._matrix(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance of the vectors."""
        return self._matrix(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance of the vectors."""
        return self._matrix(self._unbroadcasted_scale_tril.cholesky_inverse())

    def _matrix(self, found: Tensor) -> Tensor:
        return found.expand(self._batch_shape + self._event_shape)

    def _df(self) -> Tensor:
        """The degrees of freedom, beside matrices."""
        return self.df.reshape(self._batch_shape + (1, 1))

    @property
    def mean(self) -> Tensor:
        return self._df() * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self._df() - self.covariance_matrix.shape[-1] - 1
        return factor.masked_fill(factor <= 0, float("nan")) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        V = self.covariance_matrix
        diagonal = V.diagonal(dim1=-2, dim2=-1)
        return self._df() * (V**2 + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def rsample(self, sample_shape: Sequence[int] = Size(), max_try_correction: int | None = None) -> Tensor:
        """Draws matrices, and those again that rounding has made singular; `max_try_correction` times at most."""
        tries = 3 if max_try_correction is None else max_try_correction
        sample = self._bartlett_sampling(Size(sample_shape))
        for _ in range(tries):
            singular = ~constraints.positive_definite.check(sample)
            if not bool(singular.any()):
                break
            warn("Singular sample detected.", UserWarning)
            sample = self._bartlett_sampling(Size(sample_shape)).where(singular[..., None, None], sample)
        return sample

    def _bartlett_sampling(self, sample_shape: Size) -> Tensor:
        """L A Aᵀ Lᵀ, where A is triangular, with roots of chi-squared numbers on the diagonal and normal ones below."""
        roots = self._dist_chi2.rsample(sample_shape).clamp(min=1e-38).sqrt()
        noise = _standard_normal(self._extended_shape(sample_shape), self.df.dtype, self.df.device)
        product = self._unbroadcasted_scale_tril @ (noise.tril(-1) + roots.diag_embed())
        return product @ product.mT

    def _log_det(self) -> Tensor:
        """Half the logarithm of the determinant of twice the covariance."""
        L = self._unbroadcasted_scale_tril
        return L.shape[-1] * math.log(2) / 2 + L.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        nu, size = self.df, self._event_shape[-1]
        trace = value.cholesky_solve(self._unbroadcasted_scale_tril).diagonal(dim1=-2, dim2=-1).sum(-1)
        front = -nu * self._log_det() - (nu / 2).mvlgamma(p=size)
        return front + (nu - size - 1) / 2 * linalg_slogdet_of(value).logabsdet - trace / 2

    def entropy(self) -> Tensor:
        nu, size = self.df, self._event_shape[-1]
        return (
            (size + 1) * self._log_det()
            + (nu / 2).mvlgamma(p=size)
            - (nu - size - 1) / 2 * _multivariate_digamma(nu / 2, size)
            + nu * size / 2
        )

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        size = self._event_shape[-1]
        half = y + (size + 1) / 2
        return half * -linalg_slogdet_of(-x).logabsdet + half.mvlgamma(p=size)


def _multivariate_digamma(x: Tensor, p: int) -> Tensor:
    """The derivative of mvlgamma."""
    steps = arange(p, dtype=x.dtype, device=x.device) / 2
    return (x.unsqueeze(-1) - steps).digamma().sum(-1)
