"""Linear systems, inverses and determinants. Least squares and pseudo-inverses are in `least_squares.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from retrograd.backends.base import Backend, backend_of
from retrograd.core.apply import apply1, apply_n
from retrograd.core.autocast import autocasting_on_cpu, in_float32
from retrograd.core.op import OUT, Unary, Variadic, X
from retrograd.core.tensor import Tensor
from retrograd.errors import LinAlgError, ShapeError
from retrograd.ops.common import deliver_exact, plain
from retrograd.ops.elementwise.choose import where
from retrograd.ops.linalg import lapack
from retrograd.ops.linalg.checks import (
    SINGULAR,
    UNSOLVABLE,
    check_floating,
    check_info,
    check_kernel,
    check_same_dtype,
    check_square,
    check_system,
    column,
    delivered,
    diagonal_of,
    identity,
    imaginary,
    matrix_argument,
    plus,
)
from retrograd.ops.linalg.matmul import adjoint
from retrograd.ops.register import public
from retrograd.ops.returns import linalg_inv_ex, linalg_slogdet, linalg_solve_ex, slogdet_result
from retrograd.values import Array

# -- systems -------------------------------------------------------------------------------------------------------


class LinalgSolveEx(Variadic):
    """X of A @ X = B, or of X @ A = B, and where A has a zero pivot; with `vector` B has vectors for matrices"""

    in_rows: ClassVar[bool] = True
    params: ClassVar[tuple[str, ...]] = ("left", "vector")
    keeps: ClassVar[int] = X | OUT
    shown: ClassVar[dict[str, str]] = {"left": "left", "A": "x:0", "result": "out:0"}

    def __init__(self, left: bool, vector: bool) -> None:
        self.left = left
        self.vector = vector

    def keeps_input(self, i: int) -> bool:
        return i == 0

    def wide(self, v: Any) -> Any:
        """Right sides as matrices, as in the equation with A at the left: X @ A = B is A^T @ X^T = B^T."""
        return column(v) if self.vector else v if self.left else v.swapaxes(-2, -1)

    def narrow(self, v: Any) -> Any:
        """The same, backwards."""
        return v[..., 0] if self.vector else v if self.left else v.swapaxes(-2, -1)

    def forward(self, xp: Backend, xs: Any) -> Any:
        a = xs[0] if self.left else xs[0].swapaxes(-2, -1)
        x, info = lapack.solve(xp, a, self.wide(xs[1]))
        return self.narrow(x), info

    def vjp(self, gs: Any, xs: Any, outs: Any) -> Any:
        gb = self.fresh().on(adjoint(xs[0]), gs[0])[0]
        ga = None
        if self.needs(0):
            ga = -(self.wide(gb) @ adjoint(self.wide(outs[0])))
            ga = ga if self.left else ga.swapaxes(-2, -1)
        return [ga, gb if self.needs(1) else None]

    def jvp(self, ts: Any, xs: Any, outs: Any) -> Any:
        tb = ts[1]
        if ts[0] is not None:
            ta = ts[0] if self.left else ts[0].swapaxes(-2, -1)
            tb = plus(tb, -self.narrow(ta @ self.wide(outs[0])))
        return self.fresh().on(xs[0], tb)[0], None


# -- inverses ------------------------------------------------------------------------------------------------------


class LinalgInvEx(Variadic):
    """the inverse, and where A has a zero pivot"""

    keeps: ClassVar[int] = OUT
    shown: ClassVar[dict[str, str]] = {"inverse": "out:0"}

    def forward(self, xp: Backend, xs: Any) -> Any:
        return lapack.inverse(xp, xs[0])

    def vjp(self, gs: Any, xs: Any, outs: Any) -> Any:
        turned = adjoint(outs[0])
        return [-(turned @ gs[0] @ turned)]

    def jvp(self, ts: Any, xs: Any, outs: Any) -> Any:
        return -(outs[0] @ ts[0] @ outs[0]), None


# -- determinants --------------------------------------------------------------------------------------------------


class LinalgDet(Unary):
    """the determinant"""

    keeps: ClassVar[int] = X | OUT

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.linalg.det(x)

    def saved_slot(self, name: str) -> str:
        return super().saved_slot("self" if name == "A" else name)

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        return grid(g) * adjoint(adjugate(x, out))

    def jvp(self, t: Any, x: Any, out: Any) -> Any:
        return traced(adjugate(x, out), t)


def grid(v: Any) -> Any:
    """Numbers, one for each matrix, ready to multiply matrices."""
    return v.reshape((*v.shape, 1, 1))


def traced(a: Any, b: Any) -> Any:
    """The trace of A @ B."""
    return (a * b.swapaxes(-2, -1)).sum(axis=(-2, -1))


def adjugate(x: Any, determinant: Any) -> Any:
    """The determinant times the inverse, which exists for singular matrices too."""
    if plain(determinant).all():
        return LinalgInvEx().on(x)[0] * grid(determinant)
    if isinstance(x, Tensor):
        return _adjugate_by_powers(x)
    xp = backend_of(x)
    u, s, vh = xp.linalg.svd(x)
    n = s.shape[-1]
    others = xp.where(xp.eye(n, dtype=bool), 1, s[..., None, :]).prod(axis=-1)
    phase = xp.linalg.det(u) * xp.linalg.det(vh)
    return grid(phase) * (adjoint(vh) * others[..., None, :] @ adjoint(u))


def _adjugate_by_powers(x: Any) -> Any:
    """The adjugate as a polynomial of the matrix, by Faddeev and LeVerrier: smooth wherever its inverse is not."""
    one = identity(x.shape[-1], x)
    found = one
    for k in range(1, x.shape[-1]):
        power = x @ found
        found = power - grid(diagonal_of(power).sum(axis=-1)) * one / k
    return found if x.shape[-1] % 2 else -found


class LinalgSlogdet(Variadic):
    """the sign of the determinant (a phase, if complex) and the logarithm of its size"""

    keeps: ClassVar[int] = X | OUT
    shown: ClassVar[dict[str, str]] = {"A": "x:0", "sign": "out:0"}

    def forward(self, xp: Backend, xs: Any) -> Any:
        sign, size = xp.linalg.slogdet(xs[0])
        return xp.where(xp.isnan(size), 0, sign).astype(xs[0].dtype), size

    def vjp(self, gs: Any, xs: Any, outs: Any) -> Any:
        g_sign, g = gs
        if g_sign is not None and outs[0].dtype.kind == "c":
            # d sign = i * sign * d angle, and the angle moves with the imaginary part of trace(A^-1 dA).
            g = plus(g, -imaginary(g_sign.conj() * outs[0]))
        if g is None:
            g = g_sign * 0
        return [grid(g) * adjoint(LinalgInvEx().on(xs[0])[0])]

    def jvp(self, ts: Any, xs: Any, outs: Any) -> Any:
        moved = traced(LinalgInvEx().on(xs[0])[0], ts[0])
        if outs[0].dtype.kind == "c":
            return outs[0] * imaginary(moved), moved.real
        return outs[0] * 0, moved


# -- functions -----------------------------------------------------------------------------------------------------


def _solution(called: str, A: Any, B: Any, left: Any) -> Any:
    a, b = matrix_argument(called, A), matrix_argument(called, B, "B", 2)
    check_square("linalg.solve", a)
    check_floating("linalg.solve", a)
    check_same_dtype("linalg.solve", a, b)
    shape = b.array.shape
    if not shape:
        raise ShapeError("linalg.solve: The input tensor B must have at least 2 dimensions.")
    vector = len(shape) == 1 or (len(shape) == a.array.ndim - 1 and shape == a.array.shape[:-1])
    check_system("linalg.solve", a, (*shape, 1) if vector else shape, bool(left))
    check_kernel("lu_cpu", a)
    return apply_n(LinalgSolveEx(bool(left) or vector, vector), (a, b))


@public("linalg.solve")
def solve(A: Tensor, B: Tensor, *, left: bool = True, out: Tensor | None = None) -> Tensor:
    """X of `A @ X = B`, or with `left=False` of `X @ A = B`; B may be matrices or vectors.

    >>> import retrograd as rg
    >>> rg.linalg.solve(rg.tensor([[2.0, 0.0], [0.0, 4.0]]), rg.tensor([1.0, 1.0]))
    tensor([0.5000, 0.2500])
    """
    if autocasting_on_cpu():
        return in_float32(solve, A, B, left=left, out=out)
    x, info = _solution("linalg.solve", A, B, left)
    check_info("torch.linalg.solve", info, UNSOLVABLE)
    return deliver_exact(x, out)


@public("linalg.solve_ex")
def solve_ex(
    A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False, out: Sequence[Tensor] | None = None,
) -> linalg_solve_ex:  # fmt: skip
    """`solve` without an exception: `info` says where elimination met a zero pivot, 0 for nowhere."""
    x, info = _solution("linalg.solve_ex", A, B, left)
    if check_errors:
        check_info("torch.linalg.solve_ex", info, UNSOLVABLE)
    return delivered(linalg_solve_ex, (x, info), out)


def _inverse(called: str, name: str, A: Any) -> Any:
    x = matrix_argument(called, A, name)
    check_square("linalg.inv", x)
    check_floating("linalg.inv", x, half=False)
    return apply_n(LinalgInvEx(), (x,))


@public("linalg.inv")
def inv(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of square matrices.

    >>> import retrograd as rg
    >>> rg.linalg.inv(rg.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    if autocasting_on_cpu():
        return in_float32(inv, A, out=out)
    found, info = _inverse("linalg.inv", "A", A)
    check_info("linalg.inv", info, SINGULAR)
    return deliver_exact(found, out)


@public("linalg.inv_ex")
def inv_ex(A: Tensor, *, check_errors: bool = False, out: Sequence[Tensor] | None = None) -> linalg_inv_ex:
    """`inv` without an exception: `info` says where elimination met a zero pivot, 0 for nowhere."""
    if autocasting_on_cpu():
        return in_float32(inv_ex, A, check_errors=check_errors, out=out)
    found, info = _inverse("linalg.inv_ex", "A", A)
    if check_errors:
        check_info("linalg.inv_ex", info, SINGULAR)
    return delivered(linalg_inv_ex, (found, info), out)


@public("inverse", method=True)
def inverse(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of square matrices."""
    if autocasting_on_cpu():
        return in_float32(inverse, input, out=out)
    found, info = _inverse("inverse", "input", input)
    check_info("linalg.inv", info, SINGULAR)
    return deliver_exact(found, out)


@public("linalg.det")
def linalg_det(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The determinant of square matrices; its gradient is right for singular ones too.

    >>> import retrograd as rg
    >>> rg.linalg.det(rg.tensor([[2.0, 1.0], [0.0, 4.0]]))
    tensor(8.)
    """
    return deliver_exact(_det("linalg.det", "A", A), out)


def _det(called: str, name: str, A: Any) -> Tensor:
    x = matrix_argument(called, A, name)
    check_square("linalg.det", x)
    check_floating("linalg.det", x)
    check_kernel("lu_cpu", x)
    found: Tensor = apply1(LinalgDet(), x)
    return found


@public("det", method=True)
def det(input: Tensor) -> Tensor:
    """The determinant of square matrices."""
    return _det("det", "input", input)


def _slogdet(function: str, called: str, name: str, A: Any) -> tuple[Tensor, Tensor]:
    x = matrix_argument(called, A, name)
    check_square(function, x)
    check_floating(function, x, half=False)
    sign, size = apply_n(LinalgSlogdet(), (x,))
    return sign, size


@public("linalg.slogdet")
def linalg_slogdet_of(A: Tensor, *, out: Sequence[Tensor] | None = None) -> linalg_slogdet:
    """The sign and the logarithm of the size of the determinant, for determinants too large or small for a float.

    >>> import retrograd as rg
    >>> rg.linalg.slogdet(rg.tensor([[0.0, 1.0], [1.0, 0.0]]))
    torch.return_types.linalg_slogdet(
    sign=tensor(-1.),
    logabsdet=tensor(0.))
    """
    return delivered(linalg_slogdet, _slogdet("linalg.slogdet", "linalg.slogdet", "A", A), out)


@public("slogdet", method=True)
def slogdet(input: Tensor, *, out: Sequence[Tensor] | None = None) -> slogdet_result:
    """The sign and the logarithm of the size of the determinant."""
    return delivered(slogdet_result, _slogdet("linalg.slogdet", "slogdet", "input", input), out)


@public("logdet", method=True)
def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant: -inf where it is 0, NaN where it is negative."""
    sign, size = _slogdet("logdet", "logdet", "input", input)
    if sign.array.dtype.kind == "c":
        found: Tensor = sign.log() + size
        return found
    found = where(sign == -1, float("nan"), size)
    return found


public("linalg.LinAlgError")(LinAlgError)
