"""The noise of dropout, drawn from a generator of NumPy's: by the native pack from the same bits, many at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.backends.cpu import as_array
from retrograd.backends.native import PACK
from retrograd.values import Array

_MANY = 2048  # numbers from which reading and writing a generator's state is worth while
_LOW = (1 << 64) - 1


def noise(stream: np.random.Generator, like: Array, p: float, scale: Any) -> Array:
    """An array of the shape and dtype of `like`: 0 with probability `p`, else `scale`."""
    if PACK is not None and like.size >= _MANY and type(stream.bit_generator) is np.random.PCG64:
        found = _drawn(stream.bit_generator, like, p, scale)
        if found is not None:
            return found
    kept = (stream.random(like.shape, np.float32) >= p).astype(like.dtype)
    if scale != 1:
        kept *= scale
    return as_array(kept)


def _drawn(bits: Any, like: Array, p: float, scale: Any) -> Array | None:
    """What `noise` draws, by the native pack; the generator is left where NumPy would leave it."""
    with bits.lock:
        state = bits.state
        inner = state["state"]
        at, step = inner["state"], inner["inc"]
        halves = (at >> 64, at & _LOW, step >> 64, step & _LOW, state["has_uint32"], state["uinteger"])
        found = PACK.noise(like, p, scale, halves)
        if found is None:
            return None
        out, high, low, state["has_uint32"], state["uinteger"] = found
        inner["state"] = high << 64 | low
        bits.state = state
    drawn: Array = out
    return drawn
