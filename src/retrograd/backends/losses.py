"""Losses on bare arrays: kernels of the native pack, which answer None to what they do not serve.

What they compute is what the formulas of the ops do, in one pass.
"""

from __future__ import annotations

from typing import Any

from retrograd.backends.batch import merging
from retrograd.backends.batch.array import BatchedArray
from retrograd.backends.native import PACK
from retrograd.values import Array, Shape

# The kinds of loss, as the pack counts them.
MSE, SMOOTH_L1, HUBER, BINARY, BINARY_OF_LOGITS = range(5)


def loss(xp: Any, kind: int, x: Any, target: Any, parameter: float, reduction: int) -> Array | None:
    """Losses of predictions and targets of one shape, as they are, their mean or their sum."""
    return PACK.loss(kind, x, target, parameter, reduction) if xp is PACK else None


def loss_backward(kind: int, g: Any, x: Any, target: Any, parameter: float, factor: float) -> Array | None:
    """`factor` times the gradient of the predictions, for a gradient of each loss or of all."""
    return None if PACK is None else PACK.loss_backward(kind, g, x, target, parameter, factor)


def within_0_1(xp: Any, x: Any) -> bool:
    """Whether all numbers are probabilities."""
    found = PACK.within_0_1(x) if xp is PACK else None
    return bool(((x >= 0) & (x <= 1)).all()) if found is None else found


def nll(xp: Any, x: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> Array | None:
    """Minus the log-probability of the target classes, times their weights; None also for classes there are not."""
    if isinstance(x, BatchedArray) or isinstance(target, BatchedArray):
        return merging.nll(x, target, weight, ignore_index)
    return PACK.nll(x, target, weight, reduction, ignore_index) if xp is PACK else None


def nll_backward(
    g: Any, target: Any, weight: Any, reduction: int, ignore_index: int, shape: Shape
) -> Array | None:
    """The gradient of log-probabilities of this shape."""
    if isinstance(g, BatchedArray) or isinstance(target, BatchedArray):
        return merging.nll_backward(g, target, weight, ignore_index, shape)
    return None if PACK is None else PACK.nll_backward(g, target, weight, reduction, ignore_index, shape)
