"""What functions with several results return: named tuples that print as PyTorch's do.

This file stays interpreted in a compiled build: mypyc has no subclasses of named tuples.
"""

from __future__ import annotations

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
