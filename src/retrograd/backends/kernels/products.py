"""How matrices lie in memory whose product is taken: as one number of these, and above them the length they share."""

from __future__ import annotations

from typing import Final

from retrograd.values import Array

FITS: Final = 1
COLUMNS_0: Final = 2  # the first lies column by column
COLUMNS_1: Final = 4
LENGTH_SHIFT: Final = 3


def layout_of(x: Array, y: Array) -> int:
    """How two matrices lie whose product there is."""
    columns = (COLUMNS_0 if _in_columns(x) else 0) | (COLUMNS_1 if _in_columns(y) else 0)
    return int(x.shape[1]) << LENGTH_SHIFT | columns | FITS


def _in_columns(x: Array) -> bool:
    return bool(x.flags.f_contiguous and not x.flags.c_contiguous)
