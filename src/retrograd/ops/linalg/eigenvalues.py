"""Eigenvalues and singular values.

Note [Gauge]
~~~~~~~~~~~~
Eigenvectors and singular vectors are determined up to a sign, and over the complex numbers up to a phase. A function of
them has a gradient only if it does not depend on that choice; a loss that does is refused, with PyTorch's words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import Backend, backend_of
from retrograd.backends.dtypes import SCALAR_NAMES
from retrograd.core.apply import apply_n
from retrograd.core.autocast import autocasting_on_cpu, in_float32
from retrograd.core.op import OUT, Variadic
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError, GradientError, LinAlgError, ShapeError
from retrograd.ops.common import (
    deliver_castable,
    deliver_exact,
    outputs,
    plain,
    require_word,
    zeros_beside,
)
from retrograd.ops.elementwise.choose import Where
from retrograd.ops.linalg.checks import (
    check_floating,
    check_kernel,
    check_matrices,
    check_square,
    column,
    delivered,
    diagonal_of,
    hermitian,
    imaginary,
    is_finite,
    matrix_argument,
    off_diagonal,
    on_diagonal,
    plus,
    row,
    skew,
    unit_array,
)
from retrograd.ops.linalg.matmul import adjoint
from retrograd.ops.linalg.solve import LinalgSolveEx
from retrograd.ops.register import public
from retrograd.ops.returns import linalg_eig, linalg_eigh, linalg_svd, svd_result
from retrograd.values import Array


def gaps(v: Any) -> Any:
    """v_j - v_i in row i and column j; 1 on the diagonal, where nothing is divided by it."""
    return Where().on(unit_array(v.shape[-1], plain(v), bool), 1.0, row(v) - column(v))


def check_gauge(function: str, what: str, term: str, phases: Array) -> None:
    """Refuses a loss that depends on phases which nothing determines. See Note [Gauge]."""
    if not backend_of(phases).allclose(phases, 0, rtol=1e-2, atol=1e-2):
        raise GradientError(
            f"{function}: The {what} in the complex case are specified up to multiplication by e^{{i phi}}. The "
            f"specified loss function depends on this {term}. Make it independent of the choice: take abs(), or "
            "products in which the phase cancels."
        )


# -- eigenvalues ---------------------------------------------------------------------------------------------------


class LinalgEigh(Variadic):
    """the eigenvalues, in increasing order, and the eigenvectors of Hermitian matrices, read from one triangle"""

    params: ClassVar[tuple[str, ...]] = ("side",)
    keeps: ClassVar[int] = OUT
    shown: ClassVar[dict[str, str]] = {"eigenvalues": "out:0", "eigenvectors": "out:1"}

    def __init__(self, side: str) -> None:
        self.side = side

    def forward(self, xp: Backend, xs: Any) -> Any:
        if not is_finite(xp, xs[0]):
            raise LinAlgError(
                "linalg.eigh: The algorithm failed to converge because the input matrix is ill-conditioned or has too "
                "many repeated eigenvalues (it holds NaN or Inf)."
            )
        return tuple(xp.linalg.eigh(xs[0], self.side))

    def vjp(self, gs: Any, xs: Any, outs: Any) -> Any:
        (gl, gv), (values, vectors) = gs, outs
        if gv is None:
            return [(vectors * row(gl)) @ adjoint(vectors)]
        inner = adjoint(vectors) @ gv
        if self.is_complex(vectors):
            phases = plain(diagonal_of(inner)).imag
            check_gauge("linalg_eigh_backward", "eigenvectors", "quantity, so it is ill-defined", phases)
        inner = off_diagonal(skew(inner)) * 0.5 / gaps(values)
        inner = inner if gl is None else inner + on_diagonal(gl)
        return [vectors @ inner @ adjoint(vectors)]

    def is_complex(self, v: Any) -> bool:
        return bool(v.dtype.kind == "c")

    def jvp(self, ts: Any, xs: Any, outs: Any) -> Any:
        values, vectors = outs
        inner = adjoint(vectors) @ hermitian(ts[0]) @ vectors
        return diagonal_of(inner).real, vectors @ (off_diagonal(inner) / gaps(values))


class LinalgEig(Variadic):
    """the eigenvalues and the eigenvectors of square matrices, always complex"""

    keeps: ClassVar[int] = OUT
    shown: ClassVar[dict[str, str]] = {"eigenvalues": "out:0", "eigenvectors": "out:1"}

    def forward(self, xp: Backend, xs: Any) -> Any:
        if not is_finite(xp, xs[0]):
            raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
        dtype = np.result_type(xs[0].dtype, np.complex64)
        values, vectors = xp.linalg.eig(xs[0])
        return values.astype(dtype), vectors.astype(dtype)

    def vjp(self, gs: Any, xs: Any, outs: Any) -> Any:
        (gl, gv), (values, vectors) = gs, outs
        turned = adjoint(vectors)
        inner = None if gl is None else on_diagonal(gl)
        if gv is not None:
            seen = turned @ gv
            phases = plain(diagonal_of(seen)).imag
            check_gauge("linalg_eig_backward", "eigenvectors", "quantity, so it is ill-defined", phases)
            # The vectors keep their length.
            seen = seen - (turned @ vectors) * row(diagonal_of(seen).real)
            inner = plus(inner, off_diagonal(seen) / gaps(values).conj())
        return [LinalgSolveEx(True, False).on(turned, inner @ turned)[0]]

    def jvp(self, ts: Any, xs: Any, outs: Any) -> Any:
        values, vectors = outs
        inner = LinalgSolveEx(True, False).on(vectors, (ts[0] + 0j) @ vectors)[0]
        moved = vectors @ (off_diagonal(inner) / gaps(values))
        moved = moved - vectors * row(diagonal_of(adjoint(vectors) @ moved).real)
        return diagonal_of(inner), moved


# -- singular values -----------------------------------------------------------------------------------------------


class LinalgSvd(Variadic):
    """U, S and V^H of A = U @ diag(S) @ V^H"""

    params: ClassVar[tuple[str, ...]] = ("full",)
    keeps: ClassVar[int] = OUT
    shown: ClassVar[dict[str, str]] = {"U": "out:0", "S": "out:1", "Vh": "out:2", "full_matrices": "full"}

    def __init__(self, full: bool) -> None:
        self.full = full

    def forward(self, xp: Backend, xs: Any) -> Any:
        if not is_finite(xp, xs[0]):
            raise LinAlgError(
                "linalg.svd: The algorithm failed to converge because the input matrix contained non-finite values."
            )
        return tuple(xp.linalg.svd(xs[0], full_matrices=self.full))

    def vjp(self, gs: Any, xs: Any, outs: Any) -> Any:
        gu, gs_, gvh = gs
        u, s, vh = narrowed(*outs)
        if gu is None and gvh is None:
            return [(u * row(gs_)) @ vh]
        # Only the columns that belong to singular values are determined by A.
        gu = None if gu is None else gu[..., :, : s.shape[-1]]
        gv = None if gvh is None else adjoint(gvh[..., : s.shape[-1], :])
        return [svd_gradient(gu, gs_, gv, u, s, adjoint(vh))]

    def jvp(self, ts: Any, xs: Any, outs: Any) -> Any:
        if self.full and outs[0].shape[-1] != outs[2].shape[-1]:
            raise NotImplementedError(
                "linalg.svd: full_matrices=True has no forward-mode derivative for matrices that are not square"
            )
        u, s, vh = narrowed(*outs)
        v = adjoint(vh)
        seen = adjoint(u) @ ts[0] @ v
        off = off_diagonal(seen)
        widths = gaps(s * s)
        phase = on_diagonal(imaginary(diagonal_of(seen)) / (s * 2)) if seen.dtype.kind == "c" else 0
        tu = u @ ((off * row(s) + column(s) * adjoint(off)) / widths + phase)
        tv = v @ ((column(s) * off + adjoint(off) * row(s)) / widths - phase)
        if u.shape[-2] > u.shape[-1]:
            tu = tu + (ts[0] @ v - u @ seen) / row(s)
        if v.shape[-2] > v.shape[-1]:
            tv = tv + (adjoint(ts[0]) @ u - v @ adjoint(seen)) / row(s)
        return tu, diagonal_of(seen).real, adjoint(tv)


def narrowed(u: Any, s: Any, vh: Any) -> tuple[Any, Any, Any]:
    """The factors without columns and rows that belong to no singular value."""
    k = s.shape[-1]
    return u[..., :, :k], s, vh[..., :k, :]


def svd_gradient(gu: Any, gs: Any, gv: Any, u: Any, s: Any, v: Any) -> Any:
    """The gradient of A from those of U, S and V, of which any may be None."""
    seen_u = None if gu is None else adjoint(u) @ gu
    seen_v = None if gv is None else adjoint(v) @ gv
    widths = gaps(s * s)
    inner = None if gs is None else on_diagonal(gs)
    if seen_u is not None:
        inner = plus(inner, (off_diagonal(skew(seen_u)) / widths) * row(s))
    if seen_v is not None:
        inner = plus(inner, column(s) * (off_diagonal(skew(seen_v)) / widths))
    if u.dtype.kind == "c":
        inner = inner + on_diagonal(phase_gradient(seen_u, seen_v) / s)
    found = u @ inner @ adjoint(v)
    if gu is not None and u.shape[-2] > u.shape[-1]:
        rest = gu / row(s)
        found = found + (rest - u @ (adjoint(u) @ rest)) @ adjoint(v)
    if gv is not None and v.shape[-2] > v.shape[-1]:
        rest = gv / row(s)
        found = found + u @ adjoint(rest - v @ (adjoint(v) @ rest))
    return found


def phase_gradient(seen_u: Any, seen_v: Any) -> Any:
    """What the common phase of a pair of singular vectors contributes; both turned together must change nothing."""
    parts = [0 if v is None else imaginary(diagonal_of(v)) for v in (seen_u, seen_v)]
    both = plain(parts[0] + parts[1]).imag
    check_gauge("svd_backward", "singular vectors", "phase term, making it ill-defined", both)
    return (parts[0] - parts[1]) * 0.5


# -- functions -----------------------------------------------------------------------------------------------------


@public("linalg.eigh")
def eigh(input: Tensor, UPLO: str = "L", *, out: Sequence[Tensor] | None = None) -> linalg_eigh:
    """The eigenvalues, in increasing order, and the eigenvectors of symmetric or Hermitian matrices.

    Args:
        UPLO: which triangle of A is read, "L" or "U". The gradient is that of a Hermitian matrix, all the same.

    >>> import retrograd as rg
    >>> rg.linalg.eigh(rg.tensor([[2.0, 1.0], [1.0, 2.0]])).eigenvalues
    tensor([1., 3.])
    """
    if autocasting_on_cpu():
        return in_float32(eigh, input, UPLO, out=out)
    return delivered(linalg_eigh, _eigh("linalg.eigh", input, UPLO), out)


def _eigh(called: str, A: Any, UPLO: Any) -> Any:
    x = matrix_argument(called, A, "input")
    check_square("linalg.eigh", x)
    side = require_word("linalg_eigh", "UPLO", UPLO).upper()
    if side not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    check_kernel("linalg_eigh_cpu", x)
    return apply_n(LinalgEigh(side), (x,))


@public("linalg.eigvalsh")
def eigvalsh(input: Tensor, UPLO: str = "L", *, out: Tensor | None = None) -> Tensor:
    """The eigenvalues, in increasing order, of symmetric or Hermitian matrices.

    >>> import retrograd as rg
    >>> rg.linalg.eigvalsh(rg.tensor([[2.0, 1.0], [1.0, 2.0]]))
    tensor([1., 3.])
    """
    if autocasting_on_cpu():
        return in_float32(eigvalsh, input, UPLO, out=out)
    return deliver_exact(_eigh("linalg.eigvalsh", input, UPLO)[0], out)


@public("linalg.eig")
def eig(input: Tensor, *, out: Sequence[Tensor] | None = None) -> linalg_eig:
    """The eigenvalues and the eigenvectors of square matrices; both are complex, in no particular order.

    >>> import retrograd as rg
    >>> rg.linalg.eig(rg.tensor([[0.0, 1.0], [-1.0, 0.0]])).eigenvalues
    tensor([0.+1.j, 0.-1.j])
    """
    if autocasting_on_cpu():
        return in_float32(eig, input, out=out)
    found = _eig("linalg.eig", input)
    if out is None:
        return linalg_eig(*found)
    values, vectors = outputs(out, 2)
    return linalg_eig(
        deliver_castable("torch.linalg.eig", found[0], values, "eigenvalues"),
        deliver_castable("torch.linalg.eig", found[1], vectors, "eigenvectors"),
    )


def _eig(function: str, A: Any) -> Any:
    x = matrix_argument(function, A, "input")
    check_square(function, x)
    if x.array.dtype.kind not in "fc":
        raise DtypeError(
            f"{function}: Unknown Complex ScalarType for {SCALAR_NAMES[x.array.dtype]}. Convert it with .float()."
        )
    check_kernel("linalg_eig_out_cpu", x)
    return apply_n(LinalgEig(), (x,))


@public("linalg.eigvals")
def eigvals(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The eigenvalues of square matrices, complex and in no particular order."""
    if autocasting_on_cpu():
        return in_float32(eigvals, input, out=out)
    return deliver_castable("torch.linalg.eigvals", _eig("linalg.eigvals", input)[0], out, "eigenvalues")


def _svd(function: str, A: Any, full: Any, driver: Any) -> Any:
    x = matrix_argument(function, A)
    check_matrices("linalg.svd", x)
    check_floating("linalg.svd", x)
    check_kernel("linalg_svd_cpu", x)
    if driver is not None:
        raise RuntimeError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."
        )
    return apply_n(LinalgSvd(bool(full)), (x,))


@public("linalg.svd")
def linalg_svd_of(
    A: Tensor, full_matrices: bool = True, *, driver: str | None = None, out: Sequence[Tensor] | None = None
) -> linalg_svd:
    """U, S and Vh of `A = U @ diag(S) @ Vh`, with S in decreasing order.

    Args:
        full_matrices: make U and Vh square; the columns beyond S have no gradient.

    >>> import retrograd as rg
    >>> rg.linalg.svd(rg.tensor([[0.0, 2.0], [3.0, 0.0]])).S
    tensor([3., 2.])
    """
    if autocasting_on_cpu():
        return in_float32(linalg_svd_of, A, full_matrices, driver=driver, out=out)
    return delivered(linalg_svd, _svd("linalg.svd", A, full_matrices, driver), out)


@public("linalg.svdvals")
def svdvals(A: Tensor, *, driver: str | None = None, out: Tensor | None = None) -> Tensor:
    """The singular values in decreasing order.

    >>> import retrograd as rg
    >>> rg.linalg.svdvals(rg.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor([4., 3.])
    """
    if autocasting_on_cpu():
        return in_float32(svdvals, A, driver=driver, out=out)
    return deliver_exact(_svd("linalg.svdvals", A, False, driver)[1], out)


@public("svd", method=True)
def svd(
    input: Tensor, some: bool = True, compute_uv: bool = True, *, out: Sequence[Tensor] | None = None
) -> svd_result:
    """U, S and V (not its adjoint) of `input = U @ diag(S) @ V.mH`.

    Args:
        some: False makes U and V square.
        compute_uv: False gives zeros for U and V.
    """
    if autocasting_on_cpu():
        return in_float32(svd, input, some, compute_uv, out=out)
    x = matrix_argument("svd", input, "input")
    if x.array.ndim < 2:
        raise ShapeError(
            f"linalg.svd: input should have at least 2 dimensions, but has {x.array.ndim} dimensions instead"
        )
    u, s, vh = _svd("svd", x, not some, None)
    if not compute_uv:
        m, n = x.array.shape[-2:]
        empty = [zeros_beside(x, (*x.array.shape[:-2], side, side)) for side in (m, n)]
        return delivered(svd_result, (empty[0], s, empty[1]), out)
    return delivered(svd_result, (u, s, vh.mH), out)
