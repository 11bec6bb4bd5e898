"""Covariances and correlations of variables, the rows of a matrix, from observations; and the mean without NaN."""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.backends.base import as_array, backend_of
from retrograd.backends.dtypes import SCALAR_NAMES, as_dtype
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError, ShapeError
from retrograd.ops.common import int_from, require_tensor, zero_like
from retrograd.ops.elementwise.arithmetic import div, mul, sub
from retrograd.ops.elementwise.choose import clamp
from retrograd.ops.elementwise.complex_numbers import complex as joined
from retrograd.ops.elementwise.exponential import sqrt
from retrograd.ops.linalg.matmul import mm
from retrograd.ops.reduce.sums import axes_of, dims_given, nansum, sum
from retrograd.ops.register import public
from retrograd.ops.shape.diagonals import diagonal
from retrograd.ops.shape.reshape import Dims, reshape, squeeze, unsqueeze
from retrograd.ops.shape.transpose import t
from retrograd.values import DType


@public("nanmean", method=True)
def nanmean(
    input: Tensor,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    out: Tensor | None = None,
    **numpy: Any,
) -> Tensor:
    """The mean of the elements that are not NaN; NaN where there are none.

    >>> import retrograd as rg
    >>> rg.nanmean(rg.tensor([1.0, float("nan"), 3.0]))
    tensor(2.)
    """
    dim, keepdim = dims_given("nanmean", dim, keepdim, numpy)
    x = require_tensor("nanmean", "input", 1, input)
    a = x.array
    if a.dtype.kind not in "fc":
        raise DtypeError(
            f"nanmean(): expected input to have floating point or complex dtype but got {SCALAR_NAMES[a.dtype]}"
        )
    target = a.dtype if dtype is None else as_dtype(dtype)
    if target.kind not in "fc":
        raise DtypeError(
            "nanmean(): could not infer output dtype. Optional dtype must be either a floating point or complex dtype. "
            f"Got: {SCALAR_NAMES[target]}"
        )
    total = nansum(x, dim, keepdim, dtype=dtype)
    counts = (~backend_of(a).isnan(a)).sum(axis=axes_of(dim, a.ndim), keepdims=keepdim)
    found: Tensor = div(total, Tensor(as_array(counts).astype(np.int64), share=True), out=out)
    return found


@public("cov", method=True)
def cov(
    input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """The covariance matrix of variables; of one, its variance.

    Args:
        input: a row for each variable, with its observations; or one variable.
        correction: divide by the number of observations less this.
        fweights: how often each observation was made, integers.
        aweights: how much each observation counts.

    >>> import retrograd as rg
    >>> rg.cov(rg.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    x: Any = require_tensor("cov", "input", 1, input)
    correction = int_from("cov", "correction", 2, correction)
    _check_rows("cov", x)
    x = reshape(x, (1, -1)) if x.array.ndim < 2 else x
    observations = x.array.shape[1]
    _check_weights("fweights", fweights, "iu", "integral", observations)
    _check_weights("aweights", aweights, "f", "floating point", observations)
    weights = aweights if fweights is None else fweights if aweights is None else mul(fweights, aweights)
    total = (
        Tensor(backend_of(x.array).asarray(observations), share=True)
        if weights is None or not observations
        else sum(weights)
    )
    mean = div(sum(x if weights is None else mul(x, weights), 1), total)
    freedom = _freedom(total, weights, aweights, correction)
    offset = sub(x, unsqueeze(mean, 1))
    other = offset if weights is None else mul(offset, weights)
    turned = t(other).conj() if x.array.dtype.kind == "c" else t(other)
    return squeeze(div(mm(offset, turned), freedom))


def _freedom(total: Any, weights: Any, aweights: Any, correction: int) -> Any:
    """What the sum of products is divided by; 0 if nothing is left."""
    if weights is not None and aweights is not None and correction:
        freedom = sub(total, div(mul(sum(mul(weights, aweights)), correction), total))
    else:
        freedom = sub(total, correction)
    if (freedom.detach().array <= 0).any():
        warn(
            "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations.",
            UserWarning,
        )
        return zero_like(freedom.detach())
    return freedom


def _check_rows(function: str, x: Tensor) -> None:
    if x.array.ndim > 2:
        raise ShapeError(
            f"{function}(): expected input to have two or fewer dimensions but got an input with {x.array.ndim} "
            "dimensions"
        )
    if x.array.dtype.kind == "b":
        raise DtypeError(f"{function}(): bool dtype is not supported for input")


def _check_weights(name: str, weights: Any, kinds: str, called: str, observations: int) -> None:
    if weights is None:
        return
    w = require_tensor("cov", name, 2, weights).array
    if w.ndim > 1:
        raise ShapeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with {w.ndim} dimensions"
        )
    if w.dtype.kind not in kinds:
        raise DtypeError(
            f"cov(): expected {name} to have {called} dtype but got {name} with {SCALAR_NAMES[w.dtype]} dtype"
        )
    if w.size != observations:
        raise ShapeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input but got "
            f"{w.size} != {observations}"
        )
    if (w < 0).any():
        raise RuntimeError(f"cov(): {name} cannot be negative")


@public("corrcoef", method=True)
def corrcoef(input: Tensor) -> Tensor:
    """The matrix of correlation coefficients of variables, the rows of `input`.

    >>> import retrograd as rg
    >>> rg.corrcoef(rg.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    x = require_tensor("corrcoef", "input", 1, input)
    _check_rows("corrcoef", x)
    found = cov(x)
    if not found.array.ndim:
        result: Tensor = div(found, found)
        return result
    variances = diagonal(found)
    deviation = sqrt(variances.real if found.array.dtype.kind == "c" else variances)
    scaled = div(div(found, reshape(deviation, (-1, 1))), reshape(deviation, (1, -1)))
    if found.array.dtype.kind == "c":
        result = joined(clamp(scaled.real, -1, 1), clamp(scaled.imag, -1, 1))
        return result
    result = clamp(scaled, -1, 1)
    return result
