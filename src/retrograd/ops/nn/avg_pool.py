"""The mean of every window, and its p-norm."""

from __future__ import annotations

import math
from operator import index
from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import Backend, is_array
from retrograd.core.apply import apply1
from retrograd.core.autocast import autocasting_on_cpu, in_float32
from retrograd.core.families import Linear
from retrograd.core.tensor import Tensor
from retrograd.errors import ShapeError, dimension_error, type_name
from retrograd.ops.common import deliver, require_tensor
from retrograd.ops.nn.arguments import Ints
from retrograd.ops.nn.max_pool import max_pool
from retrograd.ops.nn.pool_arguments import check_kind, numbers, pool_windows
from retrograd.ops.nn.sliding import Sliding
from retrograd.ops.register import public
from retrograd.values import Array

# -- ops -----------------------------------------------------------------------------------------------------------


class AvgPool2D(Linear):
    """the sum of each window that slides over two dimensions, divided by a number of its own"""

    in_rows: ClassVar[bool] = True
    params: ClassVar[tuple[str, ...]] = ("windows", "ceil_mode", "count_include_pad", "divisor_override")
    shown: ClassVar[dict[str, str]] = {
        "kernel_size": "kernel", "stride": "stride", "padding": "padding", "ceil_mode": "ceil_mode",
        "count_include_pad": "count_include_pad", "divisor_override": "divisor_override",
    }  # fmt: skip

    def __init__(
        self, windows: Sliding, ceil_mode: bool, count_include_pad: bool, divisor_override: int | None
    ) -> None:
        self.windows, self.ceil_mode = windows, ceil_mode
        self.count_include_pad, self.divisor_override = count_include_pad, divisor_override
        self.kernel, self.stride, self.padding = windows.kernel, windows.stride, windows.padding

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.avg_pool(self, x)

    def computed(self, xp: Backend, x: Array) -> Array:
        """The result by the array library."""
        dtype = x.dtype
        x = x.astype("float32") if dtype.char == "e" else x
        total = self.windows.reduced(self.windows.padded(xp, x), xp.add)
        if dtype.kind == "i":  # whole numbers are divided towards zero
            by = self.divisors_in(xp, total.dtype)
            return xp.sign(total) * xp.sign(by) * (abs(total) // abs(by))
        return (total / self.divisors_in(xp, total.dtype)).astype(dtype, copy=False)

    def transpose(self, g: Any) -> Any:
        return AvgPoolAdjoint(self).on(g)

    def divisors(self, dtype: Any) -> Any:
        """What each window is divided by: how many elements it has, or of how many it would be the average."""
        if self.divisor_override is not None:
            return self.divisor_override
        if not self.ceil_mode and (self.count_include_pad or not any(self.padding)):
            return math.prod(self.kernel)  # no window ends outside
        rows = list(zip(*self.windows, strict=True))
        whole = [
            (c - 1) * s + k <= n + 2 * p and (not p or self.count_include_pad) for n, k, s, p, _, c in rows
        ]
        if all(whole):
            return math.prod(self.kernel)
        total: Any = np.ones((), dtype)
        for n, k, s, p, _, c in rows:
            start = np.arange(c) * s - p
            end = np.minimum(start + k, n + p)
            if not self.count_include_pad:
                start, end = np.maximum(start, 0), np.minimum(end, n)
            total = total[..., None] * (end - start).astype(dtype)
        first = total.reshape(-1)[:1]
        return first[0] if (total == first).all() and total.size else total

    def divisors_in(self, xp: Backend, dtype: Any) -> Any:
        """The divisors as an array of the library `xp`, or one number."""
        found = self.divisors(dtype)
        return xp.asarray(found) if is_array(found) else found


class AvgPool3D(AvgPool2D):
    """the sum of each window that slides over three dimensions, divided by a number of its own"""


class AvgPoolAdjoint(Linear):
    """each element divided, and added to every place of its window"""

    node_name = "AvgPoolBackwardBackward0"
    params: ClassVar[tuple[str, ...]] = ("pool",)

    def __init__(self, pool: AvgPool2D) -> None:
        self.pool = pool

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.avg_pool_backward(self, x)

    def computed(self, xp: Backend, x: Array) -> Array:
        """The result by the array library."""
        windows, dtype = self.pool.windows, x.dtype
        out = (x.astype("float32") if dtype.char == "e" else x) / self.pool.divisors_in(xp, x.dtype)
        lead = out.ndim - len(windows.kernel)
        rows = zip(windows.kernel, windows.stride, windows.number, windows.lengths, strict=True)
        for axis, (k, s, c, n) in enumerate(rows):
            shape, part = list(out.shape), [slice(None)] * (lead + axis)
            shape[lead + axis] = n
            wide = xp.zeros(shape, out.dtype)
            for i in range(k):
                wide[(*part, slice(i, i + (c - 1) * s + 1, s))] += out
            out = wide
        return windows.cropped(out).astype(dtype, copy=False)

    def transpose(self, g: Any) -> Any:
        return self.pool.fresh().on(g)


# -- functions -----------------------------------------------------------------------------------------------------


def _avg_pool(
    function: str,
    rank: int,
    input: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: Any,
    count_include_pad: Any,
    divisor_override: Any,
) -> Tensor:
    x = require_tensor(function, "input", 1, input)
    if rank == 2 and x.array.ndim < 3:
        raise dimension_error(-3, x.array.ndim)
    windows = pool_windows(function, x, rank, kernel_size, stride, padding, 1, bool(ceil_mode))
    if rank == 3 and any(n < k for n, k in zip(windows.size, windows.kernel, strict=True)):
        (t, h, w), (kt, kh, kw) = windows.size, windows.kernel
        raise ShapeError(
            f"input image (T: {t} H: {h} W: {w}) smaller than kernel size (kT: {kt} kH: {kh} kW: {kw})"
        )
    if divisor_override == 0:
        raise ShapeError("divisor must be not zero")
    if divisor_override is not None and not hasattr(divisor_override, "__index__"):
        raise TypeError(
            f"{function}(): argument 'divisor_override' (position 7) must be int, not {type_name(divisor_override)}"
        )
    check_kind("avg_pool3d_out_frame" if rank == 3 else "avg_pool2d", x, "fl")
    divisor = None if divisor_override is None else index(divisor_override)
    options = (bool(ceil_mode), bool(count_include_pad), divisor)
    if rank == 1:
        windows = Sliding(*[(o, *v) for o, v in zip((1, 1, 1, 0, 1, 1), windows, strict=True)])
        found: Tensor = apply1(AvgPool2D(windows, *options), x.unsqueeze(-2)).squeeze(-2)
    else:
        found = apply1((AvgPool3D if rank == 3 else AvgPool2D)(windows, *options), x)
    return found


@public("avg_pool1d", "nn.functional.avg_pool1d")
def avg_pool1d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The average of every window of signals [batch, channel, length].

    Args:
        stride: how far apart the windows begin; None means side by side.
        padding: how many zeros to put at both ends.
        ceil_mode: whether a window may hang over the end.
        count_include_pad: whether padded zeros count as elements of a window.

    >>> import retrograd as rg
    >>> rg.avg_pool1d(rg.tensor([[1.0, 3.0, 2.0, 5.0]]), 2)
    tensor([[2.0000, 3.5000]])
    """
    return _avg_pool("avg_pool1d", 1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


@public("nn.functional.avg_pool2d")
def avg_pool2d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The average of every window of images; `divisor_override` divides by another number. See avg_pool1d.

    >>> import retrograd as rg
    >>> rg.nn.functional.avg_pool2d(rg.arange(16.0).reshape(1, 4, 4), 2)
    tensor([[[ 2.5000,  4.5000],
             [10.5000, 12.5000]]])
    """
    found = _avg_pool(
        "avg_pool2d", 2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )
    return deliver(found, out)


@public("nn.functional.avg_pool3d")
def avg_pool3d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The average of every window of volumes; `divisor_override` divides by another number. See avg_pool1d."""
    if autocasting_on_cpu():
        return in_float32(
            avg_pool3d,
            input,
            kernel_size,
            stride,
            padding,
            ceil_mode,
            count_include_pad,
            divisor_override,
            out=out,
        )
    found = _avg_pool(
        "avg_pool3d", 3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )
    return deliver(found, out)


def _lp_pool(
    function: str, rank: int, input: Any, norm_type: Any, kernel_size: Any, stride: Any, ceil_mode: Any
) -> Tensor:
    x = require_tensor(function, "input", 1, input)
    if rank > 1 and isinstance(kernel_size, (tuple, list)) and len(kernel_size) < rank:
        raise ValueError(
            f"not enough values to unpack (expected {rank}, got {len(kernel_size)}): kernel_size of {function}"
        )
    if norm_type in (math.inf, -math.inf):  # the largest size in a window, or the smallest
        size = x.abs() if norm_type > 0 else -x.abs()
        ends: Tensor = max_pool(f"max_pool{rank}d", rank, size, kernel_size, stride, 0, 1, ceil_mode, False)
        return ends if norm_type > 0 else -ends
    name = f"avg_pool{rank}d"
    mean = _avg_pool(name, rank, x.pow(norm_type), kernel_size, stride, 0, ceil_mode, True, None)
    count = math.prod(numbers(function, "kernel_size", 3, kernel_size, rank))
    found: Tensor = (mean.sign() * mean.abs().relu()).mul(count).pow(1.0 / norm_type)
    return found


@public("nn.functional.lp_pool1d")
def lp_pool1d(
    input: Tensor, norm_type: float, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False
) -> Tensor:
    """The p-norm (`norm_type`) of every window of signals: the p-th root of the sum of p-th powers."""
    return _lp_pool("lp_pool1d", 1, input, norm_type, kernel_size, stride, ceil_mode)


@public("nn.functional.lp_pool2d")
def lp_pool2d(
    input: Tensor, norm_type: float, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False
) -> Tensor:
    """The p-norm (`norm_type`) of every window of images: the p-th root of the sum of p-th powers.

    >>> import retrograd as rg
    >>> rg.nn.functional.lp_pool2d(rg.tensor([[[3.0, 0.0], [0.0, 4.0]]]), 2, 2)
    tensor([[[5.]]])
    """
    return _lp_pool("lp_pool2d", 2, input, norm_type, kernel_size, stride, ceil_mode)


@public("nn.functional.lp_pool3d")
def lp_pool3d(
    input: Tensor, norm_type: float, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False
) -> Tensor:
    """The p-norm (`norm_type`) of every window of volumes: the p-th root of the sum of p-th powers."""
    if autocasting_on_cpu():  # as PyTorch's sum by avg_pool3d
        return in_float32(lp_pool3d, input, norm_type, kernel_size, stride, ceil_mode)
    return _lp_pool("lp_pool3d", 3, input, norm_type, kernel_size, stride, ceil_mode)
