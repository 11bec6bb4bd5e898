"""What NumPy's linalg lacks, on bare arrays: LU with pivots, triangular systems, Cholesky with a verdict, exponentials.

Everything works on batches: the last two dimensions are the matrices.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from retrograd.backends.base import Backend
from retrograd.values import Array


def adjoint(a: Array) -> Array:
    """Each matrix transposed and conjugated."""
    turned = a.swapaxes(-2, -1)
    return turned.conj() if a.dtype.kind == "c" else turned


def as_batch(a: Array) -> Array:
    """The same matrices in one batch dimension."""
    return a.reshape((math.prod(a.shape[:-2]), *a.shape[-2:]))


# -- LU ------------------------------------------------------------------------------------------------------------


def lu_factor(xp: Backend, a: Array) -> tuple[Array, Array, Array]:
    """L and U in one matrix, the pivots from 1, and where the first zero on U's diagonal is (0: nowhere)."""
    found: tuple[Array, Array, Array] = xp.by_kernel("lu", _factored, a)
    return found


def _factored(xp: Backend, a: Array) -> tuple[Array, Array, Array]:
    """The same, column by column."""
    m, n = a.shape[-2:]
    steps = min(m, n)
    lu = as_batch(xp.array(a, copy=True, order="C"))
    batch = xp.arange(len(lu))
    pivots = xp.zeros((len(lu), steps), np.int32)
    info = xp.zeros(len(lu), np.int32)
    for j in range(steps):
        found = xp.argmax(_size(lu[:, j:, j]), axis=1) + j if len(lu) else xp.zeros(0, np.int64)
        pivots[:, j] = found + 1
        row = lu[batch, found]
        lu[batch, found] = lu[:, j]
        lu[:, j] = row
        pivot = lu[:, j, j]
        info = xp.where((pivot == 0) & (info == 0), j + 1, info)
        lu[:, j + 1 :, j] /= xp.where(pivot == 0, 1, pivot)[:, None]  # a column of zeros stays one
        lu[:, j + 1 :, j + 1 :] -= lu[:, j + 1 :, j, None] * lu[:, j, None, j + 1 :]
    shape = a.shape[:-2]
    return lu.reshape(a.shape), pivots.reshape((*shape, steps)), info.astype(np.int32).reshape(shape)


def _size(a: Array) -> Array:
    """LAPACK's measure of a pivot: for a complex number, the sum of its parts."""
    return abs(a.real) + abs(a.imag) if a.dtype.kind == "c" else abs(a)


def permutation(xp: Backend, pivots: Array, rows: int, dtype: Any) -> Array:
    """The matrix P of A = P @ L @ U."""
    found: Array = xp.by_kernel("permutation", _swapped, pivots, rows, dtype)
    return found


def _swapped(xp: Backend, pivots: Array, rows: int, dtype: Any) -> Array:
    """The same, swap by swap."""
    shape = pivots.shape[:-1]
    swaps = pivots.reshape((math.prod(shape), pivots.shape[-1])) - 1
    batch = xp.arange(len(swaps))
    order = xp.zeros((len(swaps), rows), np.int64) + xp.arange(rows)
    for j in range(swaps.shape[-1]):
        here = order[:, j].copy()
        order[:, j] = order[batch, swaps[:, j]]
        order[batch, swaps[:, j]] = here
    matrix = xp.zeros((len(swaps), rows, rows), dtype)
    matrix[batch[:, None], order, xp.arange(rows)] = 1
    return matrix.reshape((*shape, rows, rows))


# -- triangular systems --------------------------------------------------------------------------------------------


def solve_triangle(xp: Backend, a: Array, b: Array, upper: bool, unit: bool) -> Array:
    """X of A @ X = B, where only one triangle of A is looked at; with `unit` not even its diagonal."""
    found: Array = xp.by_kernel("solve_triangle", _solved, a, b, upper, unit)
    return found


def _solved(xp: Backend, a: Array, b: Array, upper: bool, unit: bool) -> Array:
    """The same, by products with halves of the triangle."""
    shape = xp.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    b = xp.broadcast_to(b, (*shape, *b.shape[-2:]))
    if upper:
        turned = _substituted(xp, a[..., ::-1, ::-1], b[..., ::-1, :], unit)
        return xp.array(turned[..., ::-1, :], copy=True, order="C")  # steps of a tensor are not negative
    return _substituted(xp, a, b, unit)


def _substituted(xp: Backend, a: Array, b: Array, unit: bool) -> Array:
    """Forward substitution by halves, so that most of the work is in matrix products."""
    n = a.shape[-1]
    if n <= 1:
        return xp.array(b, copy=True) if unit or n == 0 else b / a
    half = n // 2
    top = _substituted(xp, a[..., :half, :half], b[..., :half, :], unit)
    rest = b[..., half:, :] - a[..., half:, :half] @ top
    return xp.concatenate([top, _substituted(xp, a[..., half:, half:], rest, unit)], axis=-2)


# -- Cholesky, systems, inverses: NumPy's where the matrices are good ----------------------------------------------


def cholesky(xp: Backend, a: Array) -> tuple[Array, Array]:
    """L of A = L @ L^H, read from the lower triangle, and the order of the first minor that is not positive."""
    try:
        low = xp.linalg.cholesky(a)
    except np.linalg.LinAlgError:
        return _cholesky_until_failure(xp, a)
    if xp.isnan(low.diagonal(0, -2, -1)).any():  # which passes for positive
        return _cholesky_until_failure(xp, a)
    return low, xp.zeros(a.shape[:-2], np.int32)


def _cholesky_until_failure(xp: Backend, a: Array) -> tuple[Array, Array]:
    """The same column by column; a matrix that fails stays as far as it came, as LAPACK leaves it."""
    low = as_batch(xp.tril(a))
    info = xp.zeros(len(low), np.int32)
    for j in range(a.shape[-1]):
        good = info == 0
        row = low[:, j, :j]
        pivot = low[:, j, j].real - (row * row.conj()).real.sum(axis=-1)
        info = xp.where(good & ~(pivot > 0), j + 1, info)
        fine = info == 0
        root = xp.sqrt(xp.where(fine, pivot, 1))
        column = (low[:, j + 1 :, j] - (low[:, j + 1 :, :j] @ row.conj()[:, :, None])[..., 0]) / root[:, None]
        low[:, j, j] = xp.where(fine, root, xp.where(good, pivot, low[:, j, j]))
        low[:, j + 1 :, j] = xp.where(fine[:, None], column, low[:, j + 1 :, j])
    return low.reshape(a.shape), info.astype(np.int32).reshape(a.shape[:-2])


def solve(xp: Backend, a: Array, b: Array) -> tuple[Array, Array]:
    """X of A @ X = B for matrices B, and where elimination met a zero pivot (0: nowhere)."""
    try:
        return xp.linalg.solve(a, b), xp.zeros(a.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        lu, pivots, info = lu_factor(xp, a)
        return lu_solve(xp, lu, pivots, b), info


def lu_solve(xp: Backend, lu: Array, pivots: Array, b: Array) -> Array:
    """X of P @ L @ U @ X = B."""
    swapped = adjoint(permutation(xp, pivots, lu.shape[-1], lu.dtype)) @ b
    return solve_triangle(xp, lu, solve_triangle(xp, lu, swapped, False, True), True, False)


def inverse(xp: Backend, a: Array) -> tuple[Array, Array]:
    """The inverse, and where elimination met a zero pivot (0: nowhere)."""
    try:
        return xp.linalg.inv(a), xp.zeros(a.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        return solve(xp, a, xp.broadcast_to(xp.eye(a.shape[-1], dtype=a.dtype), a.shape))


# -- reflections ---------------------------------------------------------------------------------------------------


def geqrf(xp: Backend, a: Array) -> tuple[Array, Array]:
    """R with the reflections that lead to it below its diagonal, and the reflections' factors."""
    k = min(a.shape[-2:])
    if a.size == 0:
        return xp.array(a, copy=True), xp.zeros((*a.shape[:-2], k), a.dtype)
    packed, factors = xp.linalg.qr(a, mode="raw")
    return packed.swapaxes(-2, -1).copy(), factors


# -- the exponential -----------------------------------------------------------------------------------------------

# Numerator of the Padé approximant of order 13, and the norm up to which it is exact in double precision.
_PADE = tuple(
    float(math.factorial(26 - k) * math.factorial(13) // math.factorial(13 - k) // math.factorial(k))
    / float(math.factorial(13))
    for k in range(14)
)
_RADIUS = 5.371920351148152


def matrix_exp(xp: Backend, a: Array) -> Array:
    """The exponential of each matrix, by scaling, a Padé approximant, and squaring."""
    n = a.shape[-1]
    if a.size == 0:
        return xp.array(a, copy=True)
    norm = abs(a).sum(axis=-2).max(axis=-1)
    known = xp.where(xp.isfinite(norm) & (norm > _RADIUS), norm, _RADIUS)
    halvings = xp.ceil(xp.log2(known / _RADIUS)).astype(np.int64)
    scaled = a / (xp.ldexp(xp.ones_like(norm), halvings))[..., None, None]
    even, odd = _even_and_odd(xp, scaled, xp.eye(n, dtype=a.dtype))
    out = solve(xp, even - odd, even + odd)[0]
    for i in range(int(xp.whole(halvings).max())):
        out = xp.where((halvings > i)[..., None, None], out @ out, out)
    return out


def _even_and_odd(xp: Backend, a: Array, one: Array) -> tuple[Array, Array]:
    """The even and the odd powers of the approximant's numerator."""
    c = _PADE
    a2 = a @ a
    a4 = a2 @ a2
    a6 = a4 @ a2
    high = a6 @ (a6 * c[12] + a4 * c[10] + a2 * c[8])
    even = high + a6 * c[6] + a4 * c[4] + a2 * c[2] + one * c[0]
    high = a6 @ (a6 * c[13] + a4 * c[11] + a2 * c[9])
    odd = a @ (high + a6 * c[7] + a4 * c[5] + a2 * c[3] + one * c[1])
    return even, odd
