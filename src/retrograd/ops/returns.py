"""What functions with several results return: named tuples that are, and print, as those of `torch.return_types`.

This file stays interpreted in a compiled build: mypyc has no subclasses of named tuples.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

from retrograd.core.tensor import Tensor

C = TypeVar("C", bound=type)
RETURN_TYPES: dict[str, type] = {}


def named(name: str) -> Any:
    """Gives the tuples of a class the name that they have in `return_types`, and the looks of PyTorch's."""

    def rename(cls: C) -> C:
        loose: Any = cls
        loose.__name__ = loose.__qualname__ = name
        loose.__module__ = "retrograd.return_types"
        loose.n_fields = loose.n_sequence_fields = len(loose._fields)
        loose.n_unnamed_fields = 0
        loose.__repr__ = _text
        loose.__new__ = _of_sequence(cls)
        RETURN_TYPES[name] = cls
        return cls

    return rename


def _of_sequence(cls: Any) -> Any:
    """What makes such a tuple: of its parts, as ours are, or of one sequence of them, as PyTorch's."""
    of_parts = cls.__new__
    count = len(cls._fields)

    def new(made: Any, *parts: Any) -> Any:
        if len(parts) == 1 and count > 1:
            parts = tuple(parts[0])
            if len(parts) != count:
                name = f"torch.return_types.{made.__name__}"
                raise TypeError(f"{name}() takes a {count}-sequence ({len(parts)}-sequence given)")
        return of_parts(made, *parts)

    return new


def _text(self: Any) -> str:
    lines = [f"{field}={value!r}" for field, value in self._asdict().items()]
    return f"torch.return_types.{type(self).__name__}(\n" + ",\n".join(lines) + ")"


class Found(NamedTuple):
    """Elements, and their indices along the dimension."""

    values: Tensor
    indices: Tensor


@named("max")
class MaxResult(Found):
    """What `max(input, dim)` returns."""


@named("min")
class MinResult(Found):
    """What `min(input, dim)` returns."""


@named("sort")
class SortResult(Found):
    """What `sort` returns."""


@named("topk")
class TopkResult(Found):
    """What `topk` returns."""


@named("kthvalue")
class KthvalueResult(Found):
    """What `kthvalue` returns."""


@named("median")
class MedianResult(Found):
    """What `median(input, dim)` returns."""


@named("nanmedian")
class NanmedianResult(Found):
    """What `nanmedian(input, dim)` returns."""


@named("mode")
class ModeResult(Found):
    """What `mode` returns."""


@named("cummax")
class CummaxResult(Found):
    """What `cummax` returns."""


@named("cummin")
class CumminResult(Found):
    """What `cummin` returns."""


@named("aminmax")
class AminmaxResult(NamedTuple):
    """What `aminmax(input)` returns: the smallest and the largest."""

    min: Tensor
    max: Tensor


@named("frexp")
class FrexpResult(NamedTuple):
    """What `frexp(input)` returns: numbers in [0.5, 1) with the sign, and powers of two."""

    mantissa: Tensor
    exponent: Tensor


@named("histogram")
class HistogramResult(NamedTuple):
    """What `histogram` returns: the counts and the edges of the bins."""

    hist: Tensor
    bin_edges: Tensor


@named("histogramdd")
class HistogramddResult(NamedTuple):
    """What `histogramdd` returns: the counts and the edges of the bins in each dimension."""

    hist: Tensor
    bin_edges: tuple[Tensor, ...]


# -- of linear algebra -----------------------------------------------------------------------------------------------


@named("linalg_cholesky_ex")
class linalg_cholesky_ex(NamedTuple):  # noqa: N801
    """The Cholesky factor, and the order of the first minor that is not positive, else 0."""

    L: Tensor
    info: Tensor


@named("linalg_eig")
class linalg_eig(NamedTuple):  # noqa: N801
    """Eigenvalues and eigenvectors."""

    eigenvalues: Tensor
    eigenvectors: Tensor


@named("linalg_eigh")
class linalg_eigh(NamedTuple):  # noqa: N801
    """Eigenvalues and eigenvectors of Hermitian matrices."""

    eigenvalues: Tensor
    eigenvectors: Tensor


@named("linalg_inv_ex")
class linalg_inv_ex(NamedTuple):  # noqa: N801
    """The inverse, and where elimination met a zero pivot, else 0."""

    inverse: Tensor
    info: Tensor


@named("linalg_ldl_factor")
class linalg_ldl_factor(NamedTuple):  # noqa: N801
    """L and D in one matrix, and the pivots."""

    LD: Tensor
    pivots: Tensor


@named("linalg_ldl_factor_ex")
class linalg_ldl_factor_ex(NamedTuple):  # noqa: N801
    """L and D in one matrix, the pivots, and which block of D is zero, else 0."""

    LD: Tensor
    pivots: Tensor
    info: Tensor


@named("linalg_lstsq")
class linalg_lstsq(NamedTuple):  # noqa: N801
    """What makes `A @ X - B` smallest, and what is known of A."""

    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


@named("linalg_lu")
class linalg_lu(NamedTuple):  # noqa: N801
    """P, L and U of `A = P @ L @ U`."""

    P: Tensor
    L: Tensor
    U: Tensor


@named("linalg_lu_factor")
class linalg_lu_factor(NamedTuple):  # noqa: N801
    """L and U in one matrix, and the pivots."""

    LU: Tensor
    pivots: Tensor


@named("linalg_lu_factor_ex")
class linalg_lu_factor_ex(NamedTuple):  # noqa: N801
    """L and U in one matrix, the pivots, and where U has a zero on its diagonal, else 0."""

    LU: Tensor
    pivots: Tensor
    info: Tensor


@named("linalg_qr")
class linalg_qr(NamedTuple):  # noqa: N801
    """Q and R of `A = Q @ R`."""

    Q: Tensor
    R: Tensor


@named("linalg_slogdet")
class linalg_slogdet(NamedTuple):  # noqa: N801
    """The determinant's sign, and the logarithm of its size."""

    sign: Tensor
    logabsdet: Tensor


@named("linalg_solve_ex")
class linalg_solve_ex(NamedTuple):  # noqa: N801
    """The solution, and where elimination met a zero pivot, else 0."""

    result: Tensor
    info: Tensor


@named("linalg_svd")
class linalg_svd(NamedTuple):  # noqa: N801
    """U, S and Vh of `A = U @ diag(S) @ Vh`."""

    U: Tensor
    S: Tensor
    Vh: Tensor


@named("geqrf")
class geqrf_result(NamedTuple):  # noqa: N801
    """R with reflections below its diagonal, and their factors."""

    a: Tensor
    tau: Tensor


@named("lu_unpack")
class lu_unpack_result(NamedTuple):  # noqa: N801
    """P, L and U of `A = P @ L @ U`."""

    P: Tensor
    L: Tensor
    U: Tensor


@named("qr")
class qr_result(NamedTuple):  # noqa: N801
    """Q and R of `A = Q @ R`."""

    Q: Tensor
    R: Tensor


@named("slogdet")
class slogdet_result(NamedTuple):  # noqa: N801
    """The determinant's sign, and the logarithm of its size."""

    sign: Tensor
    logabsdet: Tensor


@named("svd")
class svd_result(NamedTuple):  # noqa: N801
    """U, S and V of `A = U @ diag(S) @ V.mH`."""

    U: Tensor
    S: Tensor
    V: Tensor


@named("triangular_solve")
class triangular_solve_result(NamedTuple):  # noqa: N801
    """The solution, and a copy of the triangle."""

    solution: Tensor
    cloned_coefficient: Tensor
