"""Elements that an index names: gather, scatter, rows of an embedding; and whether indices are in range."""

from __future__ import annotations

from math import prod
from typing import Any, Final

import numpy as np

from retrograd.backends.gpu.faults import INDEX, Faults
from retrograd.backends.gpu.kernels import (
    INDICES,
    PROCESSORS,
    STORED,
    THREADS,
    Kernels,
    blocks_for,
    empty,
    letter,
    pack_of,
    types,
)  # fmt: skip
from retrograd.values import Array

FLOAT32: Final = np.dtype("float32")
FEW: Final = 64  # additions that one thread may do one after the other
MANY: Final = 4096  # lines that give all processors something to do


class Indices:
    """The kernels of indices.cu."""

    def __init__(self, kernels: Kernels, faults: Faults) -> None:
        self.kernels = kernels
        self.faults = faults

    def check(self, index: Array, low: int, high: int) -> bool:
        """Has the GPU look whether indices are from `low` to before `high`; says whether there is a kernel for it."""
        if index.dtype.char not in INDICES or not index.flags.c_contiguous:
            return False
        if index.size:
            kernel = self._kernel("check_range", FLOAT32, index)
            blocks = min(blocks_for(index.size), 8 * PROCESSORS)
            kernel.launch(blocks, THREADS, (index, self.faults.place(), INDEX, low, high, index.size))
        return True

    def serves(self, x: Array, index: Array, dim: int) -> bool:
        """Whether an array in rows has the index's shape but for a dimension, and there is a kernel for its dtype."""
        return (
            letter(x.dtype) in STORED
            and index.dtype.char in INDICES
            and x.ndim == index.ndim > 0
            and x.flags.c_contiguous
            and index.flags.c_contiguous
            and index.size > 0
            and x.size > 0
            and all(n == m for d, (n, m) in enumerate(zip(x.shape, index.shape, strict=True)) if d != dim)
        )

    def take_along(self, x: Array, index: Array, dim: int) -> Array:
        """The elements of x that an index names along a dimension."""
        out = empty(index.shape, x.dtype)
        kernel = self._kernel("take_along", x.dtype, index)
        sizes = (x.shape[dim], index.shape[dim], prod(x.shape[dim + 1 :]), index.size)
        kernel.launch(blocks_for(index.size), THREADS, (x, index, out, *sizes))
        return out

    def add_along(self, out: Array, index: Array, dim: int, values: Array) -> bool:
        """Adds values where an index names elements, always in one order; says whether that can be done fast."""
        lines, each = index.size // index.shape[dim], index.shape[dim]
        if each > FEW and lines < MANY:
            return False
        kernel = self._kernel("add_along", out.dtype, index)
        sizes = (out.shape[dim], each, prod(out.shape[dim + 1 :]), lines)
        kernel.launch(blocks_for(lines), THREADS, (out, index, values, *sizes))
        return True

    def sum_rows(
        self, g: Array, index: Array, order: Array, rows: int, padding: int, by_frequency: bool
    ) -> Array:
        """A table each of whose rows is the sum of the rows of g with its index; `order` sorts the indices."""
        width = g.shape[-1]
        out = empty((rows, width), g.dtype)
        out.fill(0)
        v = pack_of(width, g, out)
        kernel = self._kernel("sum_rows", g.dtype, index, v)
        args = (g, index, order, out, index.size, width, rows, padding, int(by_frequency))
        kernel.launch(index.size, THREADS, args)
        return out

    def _kernel(self, name: str, dtype: Any, index: Array, v: int = 1) -> Any:
        return self.kernels.get("indices.cu", name, *types(dtype), ("I", INDICES[index.dtype.char]), ("V", v))
