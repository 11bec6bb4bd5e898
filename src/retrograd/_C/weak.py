"""References to tensors that do not keep them alive."""

from __future__ import annotations

import weakref
from typing import Any

from retrograd.core.tensor import Tensor


class _WeakTensorRef:
    """Knows whether a tensor is still there."""

    def __init__(self, tensor: Tensor) -> None:
        self._reference = weakref.ref(tensor)

    def expired(self) -> bool:
        """Whether it is gone."""
        return self._reference() is None


_CACHED: dict[int, Any] = {}


def _set_cached_tensors_enabled(enabled: bool) -> None:
    """Whether it is asked who else holds a gradient's memory: that is always known here."""


def _add_cached_tensor(tensor: Tensor) -> None:
    """Notes that something else, such as a CUDA graph, holds a tensor too."""
    key = id(tensor)
    _CACHED[key] = weakref.ref(tensor, lambda _: _CACHED.pop(key, None))


def _remove_cached_tensor(tensor: Tensor) -> None:
    """Forgets it."""
    _CACHED.pop(id(tensor), None)


def _is_cached_tensor(tensor: Tensor) -> bool:
    """Whether it was noted."""
    return id(tensor) in _CACHED
