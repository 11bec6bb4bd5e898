"""Memory of the CPU that is locked, from which a GPU copies without the CPU's help. It is from CuPy's pool."""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.values import Array


def pin(cupy: Any, array: Array) -> Array:
    """A copy of an array in locked memory, which lives as long as the copy and its views."""
    memory = cupy.cuda.alloc_pinned_memory(max(array.nbytes, 1))
    found: Array = np.frombuffer(memory, np.uint8, array.nbytes).view(array.dtype).reshape(array.shape)
    found[...] = array
    return found


def is_pinned(cupy: Any, array: Array) -> bool:
    """Whether an array lies in locked memory of CuPy's."""
    owner = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    if isinstance(owner, memoryview):
        owner = owner.obj
    return isinstance(owner, cupy.cuda.PinnedMemoryPointer)
