"""A few singular values, by random projection, and a few eigenvalues of symmetric matrices."""

from __future__ import annotations

from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.ops.common import require_tensor
from retrograd.ops.linalg.eigenvalues import eigh, linalg_svd_of
from retrograd.ops.linalg.factorizations import linalg_cholesky, linalg_qr_of
from retrograd.ops.linalg.triangular import solve_triangular
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


@public("lobpcg")
def lobpcg(
    A: Tensor, k: int | None = None, B: Tensor | None = None, X: Tensor | None = None, n: int | None = None,
    iK: Tensor | None = None, niter: int | None = None, tol: float | None = None, largest: bool | None = None,
    method: str | None = None, tracker: Any = None, ortho_iparams: dict[str, int] | None = None,
    ortho_fparams: dict[str, float] | None = None, ortho_bparams: dict[str, bool] | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The `k` largest eigenvalues of symmetric matrices A, or of `A x = e B x`, and their eigenvectors.

    They are computed by `linalg.eigh`, exactly, so that what steers PyTorch's iteration is not needed.

    Args:
        k: how many; by default as many as X has columns, or 1.
        B: symmetric and positive definite.
        X: PyTorch's first guess at the eigenvectors; only its number of columns counts.
        largest: False for the smallest ones.

    >>> import retrograd as rg
    >>> values, vectors = rg.lobpcg(rg.diag(rg.tensor([1.0, 5.0, 3.0, 2.0])))
    >>> values
    tensor([5.])
    """
    a: Any = require_tensor("lobpcg", "A", 1, A)
    m = a.array.shape[-1] if a.array.ndim else 0
    if a.array.ndim < 2 or a.array.shape[-2] != m:
        raise AssertionError(f"A must be square, got shape {a.shape}")
    if k is None:
        k = 1 if X is None else int(X.array.shape[-1])
    wanted = k if n is None else n
    if m < 3 * wanted:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={m}) is smaller than 3 x the number of "
            f"requested eigenpairs (={wanted}). Use linalg.eigh."
        )
    factor: Any = None
    if B is not None:
        factor = linalg_cholesky(require_tensor("lobpcg", "B", 3, B))
        half = solve_triangular(factor, a, upper=False)
        a = solve_triangular(factor, half.mH, upper=False)
    values, vectors = eigh(a)
    chosen = slice(0, k) if largest is False else slice(m - k, m)
    values, vectors = values[..., chosen], vectors[..., chosen]
    if largest is not False:
        values, vectors = values.flip(-1), vectors.flip(-1)
    return values, vectors if factor is None else solve_triangular(factor.mH, vectors, upper=True)
