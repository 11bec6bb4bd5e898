"""Types of arguments that functions of this room share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

Ints: TypeAlias = int | Sequence[int]  # one number for all dimensions, or one for each
Sizes: TypeAlias = int | Sequence[int | None]  # None keeps the size of a dimension
