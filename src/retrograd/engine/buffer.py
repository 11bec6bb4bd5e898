"""InputBuffer: the gradients that have arrived at a node, summed per input.

Note [Ownership]
~~~~~~~~~~~~~~~~
A gradient may be written into only if nobody else can see it. Bit `i` of `owned` says that slot `i` is such an array:
fresh from a formula, shared with no hook, no user and no other slot. `add` then sums in place, and AccumulateGrad takes
the array over as `.grad` without a copy. It is a flag that travels with the value. References are counted in one case
alone, what a user's code gave or saw: a gradient that it has not kept is ours again (`unwrap` in core/references.py).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from retrograd.backends.base import as_array, backend_of
from retrograd.backends.native import add_into
from retrograd.core.references import unwrap

ndarray: Final[Any] = np.ndarray


def total(old: Any, old_owned: bool, new: Any, new_owned: bool, tensors: bool) -> tuple[Any, bool]:
    """The sum of two gradients, in the memory of one that is ours if there is one; and whether the sum is ours."""
    if tensors:
        return old + new, False
    if old.dtype is new.dtype or old.dtype == new.dtype:
        if type(old) is ndarray and type(new) is ndarray:
            if old_owned:
                return add_into(old, new), True
            if new_owned:
                return add_into(new, old), True
        elif old_owned and type(old) is type(new):
            return backend_of(old).add_into(old, new), True
    return as_array(old + new), True


class InputBuffer:
    """One slot per input of a node; None where nothing has arrived."""

    owned: int = 0

    def __init__(self, size: int) -> None:
        self.values: list[Any] = [None] * size

    def add(self, nr: int, value: Any, owned: bool, tensors: bool) -> None:
        """Adds a gradient to slot `nr`; gradients that meet are summed in the order in which they arrive."""
        old = self.values[nr]
        bit = 1 << nr
        if old is not None:
            value, owned = total(old, self.owned & bit != 0, value, owned, tensors)
        self.values[nr] = value
        if owned:
            self.owned |= bit

    def replace(self, nr: int, box: list[Any], tensors: bool) -> None:
        """Takes what hooks have made of the gradient in slot `nr`, the only element of `box`."""
        values = list(self.values)
        values[nr] = None  # so that the array is not counted twice
        self.values = values
        ours = not tensors and box[0] is not None and unwrap(box, 0)
        values[nr] = box[0]
        self.owned = self.owned | 1 << nr if ours else self.owned & ~(1 << nr)

    def replace_all(self, box: list[Any], tensors: bool) -> None:
        """Takes what hooks have made of all gradients."""
        self.values, self.owned = box, 0
        if tensors:
            return
        for nr in range(len(box)):
            if box[nr] is not None and unwrap(box, nr):
                self.owned |= 1 << nr
