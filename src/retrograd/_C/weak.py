"""References to tensors that do not keep them alive."""

from __future__ import annotations

import weakref

from retrograd.core.tensor import Tensor


class _WeakTensorRef:
    """Knows whether a tensor is still there."""

    def __init__(self, tensor: Tensor) -> None:
        self._reference = weakref.ref(tensor)

    def expired(self) -> bool:
        """Whether it is gone."""
        return self._reference() is None
