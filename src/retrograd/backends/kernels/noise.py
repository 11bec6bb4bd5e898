"""The noise of dropout."""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.backends.mersenne import in_memory_order
from retrograd.values import Array


def noise(xp: Any, stream: Any, like: Array, p: float, scale: Any) -> Array:
    """An array of the shape and dtype of `like`: 0 with probability `p`, else `scale`."""
    drawn = in_memory_order(lambda shape: stream.random(shape, np.float64), like)
    kept = (drawn < 1 - p).astype(like.dtype)
    if scale != 1:
        kept *= scale
    # Inside of vmap each sample may have its own, though all share `like`.
    return xp.asarray(kept) if isinstance(kept, (np.ndarray, np.generic)) else kept
