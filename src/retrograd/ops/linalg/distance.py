"""Distances between points, lengths of vectors and angles between them, and vectors brought to a length."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import Backend, backend_of
from retrograd.backends.dtypes import SCALAR_NAMES, promote_types
from retrograd.core.apply import apply1, apply2
from retrograd.core.autocast import autocasting, autocasting_on_gpu, in_float32
from retrograd.core.families import added
from retrograd.core.op import OUT, Binary, Unary, X, Y
from retrograd.core.tensor import Tensor
from retrograd.errors import (
    DimensionError,
    DtypeError,
    ShapeError,
    broadcast_error,
    type_name,
    unsupported_dtype,
)
from retrograd.ops.common import (
    as_value,
    deliver_exact,
    int_from,
    joint_shape,
    number_from,
    plain,
    real_from,
    require_tensor,
    wrap_dim,
    zero_like,
)
from retrograd.ops.elementwise.arithmetic import add, div, mul, refuse_bools, sub
from retrograd.ops.elementwise.choose import Where, clamp_min
from retrograd.ops.elementwise.sign import Sgn
from retrograd.ops.index.gather import Put, Take
from retrograd.ops.linalg.matrix_norm import matrix_norm
from retrograd.ops.reduce.statistics import VectorNorm, check_identity, norm_order, real_part, vector_norm
from retrograd.ops.reduce.sums import dims_given, sum
from retrograd.ops.register import public
from retrograd.ops.shape.reshape import Reshape, expand, expand_as, reshape
from retrograd.ops.shape.transpose import transpose
from retrograd.ops.tensor.convert import clone, convert
from retrograd.values import Array, Axis, DType, Shape

# -- the distance of two tensors -----------------------------------------------------------------------------------


class Norm(VectorNorm):
    """The norm as PyTorch's older functions compute it."""

    node_name = "NormBackward1"
    shown: ClassVar[dict[str, str]] = {"p": "ord", "dim": "axis", "keepdim": "keepdims"}


class NormOfAll(Norm):
    """the same over all dimensions"""

    node_name = "NormBackward0"
    shown: ClassVar[dict[str, str]] = {"p": "ord"}


def tangent(norm: VectorNorm, t: Any, x: Any, out: Any) -> Any:
    """The tangent of a norm that keeps its dimensions, or is of all elements."""
    if norm.ord == 0:
        return zero_like(out)
    return real_part(norm.field(1, x, out).conj() * t).sum(axis=norm.axis, keepdims=norm.keepdims)


class Dist(Binary):
    """the norm of x - y"""

    params: ClassVar[tuple[str, ...]] = ("p",)
    shown: ClassVar[dict[str, str]] = {"p": "p"}
    keeps0: ClassVar[int] = X | Y | OUT
    keeps1: ClassVar[int] = X | Y | OUT

    def __init__(self, p: float) -> None:
        self.p = p

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        norm = VectorNorm(self.p, None, False)
        if x.shape != y.shape or x.dtype != y.dtype or x.dtype.char not in "fd":
            return norm.forward(xp, x - y)
        return norm.measure(xp, x, y).astype(x.dtype, copy=False)

    def vjp(self, i: int, g: Any, x: Any, y: Any, out: Any) -> Any:
        if self.p == 0:
            return None
        d = x - y
        if math.isinf(self.p):
            out = VectorNorm(self.p, None, False).on(
                d
            )  # the one saved may have been rounded, and equal none of them
        pulled = VectorNorm(self.p, None, False).field(g, d, out)
        return -pulled if i else pulled

    def jvp(self, tx: Any, ty: Any, x: Any, y: Any, out: Any) -> Any:
        moved = added(tx, None if ty is None else -ty)
        return tangent(VectorNorm(self.p, None, False), moved, x - y, out)


# -- distances of all pairs of rows --------------------------------------------------------------------------------


def offsets(x: Any, y: Any) -> Any:
    """Every row of x minus every row of y."""
    return x[..., :, None, :] - y[..., None, :, :]


def lengths(xp: Backend, d: Array, p: float) -> Array:
    """The p-norms along the last dimension."""
    if not d.shape[-1]:
        return xp.zeros(d.shape[:-1], d.dtype)
    return VectorNorm(p, (-1,), False).measure(xp, d).astype(d.dtype, copy=False)


def ones_beside(v: Any) -> Any:
    """Ones in the shape and kind of a value."""
    return as_value(backend_of(plain(v)).ones_like(plain(v)), v)


def pulled(p: float, v: Any, d: Any, out: Any) -> Any:
    """`v` times the derivative of the lengths of d; where the largest offset is the length, all that reach it count."""
    v, out = v[..., None], out[..., None]
    if p == 0:
        return zero_like(d)
    if p == math.inf:
        reached = abs(plain(d)) == plain(out)
        return Sgn().on(d) * as_value(reached.astype(plain(d).dtype), d) * v
    return VectorNorm(p, (-1,), True).field(v, d, out)


class Cdist(Binary):
    """the distance of every row of x to every row of y"""

    in_rows: ClassVar[bool] = True
    params: ClassVar[tuple[str, ...]] = ("p",)
    shown: ClassVar[dict[str, str]] = {"p": "p"}
    keeps0: ClassVar[int] = X | Y | OUT
    keeps1: ClassVar[int] = X | Y | OUT

    def __init__(self, p: float) -> None:
        self.p = p

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        return lengths(xp, offsets(x, y), self.p)

    def vjp(self, i: int, g: Any, x: Any, y: Any, out: Any) -> Any:
        found = pulled(self.p, g, offsets(x, y), out)
        return -found.sum(axis=-3) if i else found.sum(axis=-2)

    def jvp(self, tx: Any, ty: Any, x: Any, y: Any, out: Any) -> Any:
        slope = pulled(self.p, ones_beside(out), offsets(x, y), out)
        a = None if tx is None else slope * tx[..., :, None, :]
        b = None if ty is None else -slope * ty[..., None, :, :]
        return added(a, b).sum(axis=-1)

    def saved_slot(self, name: str) -> str:
        return super().saved_slot({"x1": "self", "x2": "other"}.get(name, name))


class EuclideanDist(Cdist):
    """the Euclidean distances of many rows, by a matrix product: |x - y|**2 = |x|**2 + |y|**2 - 2 x·y"""

    shown: ClassVar[dict[str, str]] = {}

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        squares = (x * x).sum(axis=-1)[..., :, None] + (y * y).sum(axis=-1)[..., None, :]
        return xp.sqrt(xp.maximum(squares - 2 * (x @ y.swapaxes(-1, -2)), 0))

    def vjp(self, i: int, g: Any, x: Any, y: Any, out: Any) -> Any:
        flat = plain(out) == 0
        ratio = Where().on(flat, 0.0, g / Where().on(flat, 1.0, out))
        if i:
            ratio, x, y = ratio.swapaxes(-1, -2), y, x
        return x * ratio.sum(axis=-1, keepdims=True) - ratio @ y


class Pdist(Unary):
    """the distance of every row to every later one"""

    params: ClassVar[tuple[str, ...]] = ("p",)
    shown: ClassVar[dict[str, str]] = {"p": "p"}
    keeps: ClassVar[int] = X | OUT

    def __init__(self, p: float) -> None:
        self.p = p

    def forward(self, xp: Backend, x: Array) -> Array:
        first, second = xp.triu_indices(len(x), 1)
        self.places = first * len(x) + second  # of the pairs in the matrix of all distances
        return lengths(xp, x[first] - x[second], self.p)

    def all_pairs(self, v: Any, n: int) -> Any:
        """Values of the pairs as a matrix, 0 elsewhere."""
        return Put(self.places, (n, n)).on(v)

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        n = x.shape[0]
        found = pulled(self.p, self.all_pairs(g, n), offsets(x, x), self.all_pairs(out, n))
        return found.sum(axis=1) - found.sum(axis=0)

    def jvp(self, t: Any, x: Any, out: Any) -> Any:
        n = x.shape[0]
        one = self.all_pairs(ones_beside(out), n)
        slope = pulled(self.p, one, offsets(x, x), self.all_pairs(out, n))
        return Take(self.places).on((slope * offsets(t, t)).sum(axis=-1))


# -- vectors brought to a length -----------------------------------------------------------------------------------

NEARLY = 1e-7  # added to a norm before dividing by it, as PyTorch does


class Renorm(Unary):
    """x, whose slices along a dimension are shortened where their norm is larger than `maxnorm`"""

    widened: ClassVar[bool] = True
    in_rows: ClassVar[bool] = True
    params: ClassVar[tuple[str, ...]] = ("p", "dim", "maxnorm")
    shown: ClassVar[dict[str, str]] = {"p": "p", "dim": "dim", "maxnorm": "maxnorm"}
    keeps: ClassVar[int] = X

    def __init__(self, p: float, dim: int, maxnorm: float) -> None:
        self.p = p
        self.dim = dim
        self.maxnorm = maxnorm

    def norm(self, x: Any) -> VectorNorm:
        """The norm of a slice, over all other dimensions."""
        return VectorNorm(self.p, tuple([i for i in range(x.ndim) if i != self.dim]), True)

    def factor(self, size: Any) -> tuple[Any, Any]:
        """What slices of these norms are multiplied with, and its derivative by the norm."""
        long = plain(size) > self.maxnorm
        factor = Where().on(long, self.maxnorm / (size + NEARLY), 1.0)
        return factor, Where().on(long, -factor / (size + NEARLY), 0.0)

    def forward(self, xp: Backend, x: Array) -> Array:
        size = self.norm(x).forward(xp, x)
        return (x * xp.where(size > self.maxnorm, self.maxnorm / (size + NEARLY), 1)).astype(
            x.dtype, copy=False
        )

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        norm = self.norm(x)
        size = norm.on(x)
        factor, slope = self.factor(size)
        change = real_part(g * x.conj()).sum(axis=norm.axis, keepdims=True)
        shorter = self.norm(x).field(change * slope, x, size)
        return g * factor + Where().on(plain(size) > self.maxnorm, shorter, 0.0)

    def jvp(self, t: Any, x: Any, out: Any) -> Any:
        size = self.norm(x).on(x)
        factor, slope = self.factor(size)
        return t * factor + x * (slope * tangent(self.norm(x), t, x, size))


# -- functions -----------------------------------------------------------------------------------------------------


@public("dist", method=True)
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The p-norm of `input - other`, broadcasting.

    >>> import retrograd as rg
    >>> rg.dist(rg.tensor([0.0, 3.0]), rg.tensor([4.0, 0.0]))
    tensor(5.)
    """
    if autocasting_on_gpu(input):
        return in_float32(dist, input, other, p)
    x, y = require_tensor("dist", "input", 1, input), require_tensor("dist", "other", 2, other)
    refuse_bools(x, y)
    dtype = promote_types(x.array.dtype, y.array.dtype)
    _check_norm(dtype)
    order = _power("dist", p, 3)
    shape = _together(x.array.shape, y.array.shape)
    if order < 0 or order == math.inf:
        check_identity(order, None, Tensor(np.empty(shape), share=True))
    found: Tensor = apply2(Dist(order), x, y)
    return found


def _power(function: str, p: Any, position: int) -> float:
    if isinstance(p, complex):
        raise DtypeError("linalg.vector_norm: Expected a non-complex scalar as the order of norm.")
    if not isinstance(p, (int, float, np.number, Tensor)) or (isinstance(p, Tensor) and p.requires_grad):
        raise TypeError(
            f"{function}(): argument 'p' (position {position}) must be Number, not {type_name(p)}"
        )
    return norm_order(p)


def _check_norm(dtype: Any) -> None:
    if dtype.kind not in "fc":
        raise DtypeError(
            f"norm(): input dtype should be either floating point or complex. Got {SCALAR_NAMES[dtype]} instead."
        )


def _together(a: Shape, b: Shape) -> Shape:
    """The shape that two shapes broadcast to."""
    try:
        return joint_shape(a, b)
    except ValueError:
        raise broadcast_error(a, b) from None


# How cdist computes Euclidean distances: by a matrix product if there are many rows, always, or never.
MODES = {
    "use_mm_for_euclid_dist_if_necessary": 25,
    "use_mm_for_euclid_dist": -1,
    "donot_use_mm_for_euclid_dist": 2**62,
}


@public("cdist")
def cdist(
    x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary"
) -> Tensor:
    """The p-norm distance of every row of `x1` to every row of `x2`; leading dimensions are batches.

    Args:
        compute_mode: whether Euclidean distances are computed by a matrix product, which is faster and less exact:
            with more than 25 rows ("use_mm_for_euclid_dist_if_necessary"), always ("use_mm_for_euclid_dist") or never
            ("donot_use_mm_for_euclid_dist").

    >>> import retrograd as rg
    >>> rg.cdist(rg.tensor([[0.0, 0.0]]), rg.tensor([[3.0, 4.0], [1.0, 0.0]]))
    tensor([[5., 1.]])
    """
    if autocasting():
        return in_float32(cdist, x1, x2, p, compute_mode)
    if compute_mode not in tuple(MODES):
        raise ValueError(
            f"{compute_mode} is not a valid value for compute_mode: it is one of {', '.join(MODES)}"
        )
    x, y = require_tensor("cdist", "x1", 1, x1), require_tensor("cdist", "x2", 2, x2)
    power = float(_power("cdist", p, 3))
    _check_rows(x.array, y.array, power)
    rows, columns = x.array.shape[-2], y.array.shape[-2]
    shape = (*_together(x.array.shape[:-2], y.array.shape[:-2]), rows, columns)
    if power == 2 and max(rows, columns) > MODES[compute_mode] and x.array.size and y.array.size:
        found: Tensor = apply1(Reshape(shape), apply2(EuclideanDist(2.0), x, y))
        return found
    if x.array.dtype.itemsize == 2 and x.array.size and y.array.size:
        raise unsupported_dtype("cdist", x.array.dtype, "convert with .float() first.")
    found = apply2(Cdist(power), x, y)
    return found


def _check_rows(x: Array, y: Array, p: float) -> None:
    """Whether two arrays of rows have distances."""
    for name, v in (("X1", x), ("X2", y)):
        if v.ndim < 2:
            raise ShapeError(f"cdist only supports at least 2D tensors, {name} got: {v.ndim}D")
    for name, v in (("X1", x), ("X2", y)):
        if v.dtype.kind != "f":
            raise DtypeError(
                f"cdist only supports floating-point dtypes, {name} got: {SCALAR_NAMES[v.dtype]}"
            )
    if x.shape[-1] != y.shape[-1]:
        raise ShapeError(
            f"X1 and X2 must have the same number of columns. X1: {x.shape[-1]} X2: {y.shape[-1]}"
        )
    if p < 0:
        raise RuntimeError(f"cdist only supports non-negative p values, not {p}")
    if x.dtype != y.dtype:
        raise DtypeError(
            f"cdist(): expected scalar type {SCALAR_NAMES[x.dtype]} but found {SCALAR_NAMES[y.dtype]}"
        )


@public("pdist", "nn.functional.pdist")
def pdist(input: Tensor, p: float = 2) -> Tensor:
    """The p-norm distances of all pairs of rows, each pair once: those of the first row come first.

    >>> import retrograd as rg
    >>> rg.pdist(rg.tensor([[0.0], [1.0], [4.0]]))
    tensor([1., 4., 3.])
    """
    if autocasting_on_gpu(input):
        return in_float32(pdist, input, p)
    x = require_tensor("pdist", "input", 1, input)
    a, power = x.array, float(_power("pdist", p, 2))
    if a.ndim != 2:
        raise ShapeError(f"pdist only supports 2D tensors, got: {a.ndim}D")
    if a.dtype.kind != "f":
        raise DtypeError(f"pdist only supports floating-point dtypes, not {SCALAR_NAMES[a.dtype]}")
    if power < 0:
        raise RuntimeError(f"pdist only supports non-negative p values, not {power}")
    if a.dtype.itemsize == 2:
        raise unsupported_dtype("pdist", a.dtype, "convert with .float() first.")
    found: Tensor = apply1(Pdist(power), x)
    return found


@public("renorm", "Tensor.renorm_", method=True)
def renorm(input: Tensor, p: float, dim: int, maxnorm: float, *, out: Tensor | None = None) -> Tensor:
    """`input` with each slice along `dim` whose p-norm is larger than `maxnorm` scaled down to it.

    >>> import retrograd as rg
    >>> rg.renorm(rg.tensor([[3.0, 4.0], [0.3, 0.4]]), 2, 0, 1.0)
    tensor([[0.6000, 0.8000],
            [0.3000, 0.4000]])
    """
    x = require_tensor("renorm", "input", 1, input)
    p, maxnorm = number_from("renorm", "p", 2, p), number_from("renorm", "maxnorm", 4, maxnorm)
    for name, v in (("p", p), ("maxnorm", maxnorm)):
        if isinstance(v, complex):
            raise RuntimeError(f"renorm: {name} must be real-valued, not {v}")
    if p <= 0:
        raise RuntimeError(f"renorm: non-positive-norm not supported: p is {p}")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    ndim = x.array.ndim
    if ndim < 2:
        raise ShapeError(f"renorm: input needs at least 2 dimensions, got {ndim} dimensions")
    d = wrap_dim(dim, ndim)
    if x.array.dtype.kind not in "fc":
        raise DtypeError(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
            f"{SCALAR_NAMES[x.array.dtype]}. Convert with .float() first."
        )
    if p == math.inf:
        check_identity(p, tuple([i for i in range(ndim) if i != d]), x)
    return deliver_exact(apply1(Renorm(p, d, maxnorm), x), out)


@public("cosine_similarity", "nn.functional.cosine_similarity")
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along `dim`; norms smaller than `eps` count as `eps`.

    >>> import retrograd as rg
    >>> rg.cosine_similarity(rg.tensor([[1.0, 0.0]]), rg.tensor([[1.0, 1.0]]))
    tensor([0.7071])
    """
    x = require_tensor("cosine_similarity", "x1", 1, x1)
    y = require_tensor("cosine_similarity", "x2", 2, x2)
    dtype = promote_types(x.array.dtype, y.array.dtype)
    if dtype.kind != "f":
        raise DtypeError(
            f"expected common dtype to be floating point, yet common dtype is {SCALAR_NAMES[dtype]}"
        )
    shape = _together(x.array.shape, y.array.shape)
    eps = float(real_from("cosine_similarity", "eps", 4, eps))
    if eps < 0:
        raise RuntimeError(f"eps must be non-negative, got: {eps}")
    directions = []
    for v in (x, y):
        v = convert(v, dtype)
        wide = v if v.array.shape == shape else expand(v, shape)
        length = clone(vector_norm(wide, 2, dim, True))
        # The limit holds for the number, not for its derivative.
        backend_of(length.array).maximum(length.array, eps, out=length.array)
        directions.append(div(wide, length))
    found: Tensor = sum(mul(*directions), dim)
    return found


@public("pairwise_distance", "nn.functional.pairwise_distance")
def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """The p-norm of `x1 - x2 + eps` along the last dimension.

    >>> import retrograd as rg
    >>> rg.pairwise_distance(rg.tensor([[0.0, 3.0]]), rg.tensor([[4.0, 0.0]]))
    tensor([5.])
    """
    x = require_tensor("pairwise_distance", "x1", 1, x1)
    y = require_tensor("pairwise_distance", "x2", 2, x2)
    offset = add(sub(x, y), float(real_from("pairwise_distance", "eps", 4, eps)))
    axis: Axis = (offset.array.ndim - 1,) if offset.array.ndim else None
    return _norm(Norm(_power("pairwise_distance", p, 3), axis, bool(keepdim)), offset)


def _norm(op: Norm, x: Tensor) -> Tensor:
    """The norm of a tensor that has one."""
    _check_norm(x.array.dtype)
    if op.ord < 0 or op.ord == math.inf:
        check_identity(op.ord, op.axis, x)
    found: Tensor = apply1(op, x)
    return found


@public("norm")
def norm(
    input: Tensor, p: str | float | None = "fro", dim: int | Sequence[int] | None = None, keepdim: bool = False,
    out: Tensor | None = None, dtype: DType | None = None, **numpy: Any
) -> Tensor:  # fmt: skip
    """The p-norm of all elements, or of the vectors along `dim`; "fro" and None stand for 2,
    and "nuc" is the sum of the singular values of matrices.

    >>> import retrograd as rg
    >>> rg.norm(rg.tensor([3.0, 4.0])), rg.norm(rg.tensor([3.0, 4.0]), p=1)
    (tensor(5.), tensor(7.))
    """
    return _p_norm(input, p, dim, keepdim, out, dtype, numpy)


def _p_norm(
    input: Tensor, p: Any, dim: Any, keepdim: Any, out: Tensor | None, dtype: Any, numpy: dict[str, Any]
) -> Tensor:
    dims, keepdim = dims_given("norm", dim, keepdim, numpy)
    if p == "nuc":
        if dims is None:
            dims = tuple(range(require_tensor("norm", "input", 1, input).array.ndim))
        _check_pair(dims)
        return matrix_norm(input, "nuc", dims, keepdim, dtype=dtype, out=out)
    if p == "fro":
        _check_pair(dims)
    if isinstance(p, str) and p != "fro":
        raise RuntimeError(f"linalg.matrix_norm: Order {p} not supported. Give a number, or 'fro'.")
    order: Any = 2 if p is None or p == "fro" else p
    found: Tensor = vector_norm(input, order, dims, keepdim, dtype=dtype, out=out)
    return found


def _check_pair(dims: Any) -> None:
    """Matrices lie in two dimensions."""
    if isinstance(dims, (tuple, list)) and len(dims) > 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, dims))}")


@public("Tensor.norm")
def norm_method(
    input: Tensor, p: str | float | None = "fro", dim: int | Sequence[int] | None = None, keepdim: bool = False,
    dtype: DType | None = None, **numpy: Any
) -> Tensor:  # fmt: skip
    """The p-norm of all elements, or of the vectors along `dim`: see `norm`."""
    return _p_norm(input, p, dim, keepdim, None, dtype, numpy)


@public("nn.functional.normalize")
def normalize(
    input: Tensor, p: float = 2.0, dim: int | Sequence[int] | None = 1, eps: float = 1e-12, out: Tensor | None = None,
    **numpy: Any
) -> Tensor:  # fmt: skip
    """`input` divided by its p-norm along `dim`, which counts as at least `eps`.

    >>> import retrograd as rg
    >>> normalize(rg.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """
    dim, _ = dims_given("normalize", dim, False, numpy)
    x = require_tensor("normalize", "input", 1, input)
    found: Tensor = div(x, expand_as(clamp_min(vector_norm(x, p, dim, True), eps), x), out=out)
    return found


@public("norm_except_dim")
def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norm of each slice along `dim`, over all other dimensions, which stay with size 1; of all if `dim` is -1.

    >>> import retrograd as rg
    >>> rg.norm_except_dim(rg.tensor([[3.0, 4.0], [0.0, 1.0]]))
    tensor([[5.],
            [1.]])
    """
    x = require_tensor("norm_except_dim", "v", 1, v)
    order = int_from("norm_except_dim", "pow", 2, pow)
    shape = x.array.shape
    if dim == -1:
        return _norm(NormOfAll(order, None, False), x)
    if not shape:
        raise DimensionError(f"Dimension specified as {dim} but tensor has no dimensions")
    wrap_dim(dim, len(shape))
    if dim == 0:
        rows = reshape(x, shape[0], -1)
        found: Tensor = reshape(_norm(Norm(order, (1,), False), rows), (shape[0],) + (1,) * (len(shape) - 1))
        return found
    if dim == len(shape) - 1:
        columns = reshape(x, -1, shape[dim])
        found = reshape(_norm(Norm(order, (0,), False), columns), (1,) * dim + (shape[dim],))
        return found
    found = transpose(norm_except_dim(transpose(x, 0, dim), order, 0), 0, dim)
    return found
