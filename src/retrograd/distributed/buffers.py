"""The memory of tensors, as the transports want it: contiguous, of one dimension, in the CPU's memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.backends.base import backend_of
from retrograd.core.tensor import Tensor
from retrograd.values import Array


def memory(tensor: Tensor) -> Array:
    """The memory of a tensor itself if it is contiguous and the CPU's, or a copy."""
    array = tensor.array
    if isinstance(array, np.ndarray) and array.flags.c_contiguous and array.flags.writeable:
        return np.asarray(array).reshape(-1)
    return np.ascontiguousarray(backend_of(array).numpy(array)).reshape(-1)


class Target:
    """A tensor that an operation writes: its memory, or a copy that is written back in the end."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        self.array = memory(tensor)
        self.is_copy = not np.shares_memory(self.array, tensor.array) if self.array.size else False
        tensor._bump_version()

    def write_back(self) -> None:
        """Writes the copy back, if it is one."""
        if self.is_copy:
            array: Any = self.tensor.array
            array[...] = self.array.reshape(array.shape)
