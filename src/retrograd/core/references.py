"""Whether a gradient that a user's code has made, or has seen, is known to anybody else."""

from __future__ import annotations

import sys
from typing import Any, Final


def references(box: list[Any], i: int) -> int:
    """How many references there are to `box[i]`."""
    return sys.getrefcount(box[i])


# What `references` says of an object that only the list knows: another number in each build and each Python.
ALONE: Final = references([object()], 0)


def unwrap(box: list[Any], i: int) -> bool:
    """Puts the array of the Tensor `box[i]` in its place; whether nobody else can see that array.

    Whoever calls this must hold neither of them in a variable.
    """
    alone = references(box, i) == ALONE
    box[i] = box[i].array
    return alone and references(box, i) == ALONE and box[i].base is None
