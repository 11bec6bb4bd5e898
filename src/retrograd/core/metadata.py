"""InputMetadata: what a gradient must look like where it arrives."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from retrograd.backends.base import device_of
from retrograd.backends.device import CPU, device
from retrograd.backends.pack import PACK
from retrograd.core.upward import tell_pack
from retrograd.values import Array, DType, Shape

FITS: Final = 1
OWNS: Final = 2


class InputMetadata:
    """Shape, dtype and device of the gradient that enters a node: those of the forward output it belongs to."""

    def __init__(self, shape: Shape, dtype: DType, where: device = CPU) -> None:
        self.shape = shape
        self.dtype = dtype  # None takes any
        self.device = where
        self.count: int = math.prod(shape)  # of elements

    @property
    def is_nested_tensor(self) -> bool:
        """Whether it belongs to a tensor of tensors of several shapes: there are none."""
        return False

    @property
    def is_cpp_nested_tensor(self) -> bool:
        """The same of PyTorch's older kind of them."""
        return False

    def describes(self, array: Array) -> bool:
        """Whether an array has this shape and dtype."""
        return bool(array.shape == self.shape and array.dtype is self.dtype)


def _make(array: Array) -> InputMetadata:
    return InputMetadata(array.shape, array.dtype, device_of(array))


def _fit_bits(array: Any, meta: InputMetadata) -> int:
    """FITS if an array of NumPy's own class is as `meta` says, with OWNS if its memory is its own; else 0."""
    if type(array) is not np.ndarray or array.dtype is not meta.dtype or array.shape != meta.shape:
        return 0
    return FITS if array.base is not None else FITS | OWNS


tell_pack("metadata_maker", _make)

# The metadata of an array. The pack keeps those it has seen lately, so equal ones are mostly one object.
metadata_of: Final[Any] = _make if PACK is None else PACK.metadata_of
fit_bits: Final[Any] = _fit_bits if PACK is None else PACK.fit_of
