"""LU factorization with row pivots, and linear systems that are solved with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import Backend, backend_of
from retrograd.core.apply import apply_n
from retrograd.core.autocast import autocasting_on_cpu, in_float32
from retrograd.core.op import OUT, Variadic, X
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError, ShapeError, sizes
from retrograd.ops.common import as_value, deliver_exact, plain, tensor_of, zeros_beside
from retrograd.ops.linalg import lapack
from retrograd.ops.linalg.checks import (
    check_info,
    check_kernel,
    check_same_dtype,
    check_square,
    check_system,
    delivered,
    deprecated,
    identity,
    matrix_argument,
    plus,
)
from retrograd.ops.linalg.matmul import adjoint
from retrograd.ops.linalg.triangular import LinalgSolveTriangular
from retrograd.ops.register import public
from retrograd.ops.returns import linalg_lu, linalg_lu_factor, linalg_lu_factor_ex, lu_unpack_result
from retrograd.ops.shape.diagonals import Tril, Triu
from retrograd.ops.shape.join import Cat
from retrograd.values import Array

ZERO_PIVOT = (
    "U[{0},{0}] is zero and using it on lu_solve would result in a division by zero. If you still want to perform the "
    "factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
)


# -- pieces of the formulas ----------------------------------------------------------------------------------------


def lower_of(lu: Any) -> Any:
    """L, with its ones."""
    m, k = lu.shape[-2], min(lu.shape[-2:])
    return Tril(-1).on(lu[..., :, :k]) + identity(m, lu)[:, :k]


def upper_of(lu: Any) -> Any:
    """U."""
    return Triu(0).on(lu[..., : min(lu.shape[-2:]), :])


def swaps(pivots: Any, rows: int, like: Any) -> Any:
    """The permutation P of A = P @ L @ U."""
    return as_value(
        lapack.permutation(backend_of(plain(pivots)), plain(pivots), rows, plain(like).dtype), like
    )


def factors_gradient(gl: Any, gu: Any, low: Any, up: Any) -> Any:
    """The gradient of L @ U from those of its factors, which may be None."""
    k, m, n = low.shape[-1], low.shape[-2], up.shape[-1]
    square_l, square_u = low[..., :k, :], up[..., :, :k]
    g1, g2 = (None if gl is None else gl[..., :k, :]), (None if gu is None else gu[..., :, :k])
    right = below = None
    if n > k and gu is not None:
        right = LinalgSolveTriangular(True, True, True).on(adjoint(square_l), gu[..., :, k:])
        g1 = plus(g1, -(right @ adjoint(up[..., :, k:])))
    if m > k and gl is not None:
        below = LinalgSolveTriangular(False, False).on(adjoint(square_u), gl[..., k:, :])
        g2 = plus(g2, -(adjoint(low[..., k:, :]) @ below))
    inner = None if g1 is None else Tril(-1).on(adjoint(square_l) @ g1)
    inner = plus(inner, None if g2 is None else Triu(0).on(g2 @ adjoint(square_u)))
    inner = LinalgSolveTriangular(True, True, True).on(adjoint(square_l), inner)
    inner = LinalgSolveTriangular(False, False).on(adjoint(square_u), inner)
    return side_by_side(side_by_side(inner, right, n, -1), below, m, -2)


def side_by_side(first: Any, second: Any, size: int, dim: int) -> Any:
    """`first` with `second` (None: zeros) behind it along a dimension, up to `size`."""
    if first.shape[dim] == size:
        return first
    if second is None:
        shape = list(first.shape)
        shape[dim] = size - shape[dim]
        second = zeros_beside(first, shape)
    return Cat(first.ndim + dim).on(first, second)


def factors_tangent(t: Any, low: Any, up: Any) -> tuple[Any, Any]:
    """The tangents of L and U from that of their product."""
    k, m, n = low.shape[-1], low.shape[-2], up.shape[-1]
    square_l, square_u = low[..., :k, :], up[..., :, :k]
    inner = LinalgSolveTriangular(False, True, True).on(square_l, t[..., :k, :k])
    inner = LinalgSolveTriangular(True, False).on(square_u, inner)
    tl, tu = square_l @ Tril(-1).on(inner), Triu(0).on(inner) @ square_u
    right = below = None
    if n > k:
        rest = t[..., :k, k:] - tl @ up[..., :, k:]
        right = LinalgSolveTriangular(False, True, True).on(square_l, rest)
    if m > k:
        below = LinalgSolveTriangular(True, False).on(square_u, t[..., k:, :k] - low[..., k:, :] @ tu)
    return side_by_side(tl, below, m, -2), side_by_side(tu, right, n, -1)


# -- ops -----------------------------------------------------------------------------------------------------------


class LinalgLuFactorEx(Variadic):
    """L and U of A = P @ L @ U in one matrix, the pivots, and where a pivot is zero"""

    keeps: ClassVar[int] = OUT
    shown: ClassVar[dict[str, str]] = {"LU": "out:0", "pivots": "out:1", "pivot": "pivot"}
    pivot: ClassVar[bool] = True

    def forward(self, xp: Backend, xs: Any) -> Any:
        return lapack.lu_factor(xp, xs[0])

    def vjp(self, gs: Any, xs: Any, outs: Any) -> Any:
        lu = outs[0]
        k = min(lu.shape[-2:])
        low, up = lower_of(lu), upper_of(lu)
        inner = factors_gradient(gs[0][..., :, :k], gs[0][..., :k, :], low, up)
        return [swaps(outs[1], lu.shape[-2], lu) @ inner]

    def jvp(self, ts: Any, xs: Any, outs: Any) -> Any:
        lu = outs[0]
        m, n = lu.shape[-2:]
        moved = adjoint(swaps(outs[1], m, lu)) @ ts[0]
        tl, tu = factors_tangent(moved, lower_of(lu), upper_of(lu))
        return side_by_side(tl, None, n, -1) + side_by_side(tu, None, m, -2), None, None


class LinalgLu(Variadic):
    """L and U of A = P @ L @ U, and the pivots that make P"""

    keeps: ClassVar[int] = OUT
    shown: ClassVar[dict[str, str]] = {"L": "out:0", "U": "out:1", "pivot": "pivot"}
    pivot: ClassVar[bool] = True

    def forward(self, xp: Backend, xs: Any) -> Any:
        lu, pivots, _ = lapack.lu_factor(xp, xs[0])
        return lower_of(lu), upper_of(lu), pivots

    def vjp(self, gs: Any, xs: Any, outs: Any) -> Any:
        low, up, pivots = outs
        return [swaps(pivots, low.shape[-2], low) @ factors_gradient(gs[0], gs[1], low, up)]

    def jvp(self, ts: Any, xs: Any, outs: Any) -> Any:
        low, up, pivots = outs
        return *factors_tangent(adjoint(swaps(pivots, low.shape[-2], low)) @ ts[0], low, up), None


class LuUnpack(Variadic):
    """L and U out of the one matrix that holds both"""

    in_rows: ClassVar[bool] = True
    params: ClassVar[tuple[str, ...]] = ("data",)

    def __init__(self, data: bool) -> None:
        self.data = data

    def forward(self, xp: Backend, xs: Any) -> Any:
        self.in_shape = xs[0].shape
        if not self.data:
            return xp.zeros(0, xs[0].dtype), xp.zeros(0, xs[0].dtype)
        return lower_of(xs[0]), upper_of(xs[0])

    def vjp(self, gs: Any, xs: Any, outs: Any) -> Any:
        if not self.data:
            return [zeros_beside(next(g for g in gs if g is not None), self.in_shape)]
        m, n = self.in_shape[-2:]
        gl = None if gs[0] is None else side_by_side(Tril(-1).on(gs[0]), None, n, -1)
        return [plus(gl, None if gs[1] is None else side_by_side(Triu(0).on(gs[1]), None, m, -2))]

    def jvp(self, ts: Any, xs: Any, outs: Any) -> Any:
        k = min(self.in_shape[-2:])
        return Tril(-1).on(ts[0][..., :, :k]), upper_of(ts[0])


class LinalgLuSolve(Variadic):
    """X of A @ X = B, A^H @ X = B or X @ A = B, where A = P @ L @ U; inputs are LU, B and the pivots"""

    in_rows: ClassVar[bool] = True
    params: ClassVar[tuple[str, ...]] = ("left", "turned")
    keeps: ClassVar[int] = X | OUT
    shown: ClassVar[dict[str, str]] = {
        "left": "left", "adjoint": "turned", "LU": "x:0", "pivots": "x:2", "result": "out:0",
    }  # fmt: skip

    def __init__(self, left: bool, turned: bool) -> None:
        self.left = left
        self.turned = turned

    def keeps_input(self, i: int) -> bool:
        return i != 1

    def forward(self, xp: Backend, xs: Any) -> Any:
        lu, b, pivots = xs
        if self.left != self.turned:
            return self.flipped(lapack.lu_solve(xp, lu, pivots, self.flipped(b)))
        half = lapack.solve_triangle(xp, adjoint(lu), self.flipped(b), False, False)
        half = lapack.solve_triangle(xp, adjoint(lu), half, True, True)
        return self.flipped(lapack.permutation(xp, pivots, lu.shape[-1], lu.dtype) @ half)

    def flipped(self, v: Any) -> Any:
        """Right sides as the equation with A at the left has them: X @ A = B is A^H @ X^H = B^H."""
        return v if self.left else adjoint(v)

    def vjp(self, gs: Any, xs: Any, outs: Any) -> Any:
        lu, _, pivots = xs
        gb = LinalgLuSolve(self.left, not self.turned).on(lu, gs[0], pivots)
        packed = self.packed(self.flipped(gb), lu, pivots, self.flipped(outs[0])) if self.needs(0) else None
        return [packed, gb if self.needs(1) else None, None]

    def packed(self, gb: Any, lu: Any, pivots: Any, x: Any) -> Any:
        """The gradient of LU from those of an equation with A, or A^H, at the left."""
        back = adjoint(swaps(pivots, lu.shape[-1], lu))
        low, up = lower_of(lu), upper_of(lu)
        if self.left != self.turned:
            g = back @ gb
            gl, gu = g @ adjoint(up @ x), (adjoint(low) @ g) @ adjoint(x)
        else:
            y = back @ x
            gl, gu = y @ adjoint(up @ gb), (adjoint(low) @ y) @ adjoint(gb)
        return -(Tril(-1).on(gl) + Triu(0).on(gu))

    def jvp(self, ts: Any, xs: Any, outs: Any) -> Any:
        (tlu, tb, _), (lu, _, pivots) = ts, xs
        if tlu is not None:
            low, up = lower_of(lu), upper_of(lu)
            move = swaps(pivots, lu.shape[-1], lu) @ (Tril(-1).on(tlu) @ up + low @ Triu(0).on(tlu))
            move = adjoint(move) if self.turned else move
            tb = plus(tb, -(move @ outs[0] if self.left else outs[0] @ move))
        return self.fresh().on(lu, tb, pivots)


# -- functions -----------------------------------------------------------------------------------------------------


def _checked(function: str, called: str, A: Any, pivot: Any) -> Tensor:
    x = matrix_argument(called, A)
    if x.array.ndim < 2:
        raise ShapeError(
            f"{function}: Expected tensor with 2 or more dimensions. Got size: {sizes(x.array.shape)} instead"
        )
    check_kernel("lu_cpu", x)
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    return x


@public("linalg.lu_factor_ex")
def lu_factor_ex(
    A: Tensor, *, pivot: bool = True, check_errors: bool = False, out: Sequence[Tensor | None] | None = None
) -> linalg_lu_factor_ex:
    """`lu_factor` without an exception: `info` says where U has a zero on its diagonal, 0 for nowhere."""
    x = _checked("torch.lu_factor", "linalg.lu_factor_ex", A, pivot)
    lu, pivots, info = apply_n(LinalgLuFactorEx(), (x,))
    if check_errors:
        check_info("torch.linalg.lu_factor_ex", info, ZERO_PIVOT)
    return delivered(linalg_lu_factor_ex, (lu, pivots, info), out)


@public("linalg.lu_factor")
def lu_factor(A: Tensor, *, pivot: bool = True, out: Sequence[Tensor] | None = None) -> linalg_lu_factor:
    """L and U of `A = P @ L @ U` in one matrix, and the pivots: for each row, counted from 1, its partner.

    >>> import retrograd as rg
    >>> rg.linalg.lu_factor(rg.tensor([[1.0, 2.0], [4.0, 4.0]])).LU
    tensor([[4.0000, 4.0000],
            [0.2500, 1.0000]])
    """
    x = _checked("torch.lu_factor", "linalg.lu_factor", A, pivot)
    lu, pivots, info = apply_n(LinalgLuFactorEx(), (x,))
    check_info("torch.linalg.lu_factor", info, ZERO_PIVOT)
    return delivered(linalg_lu_factor, (lu, pivots), out)


@public("linalg.lu")
def linalg_lu_of(A: Tensor, *, pivot: bool = True, out: Sequence[Tensor] | None = None) -> linalg_lu:
    """The permutation P, the lower triangle L and the upper triangle U of `A = P @ L @ U`."""
    x = _checked("linalg.lu", "linalg.lu", A, pivot)
    low, up, pivots = apply_n(LinalgLu(), (x,))
    return delivered(linalg_lu, (_permutation(pivots, x), low, up), out)


def _permutation(pivots: Tensor, x: Tensor) -> Tensor:
    return tensor_of(
        lapack.permutation(backend_of(pivots.array), pivots.array, x.array.shape[-2], x.array.dtype)
    )


@public("lu", method=True)
def lu(
    A: Tensor, pivot: bool = True, get_infos: bool = False, out: Sequence[Tensor] | None = None
) -> tuple[Tensor, ...]:
    """`linalg.lu_factor` under its older name: a plain tuple, with `get_infos` of three."""
    deprecated("lu", "linalg.lu_factor / torch.linalg.lu_factor_ex")
    found = lu_factor_ex(A, pivot=pivot, out=None if out is None else (*out, None)[:3])
    return tuple(found) if get_infos else tuple(found[:2])


def _check_pivots(function: str, pivots: Tensor, a: Tensor) -> None:
    if pivots.array.dtype != np.int32:
        raise DtypeError(f"{function}: pivots should be a Tensor of scalar type torch.int32")
    if pivots.array.shape[-1:] != a.array.shape[-1:]:
        raise ShapeError(
            f"{function}: Number of pivots per batch should be same as the dimension of the matrix"
        )
    if pivots.array.shape[:-1] != a.array.shape[:-2]:
        raise ShapeError(
            f"{function}: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{sizes(pivots.array.shape)} instead"
        )


@public("linalg.lu_solve")
def linalg_lu_solve(
    LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False, out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """X of `A @ X = B`, where A is given by what `lu_factor` returned.

    Args:
        left: False for `X @ A = B`.
        adjoint: solve with the adjoint of A.
    """
    a, p = (
        matrix_argument("linalg.lu_solve", LU, "LU"),
        matrix_argument("linalg.lu_solve", pivots, "pivots", 2),
    )
    b = matrix_argument("linalg.lu_solve", B, "B", 3)
    check_square("torch.linalg.lu_solve", a, "LU")
    check_same_dtype("linalg.lu_solve", a, b, "LU B")
    _check_pivots("linalg.lu_solve", p, a)
    if b.array.ndim < 2:
        raise ShapeError("linalg.lu_solve: The input tensor B must have at least 2 dimensions.")
    check_system("linalg.lu_solve", a, b.array.shape, bool(left))
    check_pivot_range("lu_solve", p.array, a.array)
    check_kernel("lu_solve_cpu", a)
    return deliver_exact(apply_n(LinalgLuSolve(bool(left), bool(adjoint)), (a, b, p)), out)


@public("lu_solve", method=True)
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`linalg.lu_solve` under its older name and with its older order of arguments."""
    if autocasting_on_cpu():
        return in_float32(lu_solve, input, LU_data, LU_pivots, out=out)
    deprecated("lu_solve", "linalg.lu_solve")
    return linalg_lu_solve(LU_data, LU_pivots, input, out=out)


def check_pivot_range(function: str, pivots: Array, factors: Array) -> None:
    """Refuses pivots that name no row."""
    if pivots.size and not (pivots.min() >= 1 and pivots.max() <= factors.shape[-2]):
        raise RuntimeError(
            f"pivots passed to {function} must be between 1 and LU.size(-2) inclusive. Did you properly pass the "
            "result of lu_factor?"
        )


@public("lu_unpack")
def lu_unpack(
    LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True, *,
    out: Sequence[Tensor] | None = None,
) -> lu_unpack_result:  # fmt: skip
    """P, L and U out of what `lu_factor` returned; what is not asked for is an empty tensor."""
    a, p = (
        matrix_argument("lu_unpack", LU_data, "LU_data"),
        matrix_argument("lu_unpack", LU_pivots, "LU_pivots", 2),
    )
    if a.array.ndim < 2:
        raise ShapeError(
            f"torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: {sizes(a.array.shape)} instead"
        )
    if unpack_pivots and p.array.dtype != np.int32:
        raise DtypeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\nNote: this "
            "function is intended to be used with the output produced by torch.linalg.lu_factor"
        )
    if unpack_pivots:
        check_pivot_range("lu_unpack", p.array, a.array)
    low, up = apply_n(LuUnpack(bool(unpack_data)), (a,))
    matrix = _permutation(p, a) if unpack_pivots else zeros_beside(a, (0,))
    return delivered(lu_unpack_result, (matrix, low, up), out)
