"""Singular values of matrices of low rank, by random projection."""

from __future__ import annotations

from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.ops.common import require_tensor
from retrograd.ops.linalg.eigenvalues import linalg_svd_of
from retrograd.ops.linalg.factorizations import linalg_qr_of
from retrograd.ops.random.sampling import randn
from retrograd.ops.register import public
from retrograd.ops.shape.reshape import integer


@public("svd_lowrank")
def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V of `A - M`, approximately `U @ diag(S) @ V.mH`, with `q` singular values.

    Args:
        q: a little more than the rank of A.
        niter: how many times the projection is refined.
    """
    x: Any = require_tensor("svd_lowrank", "A", 1, A)
    x = x if M is None else x - M
    m, n = x.array.shape[-2:]
    q = 6 if q is None else integer(q)
    if m < n:
        u, s, v = _projected(x.mH, q, niter)
        return v, s, u
    return _projected(x, q, niter)


def _projected(x: Any, q: int, niter: Any) -> tuple[Any, Any, Any]:
    """The singular values of tall matrices, as those of their projection to the range of a random sample."""
    sample = randn(x.array.shape[-1], q, dtype=x.array.dtype).to(x.device)
    basis = linalg_qr_of(x @ sample).Q
    for _ in range(2 if niter is None else niter):
        basis = linalg_qr_of(x.mH @ basis).Q
        basis = linalg_qr_of(x @ basis).Q
    u, s, vh = linalg_svd_of(basis.mH @ x, False)
    return basis @ u, s, vh.mH


@public("pca_lowrank")
def pca_lowrank(
    A: Tensor, q: int | None = None, center: bool = True, niter: int = 2
) -> tuple[Tensor, Tensor, Tensor]:
    """The principal components of the rows of A: `svd_lowrank` of A less the mean of its rows.

    Args:
        q: how many; by default 6, or all there are.
        center: False if the mean is known to be 0.
    """
    x: Any = require_tensor("pca_lowrank", "A", 1, A)
    m, n = x.array.shape[-2:]
    wanted = min(6, m, n) if q is None else q
    if not 0 <= wanted <= min(m, n):
        raise ValueError(
            f"q(={wanted}) must be non-negative integer and not greater than min(m, n)={min(m, n)}"
        )
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(x - x.mean(-2, True) if center else x, wanted, niter)
