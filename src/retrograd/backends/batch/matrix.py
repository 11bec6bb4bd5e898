"""Rules for products of matrices and for linear algebra."""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.backends.batch.array import (
    RULES,
    Level,
    is_on,
    lead,
    spread_all,
    widened,
    wrapped,
)
from retrograd.backends.batch.library import lib, matmul_of, on


def matmul(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    """`matmul(x, y)`: one product of large matrices where only one of both has a batch."""
    x, y = args
    a, b = lead(x, level), lead(y, level)
    m: int = a.ndim - 1
    n: int = b.ndim - 1
    if m == 0 or n == 0:
        raise ValueError("matmul: Input operand does not have enough dimensions")
    if b.shape[0] == 1 and n <= 2:
        return wrapped(_times_shared(a, b[0]), level)
    if a.shape[0] == 1 and m <= 2 and n <= 2:
        return wrapped(_shared_times(a[0], b, n), level)
    if m == 1 and n == 1:
        return wrapped(
            (a * b).sum(axis=1) if a.dtype == b.dtype else matmul_of(a[:, None, :], b[:, :, None])[:, 0, 0],
            level,
        )
    ndim = max(m, n, 2)
    left = widened(a if m > 1 else a[:, None, :], ndim)
    right = widened(b if n > 1 else b[:, :, None], ndim)
    if left.shape[-1] == 1:  # an outer product: matmul is slow at those
        found = left * right
    else:
        found = matmul_of(left, right)
    if m == 1:
        found = found[..., 0, :]
    if n == 1:
        found = found[..., 0]
    return wrapped(found, level)


def _times_shared(a: Any, b: Any) -> Any:
    """Samples times one matrix or vector: all their rows at once."""
    if a.ndim <= 2:
        return matmul_of(a, b)
    outer = a.shape[:-1]
    count = 1
    for n in outer:
        count *= n
    return matmul_of(a.reshape((count, a.shape[-1])), b).reshape((*outer, *b.shape[1:]))


def _shared_times(a: Any, b: Any, ndim: int) -> Any:
    """One matrix or vector times samples, which are vectors or matrices."""
    if ndim == 1:
        return matmul_of(b, a.swapaxes(0, 1) if a.ndim == 2 else a)
    return matmul_of(a, b)


def dot(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    """`dot(x, y)`."""
    x, y = args[:2]
    if x.ndim == 0 or y.ndim == 0:
        return lib.multiply(x, y)
    if y.ndim <= 2:
        return lib.matmul(x, y)
    return lib.tensordot(x, y, axes=(x.ndim - 1, y.ndim - 2))


def vdot(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    x, y = args
    return (lib.conjugate(x).reshape(-1) * y.reshape(-1)).sum()


def inner(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    x, y = args
    if x.ndim == 0 or y.ndim == 0:
        return lib.multiply(x, y)
    return lib.tensordot(x, y, axes=(x.ndim - 1, y.ndim - 1))


def outer(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    x, y = args[:2]
    return x.reshape(-1)[:, None] * y.reshape(-1)


def tensordot(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    """`tensordot(x, y, axes)`: as a product of matrices."""
    x, y, *rest = args
    axes = rest[0] if rest else kwargs.get("axes", 2)
    if isinstance(axes, int):
        axes = (range(x.ndim - axes, x.ndim), range(axes))
    a, b = (
        [n % v.ndim for n in ((c,) if isinstance(c, int) else c)] for c, v in zip(axes, (x, y), strict=True)
    )
    kept_x = [i for i in range(x.ndim) if i not in a]
    kept_y = [i for i in range(y.ndim) if i not in b]
    shape = [*[x.shape[i] for i in kept_x], *[y.shape[i] for i in kept_y]]
    size = int(np.prod([x.shape[i] for i in a]))
    left = lib.transpose(x, (*kept_x, *a)).reshape((-1, size))
    right = lib.transpose(y, (*b, *kept_y)).reshape((size, -1))
    return lib.matmul(left, right).reshape(shape)


def einsum(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    """`einsum("ij,jk", x, y)`: one more letter, for the batch, in the terms that have one."""
    terms, *operands = args
    left, arrow, right = terms.replace(" ", "").partition("->")
    if not arrow:
        letters = sorted(set(left) - {",", "."})
        right = ("..." if "..." in left else "") + "".join([c for c in letters if left.count(c) == 1])
    letter = next(c for c in "ZYXWVUTSRQPONMLKJIHGFEDCBAzyxwvutsrqponmlkjihgfedcba" if c not in left)
    parts, values = [], []
    for term, x in zip(left.split(","), operands, strict=True):
        shared = not is_on(x, level) or x.value.shape[0] == 1
        parts.append(term if shared else letter + term)
        values.append(x if not is_on(x, level) else x.value[0] if shared else x.value)
    shared = all(letter not in p for p in parts)
    found = on(function)(",".join(parts) + "->" + ("" if shared else letter) + right, *values, **kwargs)
    return wrapped(found[None] if shared else found, level)


def cross(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    """`cross(x, y, axis=…)`."""
    x, y = args[:2]
    axis = kwargs.pop("axis", -1)
    axis = axis if axis < 0 else axis - max(x.ndim, y.ndim)
    ndim = max(x.ndim, y.ndim)
    return wrapped(
        on(function)(widened(lead(x, level), ndim), widened(lead(y, level), ndim), axis=axis, **kwargs), level
    )


# -- linear algebra: of the last two dimensions, so that one more in front changes nothing ---------------------------


def of_matrices(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    """A function of the last two dimensions of one array."""
    return wrapped(on(function)(lead(args[0], level), *args[1:], **kwargs), level)


def solve(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    """`solve(a, b)`, where b is a vector only if it has one dimension."""
    a, b = args
    vector = b.ndim == 1
    value = lead(b, level)
    left, right = spread_all([lead(a, level), value[..., None] if vector else value])
    ndim = max(left.ndim, right.ndim) - 1
    found = on(function)(widened(left, ndim), widened(right, ndim))
    return wrapped(found[..., 0] if vector else found, level)


_OF_MATRICES: tuple[Any, ...] = (
    np.linalg.inv, np.linalg.det, np.linalg.slogdet, np.linalg.cholesky, np.linalg.qr, np.linalg.svd, np.linalg.eigh,
    np.linalg.eigvalsh, np.linalg.eig, np.linalg.eigvals, np.linalg.pinv, np.linalg.matrix_power,
    np.linalg.matrix_rank, np.linalg.svdvals,
)  # fmt: skip
RULES.functions.update(dict.fromkeys(_OF_MATRICES, of_matrices))
RULES.functions.update(
    {
        np.matmul: matmul, np.dot: dot, np.vdot: vdot, np.inner: inner, np.outer: outer, np.tensordot: tensordot,
        np.einsum: einsum, np.cross: cross, np.linalg.solve: solve,
    }
)  # fmt: skip
