"""Norms of matrices, and what is counted with them: conditions and ranks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from retrograd.backends.base import backend_of
from retrograd.backends.dtypes import as_dtype
from retrograd.core.autocast import autocasting_on_cpu, in_float32
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError, ShapeError, sizes, type_name
from retrograd.ops.common import (
    deliver,
    deliver_castable,
    deliver_exact,
    tensor_of,
    wrap_dim,
)
from retrograd.ops.elementwise.floating_point import nan_to_num
from retrograd.ops.linalg.checks import (
    check_floating,
    check_matrices,
    check_square,
    deprecation,
    matrix_argument,
)
from retrograd.ops.linalg.eigenvalues import svdvals
from retrograd.ops.linalg.least_squares import bounds, spectrum, tolerance
from retrograd.ops.linalg.solve import inv_ex
from retrograd.ops.reduce.statistics import check_norm_target, vector_norm
from retrograd.ops.reduce.sums import dims_given
from retrograd.ops.register import public
from retrograd.ops.shape.reshape import integer
from retrograd.values import DType

ORDERS = ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf)


@public("linalg.matrix_norm")
def matrix_norm(
    input: Tensor, ord: str | float = "fro", dim: Sequence[int] = (-2, -1), keepdim: bool = False, *,
    dtype: DType | None = None, out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The norm of matrices, which lie along the two dimensions in `dim`.

    Args:
        ord: "fro" (all elements as a vector), "nuc" (the sum of the singular values), 2 and -2 (the largest and the
            smallest of them), 1 and -1 (of the columns' sums), inf and -inf (of the rows' sums).

    >>> import retrograd as rg
    >>> rg.linalg.matrix_norm(rg.tensor([[3.0, 0.0], [0.0, 4.0]]), "nuc")
    tensor(7.)
    """
    x: Any = matrix_argument("linalg.matrix_norm", input, "input")
    if ord is None or not isinstance(dim, (tuple, list)):
        wrong = "ord=None" if ord is None else f"dim={type_name(dim)}"
        raise TypeError(f"linalg_matrix_norm() received an invalid combination of arguments - got {wrong}")
    check_matrices("linalg.matrix_norm", x)
    if len(dim) != 2:
        raise ShapeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, dim))}")
    first, second = (wrap_dim(d, x.array.ndim) for d in dim)
    if first == second:
        raise ShapeError(f"linalg.matrix_norm: dims must be different. Got ({dim[0]}, {dim[1]})")
    if ord not in ORDERS:
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    check_floating("linalg.matrix_norm", x, half=ord not in ("nuc", 2, -2))
    target = None if dtype is None else as_dtype(dtype)
    if target is not None:
        check_norm_target("linalg.matrix_norm", x.array.dtype, target)
    return deliver_exact(
        _measured(x, ord, first, second, bool(keepdim), target),
        out,
        "linalg.matrix_norm expected out tensor dtype {wanted} but got: {given}",
    )


def _measured(x: Any, ord: Any, first: int, second: int, keepdim: bool, dtype: Any) -> Any:
    """The norm, by its order, over two dimensions counted from the front."""
    if ord == "fro":
        return vector_norm(x, 2, (first, second), keepdim, dtype=dtype)
    if ord != "nuc" and abs(ord) in (1, math.inf):
        summed, chosen = (second, first) if math.isinf(ord) else (first, second)
        sums = vector_norm(x, 1, summed, keepdim, dtype=dtype)
        chosen -= summed < chosen and not keepdim
        return _extreme(sums, ord, chosen, keepdim)
    x = x if dtype is None else x.to(dtype)
    ndim = x.array.ndim
    places = [d for d in range(ndim) if d not in (first, second)] + [first, second]
    values = svdvals(x.permute(places))
    found = values.sum(-1, keepdim) if ord == "nuc" else _extreme(values, ord, -1, keepdim)
    return found.unsqueeze(-1).permute([places.index(d) for d in range(ndim)]) if keepdim else found


def _extreme(values: Any, ord: Any, dim: int, keepdim: bool) -> Any:
    """The largest value along a dimension, or the smallest if the order is negative; the largest of none is 0."""
    if ord < 0:
        return values.amin(dim, keepdim)
    return values.amax(dim, keepdim) if values.array.shape[dim] else values.sum(dim, keepdim)


_WORDS = "linalg.norm expected out tensor dtype {wanted} but got: {given}"


@public("linalg.norm")
def linalg_norm(
    input: Tensor, ord: str | float | None = None, dim: int | Sequence[int] | None = None, keepdim: bool = False, *,
    dtype: DType | None = None, out: Tensor | None = None, **numpy: Any,
) -> Tensor:  # fmt: skip
    """The norm of vectors or matrices: of all elements as a vector if neither `ord` nor `dim` is given.

    >>> import retrograd as rg
    >>> rg.linalg.norm(rg.tensor([[3.0, 0.0], [0.0, 4.0]])), rg.linalg.norm(rg.tensor([[3.0, 0.0], [0.0, 4.0]]), 2)
    (tensor(5.), tensor(4.))
    """
    x = matrix_argument("linalg.norm", input, "input")
    dim, keepdim = dims_given("linalg.norm", dim, keepdim, numpy)
    dims = dim if dim is None or isinstance(dim, (tuple, list)) else (integer(dim),)
    if dims is not None and len(dims) not in (1, 2):
        raise ShapeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {sizes(dims)}")
    if ord is not None and dims is None and x.array.ndim not in (1, 2):
        raise ShapeError(
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
            f"{x.array.ndim}D."
        )
    matrices = len(dims) == 2 if dims is not None else x.array.ndim == 2
    if ord is not None and (matrices or isinstance(ord, str)):
        return matrix_norm(x, ord, dims or (-2, -1), keepdim, dtype=dtype, out=out)
    return deliver_exact(vector_norm(x, 2 if ord is None else ord, dims, keepdim, dtype=dtype), out, _WORDS)


@public("nuclear_norm")
def nuclear_norm(
    input: Tensor, dim: int | Sequence[int] | bool | None = None, keepdim: bool = False, *, out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The sum of the singular values."""
    deprecation(
        "torch.nuclear_norm is deprecated. Please use `linalg.matrix_norm(A, 'nuc', dim, keepdim)` instead"
    )
    x = matrix_argument("nuclear_norm", input, "input")
    if isinstance(dim, bool):
        return matrix_norm(x, "nuc", (-2, -1), dim, out=out)
    if isinstance(dim, int):  # one number stands for both
        dim = (dim, dim)
    return matrix_norm(x, "nuc", (-2, -1) if dim is None else dim, keepdim, out=out)


@public("linalg.cond")
def cond(input: Tensor, p: str | float | None = None, *, out: Tensor | None = None) -> Tensor:
    """How much a linear system magnifies errors: the norm of A times the norm of its inverse.

    Args:
        p: an order of `matrix_norm`; None is 2, which matrices that are not square have too.

    >>> import retrograd as rg
    >>> rg.linalg.cond(rg.tensor([[4.0, 0.0], [0.0, 2.0]]))
    tensor(2.)
    """
    if autocasting_on_cpu():
        return in_float32(cond, input, p, out=out)
    x: Any = matrix_argument("linalg.cond", input, "input")
    if x.array.ndim < 2:
        raise ShapeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    if p is not None and p not in ORDERS:
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if x.array.size == 0:
        return deliver_castable(
            "linalg.cond", tensor_of(backend_of(x.array).zeros(x.array.shape[:-2], x.array.real.dtype)), out
        )
    if p is None or p in (2, -2):
        values = svdvals(x)
        ends = values[..., :1], values[..., -1:]
        return deliver_castable(
            "linalg.cond", (ends[0] / ends[1] if p != -2 else ends[1] / ends[0]).squeeze(-1), out
        )
    if p == "nuc":
        check_square("linalg.cond(ord=nuc)", x)
        values = svdvals(x)
        return deliver_castable("linalg.cond", values.sum(-1) * values.reciprocal().sum(-1), out)
    check_square(f"linalg.cond(ord={p})", x)
    return deliver_castable("linalg.cond", _condition(x, p), out)


def _condition(x: Any, p: Any) -> Any:
    """The product of two norms; infinite for singular matrices."""
    inverse, info = inv_ex(x)
    bad = (info != 0).unsqueeze(-1).unsqueeze(-1)
    inverse = inverse.masked_fill(bad, math.inf)
    found = matrix_norm(x, p) * matrix_norm(inverse, p)
    return nan_to_num(found, nan=math.inf, posinf=math.inf, neginf=-math.inf)


@public("linalg.matrix_rank")
def matrix_rank(
    input: Tensor, tol: Tensor | float | None = None, hermitian: bool = False, *, atol: Tensor | float | None = None,
    rtol: Tensor | float | None = None, out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """How many singular values (or eigenvalues) are larger than `max(atol, rtol * largest)`.

    Args:
        tol: an older name of `atol`, without `rtol`.
        hermitian: take A for Hermitian and use its eigenvalues.

    >>> import retrograd as rg
    >>> rg.linalg.matrix_rank(rg.tensor([[1.0, 2.0], [2.0, 4.0]]))
    tensor(1)
    """
    if autocasting_on_cpu():
        return in_float32(matrix_rank, input, tol, hermitian, atol=atol, rtol=rtol, out=out)
    x = matrix_argument("linalg.matrix_rank", input, "input")
    check_matrices("torch.linalg.matrix_rank", x, "input")
    if x.array.dtype.char not in "fdFD":
        raise DtypeError(
            "torch.linalg.matrix_rank: This function doesn't handle types other than float and double"
        )
    if hermitian:
        check_square("linalg.eigh", x)
    xp = backend_of(x.array)
    low, high = bounds(
        "torch.linalg.matrix_rank", x, atol if tol is None else tol, rtol if tol is None else 0.0
    )
    if x.array.size == 0:
        return deliver(tensor_of(xp.zeros(x.array.shape[:-2], np.int64)), out)
    values = abs(spectrum(xp, x.array, bool(hermitian))[1])
    counted = (values > tolerance(xp, values, low, high)).sum(axis=-1)
    return deliver(tensor_of(counted.astype(np.int64)), out)
