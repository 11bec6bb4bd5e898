"""The classes of this package that derive from Python's own, and so stay interpreted."""

from __future__ import annotations

from typing import Any


class BatchedShape(tuple[int, ...]):
    """The shape of one sample; it knows the levels on which there are many. See Note [Levels in a graph]."""

    levels: tuple[Any, ...]


class Unbatchable(RuntimeError):
    """What an array library cannot do to all samples of a batch at once."""


class DynamicShape(Unbatchable):
    """The shape of a result would depend on the values, and differ between samples."""


class DataDependent(Unbatchable):
    """A Python number was asked for where each sample has another."""
