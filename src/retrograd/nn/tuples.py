"""Sizes that are given once for all dimensions, or one by one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def repeated(value: Any, count: int) -> tuple[Any, ...]:
    """A tuple as it is; a number as often as there are dimensions.

    >>> repeated(3, 2), repeated([1, 2], 2)
    ((3, 3), (1, 2))
    """
    return tuple(value) if isinstance(value, Iterable) else (value,) * count


def padding_of(pairs: Iterable[tuple[int, int]]) -> tuple[int, ...]:
    """What `pad` takes: the pairs from the last dimension to the first, in a row."""
    return tuple(side for pair in reversed(list(pairs)) for side in pair)
