"""Functions of matrices: exponentials, powers, and products of several kinds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Final

import numpy as np

from retrograd.backends.base import Backend, backend_of
from retrograd.backends.dtypes import (
    C_NAMES,
    SCALAR_NAMES,
)
from retrograd.core.apply import apply1, apply2
from retrograd.core.autocast import (
    autocasting,
    autocasting_on_cpu,
    autocasting_on_gpu,
    in_float32,
    lowered,
    widest,
)
from retrograd.core.families import Bilinear
from retrograd.core.op import Unary, X
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError, ShapeError, broadcast_error, sizes, type_name, unsupported_dtype
from retrograd.ops.common import (
    deliver,
    deliver_castable,
    deliver_exact,
    int_from,
    joint_shape,
    require_sequence,
    require_tensor,
    wrap_dim,
    zeros_beside,
)
from retrograd.ops.elementwise.arithmetic import mul
from retrograd.ops.linalg import lapack
from retrograd.ops.linalg.checks import (
    check_floating,
    check_same_dtype,
    check_square,
    deprecation,
    identity,
    matrix_argument,
)
from retrograd.ops.linalg.matmul import adjoint, vdot
from retrograd.ops.linalg.solve import inv, solve
from retrograd.ops.linalg.tensordot import chained
from retrograd.ops.register import public
from retrograd.ops.shape.diagonals import diagonal
from retrograd.ops.shape.join import Cat, cat
from retrograd.ops.shape.reshape import UnsafeView, integer
from retrograd.ops.tensor.convert import Clone
from retrograd.values import Array

# -- exponentials and powers ---------------------------------------------------------------------------------------


class LinalgMatrixExp(Unary):
    """the exponential of square matrices"""

    keeps: ClassVar[int] = X

    def forward(self, xp: Backend, x: Array) -> Array:
        if x.dtype.char == "e":
            return lapack.matrix_exp(xp, x.astype(np.float32)).astype(x.dtype)
        return lapack.matrix_exp(xp, x)

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        return exponential_tangent(adjoint(x), g)

    def jvp(self, t: Any, x: Any, out: Any) -> Any:
        return exponential_tangent(x, t)


def exponential_tangent(x: Any, t: Any) -> Any:
    """The derivative of exp at x along t: the corner of exp([[x, t], [0, x]])."""
    n, axis = x.shape[-1], x.ndim - 1
    blank = zeros_beside(x, x.shape)
    block = Cat(axis - 1).on(Cat(axis).on(x, t), Cat(axis).on(blank, x))
    return LinalgMatrixExp().on(block)[..., :n, n:]


@public("linalg.matrix_exp")
def linalg_matrix_exp(input: Tensor) -> Tensor:
    """The exponential of square matrices: the sum of A**k / k!.

    >>> import retrograd as rg
    >>> rg.linalg.matrix_exp(rg.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    return matrix_exp(matrix_argument("linalg.matrix_exp", input, "input"))


@public("matrix_exp", method=True)
def matrix_exp(input: Tensor) -> Tensor:
    """The exponential of square matrices."""
    x = matrix_argument("matrix_exp", input, "input")
    check_square("linalg.matrix_exp", x)
    check_floating("linalg.matrix_exp", x)
    found: Tensor = apply1(LinalgMatrixExp(), x)
    return found


@public("matrix_power", "linalg.matrix_power", method=True)
def matrix_power(input: Tensor, n: int, *, out: Tensor | None = None) -> Tensor:
    """A square matrix times itself, `n` times; its inverse for negative `n`.

    >>> import retrograd as rg
    >>> rg.matrix_power(rg.tensor([[1.0, 1.0], [0.0, 1.0]]), 5)
    tensor([[1., 5.],
            [0., 1.]])
    """
    x: Any = matrix_argument("linalg.matrix_power", input, "input")
    check_square("linalg.matrix_power", x)
    if isinstance(n, bool) or not hasattr(n, "__index__"):
        raise TypeError(f"linalg_matrix_power(): argument 'n' (position 2) must be int, not {type_name(n)}")
    power = n.__index__()
    if power == 0:
        return deliver_castable(
            "matrix_power", apply1(Clone("C"), x).copy_(identity(x.array.shape[-1], x)), out
        )
    base = inv(x) if power < 0 else x
    if power in (1, -1):
        return deliver_castable("matrix_power", apply1(Clone("C"), base) if power == 1 else base, out)
    return deliver_castable(
        "matrix_power", (base @ base) @ base if power == 3 else _squared(base, abs(power)), out
    )


def _squared(base: Any, n: int) -> Any:
    """A power by squaring."""
    square = found = None
    while n:
        square = base if square is None else square @ square
        if n & 1:
            found = square if found is None else found @ square
        n >>= 1
    return found


# -- products ------------------------------------------------------------------------------------------------------


# Of the three elements of a vector, the one after each, and the one before it: NumPy's `roll` takes ten times as long.
AFTER: Final = np.array([1, 2, 0])
BEFORE: Final = np.array([2, 0, 1])


class LinalgCross(Bilinear):
    """the vector product along a dimension of size 3"""

    in_rows: ClassVar[bool] = True
    params: ClassVar[tuple[str, ...]] = ("axis",)
    shown: ClassVar[dict[str, str]] = {"dim": "axis"}

    def __init__(self, axis: int) -> None:
        self.axis = axis

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        after, before = xp.asarray(AFTER), xp.asarray(BEFORE)
        left = x.take(after, self.axis) * y.take(before, self.axis)
        return left - x.take(before, self.axis) * y.take(after, self.axis)

    def transpose(self, i: int, g: Any, x: Any, y: Any) -> Any:
        if i == 0:
            return LinalgCross(self.axis).on(y.conj(), g)
        return LinalgCross(self.axis).on(g, x.conj())


def _cross_product(x: Any, y: Any, dim: Any) -> Any:
    a, b = x.array, y.array
    if a.ndim != b.ndim:
        raise ShapeError("linalg.cross: inputs must have the same number of dimensions.")
    if not a.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    axis = wrap_dim(dim, a.ndim)
    if a.shape[axis] != 3 or b.shape[axis] != 3:
        raise ShapeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {a.shape[axis]} and {b.shape[axis]}"
        )
    if a.dtype != b.dtype:
        raise DtypeError(f"expected scalar type {SCALAR_NAMES[a.dtype]} but found {SCALAR_NAMES[b.dtype]}")
    if a.dtype.kind == "b":
        raise unsupported_dtype("cross", a.dtype)
    try:
        joint_shape(a.shape, b.shape)
    except ValueError:
        raise broadcast_error(a.shape, b.shape) from None
    return apply2(LinalgCross(axis), x, y)


@public("linalg.cross")
def linalg_cross(input: Tensor, other: Tensor, *, dim: int = -1, out: Tensor | None = None) -> Tensor:
    """The vector product of vectors with 3 elements, which lie along `dim`.

    >>> import retrograd as rg
    >>> rg.linalg.cross(rg.tensor([1.0, 0.0, 0.0]), rg.tensor([0.0, 1.0, 0.0]))
    tensor([0., 0., 1.])
    """
    x = matrix_argument("linalg.cross", input, "input")
    return deliver_exact(_cross_product(x, matrix_argument("linalg.cross", other, "other", 2), dim), out)


@public("cross", method=True)
def cross(input: Tensor, other: Tensor, dim: int | None = None, *, out: Tensor | None = None) -> Tensor:
    """`linalg.cross`, along the first dimension of size 3 unless `dim` is given.

    >>> import retrograd as rg
    >>> rg.cross(rg.tensor([1.0, 0.0, 0.0]), rg.tensor([0.0, 1.0, 0.0]), dim=0)
    tensor([0., 0., 1.])
    """
    if autocasting_on_gpu(input):
        return widest(cross, input, other, dim, out=out)
    x, y = require_tensor("cross", "input", 1, input), require_tensor("cross", "other", 2, other)
    if dim is None:
        deprecation(
            "Using torch.cross without specifying the dim arg is deprecated. Please either pass the dim explicitly or "
            "simply use torch.linalg.cross."
        )
        if 3 not in x.array.shape:
            raise RuntimeError("no dimension of size 3 in input")
        dim = x.array.shape.index(3)
    return deliver_exact(_cross_product(x, y, dim), out)


@public("kron", method=True)
def kron(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Kronecker product: every element of `input` times the whole of `other`, in its place.

    >>> import retrograd as rg
    >>> rg.kron(rg.eye(2), rg.ones(1, 2))
    tensor([[1., 1., 0., 0.],
            [0., 0., 1., 1.]])
    """
    x, y = require_tensor("kron", "input", 1, input), require_tensor("kron", "other", 2, other)
    ndim = max(x.array.ndim, y.array.ndim)
    a = (1,) * (ndim - x.array.ndim) + x.array.shape
    b = (1,) * (ndim - y.array.ndim) + y.array.shape
    left = apply1(UnsafeView(tuple(n for size in a for n in (size, 1))), x)
    right = apply1(UnsafeView(tuple(n for size in b for n in (1, size))), y)
    shape = tuple(n * m for n, m in zip(a, b, strict=True))
    return deliver(apply1(UnsafeView(shape), mul(left, right)), out)


@public("linalg.vecdot")
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1, out: Tensor | None = None) -> Tensor:
    """The sums of `x.conj() * y` along a dimension, broadcasting.

    >>> import retrograd as rg
    >>> rg.linalg.vecdot(rg.tensor([[1.0, 2.0], [3.0, 4.0]]), rg.tensor([1.0, 1.0]))
    tensor([3., 7.])
    """
    if autocasting():
        return lowered(vecdot, x, y, dim=dim, out=out)
    a: Any = matrix_argument("linalg.vecdot", x, "x")
    b: Any = matrix_argument("linalg.vecdot", y, "y", 2)
    check_floating("linalg.vecdot", a)
    check_same_dtype("linalg.vecdot", a, b, "x y")
    if a.array.ndim == b.array.ndim == 1:
        return vdot(a, b, out=out)
    return deliver_exact(
        mul(a.conj() if a.array.dtype.kind == "c" else a, b).sum(dim),
        out,
        "linalg.vecdot: Expected out of dtype{wanted} but found {given}",
    )


@public("linalg.multi_dot")
def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The product of two or more matrices, in the order that costs least; the first and the last may be vectors.

    >>> import retrograd as rg
    >>> rg.linalg.multi_dot([rg.ones(2, 3), rg.ones(3, 4), rg.ones(4)])
    tensor([12., 12.])
    """
    if not isinstance(tensors, (tuple, list)):
        raise TypeError(
            f"linalg_multi_dot(): argument 'tensors' (position 1) must be tuple of Tensors, not {type_name(tensors)}"
        )
    chain: list[Any] = [
        require_tensor("linalg_multi_dot", "tensors", i + 1, t) for i, t in enumerate(tensors)
    ]
    if len(chain) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(chain)}")
    shape: list[int] = []
    for place, end in ((0, "first"), (-1, "last")):
        v = chain[place]
        if v.array.ndim == 1:
            chain[place] = v.unsqueeze(place)
        elif v.array.ndim == 2:
            shape.append(v.array.shape[place])
        else:
            raise ShapeError(f"multi_dot(): the {end} tensor must be 1D or 2D but got {v.array.ndim}D")
    _check_chain(chain)
    return deliver_exact(
        chained(chain).view(tuple(shape)),
        out,
        "multi_dot(): expected out tensor to have dtype {c_wanted} but got {c_given}",
    )


def _check_chain(chain: Sequence[Tensor]) -> None:
    first = chain[0].array.dtype
    for i, v in enumerate(chain):
        if v.array.ndim != 2:
            raise ShapeError(f"multi_dot(): tensor {i} must be 2D but got {v.array.ndim}D")
        if v.array.dtype != first:
            raise DtypeError(
                f"multi_dot(): all tensors must have be the same dtype but tensor 0 is {C_NAMES[first]} and "
                f"tensor {i} {C_NAMES[v.array.dtype]}"
            )
        if i and chain[i - 1].array.shape[1] != v.array.shape[0]:
            shapes = sizes(chain[i - 1].array.shape), sizes(v.array.shape)
            raise ShapeError(
                f"multi_dot(): tensors {i - 1} and {i} with shapes {shapes[0]} and {shapes[1]} cannot be multiplied"
            )


# -- tensors as matrices -------------------------------------------------------------------------------------------


@public("linalg.tensorinv")
def tensorinv(input: Tensor, ind: int = 2, *, out: Tensor | None = None) -> Tensor:
    """The inverse of a tensor whose first `ind` dimensions are the rows of a square matrix, the rest its columns."""
    if autocasting_on_cpu():
        return in_float32(tensorinv, input, ind, out=out)
    x: Any = matrix_argument("linalg.tensorinv", input, "input")
    ind = int_from("linalg_tensorinv", "ind", 2, ind)
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    rows, columns = x.array.shape[:ind], x.array.shape[ind:]
    n, m = math.prod(rows), math.prod(columns)
    if n != m:
        raise ShapeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{m} != {n}"
        )
    return deliver_castable("tensorinv", inv(x.reshape((n, n))).reshape((*columns, *rows)), out)


@public("linalg.tensorsolve")
def tensorsolve(
    input: Tensor, other: Tensor, dims: Sequence[int] | None = None, *, out: Tensor | None = None
) -> Tensor:
    """X with `tensordot(A, X, X.ndim) == B`: the last dimensions of A are those of X.

    Args:
        dims: dimensions of A to move to its end first.

    >>> import retrograd as rg
    >>> rg.linalg.tensorsolve(2 * rg.eye(4).reshape(2, 2, 4), rg.ones(2, 2))
    tensor([0.5000, 0.5000, 0.5000, 0.5000])
    """
    if autocasting_on_cpu():
        return in_float32(tensorsolve, input, other, dims, out=out)
    x: Any = matrix_argument("linalg.tensorsolve", input, "input")
    y: Any = matrix_argument("linalg.tensorsolve", other, "other", 2)
    if dims is not None:
        last = [wrap_dim(d, x.array.ndim) for d in require_sequence("linalg_tensorsolve", "dims", 3, dims)]
        x = x.permute([d for d in range(x.array.ndim) if d not in last] + last)
    shape = x.array.shape[y.array.ndim :]
    n, m = math.prod(x.array.shape[: y.array.ndim]), math.prod(shape)
    if n != m:
        raise ShapeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), "
            f"but got {m} != {n}"
        )
    return deliver_castable("tensorsolve", solve(x.reshape((n, n)), y.reshape((n,))).reshape(shape), out)


@public("linalg.diagonal")
def linalg_diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of matrices, a view."""
    found: Tensor = diagonal(matrix_argument("linalg.diagonal", A), offset, dim1, dim2)
    return found


# -- powers of vectors ---------------------------------------------------------------------------------------------


def _powers(x: Any, n: int) -> Tensor:
    """The powers 0 to n - 1 of every element, along a new dimension."""
    ones = Tensor(backend_of(x.array).ones((*x.array.shape, 1), x.array.dtype), share=True)
    rest = x.unsqueeze(-1).expand((*x.array.shape, n - 1)).cumprod(-1)
    found: Tensor = cat([ones, rest], -1)
    return found


@public("linalg.vander")
def linalg_vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """The powers 0 to N - 1 of every element, along a new dimension.

    >>> import retrograd as rg
    >>> rg.linalg.vander(rg.tensor([2.0, 3.0]), N=3)
    tensor([[1., 2., 4.],
            [1., 3., 9.]])
    """
    v = matrix_argument("linalg.vander", x, "x")
    if v.array.dtype.char in "eE?":
        raise DtypeError(
            "linalg.vander supports floating point, complex, and integer tensors, but got "
            f"{SCALAR_NAMES[v.array.dtype]}"
        )
    n = (v.array.shape[-1] if v.array.ndim else 1) if N is None else integer(N)
    if n <= 1:
        raise RuntimeError("N must be greater than 1.")
    return _powers(v if v.array.ndim else v.unsqueeze(0), n)


@public("vander")
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers N - 1 to 0 of the elements of a vector, in columns; with `increasing` from 0 up.

    >>> import retrograd as rg
    >>> rg.vander(rg.tensor([2, 3]), 3)
    tensor([[4, 2, 1],
            [9, 3, 1]])
    """
    v: Any = require_tensor("vander", "x", 1, x)
    if v.array.ndim != 1:
        raise ShapeError("x must be a one-dimensional tensor.")
    n = v.array.shape[0] if N is None else integer(N)
    if n < 0:
        raise RuntimeError("N must be non-negative.")
    found = _powers(v, n) if n > 1 else _powers(v.detach(), 1)[:, :n]
    return found if increasing else found.fliplr()
