"""Pseudo-inverses and least squares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import Backend, backend_of
from retrograd.backends.dtypes import SCALAR_NAMES
from retrograd.backends.limits import finfo
from retrograd.core.apply import apply_n
from retrograd.core.autocast import autocasting_on_cpu, in_float32
from retrograd.core.op import OUT, Variadic, X
from retrograd.core.tensor import Tensor
from retrograd.errors import (
    DtypeError,
    LinAlgError,
    ShapeError,
    broadcast_error,
    sizes,
)
from retrograd.ops.common import (
    deliver_castable,
    joint_shape,
    number_from,
    plain,
    require_word,
    tensor_of,
)
from retrograd.ops.linalg.checks import check_square, column, delivered, is_finite, matrix_argument, plus, row
from retrograd.ops.linalg.matmul import adjoint
from retrograd.ops.register import public
from retrograd.ops.returns import linalg_lstsq
from retrograd.values import Array

# -- pseudo-inverses -----------------------------------------------------------------------------------------------


class LinalgPinv(Variadic):
    """the pseudo-inverse, without singular values up to max(atol, rtol * the largest)"""

    params: ClassVar[tuple[str, ...]] = ("atol", "rtol", "hermitian")
    array_params: ClassVar[tuple[str, ...]] = ("rtol",)
    keeps: ClassVar[int] = X | OUT
    shown: ClassVar[dict[str, str]] = {"self": "x:0", "result": "out:0"}

    def __init__(self, atol: Any, rtol: Any, hermitian: bool = False) -> None:
        self.atol = atol
        self.rtol = rtol
        self.hermitian = hermitian

    def forward(self, xp: Backend, xs: Any) -> Any:
        a = xs[0]
        if a.size == 0:
            return xp.zeros((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype)
        u, s, vh = spectrum(xp, a, self.hermitian)
        kept = abs(s) > tolerance(xp, abs(s), self.atol, self.rtol)
        return adjoint(vh) @ (
            adjoint(u) * column(xp.where(kept, 1 / xp.where(kept, s, 1), 0).astype(s.dtype))
        )

    def vjp(self, gs: Any, xs: Any, outs: Any) -> Any:
        return [pinv_gradient(gs[0], xs[0], outs[0])]

    def jvp(self, ts: Any, xs: Any, outs: Any) -> Any:
        a, p, t, turned = xs[0], outs[0], ts[0], adjoint(ts[0])
        first, last = p @ (adjoint(p) @ turned), turned @ adjoint(p) @ p
        return -(p @ t @ p) + first - (first @ a) @ p + last - p @ (a @ last)


def pinv_gradient(g: Any, a: Any, p: Any) -> Any:
    """The gradient of A from that of its pseudo-inverse P, where the rank does not change."""
    turned, back = adjoint(g), adjoint(p)
    first, last = turned @ p @ back, back @ p @ turned
    return -(back @ g @ back) + first - a @ (p @ first) + last - (last @ p) @ a


def spectrum(xp: Backend, a: Array, hermitian: bool) -> tuple[Array, Array, Array]:
    """Singular values and vectors; for Hermitian matrices eigenvalues, which may be negative."""
    if not is_finite(xp, a):
        raise LinAlgError(
            "linalg.svd: The algorithm failed to converge because the input matrix contained non-finite values."
            if not hermitian
            else "linalg.eigh: The algorithm failed to converge because the input matrix is ill-conditioned or has "
            "too many repeated eigenvalues (it holds NaN or Inf)."
        )
    if not hermitian:
        return tuple(xp.linalg.svd(a, full_matrices=False))
    values, vectors = xp.linalg.eigh(a)
    return vectors, values, adjoint(vectors)


def tolerance(xp: Backend, s: Array, atol: Any, rtol: Any) -> Array:
    """The size up to which singular values count as zero; both bounds are numbers or arrays, one per matrix."""
    largest = s.max(axis=-1) if s.shape[-1] else s.sum(axis=-1)
    return column(xp.maximum(xp.asarray(atol), xp.asarray(rtol) * largest))


def bounds(function: str, x: Tensor, atol: Any, rtol: Any) -> tuple[Any, Any]:
    """The tolerances, with PyTorch's defaults: rounding errors where nothing is given, else nothing beside it."""
    for name, bound in (("atol", atol), ("rtol", rtol)):
        if isinstance(bound, Tensor) and bound.array.dtype.kind == "c":
            raise DtypeError(
                f"{function}: {name} tensor of complex type is not supported. Got {SCALAR_NAMES[bound.array.dtype]}"
            )
    a = 0.0 if atol is None else plain(atol)
    if rtol is not None:
        return a, plain(rtol)
    eps = float(finfo(x.array.dtype).eps) * max(x.array.shape[-2:])
    return a, backend_of(a).where(a > 0, 0.0, eps)


# -- least squares -------------------------------------------------------------------------------------------------


class LinalgLstsq(Variadic):
    """X that makes A @ X - B smallest, the squared lengths of what remains (or nothing), and the rank of A"""

    params: ClassVar[tuple[str, ...]] = ("rtol", "remains", "vector")
    keeps: ClassVar[int] = X | OUT
    shown: ClassVar[dict[str, str]] = {"self": "x:0", "b": "x:1", "solution": "out:0"}

    def __init__(self, rtol: float, remains: bool, vector: bool) -> None:
        self.rtol = rtol
        self.remains: bool = remains
        self.vector = vector

    def forward(self, xp: Backend, xs: Any) -> Any:
        a, b = xs[0], column(xs[1]) if self.vector else xs[1]
        u, s, vh = spectrum(xp, a, False)
        kept = s > tolerance(xp, s, 0.0, self.rtol)
        rank = xp.asarray(kept.sum(axis=-1), np.int64)
        x = adjoint(vh) @ (
            column(xp.where(kept, 1 / xp.where(kept, s, 1), 0).astype(s.dtype)) * (adjoint(u) @ b)
        )
        self.remains = self.remains and bool((rank == a.shape[-1]).all())
        rest = a @ x - b if self.remains else None
        left = xp.zeros(0, s.dtype) if rest is None else (rest * rest.conj()).real.sum(axis=-2)
        return x[..., 0] if self.vector else x, left, rank

    def vjp(self, gs: Any, xs: Any, outs: Any) -> Any:
        a, b, x = xs[0], self.wide(xs[1]), self.wide(outs[0])
        gx, left = self.wide(gs[0]), gs[1] if self.remains else None
        ga = gb = None
        if gx is not None:
            p = LinalgPinv(0.0, self.rtol).on(a)
            gb, ga = adjoint(p) @ gx, pinv_gradient(gx @ adjoint(b), a, p)
        if left is not None:
            # The rest is at right angles to A, so that X may stand still.
            rest = (a @ x - b) * row(left) * 2
            gb, ga = plus(gb, -rest), plus(ga, rest @ adjoint(x))
        gb = gb[..., 0] if self.vector and gb is not None else gb
        return [ga if self.needs(0) else None, gb if self.needs(1) else None]

    def wide(self, v: Any) -> Any:
        """Right sides and solutions as matrices."""
        return column(v) if self.vector and v is not None else v

    def jvp(self, ts: Any, xs: Any, outs: Any) -> Any:
        a, b, x, ta, tb = xs[0], self.wide(xs[1]), self.wide(outs[0]), ts[0], self.wide(ts[1])
        pinv = LinalgPinv(0.0, self.rtol)
        p = pinv.on(a)
        tx: Any = None if tb is None else p @ tb
        if ta is not None:
            tx = plus(tx, pinv.jvp([ta], [a], [p]) @ b)
        moved = plus(None if ta is None else ta @ x, None if tb is None else -tb)
        left = outs[1]
        if self.remains:
            left = ((a @ x - b).conj() * moved).real.sum(axis=-2) * 2
        return tx[..., 0] if self.vector else tx, left, None


# -- functions -----------------------------------------------------------------------------------------------------


@public("linalg.pinv")
def pinv(
    input: Tensor, rcond: Tensor | float | None = None, hermitian: bool = False, *, atol: Tensor | float | None = None,
    rtol: Tensor | float | None = None, out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The pseudo-inverse of matrices; singular values up to `max(atol, rtol * largest)` count as zero.

    Args:
        rcond: an older name of `rtol`.
        hermitian: take A for Hermitian and use its eigenvalues.
        rtol: by default rounding errors, or 0 where `atol` is given.

    >>> import retrograd as rg
    >>> rg.linalg.pinv(rg.tensor([[2.0], [0.0]]))
    tensor([[0.5000, 0.0000]])
    """
    x = _checked("linalg.pinv", input)
    if hermitian:
        check_square("linalg.eigh", x)
    low, high = bounds("torch.linalg.pinv", x, atol, rcond if rtol is None else rtol)
    return deliver_castable("linalg.pinv", apply_n(LinalgPinv(low, high, bool(hermitian)), (x,)), out)


def _checked(called: str, A: Any) -> Tensor:
    x = matrix_argument(called, A, "input")
    if x.array.ndim < 2 or x.array.dtype.char not in "fdFD":
        raise DtypeError(
            f"linalg.pinv({SCALAR_NAMES[x.array.dtype]}{{{sizes(x.array.shape)}}}): expected a tensor with 2 or more "
            "dimensions of float, double, cfloat or cdouble types"
        )
    return x


@public("pinverse", method=True)
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """The pseudo-inverse of matrices."""
    if autocasting_on_cpu():
        return in_float32(pinverse, input, rcond)
    limit = number_from("pinverse", "rcond", 2, rcond)
    found: Tensor = apply_n(LinalgPinv(0.0, limit), (_checked("pinverse", input),))
    return found


DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


@public("linalg.lstsq")
def lstsq(
    input: Tensor, b: Tensor, rcond: float | None = None, *, driver: str | None = None,
    out: Sequence[Tensor] | None = None,
) -> linalg_lstsq:  # fmt: skip
    """X that makes `A @ X - B` smallest, with the residuals, the rank of A and its singular values.

    Args:
        rcond: singular values up to this part of the largest count as zero.
        driver: PyTorch's choice of algorithm. Here it only says what is returned beside the solution: residuals unless
            "gelsy" (the default), the rank unless "gels", singular values with "gelsd" and "gelss".

    >>> import retrograd as rg
    >>> rg.linalg.lstsq(rg.tensor([[2.0], [0.0]]), rg.tensor([[6.0], [1.0]])).solution
    tensor([[3.]])
    """
    if autocasting_on_cpu():
        return in_float32(lstsq, input, b, rcond, driver=driver, out=out)
    a, b = matrix_argument("linalg.lstsq", input, "input"), matrix_argument("linalg.lstsq", b, "b", 2)
    vector = _check_lstsq(a, b)
    name = "gelsy" if driver is None else require_word("linalg_lstsq", "driver", driver)
    if name not in DRIVERS:
        raise RuntimeError(
            "torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)"
        )
    m, n = a.array.shape[-2:]
    rtol = float(finfo(a.array.dtype).eps) * max(m, n) if rcond is None else float(rcond)
    op = LinalgLstsq(rtol, m > n and name != "gelsy", vector)
    x, left, rank = apply_n(op, (a, b))
    xp = backend_of(a.array)
    values = xp.zeros(0, left.array.dtype)
    if name in ("gelsd", "gelss"):
        values = xp.linalg.svd(a.array, compute_uv=False)
    found = (x, left, tensor_of(xp.zeros(0, np.int64)) if name == "gels" else rank, tensor_of(values))
    return delivered(linalg_lstsq, found, out)


def _check_lstsq(a: Tensor, b: Tensor) -> bool:
    """Whether the right sides are vectors, once they are found to fit."""
    if a.array.ndim < 2:
        raise ShapeError("torch.linalg.lstsq: input must have at least 2 dimensions.")
    if b.array.ndim < 1:
        raise ShapeError("torch.linalg.lstsq: other must have at least 1 dimension.")
    if a.array.dtype != b.array.dtype:
        raise DtypeError(
            "torch.linalg.lstsq: Expected input and other to have the same dtype, but got input's dtype "
            f"{SCALAR_NAMES[a.array.dtype]} and other's dtype {SCALAR_NAMES[b.array.dtype]}"
        )
    if a.array.dtype.char not in "fdFD":
        raise DtypeError("torch.linalg.lstsq: This function doesn't handle types other than float and double")
    missing = a.array.ndim - b.array.ndim
    if missing not in (0, 1):
        raise ShapeError(
            "torch.linalg.lstsq: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) "
            "<= 1"
        )
    vector = len(b.array.shape) == 1 or b.array.shape == a.array.shape[:-1]
    batches = a.array.shape[:-2], b.array.shape[: -1 if missing else -2]
    try:
        joint_shape(*batches)
    except ValueError:
        raise broadcast_error(*batches) from None
    if b.array.shape[-1 if vector else -2] != a.array.shape[-2]:
        where = "other.size(-1)" if vector else "other.size(-2)"
        raise ShapeError(f"torch.linalg.lstsq: input.size(-2) should match {where}")
    return vector
