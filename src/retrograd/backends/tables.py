"""Rows of a table added up by index, on bare arrays: the pack's kernels, where they serve."""

from __future__ import annotations

from typing import Any

from retrograd.backends.native import PACK
from retrograd.values import Array


def sum_rows(xp: Any, x: Any, indices: Any, count: int, padding: int, by_frequency: bool) -> Array | None:
    """A table of `count` rows, each the sum of those rows of x that have its index; None where NumPy has to make it.

    Rows of the index `padding` are left out, and with `by_frequency` sums become means.
    """
    return PACK.sum_rows(x, indices, count, padding, by_frequency) if xp is PACK else None


def add_rows(xp: Any, out: Any, axis: int, indices: Any, x: Any) -> bool:
    """Adds what x has along an axis to what the indices name of `out`, in place; False where NumPy has to do it."""
    return xp is PACK and PACK.add_rows(out, axis, indices, x) is not None
