"""Factorizations with triangular factors: Cholesky and QR. LU is in `lu.py`, eigenvalues are in `eigenvalues.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from retrograd.backends.base import Backend
from retrograd.backends.dtypes import SCALAR_NAMES
from retrograd.core.apply import apply1, apply_n
from retrograd.core.autocast import autocasting_on_cpu, in_float32
from retrograd.core.op import OUT, Variadic, X
from retrograd.core.tensor import Tensor
from retrograd.core.variant import variant
from retrograd.errors import DtypeError, ShapeError
from retrograd.ops.common import deliver, deliver_castable, deliver_exact, require_tensor, require_word
from retrograd.ops.linalg import lapack
from retrograd.ops.linalg.checks import (
    NOT_POSITIVE,
    SINGULAR,
    check_floating,
    check_info,
    check_kernel,
    check_matrices,
    check_square,
    delivered,
    deprecated,
    identity,
    imaginary,
    matrix_argument,
    off_diagonal,
    plus,
    skew,
)
from retrograd.ops.linalg.matmul import adjoint
from retrograd.ops.linalg.triangular import LinalgSolveTriangular, check_sizes
from retrograd.ops.register import public
from retrograd.ops.returns import linalg_cholesky_ex, linalg_qr, qr_result
from retrograd.ops.shape.diagonals import Tril
from retrograd.ops.tensor.convert import Clone
from retrograd.values import Array

# -- Cholesky ------------------------------------------------------------------------------------------------------


class LinalgCholeskyEx(Variadic):
    """L of A = L @ L^H, or its adjoint, read from one triangle of A; and the order of the first bad minor"""

    params: ClassVar[tuple[str, ...]] = ("upper",)
    keeps: ClassVar[int] = OUT
    shown: ClassVar[dict[str, str]] = {"upper": "upper", "L": "out:0"}

    def __init__(self, upper: bool) -> None:
        self.upper = upper

    def forward(self, xp: Backend, xs: Any) -> Any:
        low, info = lapack.cholesky(xp, adjoint(xs[0]) if self.upper else xs[0])
        return adjoint(low) if self.upper else low, info

    def vjp(self, gs: Any, xs: Any, outs: Any) -> Any:
        low, g = (adjoint(outs[0]), adjoint(gs[0])) if self.upper else (outs[0], gs[0])
        inner = Tril(0).on(adjoint(low) @ g)
        return [between(low, (inner + adjoint(Tril(-1).on(inner))) * 0.5)]

    def jvp(self, ts: Any, xs: Any, outs: Any) -> Any:
        low = adjoint(outs[0]) if self.upper else outs[0]
        left = LinalgSolveTriangular(False).on(low, ts[0])
        both = LinalgSolveTriangular(True, False).on(adjoint(low), left)
        moved = low @ ((Tril(0).on(both) + Tril(-1).on(adjoint(both))) * 0.5)
        return adjoint(moved) if self.upper else moved, None


def between(low: Any, v: Any) -> Any:
    """L^-H @ v @ L^-1."""
    left = LinalgSolveTriangular(True).on(adjoint(low), v)
    return LinalgSolveTriangular(False, False).on(low, left)


class Cholesky(LinalgCholeskyEx):
    """the older function, which also reads the lower triangle of A for the upper factor"""

    node_name = "CholeskyBackward0"
    shown: ClassVar[dict[str, str]] = {"upper": "upper", "result": "out:0"}


CholeskyOfNothing = variant(
    Clone, "CholeskyBackward0", "Cholesky, where there are no elements: a copy, whatever its shape"
)


class CholeskyInverse(Variadic):
    """the inverse of L @ L^H, or of U^H @ U"""

    in_rows: ClassVar[bool] = True
    params: ClassVar[tuple[str, ...]] = ("upper",)
    keeps: ClassVar[int] = X | OUT
    shown: ClassVar[dict[str, str]] = {"upper": "upper", "self": "x:0", "result": "out:0"}

    def __init__(self, upper: bool) -> None:
        self.upper = upper

    def forward(self, xp: Backend, xs: Any) -> Any:
        one = xp.broadcast_to(xp.eye(xs[0].shape[-1], dtype=xs[0].dtype), xs[0].shape)
        return cholesky_solution(xp, one, xs[0], self.upper)

    def vjp(self, gs: Any, xs: Any, outs: Any) -> Any:
        inner = -(outs[0] @ (gs[0] + adjoint(gs[0])) @ outs[0])
        return [xs[0] @ inner if self.upper else inner @ xs[0]]

    def jvp(self, ts: Any, xs: Any, outs: Any) -> Any:
        return -(outs[0] @ gram_tangent(ts[0], xs[0], self.upper) @ outs[0])


class CholeskySolve(Variadic):
    """X of L @ L^H @ X = B, or of U^H @ U @ X = B"""

    in_rows: ClassVar[bool] = True
    params: ClassVar[tuple[str, ...]] = ("upper",)
    keeps: ClassVar[int] = X | OUT
    shown: ClassVar[dict[str, str]] = {"upper": "upper", "self": "x:0", "input2": "x:1", "result": "out:0"}

    def __init__(self, upper: bool) -> None:
        self.upper = upper

    def forward(self, xp: Backend, xs: Any) -> Any:
        return cholesky_solution(xp, xs[0], xs[1], self.upper)

    def vjp(self, gs: Any, xs: Any, outs: Any) -> Any:
        gb = CholeskySolve(self.upper).on(gs[0], xs[1])
        product = gb @ adjoint(outs[0])
        inner = -(product + adjoint(product))
        gl = (xs[1] @ inner if self.upper else inner @ xs[1]) if self.needs(1) else None
        return [gb if self.needs(0) else None, gl]

    def jvp(self, ts: Any, xs: Any, outs: Any) -> Any:
        tb = ts[0]
        if ts[1] is not None:
            tb = plus(tb, -(gram_tangent(ts[1], xs[1], self.upper) @ outs[0]))
        return CholeskySolve(self.upper).on(tb, xs[1])


def cholesky_solution(xp: Backend, b: Array, factor: Array, upper: bool) -> Array:
    """X of L @ L^H @ X = B, for a lower or an upper factor."""
    turned = adjoint(factor)
    if upper:
        half = lapack.solve_triangle(xp, turned, b, False, False)
        return lapack.solve_triangle(xp, factor, half, True, False)
    half = lapack.solve_triangle(xp, factor, b, False, False)
    return lapack.solve_triangle(xp, turned, half, True, False)


def gram_tangent(t: Any, factor: Any, upper: bool) -> Any:
    """The tangent of L @ L^H, or of U^H @ U."""
    product = adjoint(factor) @ t if upper else t @ adjoint(factor)
    return product + adjoint(product)


# -- QR ------------------------------------------------------------------------------------------------------------


class LinalgQr(Variadic):
    """Q with orthonormal columns and an upper triangle R of A = Q @ R"""

    params: ClassVar[tuple[str, ...]] = ("mode",)
    keeps: ClassVar[int] = OUT
    shown: ClassVar[dict[str, str]] = {"mode": "mode", "Q": "out:0", "R": "out:1"}

    def __init__(self, mode: str) -> None:
        self.mode = mode

    def forward(self, xp: Backend, xs: Any) -> Any:
        if self.mode == "r":
            return xp.zeros(0, xs[0].dtype), xp.linalg.qr(xs[0], mode="r")
        return tuple(xp.linalg.qr(xs[0], mode=self.mode))

    def check(self, outs: Any) -> None:
        """Refuses to differentiate where Q is missing, or has columns that nothing determines."""
        if self.mode == "r":
            raise RuntimeError(
                "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
                "linalg.qr(A, mode='reduced') if you are going to differentiate through linalg.qr."
            )
        if self.mode == "complete" and outs[1].shape[-2] > outs[1].shape[-1]:
            raise RuntimeError(
                "The QR decomposition is not differentiable when mode='complete' and nrows > ncols. Use "
                "mode='reduced'."
            )

    def vjp(self, gs: Any, xs: Any, outs: Any) -> Any:
        self.check(outs)
        (gq, gr), (q, r) = gs, outs
        k = q.shape[-1]
        turned = None if gq is None else adjoint(q) @ gq
        bent = plus(turned, None if gr is None else -(gr @ adjoint(r)))
        # Q moves by a skew matrix, made of the part below the diagonal; R keeps its diagonal real.
        inner = Tril(-1).on(skew(bent)) + diagonal_phase(bent)
        first = q @ (inner if turned is None else inner - turned)
        first = LinalgSolveTriangular(False, False).on(adjoint(r[..., :, :k]), plus(gq, first))
        if r.shape[-1] > k:
            # A wide matrix: its first columns determine Q, and the rest follow.
            first = first @ identity(r.shape[-1], first)[:k]
        return [first if gr is None else first + q @ gr]

    def jvp(self, ts: Any, xs: Any, outs: Any) -> Any:
        self.check(outs)
        t, (q, r) = ts[0], outs
        k = q.shape[-1]
        over = LinalgSolveTriangular(True, False).on(r[..., :, :k], t[..., :, :k])
        seen = adjoint(q) @ over
        low = Tril(-1).on(seen)
        turn = low - adjoint(low) + diagonal_phase(seen)
        return q @ (turn - seen) + over, adjoint(q) @ t - turn @ r


def diagonal_phase(v: Any) -> Any:
    """The imaginary part of the diagonal, as a diagonal matrix; 0 for real matrices."""
    return imaginary(v - off_diagonal(v)) if v.dtype.kind == "c" else 0


# -- functions -----------------------------------------------------------------------------------------------------


@public("linalg.cholesky")
def linalg_cholesky(input: Tensor, *, upper: bool = False, out: Tensor | None = None) -> Tensor:
    """The lower triangle L of `A = L @ L.mH` for a positive-definite A; with `upper` its adjoint.

    >>> import retrograd as rg
    >>> rg.linalg.cholesky(rg.tensor([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    if autocasting_on_cpu():
        return in_float32(linalg_cholesky, input, upper=upper, out=out)
    low, info = _cholesky("linalg.cholesky", input, upper)
    check_info("linalg.cholesky", info, NOT_POSITIVE)
    return deliver_exact(low, out)


def _cholesky(function: str, A: Any, upper: Any) -> Any:
    x = matrix_argument(function, A, "input")
    check_square("linalg.cholesky", x)
    check_floating("linalg.cholesky", x)
    check_kernel("cholesky_cpu", x)
    return apply_n(LinalgCholeskyEx(bool(upper)), (x,))


@public("linalg.cholesky_ex")
def cholesky_ex(
    input: Tensor, *, upper: bool = False, check_errors: bool = False, out: Sequence[Tensor] | None = None
) -> linalg_cholesky_ex:
    """`cholesky` without an exception: `info` is the order of the first minor that is not positive, else 0.

    >>> import retrograd as rg
    >>> rg.linalg.cholesky_ex(rg.tensor([[1.0, 2.0], [2.0, 1.0]])).info
    tensor(2, dtype=torch.int32)
    """
    if autocasting_on_cpu():
        return in_float32(cholesky_ex, input, upper=upper, check_errors=check_errors, out=out)
    low, info = _cholesky("linalg.cholesky_ex", input, upper)
    if check_errors:
        check_info("linalg.cholesky_ex", info, NOT_POSITIVE)
    return delivered(linalg_cholesky_ex, (low, info), out)


@public("cholesky", method=True)
def cholesky(input: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Tensor:
    """`linalg.cholesky` under its older name."""
    if autocasting_on_cpu():
        return in_float32(cholesky, input, upper, out=out)
    deprecated("cholesky", "linalg.cholesky")
    if require_tensor("cholesky", "input", 1, input).array.size == 0:
        return deliver(apply1(CholeskyOfNothing(), input), out)
    x = matrix_argument("cholesky", input, "input")
    check_square("cholesky", x)
    check_kernel("cholesky_cpu", x)
    low, info = apply_n(Cholesky(bool(upper)), (x,))
    check_info("cholesky", info, NOT_POSITIVE)
    return deliver_castable("cholesky", low, out)


@public("cholesky_inverse", method=True)
def cholesky_inverse(input: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The inverse of a matrix that is given by its Cholesky factor."""
    if autocasting_on_cpu():
        return in_float32(cholesky_inverse, input, upper, out=out)
    x = matrix_argument("cholesky_inverse", input, "L")
    check_square("cholesky_inverse", x)
    check_kernel("cholesky_inverse_out_cpu", x)
    zero = x.array.diagonal(0, -2, -1) == 0
    check_info("cholesky_inverse", zero.any(-1) * (zero.argmax(-1) + 1) if zero.size else 0, SINGULAR)
    return deliver_castable("cholesky_inverse", apply_n(CholeskyInverse(bool(upper)), (x,)), out)


@public("cholesky_solve", method=True)
def cholesky_solve(
    input: Tensor, input2: Tensor, upper: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """X of `A @ X = input`, where A is given by its Cholesky factor `input2`."""
    if autocasting_on_cpu():
        return in_float32(cholesky_solve, input, input2, upper, out=out)
    b, factor = (
        matrix_argument("cholesky_solve", input, "B"),
        matrix_argument("cholesky_solve", input2, "L", 2),
    )
    for name, v in (("b", b), ("u", factor)):
        if v.array.ndim < 2:
            raise ShapeError(
                f"{name} should have at least 2 dimensions, but has {v.array.ndim} dimensions instead"
            )
    check_square("cholesky_solve", factor)
    if b.array.dtype != factor.array.dtype:
        raise DtypeError(
            f"Expected b and A to have the same dtype, but found b of type {SCALAR_NAMES[b.array.dtype]} and A of type "
            f"{SCALAR_NAMES[factor.array.dtype]} instead."
        )
    check_sizes("cholesky_solve", factor, b)
    check_kernel("cholesky_solve_cpu", b)
    return deliver_castable("cholesky_solve", apply_n(CholeskySolve(bool(upper)), (b, factor)), out)


@public("linalg.qr")
def linalg_qr_of(A: Tensor, mode: str = "reduced", *, out: Sequence[Tensor] | None = None) -> linalg_qr:
    """Q with orthonormal columns and the upper triangle R of `A = Q @ R`.

    Args:
        mode: "reduced", "complete" (Q is square) or "r" (Q is not computed, and nothing is differentiable).

    >>> import retrograd as rg
    >>> q, r = rg.linalg.qr(rg.eye(3)[:, :2] * 2)
    >>> q.shape, r.shape
    (torch.Size([3, 2]), torch.Size([2, 2]))
    """
    if autocasting_on_cpu():
        return in_float32(linalg_qr_of, A, mode, out=out)
    x = matrix_argument("linalg.qr", A)
    require_word("linalg_qr", "mode", mode, 2)
    check_matrices("linalg.qr", x)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    check_floating("linalg.qr", x)
    check_kernel("geqrf_cpu", x)
    return delivered(linalg_qr, apply_n(LinalgQr(mode), (x,)), out)


@public("qr", method=True)
def qr(input: Tensor, some: bool = True, *, out: Sequence[Tensor] | None = None) -> qr_result:
    """`linalg.qr` under its older name; `some=False` gives a square Q."""
    if autocasting_on_cpu():
        return in_float32(qr, input, some, out=out)
    deprecated("qr", "linalg.qr")
    return delivered(qr_result, linalg_qr_of(input, "reduced" if some else "complete"), out)
