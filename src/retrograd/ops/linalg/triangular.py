"""Triangular linear systems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from retrograd.backends.base import Backend
from retrograd.core.apply import apply_n
from retrograd.core.autocast import autocasting_on_cpu, in_float32
from retrograd.core.op import OUT, Variadic, X
from retrograd.core.tensor import Tensor
from retrograd.errors import ShapeError
from retrograd.ops.common import deliver
from retrograd.ops.linalg import lapack
from retrograd.ops.linalg.checks import (
    check_batches,
    check_kernel,
    check_same_dtype,
    check_square,
    check_system,
    delivered,
    deprecated,
    matrix_argument,
    plus,
)
from retrograd.ops.linalg.matmul import adjoint
from retrograd.ops.register import public
from retrograd.ops.returns import triangular_solve_result
from retrograd.ops.shape.diagonals import Tril, Triu


def triangle(v: Any, upper: bool, unit: bool) -> Any:
    """The triangle that a system looks at."""
    return Triu(1 if unit else 0).on(v) if upper else Tril(-1 if unit else 0).on(v)


class LinalgSolveTriangular(Variadic):
    """X of A @ X = B, or of X @ A = B, where A is triangular"""

    in_rows: ClassVar[bool] = True
    params: ClassVar[tuple[str, ...]] = ("upper", "left", "unit")
    keeps: ClassVar[int] = X | OUT
    shown: ClassVar[dict[str, str]] = {
        "upper": "upper", "left": "left", "unitriangular": "unit", "self": "x:0", "result": "out:0",
    }  # fmt: skip

    def __init__(self, upper: bool, left: bool = True, unit: bool = False) -> None:
        self.upper = upper
        self.left = left
        self.unit = unit

    def keeps_input(self, i: int) -> bool:
        return i == 0

    def forward(self, xp: Backend, xs: Any) -> Any:
        a, b = xs
        if self.left:
            return lapack.solve_triangle(xp, a, b, self.upper, self.unit)
        turned = lapack.solve_triangle(xp, a.swapaxes(-2, -1), b.swapaxes(-2, -1), not self.upper, self.unit)
        return turned.swapaxes(-2, -1)

    def vjp(self, gs: Any, xs: Any, outs: Any) -> Any:
        gb = LinalgSolveTriangular(not self.upper, self.left, self.unit).on(adjoint(xs[0]), gs[0])
        return [self.coefficient(gb, outs[0]) if self.needs(0) else None, gb if self.needs(1) else None]

    def coefficient(self, gb: Any, x: Any) -> Any:
        """The gradient of A from that of B."""
        product = gb @ adjoint(x) if self.left else adjoint(x) @ gb
        return triangle(-product, self.upper, self.unit)

    def jvp(self, ts: Any, xs: Any, outs: Any) -> Any:
        ta, tb = ts[0], ts[1]
        if ta is not None:
            moved = triangle(ta, self.upper, self.unit)
            tb = plus(tb, -(moved @ outs[0] if self.left else outs[0] @ moved))
        return self.fresh().on(xs[0], tb)


class TriangularSolve(Variadic):
    """X of A @ X = B, or of A^T @ X = B, where A is triangular, and a copy of A"""

    in_rows: ClassVar[bool] = True
    params: ClassVar[tuple[str, ...]] = ("upper", "transposed", "unit")
    keeps: ClassVar[int] = X | OUT
    shown: ClassVar[dict[str, str]] = {
        "upper": "upper", "transpose": "transposed", "unitriangular": "unit", "self": "x:0", "A": "x:1",
        "solution": "out:0",
    }  # fmt: skip

    def __init__(self, upper: bool, transposed: bool, unit: bool) -> None:
        self.upper = upper
        self.transposed = transposed
        self.unit = unit

    def matrix(self, a: Any) -> Any:
        """A as it stands in the equation."""
        return a.swapaxes(-2, -1) if self.transposed else a

    def forward(self, xp: Backend, xs: Any) -> Any:
        b, a = xs
        x = lapack.solve_triangle(xp, self.matrix(a), b, self.upper != self.transposed, self.unit)
        return x, xp.array(xp.broadcast_to(a, (*x.shape[:-2], *a.shape[-2:])), copy=True)

    def vjp(self, gs: Any, xs: Any, outs: Any) -> Any:
        gx, ga = gs
        gb = None
        if gx is not None:
            turned = LinalgSolveTriangular(self.upper == self.transposed, True, self.unit)
            gb = turned.on(adjoint(self.matrix(xs[1])), gx)
            ga = plus(ga, triangle(self.matrix(-(gb @ adjoint(outs[0]))), self.upper, self.unit))
        return [gb if self.needs(0) else None, ga if self.needs(1) else None]

    def jvp(self, ts: Any, xs: Any, outs: Any) -> Any:
        tb, ta = ts
        if ta is not None:
            tb = plus(tb, -(self.matrix(triangle(ta, self.upper, self.unit)) @ outs[0]))
        solved = LinalgSolveTriangular(self.upper != self.transposed, True, self.unit)
        return solved.on(self.matrix(xs[1]), tb), ta


# -- functions -----------------------------------------------------------------------------------------------------


@public("linalg.solve_triangular")
def solve_triangular(
    input: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False, out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """X of `A @ X = B`, or with `left=False` of `X @ A = B`, where A is triangular.

    Args:
        upper: which triangle of A is looked at; the other one may hold anything.
        unitriangular: take the diagonal of A for ones.

    >>> import retrograd as rg
    >>> rg.linalg.solve_triangular(rg.tensor([[2.0, 0.0], [1.0, 1.0]]), rg.tensor([[4.0], [5.0]]), upper=False)
    tensor([[2.],
            [3.]])
    """
    a: Any = matrix_argument("linalg.solve_triangular", input, "input")
    b: Any = matrix_argument("linalg.solve_triangular", B, "B", 2)
    check_square("linalg.solve_triangular", a)
    if b.array.ndim < 2:
        raise ShapeError("linalg.solve_triangular: The input tensor B must have at least 2 dimensions.")
    check_system("linalg.solve_triangular", a, b.array.shape, bool(left))
    check_kernel("triangular_solve_cpu", a)
    return deliver(
        apply_n(
            LinalgSolveTriangular(bool(upper), bool(left), bool(unitriangular)), (a, b.to(a.array.dtype))
        ),
        out,
    )


@public("triangular_solve", method=True)
def triangular_solve(
    input: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False, *,
    out: Sequence[Tensor] | None = None,
) -> triangular_solve_result:  # fmt: skip
    """X of `A @ X = input`, where A is triangular, and a copy of A; `solve_triangular` replaces it."""
    if autocasting_on_cpu():
        return in_float32(triangular_solve, input, A, upper, transpose, unitriangular, out=out)
    deprecated("triangular_solve", "linalg.solve_triangular")
    b, a = matrix_argument("triangular_solve", input, "input"), matrix_argument("triangular_solve", A, "A", 2)
    for name, v in (("b", b), ("A", a)):
        if v.array.ndim < 2:
            raise ShapeError(
                f"torch.triangular_solve: Expected {name} to have at least 2 dimensions, but it has {v.array.ndim} "
                "dimensions instead"
            )
    check_square("triangular_solve", a)
    check_sizes("triangular_solve", a, b)
    check_same_dtype("triangular_solve", b, a, "b A")
    check_kernel("triangular_solve_cpu", a)
    return delivered(
        triangular_solve_result,
        apply_n(TriangularSolve(bool(upper), bool(transpose), bool(unitriangular)), (b, a)),
        out,
    )


def check_sizes(function: str, a: Tensor, b: Tensor) -> None:
    """Refuses a right side that does not fit, in the words of the older functions."""
    n, (m, k) = a.array.shape[-1], b.array.shape[-2:]
    if m != n:
        raise ShapeError(
            f"Incompatible matrix sizes for {function}: each A matrix is {n} by {n} but each b matrix is {m} by {k}"
        )
    check_batches(a.array.shape, b.array.shape)
