"""What functions with several results return: named tuples that print as PyTorch's do.

This file stays interpreted in a compiled build: mypyc has no subclasses of named tuples.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

from retrograd.core.tensor import Tensor


def shown_fields(name: str, fields: dict[str, Any]) -> str:
    """A result with named fields, printed as PyTorch does."""
    lines = [f"{field}={value!r}" for field, value in fields.items()]
    return f"torch.return_types.{name}(\n" + ",\n".join(lines) + ")"


class Found(NamedTuple):
    """Elements, and their indices along the dimension."""

    values: Tensor
    indices: Tensor

    def __repr__(self) -> str:
        return shown_fields(type(self).__name__.removesuffix("Result").lower(), self._asdict())


class MaxResult(Found):
    """What `max(input, dim)` returns."""


class MinResult(Found):
    """What `min(input, dim)` returns."""


class SortResult(Found):
    """What `sort` returns."""


class TopkResult(Found):
    """What `topk` returns."""


class KthvalueResult(Found):
    """What `kthvalue` returns."""


class MedianResult(Found):
    """What `median(input, dim)` returns."""


class NanmedianResult(Found):
    """What `nanmedian(input, dim)` returns."""


class ModeResult(Found):
    """What `mode` returns."""


class CummaxResult(Found):
    """What `cummax` returns."""


class CumminResult(Found):
    """What `cummin` returns."""


class AminmaxResult(NamedTuple):
    """What `aminmax(input)` returns: the smallest and the largest."""

    min: Tensor
    max: Tensor

    def __repr__(self) -> str:
        return shown_fields("aminmax", self._asdict())


# -- of linear algebra: their classes have the names of PyTorch's ---------------------------------------------------

C = TypeVar("C", bound=type)


def shown(cls: C) -> C:
    """Lets the tuples of a class print as PyTorch's do."""
    loose: Any = cls
    loose.__repr__ = _text
    return cls


def _text(self: Any) -> str:
    return shown_fields(type(self).__name__.removesuffix("_result"), self._asdict())


@shown
class linalg_cholesky_ex(NamedTuple):  # noqa: N801
    """The Cholesky factor, and the order of the first minor that is not positive, else 0."""

    L: Tensor
    info: Tensor


@shown
class linalg_eig(NamedTuple):  # noqa: N801
    """Eigenvalues and eigenvectors."""

    eigenvalues: Tensor
    eigenvectors: Tensor


@shown
class linalg_eigh(NamedTuple):  # noqa: N801
    """Eigenvalues and eigenvectors of Hermitian matrices."""

    eigenvalues: Tensor
    eigenvectors: Tensor


@shown
class linalg_inv_ex(NamedTuple):  # noqa: N801
    """The inverse, and where elimination met a zero pivot, else 0."""

    inverse: Tensor
    info: Tensor


@shown
class linalg_ldl_factor(NamedTuple):  # noqa: N801
    """L and D in one matrix, and the pivots."""

    LD: Tensor
    pivots: Tensor


@shown
class linalg_ldl_factor_ex(NamedTuple):  # noqa: N801
    """L and D in one matrix, the pivots, and which block of D is zero, else 0."""

    LD: Tensor
    pivots: Tensor
    info: Tensor


@shown
class linalg_lstsq(NamedTuple):  # noqa: N801
    """What makes `A @ X - B` smallest, and what is known of A."""

    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


@shown
class linalg_lu(NamedTuple):  # noqa: N801
    """P, L and U of `A = P @ L @ U`."""

    P: Tensor
    L: Tensor
    U: Tensor


@shown
class linalg_lu_factor(NamedTuple):  # noqa: N801
    """L and U in one matrix, and the pivots."""

    LU: Tensor
    pivots: Tensor


@shown
class linalg_lu_factor_ex(NamedTuple):  # noqa: N801
    """L and U in one matrix, the pivots, and where U has a zero on its diagonal, else 0."""

    LU: Tensor
    pivots: Tensor
    info: Tensor


@shown
class linalg_qr(NamedTuple):  # noqa: N801
    """Q and R of `A = Q @ R`."""

    Q: Tensor
    R: Tensor


@shown
class linalg_slogdet(NamedTuple):  # noqa: N801
    """The determinant's sign, and the logarithm of its size."""

    sign: Tensor
    logabsdet: Tensor


@shown
class linalg_solve_ex(NamedTuple):  # noqa: N801
    """The solution, and where elimination met a zero pivot, else 0."""

    result: Tensor
    info: Tensor


@shown
class linalg_svd(NamedTuple):  # noqa: N801
    """U, S and Vh of `A = U @ diag(S) @ Vh`."""

    U: Tensor
    S: Tensor
    Vh: Tensor


@shown
class geqrf_result(NamedTuple):  # noqa: N801
    """R with reflections below its diagonal, and their factors."""

    a: Tensor
    tau: Tensor


@shown
class lu_unpack_result(NamedTuple):  # noqa: N801
    """P, L and U of `A = P @ L @ U`."""

    P: Tensor
    L: Tensor
    U: Tensor


@shown
class qr_result(NamedTuple):  # noqa: N801
    """Q and R of `A = Q @ R`."""

    Q: Tensor
    R: Tensor


@shown
class slogdet_result(NamedTuple):  # noqa: N801
    """The determinant's sign, and the logarithm of its size."""

    sign: Tensor
    logabsdet: Tensor


@shown
class svd_result(NamedTuple):  # noqa: N801
    """U, S and V of `A = U @ diag(S) @ V.mH`."""

    U: Tensor
    S: Tensor
    V: Tensor


@shown
class triangular_solve_result(NamedTuple):  # noqa: N801
    """The solution, and a copy of the triangle."""

    solution: Tensor
    cloned_coefficient: Tensor
