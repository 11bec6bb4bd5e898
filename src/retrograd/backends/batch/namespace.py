"""Which array library belongs to which batched arrays."""

from __future__ import annotations

from typing import Any

from retrograd.backends.batch.array import BatchedArray, Level, levels_of
from retrograd.backends.batch.library import BatchedNumpy


def numpy_for(levels: tuple[Level, ...]) -> Any:
    """The namespace of some levels, which the newest of them keeps."""
    newest = levels[0]
    if newest.namespaces is None:
        newest.namespaces = {}
    found = newest.namespaces.get(levels)
    if found is None:
        found = newest.namespaces[levels] = BatchedNumpy(levels)
    return found


def numpy_of(array: BatchedArray) -> Any:
    """The namespace for an array."""
    return numpy_for(levels_of(array))
