"""ArrayNotes: what is kept of arrays, and of the memory they lie in, where the native pack does not serve.

`native/notes.cpp` does the same for arrays of NumPy's own class, without Python objects.
"""

from __future__ import annotations

import weakref
from time import perf_counter_ns
from typing import Any

import numpy as np

from retrograd.backends.base import device_of, is_array, owner_of, whole
from retrograd.inspect.values import SMALL, Sample, figures, keep

UNDIGESTED = 16 << 20
"""Bytes of copies after which figures are made of them."""


class Block:
    """A block of memory: its bytes, when it was first seen, when it was freed (-1: not yet)."""

    __slots__ = ("born", "bytes", "died")

    def __init__(self, size: int) -> None:
        self.bytes: int = size
        self.born: int = perf_counter_ns()
        self.died: int = -1


class _Ref(weakref.ref[Any]):
    """A weak reference that knows the block that its object stands for."""

    __slots__ = ("block", "key")

    key: int
    block: Block


class Unseen:
    """An array beyond the limit of values: its block is known, and nothing else."""

    __slots__ = ("block",)

    def __init__(self, block: Block | None) -> None:
        self.block: Block | None = block


class KeptArray:
    """A sample of an array, or its figures once they are made, and its block; whether that is new."""

    __slots__ = ("block", "first", "sample")

    def __init__(self, sample: Sample | dict[str, Any], block: Block | None, first: bool) -> None:
        self.sample: Sample | dict[str, Any] = sample
        self.block: Block | None = block
        self.first: bool = first


def _is_empty(array: Any) -> bool:
    """Whether an array has a shape only: no memory, and no values to look at."""
    return type(array) is not np.ndarray and is_array(array) and device_of(array).type == "meta"


class ArrayNotes:
    """What is kept of arrays; at most so many blocks."""

    def __init__(self, most_blocks: int, everything: bool) -> None:
        self.most_blocks = most_blocks
        self.everything = everything
        self.blocks: list[Block] = []
        self.left_out: int = 0
        self._refs: dict[int, _Ref] = {}
        self._undigested: list[KeptArray] = []
        self._bytes = 0

    def value(self, array: Any) -> KeptArray | int:
        """What is kept of an array; -1 for what has no elements to look at."""
        if type(array) is np.ndarray and array.size <= SMALL:
            sample = Sample(array.copy(), array.shape, array.size, None)
        else:
            looked_at = None if _is_empty(array) else keep(array, self.everything)
            if looked_at is None:
                return -1
            sample = looked_at
        kept = KeptArray(sample, *self.memory(array))
        self._undigested.append(kept)
        self._bytes += sample.elements.nbytes
        if self._bytes > UNDIGESTED:
            self.digest()
        return kept

    def digest(self) -> None:
        """Makes figures of what is kept as copies."""
        waiting, self._undigested, self._bytes = self._undigested, [], 0
        for kept in waiting:
            if isinstance(kept.sample, Sample):
                kept.sample = figures(kept.sample)

    def block(self, array: Any) -> Block | None:
        """The memory that an array lies in; None where that cannot be told."""
        return self.memory(array)[0]

    def memory(self, array: Any) -> tuple[Block | None, bool]:
        """The memory that an array lies in, and whether it is the array's own and was not seen before."""
        owner = array
        if type(array) is not np.ndarray:
            if not is_array(array) or _is_empty(array):
                return None, False
            owner = array = whole(array)
            if getattr(array, "base", None) is not None:
                owner = owner_of(array)
        elif array.base is not None:
            owner = owner_of(array)
        known = self._refs.get(id(owner))
        if known is not None and known() is owner:
            return known.block, False
        if len(self.blocks) >= self.most_blocks:
            self.left_out += 1
            return None, False
        try:
            ref = _Ref(owner, self._freed)
        except TypeError:  # memory whose owner cannot be watched
            return None, False
        ref.key, ref.block = id(owner), Block(int(owner.nbytes))
        self._refs[ref.key] = ref
        self.blocks.append(ref.block)
        return ref.block, owner is array

    def known(self, array: Any) -> Block | None:
        """The memory that an array lies in, if it was seen."""
        known = None if _is_empty(array) else self._refs.get(id(owner_of(whole(array))))
        return None if known is None else known.block

    def _freed(self, ref: _Ref) -> None:
        """Memory was freed, by whichever thread."""
        ref.block.died = perf_counter_ns()
        if self._refs.get(ref.key) is ref:
            del self._refs[ref.key]
