"""Rows of a table, read by index and added up by index, on bare arrays: the pack's kernels or NumPy's functions."""

from __future__ import annotations

from typing import Any

from retrograd.backends.native import PACK
from retrograd.values import Array


def rows(xp: Any, table: Array, indices: Array) -> Array:
    """The rows of a table at these indices."""
    found = PACK.rows(table, indices) if xp is PACK else None
    return xp.take(table, indices, axis=0) if found is None else found


def sum_rows(xp: Any, x: Any, indices: Any, count: int, padding: int, by_frequency: bool) -> Array | None:
    """A table of `count` rows, each the sum of those rows of x that have its index; None where NumPy has to make it.

    Rows of the index `padding` are left out, and with `by_frequency` sums become means.
    """
    return PACK.sum_rows(x, indices, count, padding, by_frequency) if xp is PACK else None


def add_rows(xp: Any, out: Any, indices: Any, x: Any) -> bool:
    """Adds the rows of x to those of `out` that the indices name, in place; False where NumPy has to do it."""
    return xp is PACK and PACK.add_rows(out, indices, x) is not None
