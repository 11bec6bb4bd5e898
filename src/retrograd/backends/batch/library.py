"""The array library of the values in which samples lie: NumPy's, or that of another device.

Rules call `lib.where(...)` and `on(function)(...)` on values with their batch in front. As long as NumPy's arrays are
all there are, both are NumPy's functions themselves.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from retrograd.backends.base import BACKENDS, backend_of
from retrograd.backends.batch.array import BatchedArray


def on(function: Any) -> Any:
    """A function of NumPy's as values may be given to it, whatever library they are of."""
    return Dispatched(function) if BACKENDS.foreign else function


class Dispatched:
    """A function of NumPy's that looks at its arguments, and is that of their library."""

    def __init__(self, function: Any, method: str = "") -> None:
        self.function = function
        self.method = method

    def __getattr__(self, name: str) -> Any:
        return Dispatched(self.function, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        backend = foreign_among((args, tuple(kwargs.values())))
        found = self.function if backend is None else _counterpart(backend, self.function)
        return (getattr(found, self.method) if self.method else found)(*args, **kwargs)


def _counterpart(backend: Any, function: Any) -> Any:
    """The function of the same name in another library; that of `numpy.linalg` and `numpy.fft` lies deeper."""
    module = getattr(function, "__module__", "") or ""
    for part in ("linalg", "fft"):
        if module.startswith(f"numpy.{part}"):
            return getattr(getattr(backend, part), function.__name__)
    return getattr(backend, function.__name__)


def foreign_among(values: Any) -> Any:
    """The backend of the first array among nested values that is neither NumPy's nor batched on an older level."""
    waiting = [values]
    while waiting:
        value = waiting.pop()
        if isinstance(value, (tuple, list)):
            waiting.extend(value)
        elif isinstance(value, BatchedArray):
            return None  # NumPy hands it to the rule for that level
        elif type(value) in BACKENDS.foreign:
            return backend_of(value)
    return None


def matmul_of(x: Any, y: Any) -> Any:
    """`x @ y` of values, by the kernels of their backend."""
    return backend_of(x).matmul(x, y)


class ArrayLibrary:
    """NumPy's names, each as `on` has it."""

    def __getattr__(self, name: str) -> Any:
        return on(getattr(np, name))


lib: Final[Any] = ArrayLibrary()
