"""The memory of tensors as transports want it: contiguous, of one dimension, where they can reach it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from retrograd.backends.base import backend_of
from retrograd.backends.bfloat16 import BFloat16Array
from retrograd.core.tensor import Tensor
from retrograd.values import Array


def memory(tensor: Tensor, on_device: bool = False) -> Array:
    """The memory of a tensor itself where that will do, or else a copy: of what is strided, or on another device."""
    array: Any = tensor.array
    backend = backend_of(array)
    if backend.device_type != "cpu" and not on_device:
        return np.ascontiguousarray(backend.numpy(array)).reshape(-1)
    if isinstance(array, BFloat16Array):
        array = np.asarray(array)
    elif not (backend.is_plain or backend.device_type != "cpu"):
        array = backend.numpy(array)
    if not array.flags.c_contiguous:
        array = array.copy("C")
    return array.reshape(-1)


def write(tensor: Tensor, array: Array) -> None:
    """Writes what `memory` gave back into the tensor, where that was a copy."""
    target: Any = tensor.array
    backend = backend_of(target)
    if backend.device_type != "cpu" and isinstance(array, np.ndarray):
        array = backend.bring(array, backend.device_of(target))
    elif isinstance(array, np.ndarray) and isinstance(target, np.ndarray):
        if np.may_share_memory(array, target):
            return
        if isinstance(target, BFloat16Array):
            target = np.asarray(target)
    elif array.data.ptr == target.data.ptr:
        return
    backend_of(target).copyto(target, array.reshape(target.shape))


def count(tensor: Tensor) -> int:
    """How many elements a tensor has."""
    return math.prod(tensor.array.shape)
