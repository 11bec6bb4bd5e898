"""Levels, one for each `vmap` that runs, and the table of rules for batched arrays."""

from __future__ import annotations

import itertools
from typing import Any

from retrograd.backends.base import BACKENDS
from retrograd.lazy import load

_NUMBERS = itertools.count()


class Level:
    """One `vmap`: how many samples its batch has, and how random numbers are drawn inside."""

    def __init__(self, size: int, randomness: str = "error") -> None:
        self.number: int = next(_NUMBERS)  # newer levels are wrapped around older ones
        self.size = size
        self.randomness = randomness
        # See backend.py: that of arrays on this level alone, on the CPU; the others, by their levels and what is below
        # them; and those of arrays whose values are of another backend, by that one.
        self.backend: Any = None
        self.backends: dict[tuple[tuple[Level, ...], Any], Any] | None = None
        self.over: dict[Any, Any] | None = None
        self.shared: list[Any] = []  # weak references to tensors that `inplace.share` took in
        self.shapes: dict[tuple[int, ...], Any] = {}  # the BatchedShape of each shape
        if (
            not RULES.complete
        ):  # when it is first needed: that takes a while, and other threads wait for it here
            load("retrograd.backends.batch.rules")
            RULES.complete = True
        BACKENDS.mapped = True

    def close(self) -> None:
        """When the `vmap` is over: lets go of the backends, which know the level in turn."""
        self.backend = self.backends = self.over = None

    def stream(self, stream: Any, levels: tuple[Any, ...]) -> Any:
        """What draws random numbers inside of some levels, of which this is the newest."""
        from retrograd.backends.batch.random import BatchedStream

        return BatchedStream(stream, levels)

    def check_target(self, target: Any, levels: tuple[Any, ...]) -> None:
        """Refuses to draw into a tensor that samples share if each is to have numbers of its own."""
        from retrograd.backends.batch.random import check_target

        check_target(levels, target)


class Rules:
    """What each function of the array library does to batched arrays; the other files of this package fill it."""

    def __init__(self) -> None:
        self.functions: dict[Any, Any] = {}  # rule(function, level, args, kwargs)
        self.methods: dict[str, Any] = {}  # of ufuncs: rule(ufunc, level, inputs, kwargs)
        self.complete: bool = False
        self.getitem: Any = None
        self.setitem: Any = None


RULES = Rules()
