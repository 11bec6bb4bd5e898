"""What functions with several results return: named tuples that print as PyTorch's do.

This file stays interpreted in a compiled build: mypyc has no subclasses of named tuples.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any, NamedTuple


def shown_fields(name: str, fields: dict[str, Any]) -> str:
    """A result with named fields, printed as PyTorch does."""
    lines = [f"{field}={value!r}" for field, value in fields.items()]
    return f"torch.return_types.{name}(\n" + ",\n".join(lines) + ")"


class Found(NamedTuple):
    """Elements, and their indices along the dimension."""

    values: Any
    indices: Any

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

    min: Any
    max: Any

    def __repr__(self) -> str:
        return shown_fields("aminmax", self._asdict())


# -- of linear algebra ---------------------------------------------------------------------------------------------


def _shown(self: Any) -> str:
    return shown_fields(type(self).__name__.removesuffix("_result"), self._asdict())


def _named(name: str, fields: str) -> Any:
    """The class of a function's several results, which prints as PyTorch's does."""
    base: Any = namedtuple(name, fields)  # type: ignore[misc]
    return type(name, (base,), {"__repr__": _shown, "__module__": __name__, "__slots__": ()})


linalg_cholesky_ex = _named("linalg_cholesky_ex", "L info")
linalg_eig = _named("linalg_eig", "eigenvalues eigenvectors")
linalg_eigh = _named("linalg_eigh", "eigenvalues eigenvectors")
linalg_inv_ex = _named("linalg_inv_ex", "inverse info")
linalg_ldl_factor = _named("linalg_ldl_factor", "LD pivots")
linalg_ldl_factor_ex = _named("linalg_ldl_factor_ex", "LD pivots info")
linalg_lstsq = _named("linalg_lstsq", "solution residuals rank singular_values")
linalg_lu = _named("linalg_lu", "P L U")
linalg_lu_factor = _named("linalg_lu_factor", "LU pivots")
linalg_lu_factor_ex = _named("linalg_lu_factor_ex", "LU pivots info")
linalg_qr = _named("linalg_qr", "Q R")
linalg_slogdet = _named("linalg_slogdet", "sign logabsdet")
linalg_solve_ex = _named("linalg_solve_ex", "result info")
linalg_svd = _named("linalg_svd", "U S Vh")
geqrf_result = _named("geqrf_result", "a tau")
lu_unpack_result = _named("lu_unpack_result", "P L U")
qr_result = _named("qr_result", "Q R")
slogdet_result = _named("slogdet_result", "sign logabsdet")
svd_result = _named("svd_result", "U S V")
triangular_solve_result = _named("triangular_solve_result", "solution cloned_coefficient")
