"""Scaled dot product attention on bare arrays, as far as the native pack has kernels for it.

Operands have the shape (batch, head, row, column). Each function answers None where the pack is missing or does not
serve them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.backends.batch import merging
from retrograd.backends.batch.array import has_batched
from retrograd.backends.native import PACK
from retrograd.values import Array


def attended(xp: Any, xs: Any, is_causal: bool, scale: float) -> Array | None:
    """softmax(scale * q @ k.mT + mask) @ v, for xs = (q, k, v, mask); in the memory order of q."""
    if PACK is None:
        return None
    q, k, v, mask = xs
    if has_batched((q, k, v, mask)):
        return merging.attended(q, k, v, mask, is_causal, float(scale))
    if xp is not PACK:
        return None
    return PACK.attention(q, k, v, mask, is_causal, float(scale))


def attended_back(g: Array, xs: Any, is_causal: bool, scale: float, wanted: int) -> Any:
    """The gradients of q, k and v; of those that `wanted` has no bit for None."""
    if PACK is None:
        return None
    q, k, v, mask = xs
    if has_batched((g, q, k, v, mask)):
        return merging.attended_back(g, xs, is_causal, float(scale), wanted)
    return PACK.attention_back(np.ascontiguousarray(g), q, k, v, mask, is_causal, float(scale), wanted)


def ordered_like(x: Array, y: Array) -> Array:
    """`y` in the memory order of `x`, as PyTorch lays the output of attention out."""
    if y.strides == x.strides or x.strides[1] >= x.strides[2]:
        return y
    made = np.empty_like(x, y.dtype)
    made[...] = y
    return made
