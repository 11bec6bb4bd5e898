"""Transforms of vectors and matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from retrograd.backends.limits import finfo
from retrograd.core.tensor import Tensor
from retrograd.distributions import constraints
from retrograd.distributions.constraints import Constraint
from retrograd.distributions.number_transforms import clipped_sigmoid
from retrograd.distributions.transform import Parameterless, Shape, Transform
from retrograd.distributions.utils import (
    tril_matrix_to_vec,
    vec_to_tril_matrix,
)
from retrograd.ops.linalg.factorizations import linalg_cholesky
from retrograd.ops.nn.activation import logsigmoid, softplus
from retrograd.ops.nn.pad import pad
from retrograd.ops.nn.softmax import functional_softmax
from retrograd.ops.tensor.create import eye, ones_like


class ReshapeTransform(Transform):
    """Events of one shape, in another."""

    bijective = True

    def __init__(self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0) -> None:
        self.in_shape: tuple[int, ...] = tuple(in_shape)
        self.out_shape: tuple[int, ...] = tuple(out_shape)
        if math.prod(self.in_shape) != math.prod(self.out_shape):
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size=cache_size)

    @constraints.dependent_property
    def domain(self) -> Constraint:
        """Events of the first shape."""
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self) -> Constraint:
        """Events of the second shape."""
        return constraints.independent(constraints.real, len(self.out_shape))

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return ReshapeTransform(self.in_shape, self.out_shape, cache_size)

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(tuple(x.shape[: x.dim() - len(self.in_shape)]) + self.out_shape)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(tuple(y.shape[: y.dim() - len(self.out_shape)]) + self.in_shape)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def _swapped(self, shape: Shape, old: Shape, new: Shape) -> Shape:
        if len(shape) < len(old):
            raise ValueError("Too few dimensions on input")
        cut = len(shape) - len(old)
        if shape[cut:] != old:
            raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {old}")
        return shape[:cut] + new

    def forward_shape(self, shape: Shape) -> Shape:
        return self._swapped(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Shape) -> Shape:
        return self._swapped(shape, self.out_shape, self.in_shape)


class SoftmaxTransform(Parameterless):
    """y = exp(x) over its sum. One of its inverses is the logarithm; it has no Jacobian."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        return functional_softmax(x, dim=-1)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Shape) -> Shape:
        return _with_dims(shape, 1)

    def inverse_shape(self, shape: Shape) -> Shape:
        return _with_dims(shape, 1)


def _with_dims(shape: Shape, count: int) -> Shape:
    if len(shape) < count:
        raise ValueError("Too few dimensions on input")
    return shape


class StickBreakingTransform(Parameterless):
    """K - 1 numbers as K parts of a whole: each says what share of the rest breaks off."""

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def _offset(self, like: Tensor) -> Tensor:
        """log(K - 1), ..., log(1), by which zeros are equal parts."""
        return (like.shape[-1] + 1 - ones_like(like).cumsum(-1)).log()

    def _call(self, x: Tensor) -> Tensor:
        share = clipped_sigmoid(x - self._offset(x))
        rest = (1 - share).cumprod(-1)
        return pad(share, [0, 1], value=1) * pad(rest, [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        parts = y[..., :-1]
        rest = (1 - parts.cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        return parts.log() - rest.log() + self._offset(parts)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        x = x - self._offset(x)
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Shape) -> Shape:
        _with_dims(shape, 1)
        return shape[:-1] + (shape[-1] + 1,)

    def inverse_shape(self, shape: Shape) -> Shape:
        _with_dims(shape, 1)
        return shape[:-1] + (shape[-1] - 1,)


class CorrCholeskyTransform(Parameterless):
    """D (D - 1) / 2 numbers as the Cholesky factor of a D×D correlation matrix."""

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        eps = finfo(x.dtype).eps
        partial = vec_to_tril_matrix(x.tanh().clamp(min=-1 + eps, max=1 - eps), diag=-1)
        rest = (1 - partial**2).sqrt().cumprod(-1)  # the length of a row that is left
        whole = partial + eye(partial.shape[-1], dtype=x.dtype, device=x.device)
        return whole * pad(rest[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        rest = pad(1 - (y * y).cumsum(-1)[..., :-1], [1, 0], value=1)
        t = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(rest, diag=-1).sqrt()
        return (t.log1p() - (-t).log1p()) / 2

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor, intermediates: Any = None) -> Tensor:
        rest = tril_matrix_to_vec(1 - (y * y).cumsum(-1), diag=-2)
        of_tanh = -2 * (x + softplus(-2 * x) - math.log(2.0)).sum(-1)
        return 0.5 * rest.log().sum(-1) + of_tanh

    def forward_shape(self, shape: Shape) -> Shape:
        _with_dims(shape, 1)
        size = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != shape[-1]:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return shape[:-1] + (size, size)

    def inverse_shape(self, shape: Shape) -> Shape:
        _with_dims(shape, 2)
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return shape[:-2] + (shape[-1] * (shape[-1] - 1) // 2,)


class LowerCholeskyTransform(Parameterless):
    """The lower triangle of a matrix, with the exponential of its diagonal."""

    domain: Any = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Parameterless):
    """A positive definite matrix, whose Cholesky factor is as `LowerCholeskyTransform` has it."""

    domain: Any = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(linalg_cholesky(y))
