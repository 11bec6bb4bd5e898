"""Kernels of the native pack on batches: all samples become one longer batch, or groups of channels of their own.

A kernel knows nothing of samples, but convolutions, pooling, normalisation and attention have a batch already, and most
ops share their weights between samples. Each function answers None where that does not help: the formula, function by
function, does what was asked.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from retrograd.backends.batch.array import BatchedArray, Level, lead, spread
from retrograd.backends.native import CPU_BACKEND as XP
from retrograd.backends.pack import PACK
from retrograd.values import Array

ndarray: Final[Any] = np.ndarray


def common_level(*values: Any) -> Level | None:
    """The one level on which all batched arrays among `values` are; None if there are others, or nothing to compute."""
    if PACK is None:
        return None
    level: Level | None = None
    for v in values:
        if isinstance(v, BatchedArray):
            value = v.value
            if type(value) is not ndarray or value.size == 0 or (level is not None and v.level is not level):
                return None
            level = v.level
        elif v is not None and v.size == 0:
            return None
    return level


def product(sizes: Any) -> int:
    """How many elements a shape has; NumPy's function is made for long arrays."""
    count = 1
    for n in sizes:
        count *= n
    return count


def is_shared(v: Any) -> bool:
    """Whether an operand is missing, or the same for all samples."""
    return not isinstance(v, BatchedArray) or v.value.shape[0] == 1


def shared(v: Any) -> Any:
    """What all samples share."""
    return v.value[0] if isinstance(v, BatchedArray) else v


def joined(value: Array, kept: int) -> Array:
    """All dimensions but the last `kept` as one."""
    return value.reshape((-1,) + value.shape[value.ndim - kept :])


# -- products of matrices ------------------------------------------------------------------------------------------


def addmm(x: Any, y: Any, z: Any) -> Any:
    """`x + y @ z` for a matrix z and a row x that all samples share."""
    level = common_level(x, y, z)
    if level is None or not (is_shared(x) and is_shared(z)) or x.ndim != 1 or y.ndim != 2:
        return None
    rows = lead(y, level)
    found = PACK.addmm(shared(x), joined(rows, 1), shared(z))
    return None if found is None else BatchedArray(found.reshape((*rows.shape[:2], -1)), level)


def times_turned(x: Any, y: Any) -> Any:
    """`x @ y.mT`, of matrices."""
    level = _of_matrices(x, y)
    if level is None:
        return None
    a, b = lead(x, level), lead(y, level)
    if len(b) == 1:
        found = PACK.matmul_nt(joined(a, 1), b[0])
        return None if found is None else BatchedArray(found.reshape((*a.shape[:2], -1)), level)
    if len(a) == 1:
        found = PACK.matmul_nt(joined(b, 1), a[0])
        return (
            None if found is None else BatchedArray(found.reshape((*b.shape[:2], -1)).swapaxes(1, 2), level)
        )
    turned = b.swapaxes(1, 2)
    return BatchedArray(XP.multiply(a, turned) if a.shape[-1] == 1 else XP.matmul(a, turned), level)


def turned_times(x: Any, y: Any) -> Any:
    """`x.mT @ y`, of matrices."""
    level = _of_matrices(x, y)
    if level is None:
        return None
    a, b = lead(x, level).swapaxes(1, 2), lead(y, level)
    return BatchedArray(XP.multiply(a, b) if a.shape[-1] == 1 else XP.matmul(a, b), level)


def _of_matrices(x: Any, y: Any) -> Level | None:
    fits = x.ndim == y.ndim == 2 and x.dtype == y.dtype and x.dtype.char in "fd"
    return common_level(x, y) if fits else None


# -- convolutions --------------------------------------------------------------------------------------------------


def convolve(name: str, x: Any, w: Any, b: Any, windows: Any, groups: int) -> Any:
    """`conv_correlate` or `conv_spread`: a weight that all share makes one batch, else each sample is some groups."""
    level = common_level(x, w, b)
    if level is None:
        return None
    kernel: Any = getattr(PACK, name)
    v = lead(x, level)
    if is_shared(w) and is_shared(b):
        found = kernel(joined(v, v.ndim - 2), shared(w), shared(b), windows, groups)
        return None if found is None else BatchedArray(found.reshape((*v.shape[:2], *found.shape[1:])), level)
    count = level.size
    weights = spread(lead(w, level), count)
    bias = None if b is None else np.ascontiguousarray(spread(lead(b, level), count)).reshape(-1)
    found = kernel(
        as_channels(spread(v, count)),
        joined(np.ascontiguousarray(weights), weights.ndim - 2),
        bias,
        windows,
        groups * count,
    )
    return None if found is None else BatchedArray(as_samples(found, count, 1), level)


def conv_overlap(x: Any, y: Any, windows: Any, groups: int) -> Any:
    """`conv_overlap`: the gradient of a weight, of which each sample has its own."""
    level = common_level(x, y)
    if level is None:
        return None
    count = level.size
    a, b = (as_channels(spread(lead(v, level), count)) for v in (x, y))
    found = PACK.conv_overlap(a, b, windows, groups * count)
    return None if found is None else BatchedArray(found.reshape((count, -1, *found.shape[1:])), level)


def as_channels(value: Array) -> Array:
    """[sample, batch, channel, …] as [batch, sample and channel, …]."""
    turned = np.ascontiguousarray(value.swapaxes(0, 1))
    return turned.reshape((turned.shape[0], -1, *turned.shape[3:]))


def as_samples(value: Array, count: int, axis: int) -> Array:
    """The samples that are part of the dimension `axis`, in front."""
    apart = value.reshape((*value.shape[:axis], count, -1, *value.shape[axis + 1 :]))
    return np.moveaxis(apart, axis, 0)


# -- pooling: over the last dimensions -----------------------------------------------------------------------------


def pool(name: str, x: Any, rank: int, *args: Any) -> Any:
    """A kernel of images, or several of its results; `rank` is over how many dimensions windows slide."""
    level = common_level(x)
    if level is None:
        return None
    v = x.value
    found = getattr(PACK, name)(joined(v, rank + 1), *args)
    if isinstance(found, tuple):
        return tuple([BatchedArray(f.reshape(v.shape[:-rank] + f.shape[-rank:]), level) for f in found])
    return (
        None if found is None else BatchedArray(found.reshape(v.shape[:-rank] + found.shape[-rank:]), level)
    )


def max_pool_back(g: Any, positions: Any, shape: Any, rank: int) -> Any:
    """`max_pool_back`, where each sample has its own positions."""
    level = common_level(g, positions)
    if level is None or not (isinstance(g, BatchedArray) and isinstance(positions, BatchedArray)):
        return None
    count = max(len(g.value), len(positions.value))
    a, at = (joined(spread(v.value, count), rank + 1) for v in (g, positions))
    found = PACK.max_pool_back(np.ascontiguousarray(a), at, (len(a), *shape[-rank - 1 :]), rank)
    return None if found is None else BatchedArray(found.reshape((count, *shape)), level)


def layer_norm(x: Any, weight: Any, bias: Any, eps: float, axis: int) -> Any:
    """`layer_norm` with a weight that all share: rows of all samples are rows, and so are their moments."""
    level = common_level(x, weight, bias)
    if level is None or not (is_shared(weight) and is_shared(bias)):
        return None
    found = PACK.layer_norm(lead(x, level), shared(weight), shared(bias), eps, axis + 1)
    return None if found is None else (BatchedArray(found[0], level), found[1])


def layer_norm_backward(g: Any, x: Any, weight: Any, moments: Any, axis: int, wanted: int) -> Any:
    """Its gradients: the kernel's for x, while each sample has its own for weight and bias."""
    level = common_level(g, x, weight)
    if level is None or moments is None or not isinstance(x, BatchedArray) or not is_shared(weight):
        return None
    v = x.value
    gs = np.ascontiguousarray(spread(lead(g, level), len(v)))
    if gs.shape != v.shape or moments.size != 2 * product(v.shape[: axis + 1]):
        return None
    grads: list[Any] = [None, None, None]
    if wanted & 1:
        found = PACK.layer_norm_backward(gs, v, shared(weight), moments, axis + 1, 1)
        if found is None:
            return None
        grads[0] = BatchedArray(found[0], level)
    rows = tuple(range(1, axis + 1))
    if wanted & 2:
        means, scales = moments.reshape((2, *v.shape[: axis + 1], *[1] * (v.ndim - axis - 1)))
        weighed = XP.multiply(gs, XP.multiply(XP.subtract(v, means), scales))
        grads[1] = BatchedArray(XP.sum(weighed, axis=rows) if rows else weighed, level)
    if wanted & 4:
        grads[2] = BatchedArray(XP.sum(gs, axis=rows) if rows else gs, level)
    return tuple(grads)


# -- attention and softmax -----------------------------------------------------------------------------------------


def attention(q: Any, k: Any, v: Any, mask: Any, is_causal: bool, scale: float) -> Any:
    """`attention`, with the samples in its batch."""
    level = common_level(q, k, v, mask)
    if level is None or not (mask is None or (is_shared(mask) and mask.ndim <= 2)):
        return None
    one, parts = _in_one_batch((q, k, v), level)
    found = PACK.attention(*parts, shared(mask), is_causal, scale)
    return None if found is None else BatchedArray(found.reshape((*one, *found.shape[1:])), level)


def attention_back(g: Any, xs: Any, is_causal: bool, scale: float, wanted: int) -> Any:
    """Its gradients."""
    q, k, v, mask = xs
    level = common_level(g, q, k, v, mask)
    if level is None or not (mask is None or (is_shared(mask) and mask.ndim <= 2)):
        return None
    one, (a, *parts) = _in_one_batch((g, q, k, v), level)
    found = PACK.attention_back(np.ascontiguousarray(a), *parts, shared(mask), is_causal, scale, wanted)
    if found is None:
        return None
    return [None if f is None else BatchedArray(f.reshape((*one, *f.shape[1:])), level) for f in found]


def _in_one_batch(values: tuple[Any, ...], level: Level) -> tuple[tuple[int, ...], list[Array]]:
    """Arrays whose first dimension is a batch, with the samples in it; and how long both are."""
    given = [spread(lead(v, level), level.size) for v in values]
    return given[0].shape[:2], [joined(v, v.ndim - 2) for v in given]


def nll(x: Any, target: Any, weight: Any, ignore_index: int) -> Any:
    """`nll` of samples that have one target each, whose mean and sum are itself."""
    level = common_level(x, target)
    if level is None or weight is not None or x.ndim != 1 or target.ndim != 0:
        return None
    rows, classes = (np.ascontiguousarray(spread(lead(v, level), level.size)) for v in (x, target))
    if np.count_nonzero(classes == ignore_index):
        return None
    found = PACK.nll(rows, classes, None, 0, ignore_index)
    return None if found is None else BatchedArray(found, level)


def nll_backward(g: Any, target: Any, weight: Any, ignore_index: int, shape: Any) -> Any:
    """Its gradient."""
    level = common_level(g, target)
    if level is None or weight is not None or len(shape) != 1:
        return None
    gs, classes = (np.ascontiguousarray(spread(lead(v, level), level.size)) for v in (g, target))
    if np.count_nonzero(classes == ignore_index):
        return None
    found = PACK.nll_backward(gs, classes, None, 0, ignore_index, (level.size, *shape))
    return None if found is None else BatchedArray(found, level)


def along(name: str, g: Any, out: Any, axis: Any) -> Any:
    """The gradient of a function along one axis."""
    level = common_level(g, out)
    if level is None or not isinstance(axis, int):
        return None
    a, b = lead(g, level), lead(out, level)
    if a.shape != b.shape:
        return None
    found = getattr(PACK, name)(a, b, axis + 1 if axis >= 0 else axis + a.ndim)
    return None if found is None else BatchedArray(found, level)
