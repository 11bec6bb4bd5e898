"""Causal masks: those that begin in the upper left corner, and those that end in the lower right one."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from retrograd.core.places import warn
from retrograd.core.tensor import Tensor


class CausalVariant(enum.IntEnum):
    """Where the diagonal of a causal mask begins or ends."""

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(Tensor):
    """A mask of booleans by which a query sees no later keys, for `scaled_dot_product_attention`.

    Args:
        variant: whether the first query sees the first key alone, or the last query sees all keys.
        seq_len_q: how many queries there are.
        seq_len_kv: how many keys there are.

    >>> causal_lower_right(2, 3)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """

    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int

    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> Any:
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant).__name__}")
        if variant is CausalVariant.LOWER_RIGHT and seq_len_q > seq_len_kv:
            warn(
                "Lower right causal bias will produce NaNs in the output when seq_len_q > seq_len_kv!",
                UserWarning,
            )
        made = Tensor.__new__(cls)
        past = seq_len_kv - seq_len_q if variant is CausalVariant.LOWER_RIGHT else 0
        made.array = np.tri(seq_len_q, seq_len_kv, past, dtype=np.bool_)
        made._keeps_class = False  # what is computed from a mask is none
        made.variant, made.seq_len_q, made.seq_len_kv = variant, seq_len_q, seq_len_kv
        return made

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> None:
        pass  # __new__ has done it

    def _materialize(self, device: Any = None) -> Tensor:
        """The mask as an ordinary tensor."""
        plain = Tensor(self.array.copy(), share=True)
        return plain if device is None else plain.to(device)

    def __repr__(self) -> str:
        return repr(self._materialize())


def causal_upper_left(*size: int) -> CausalBias:
    """A mask by which query i sees keys 0 to i."""
    return _of_variant("causal_upper_left", CausalVariant.UPPER_LEFT, size)


def causal_lower_right(*size: int) -> CausalBias:
    """A mask by which the last query sees all keys, the one before all but the last, and so on."""
    return _of_variant("causal_lower_right", CausalVariant.LOWER_RIGHT, size)


def _of_variant(function: str, variant: CausalVariant, size: tuple[int, ...]) -> CausalBias:
    if len(size) != 2:
        raise AssertionError(f"{function} only supports 2D tensors")
    found: CausalBias = CausalBias(variant, size[0], size[1])
    return found
