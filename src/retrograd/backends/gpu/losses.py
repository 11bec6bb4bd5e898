"""Negative log-likelihood of classes, and its gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from retrograd.backends.gpu.faults import TARGET, Faults
from retrograd.backends.gpu.kernels import (
    INDICES,
    THREADS,
    Kernels,
    blocks_for,
    computed,
    empty,
    pack_of,
    serves,
    types,
)
from retrograd.values import Array

NONE, MEAN = 0, 1  # reductions
MOST_BLOCKS: Final = 256


class Losses:
    """The kernels of losses.cu."""

    def __init__(self, kernels: Kernels, faults: Faults) -> None:
        self.kernels = kernels
        self.faults = faults

    def serves(self, x: Any, target: Array, weight: Any) -> bool:
        """Whether there is a kernel for operands such as these."""
        return (
            serves(x, weight)
            and target.dtype.char in INDICES
            and target.flags.c_contiguous
            and target.size > 0
            and (weight is None or x is None or weight.dtype == x.dtype)
        )

    def nll(self, op: Any, xs: Sequence[Any]) -> Array:
        """The losses, their sum or their mean; what a mean was divided by is noted in the op."""
        x, target, weight = xs
        classes, count = x.shape[op.axis], target.size
        sizes = (count, classes, _inner(x, op.axis), op.ignore_index)
        if op.reduction == NONE:
            out = empty(target.shape, x.dtype)
            self._kernel("nll_each", x, target).launch(
                blocks_for(count), THREADS, (x, target, weight, out, self.faults.place(), TARGET, *sizes)
            )
            return out
        blocks = min(blocks_for(count), MOST_BLOCKS)
        parts, out, op.total = (
            empty((blocks, 2), computed(x.dtype)),
            empty((), x.dtype),
            empty((), computed(x.dtype)),
        )
        self._kernel("nll_sums", x, target).launch(
            blocks, THREADS, (x, target, weight, parts, self.faults.place(), TARGET, *sizes)
        )
        self._kernel("nll_finish", x, target).launch(
            1, THREADS, (parts, out, op.total, blocks, int(op.reduction == MEAN))
        )
        return out

    def nll_backward(self, op: Any, g: Array, target: Array, weight: Any) -> Array:
        """The gradient of the log-probabilities."""
        dx = empty(op.in_shape, g.dtype)
        classes, inner = op.in_shape[op.axis], _inner(dx, op.axis)
        total, each = op.total if op.reduction == MEAN else None, int(op.reduction == NONE)
        v = pack_of(classes, dx) if inner == 1 else 1
        args = (g, target, weight, total, dx, each)
        if inner == 1:
            kernel = self._kernel("nll_rows_backward", dx, target, v)
            kernel.launch(target.size, THREADS, (*args, classes, op.ignore_index))
        else:
            kernel = self._kernel("nll_places_backward", dx, target)
            kernel.launch(blocks_for(dx.size), THREADS, (*args, dx.size, classes, inner, op.ignore_index))
        return dx

    def _kernel(self, name: str, x: Array, target: Array, v: int = 1) -> Any:
        return self.kernels.get(
            "losses.cu", name, *types(x.dtype), ("I", INDICES[target.dtype.char]), ("V", v)
        )


def _inner(x: Array, axis: int) -> int:
    """How many places each class has."""
    count = 1
    for n in x.shape[axis + 1 :]:
        count *= n
    return count
