"""Normalisation on bare arrays: kernels of the native pack, which answer None to what they do not serve.

What they compute is what the formulas of the ops do, in as few passes as it takes. Results come with moments, a small
array that the backward wants back: lines of means, and of what deviations from them are multiplied by. Gradients come
as three, of the input, the weight and the bias; `wanted` has a bit for each, and those that it lacks are None.
"""

from __future__ import annotations

from typing import Any

from retrograd.backends.batch import merging
from retrograd.backends.batch.array import BatchedArray
from retrograd.backends.native import PACK
from retrograd.values import Array

WithMoments = tuple[Array, Array | None]
Gradients = tuple[Array | None, Array | None, Array | None]


def layer_norm(xp: Any, x: Any, weight: Any, bias: Any, eps: float, axis: int) -> WithMoments | None:
    """Normalised over the dimensions from `axis` on."""
    if isinstance(x, BatchedArray):
        found: WithMoments | None = merging.normalised(x, weight, bias, eps, axis)
        return found
    return PACK.layer_norm(x, weight, bias, eps, axis) if xp is PACK else None


def layer_norm_backward(
    g: Any, x: Any, weight: Any, moments: Any, axis: int, wanted: int
) -> Gradients | None:
    """The gradients of `layer_norm`."""
    if isinstance(g, BatchedArray) or isinstance(x, BatchedArray):
        found: Gradients | None = merging.normalised_back(g, x, weight, moments, axis, wanted)
        return found
    return None if PACK is None else PACK.layer_norm_backward(g, x, weight, moments, axis, wanted)


def group_norm(xp: Any, x: Any, weight: Any, bias: Any, eps: float, groups: int) -> WithMoments | None:
    """Normalised within each sample and group of channels."""
    return PACK.group_norm(x, weight, bias, eps, groups) if xp is PACK else None


def group_norm_backward(
    g: Any, x: Any, weight: Any, moments: Any, groups: int, wanted: int
) -> Gradients | None:
    """The gradients of `group_norm`."""
    return None if PACK is None else PACK.group_norm_backward(g, x, weight, moments, groups, wanted)


def batch_norm(
    xp: Any, x: Any, weight: Any, bias: Any, mean: Any, var: Any, eps: float
) -> WithMoments | None:
    """Normalised within each channel by the statistics given, or else by its own; moments have a line of variances."""
    return PACK.batch_norm(x, weight, bias, mean, var, eps) if xp is PACK else None


def batch_norm_backward(
    g: Any, x: Any, weight: Any, moments: Any, training: bool, wanted: int
) -> Gradients | None:
    """The gradients of `batch_norm`; while training, the statistics depend on the input."""
    return None if PACK is None else PACK.batch_norm_backward(g, x, weight, moments, training, wanted)
