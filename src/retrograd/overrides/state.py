"""What is switched off in this thread, and its modes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

CLASSES, ALL = 1, 2  # how much is off


class OverrideState(threading.local):
    """One thread's state."""

    def __init__(self) -> None:
        self.off = 0
        self.modes: list[Any] = []  # innermost last
        # Whether the next function of a user that would ask does not: see redispatch_function.
        self.skips = False


STATE = OverrideState()


class DisableTorchFunctionSubclass:
    """A context in which no class is asked what a function does: its own code runs, on the values."""

    level = CLASSES

    def __enter__(self) -> None:
        self._before = STATE.off
        STATE.off = max(STATE.off, self.level)

    def __exit__(self, kind: object = None, error: object = None, where: object = None) -> None:
        STATE.off = self._before


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """The same, without modes too."""

    level = ALL


@contextmanager
def enable_reentrant_dispatch() -> Iterator[None]:
    """A context in which classes and modes are asked again, inside of one of the above."""
    before, STATE.off = STATE.off, 0
    try:
        yield
    finally:
        STATE.off = before


def disabled(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The `__torch_function__` of a class that is as good as Tensor: `torch._C._disabled_torch_function_impl`."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))
