"""A second device without a second machine: NumPy arrays that say they live on `fake:N`.

It is for tests: its nodes run on a worker thread of their own, so edges between devices can be tried on any computer.
`install()` makes the device known; nothing else imports this file.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.backends.base import BACKENDS, Backend, device
from retrograd.values import Array


class FakeArray(np.ndarray[Any, Any]):
    """An array in a fake device's memory; whatever NumPy computes from it stays there."""

    where: device = device("fake", 0)

    def __array_finalize__(self, obj: Any) -> None:
        if isinstance(obj, FakeArray):
            self.where = obj.where

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return _placed(np.asarray(array), self.where)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        found = super().__array_function__(func, types, args, kwargs)
        if isinstance(found, (list, tuple)):
            return type(found)([_placed(f, self.where) for f in found])
        return _placed(found, self.where)


def _placed(value: Any, where: device) -> Any:
    """An array that NumPy made, in the memory of a fake device."""
    if type(value) is not np.ndarray:
        return value
    made = value.view(FakeArray)
    made.where = where
    return made


class FakeBackend(Backend):
    """Moves arrays onto a fake device."""

    def take(self, array: Array, where: device) -> Array:
        return _placed(np.array(array, copy=True, subok=False), device("fake", where.index or 0))


def install() -> None:
    """Lets `tensor.to("fake:0")` work."""
    BACKENDS["fake"] = FakeBackend()
