"""A second device without a second machine: NumPy arrays that say they live on `fake:N`.

Its nodes run on a worker thread of their own, so edges between devices can be tried on any computer. Whatever NumPy
computes from its arrays stays there; the strict device (`strict.py`) is the one that refuses NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.backends import NumpyBackend, device, register
from retrograd.backends.base import BACKENDS, backend_of


class FakeArray(np.ndarray[Any, Any]):
    """An array in a fake device's memory; whatever NumPy computes from it stays there."""

    where: Any = None

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


class FakeBackend(NumpyBackend):
    """NumPy, on a device of its own."""

    device_type = "fake"
    is_plain = False

    def device_of(self, array: Any) -> device:
        return array.where

    def bring(self, array: Any, where: device) -> Any:
        plain = np.array(backend_of(array).numpy(array), copy=True, subok=False)
        return _placed(plain, device("fake", where.index or 0))

    def numpy(self, array: Any) -> Any:
        return np.array(array, copy=True, subok=False)


def install() -> None:
    """Lets `tensor.to("fake:0")` work."""
    if "fake" not in BACKENDS.by_device:
        register(FakeBackend(), FakeArray)
