"""The factorization of symmetric matrices that need not be definite: A = L D L^T, D of blocks of one or two rows.

Bunch and Kaufman's choice of pivots, and LAPACK's layout: below the diagonal L, on it D; a pair of negative pivots
marks a block of two rows. PyTorch does not differentiate these functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import Backend
from retrograd.core.apply import apply_n
from retrograd.core.op import Variadic
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError, ShapeError, dimension_error, sizes
from retrograd.ops.common import deliver_exact, joint_shape
from retrograd.ops.linalg.checks import (
    check_batches,
    check_floating,
    check_info,
    check_kernel,
    check_same_dtype,
    check_square,
    delivered,
    matrix_argument,
)
from retrograd.ops.register import public
from retrograd.ops.returns import linalg_ldl_factor, linalg_ldl_factor_ex
from retrograd.values import Array

ALPHA = (1 + 17**0.5) / 8  # how large a pivot must be to stand alone: keeps the growth of elements smallest
ZERO_BLOCK = "The diagonal block {0} is exactly zero, so D is singular and cannot be used to solve a system."


class Undifferentiated(Variadic):
    """An op that PyTorch has no derivative of."""

    node_name = "NotImplemented"
    params: ClassVar[tuple[str, ...]] = ("hermitian",)
    function = ""

    def __init__(self, hermitian: bool) -> None:
        self.hermitian = hermitian

    def name(self) -> str:
        return "torch::autograd::NotImplemented"

    def function_name(self) -> str:
        return self.function

    def vjp(self, gs: Any, xs: Any, outs: Any) -> Any:
        raise RuntimeError(
            f"derivative for aten::{self.function} is not implemented. Differentiate linalg.solve instead."
        )


class LdlFactor(Undifferentiated):
    """L and D in one matrix, the pivots, and which block of D is zero"""

    node_name = "NotImplemented"
    function = "linalg_ldl_factor_ex"

    def forward(self, xp: Backend, xs: Any) -> Any:
        a = np.tril(on_host(xp, xs[0]))
        pivots = np.zeros(a.shape[:-1], np.int32)
        info = np.zeros(a.shape[:-2], np.int32)
        for i in np.ndindex(info.shape):
            info[i] = factor(a[i], pivots[i], self.hermitian)
        return from_host(xp, a), from_host(xp, pivots), from_host(xp, info)


class LdlSolve(Undifferentiated):
    """X of A @ X = B, by the factors of A"""

    in_rows: ClassVar[bool] = True
    node_name = "NotImplemented"
    function = "linalg_ldl_solve"

    def forward(self, xp: Backend, xs: Any) -> Any:
        ld, pivots, b = (on_host(xp, x) for x in xs)
        batch = joint_shape(ld.shape[:-2], b.shape[:-2])
        out = np.array(np.broadcast_to(b, (*batch, *b.shape[-2:])))
        many = np.broadcast_to(ld, (*batch, *ld.shape[-2:])), np.broadcast_to(pivots, (*batch, ld.shape[-1]))
        for i in np.ndindex(batch):
            solve(many[0][i], many[1][i], out[i], self.hermitian)
        return from_host(xp, out)


def on_host(xp: Backend, a: Array) -> Array:
    """An array as one of NumPy's, all samples of it: the algorithm looks at single numbers, one after another."""
    return xp.inner.numpy(xp.whole(a))


def from_host(xp: Backend, a: Array) -> Array:
    """The reverse of `on_host`."""
    return xp.of_whole(xp.inner.asarray(a))


def factor(a: Array, pivots: Array, hermitian: bool) -> int:
    """Factors the lower triangle of a matrix where it stands; the number of the first zero block, 0 if none is."""
    n, k, info = len(a), 0, 0
    while k < n:
        if hermitian:
            a[k, k] = a[k, k].real
        partner, step = choose(a, k)
        if step == 0:
            info, step = info or k + 1, 1
        else:
            exchange(a, k, k + step - 1, partner, hermitian)
            eliminate(a, k, step, hermitian)
        pivots[k : k + step] = partner + 1 if step == 1 else -(partner + 1)
        k += step
    return info


def largest_of(x: Array) -> Any:
    """The largest of numbers that are not negative; 0 if there are none."""
    return x.max() if x.size else 0


def choose(a: Array, k: int) -> tuple[int, int]:
    """Which row to bring to the front, and how many rows the block has: none where the column is zero."""
    own = size(a[k, k])
    below = size(a[k + 1 :, k])
    largest = largest_of(below)
    if max(own, largest) == 0:
        return k, 0
    if not own < ALPHA * largest:
        return k, 1
    row = k + 1 + int(below.argmax())
    others = max(largest_of(size(a[row, k:row])), largest_of(size(a[row + 1 :, row])))
    if own >= ALPHA * largest * (largest / others):
        return k, 1
    return row, 1 if size(a[row, row]) >= ALPHA * others else 2


def size(v: Any) -> Any:
    """How large numbers are, as LAPACK has it: the sum of the two parts of a complex one."""
    return np.abs(v.real) + np.abs(v.imag)


def exchange(a: Array, k: int, front: int, partner: int, hermitian: bool) -> None:
    """Swaps two rows and columns of what is left of the matrix, of which the lower triangle is stored."""
    if partner == front:
        return
    a[partner + 1 :, [front, partner]] = a[partner + 1 :, [partner, front]]
    between = slice(front + 1, partner)
    down, across = a[between, front].copy(), a[partner, between].copy()
    a[between, front], a[partner, between] = (across.conj(), down.conj()) if hermitian else (across, down)
    if hermitian:
        a[partner, front] = a[partner, front].conj()
    a[front, front], a[partner, partner] = a[partner, partner], a[front, front]
    if front > k:
        a[front, k], a[partner, k] = a[partner, k], a[front, k]


def eliminate(a: Array, k: int, step: int, hermitian: bool) -> None:
    """Divides the columns below a block by it, and takes its part out of the rest."""
    end = k + step
    columns = a[end:, k:end].copy()
    multipliers = divided(columns.T, block(a, k, end, hermitian).T).T
    a[end:, end:] -= np.tril(multipliers @ turned(columns, hermitian))
    a[end:, k:end] = multipliers


def block(a: Array, k: int, end: int, hermitian: bool) -> Array:
    """A block of D in full."""
    low = np.tril(a[k:end, k:end])
    return np.asarray(low + turned(np.tril(low, -1), hermitian))


def divided(b: Array, d: Array) -> Array:
    """D^-1 @ B for a block of one or two rows; infinite where the block is singular."""
    if len(d) == 1:
        return np.asarray(b / d[0, 0])
    scale = size(d[1, 0])
    d, b = d / scale, b / scale
    swapped = np.stack([d[1, 1] * b[0] - d[0, 1] * b[1], d[0, 0] * b[1] - d[1, 0] * b[0]])
    return np.asarray(swapped / (d[0, 0] * d[1, 1] - d[0, 1] * d[1, 0]))


def turned(a: Array, hermitian: bool) -> Array:
    return a.conj().T if hermitian else a.T


def solve(ld: Array, pivots: Array, b: Array, hermitian: bool) -> None:
    """Solves with the factors, in the memory of the right sides."""
    starts, k = [], 0
    while k < len(ld):
        step = 1 if pivots[k] > 0 else 2
        starts.append((k, k + step, abs(int(pivots[k])) - 1))
        k += step
    for k, end, partner in starts:
        b[[end - 1, partner]] = b[[partner, end - 1]]
        b[end:] -= ld[end:, k:end] @ b[k:end]
        b[k:end] = divided(b[k:end], block(ld, k, end, hermitian))
    for k, end, partner in reversed(starts):
        b[k:end] -= turned(ld[end:, k:end], hermitian) @ b[end:]
        b[[end - 1, partner]] = b[[partner, end - 1]]


# -- functions -----------------------------------------------------------------------------------------------------


def _ldl_factor(A: Any, hermitian: Any) -> Any:
    x = matrix_argument("linalg.ldl_factor_ex", A)
    check_square("torch.linalg.ldl_factor_ex", x)
    check_floating("torch.linalg.ldl_factor_ex", x)
    check_kernel("ldl_factor_cpu", x)
    return apply_n(LdlFactor(bool(hermitian) and x.array.dtype.kind == "c"), (x,))


@public("linalg.ldl_factor_ex")
def ldl_factor_ex(
    input: Tensor, *, hermitian: bool = False, check_errors: bool = False, out: Sequence[Tensor] | None = None
) -> linalg_ldl_factor_ex:
    """`ldl_factor` without an exception: `info` says which block of D is zero, 0 for none."""
    found = _ldl_factor(input, hermitian)
    if check_errors:
        check_info("torch.linalg.ldl_factor_ex", found[2], ZERO_BLOCK)
    return delivered(linalg_ldl_factor_ex, found, out)


@public("linalg.ldl_factor")
def ldl_factor(
    input: Tensor, *, hermitian: bool = False, out: Sequence[Tensor] | None = None
) -> linalg_ldl_factor:
    """L and D of `A = L @ D @ L.T`, in one matrix, and the pivots; A is symmetric, its lower triangle is read.

    >>> import retrograd as rg
    >>> rg.linalg.ldl_factor(rg.tensor([[4.0, 2.0], [2.0, 5.0]])).LD
    tensor([[4.0000, 0.0000],
            [0.5000, 4.0000]])

    Args:
        hermitian: for complex matrices, whether A is equal to its adjoint rather than to its transpose.
    """
    found = _ldl_factor(input, hermitian)
    check_info("torch.linalg.ldl_factor", found[2], ZERO_BLOCK)
    return delivered(linalg_ldl_factor, found[:2], out)


@public("linalg.ldl_solve")
def ldl_solve(
    LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False, out: Tensor | None = None
) -> Tensor:
    """X of `A @ X = B`, where A is given by what `ldl_factor` returned."""
    function = "torch.linalg.ldl_solve"
    ld, p = (
        matrix_argument("linalg.ldl_solve", LD, "LD"),
        matrix_argument("linalg.ldl_solve", pivots, "pivots", 2),
    )
    b = matrix_argument("linalg.ldl_solve", B, "B", 3)
    check_square(function, ld)
    if b.array.ndim < 2:
        raise dimension_error(-2, b.array.ndim)
    _check_fits(function, ld, p, b)
    check_same_dtype(function, ld, b, "LD B")
    check_batches(ld.array.shape, b.array.shape)
    check_kernel("ldl_solve_cpu", ld)
    return deliver_exact(apply_n(LdlSolve(bool(hermitian) and ld.array.dtype.kind == "c"), (ld, p, b)), out)


def _check_fits(function: str, ld: Tensor, pivots: Tensor, b: Tensor) -> None:
    n, (rows, columns) = ld.array.shape[-1], b.array.shape[-2:]
    if rows != n:
        raise ShapeError(
            f"Incompatible matrix sizes for {function}: each A matrix is {n} by {n} but each b matrix is "
            f"{rows} by {columns}"
        )
    if pivots.array.shape != ld.array.shape[:-1]:
        raise ShapeError(
            f"{function}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{sizes(pivots.array.shape)} instead"
        )
    if pivots.array.dtype.kind not in "iu":
        raise DtypeError(f"{function}: Expected pivots to be integers. Got {pivots.dtype}.")
    if pivots.array.size and not (abs(pivots.array).min() > 0 and abs(pivots.array).max() <= n):
        raise RuntimeError(
            f"{function}: pivots must name rows, from 1 to {n}, or minus that. Did you properly pass the result of "
            "ldl_factor?"
        )
