"""InputBuffer: the gradients that have arrived at a node, summed per input.

Note [Ownership]
~~~~~~~~~~~~~~~~
A gradient may be written into only if nobody else can see it. Bit `i` of `owned` says that slot `i` is such an array:
fresh from a formula, shared with no hook, no user and no other slot. `add` then sums in place, and AccumulateGrad takes
the array over as `.grad` without a copy. It is a flag that travels with the value, never a reference count.
"""

from __future__ import annotations

from typing import Any

from retrograd.backends.base import namespace_of
from retrograd.core.node import Grads


class InputBuffer:
    """One slot per input of a node; None where nothing has arrived."""

    owned: int = 0

    def __init__(self, size: int) -> None:
        self.values: list[Any] = [None] * size

    def add(self, nr: int, value: Any, owned: bool, tensors: bool) -> None:
        """Adds a gradient to slot `nr`; gradients that meet are summed in the order in which they arrive."""
        old = self.values[nr]
        bit = 1 << nr
        if old is None:
            self.values[nr] = value
            if owned:
                self.owned |= bit
            return
        if tensors:
            self.values[nr] = old + value
        elif self.owned & bit and old.dtype == value.dtype:
            namespace_of(old).add(old, value, out=old)
        elif owned and old.dtype == value.dtype:
            self.values[nr] = namespace_of(old).add(old, value, out=value)
            self.owned |= bit
        else:
            self.values[nr] = namespace_of(old).asarray(old + value)
            self.owned |= bit

    def replace(self, values: Grads) -> None:
        """Takes what hooks have made of the gradients; a hook may have kept them, so none is ours any more."""
        self.values = list(values)
        self.owned = 0
