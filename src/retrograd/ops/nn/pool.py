"""Pooling: the largest, the average or the p-norm of every window, and the inverse of the first."""

from __future__ import annotations

import math
from typing import Any

from retrograd.backends.base import whole
from retrograd.core.apply import apply1, apply_n
from retrograd.core.modes import FORWARD, current
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError, ShapeError, sizes, type_name, unsupported_dtype
from retrograd.ops.common import require_tensor
from retrograd.ops.nn.pooling import (
    AvgPool2D,
    AvgPool3D,
    MaxPool2DWithIndices,
    MaxPool3DWithIndices,
    MaxUnpool2D,
    MaxUnpool3D,
)
from retrograd.ops.nn.sliding import Sliding, ints, sliding, spread_ints
from retrograd.ops.register import public
from retrograd.ops.shape.reshape import integer
from retrograd.values import Shape

WORDS = {1: "one int", 2: "two ints", 3: "three ints"}


# -- checks --------------------------------------------------------------------------------------------------------


def numbers(function: str, name: str, position: int, value: Any, rank: int) -> Shape:
    """As many ints as there are dimensions."""
    if type(value) is int:
        return (value,) * rank
    given = ints(function, name, position, value)
    omitted = "be omitted, " if name == "stride" else ""
    message = f"{function}: {name} must either {omitted or 'be '}a single int, or a tuple of {WORDS[rank]}"
    if rank == 1:
        message = (
            f"{function}() {name} must be an int, list of ints, or tuple of ints of size 1 but got size {len(given)}: "
            f"argument '{name}' should contain one int (got {len(given)})"
        )
    return spread_ints(given, rank, message)


def check_rank(function: str, x: Tensor, rank: int) -> None:
    """Complains about an input that is neither a sample nor a batch of samples, or has an empty one."""
    shape = x.array.shape
    if len(shape) not in (rank + 1, rank + 2):
        low, high = rank + 1, rank + 2
        text = (
            f"{function}: Expected {low}D or {high}D (batch mode) tensor with optional 0 dim batch size for input: a "
            f"non-empty {low}D or {high}D (batch mode) tensor expected for input (Expected {low} to {high} "
            f"dimensions), but got:{sizes(shape)}"
        )
        raise ShapeError(text)
    if 0 in shape[len(shape) - rank - 1 :]:
        raise ShapeError(
            f"{function}: Expected {rank + 1}D or {rank + 2}D (batch mode) tensor with optional 0 dim batch size for "
            f"input, but got:{sizes(shape)}. Expected input's non-batch dimensions to have positive length."
        )


def pool_windows(
    function: str,
    x: Tensor,
    rank: int,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil: bool,
) -> Sliding:
    """The windows of one call, checked."""
    kernel = numbers(function, "kernel_size", 2, kernel_size, rank)
    omitted = stride is None or (isinstance(stride, (tuple, list)) and not stride)
    step = kernel if omitted else numbers(function, "stride", 3, stride, rank)
    border = numbers(function, "padding", 4, padding, rank)
    gap = numbers(function, "dilation", 5, dilation, rank)
    check_rank(function, x, rank)
    if min(step) == 0:
        raise ShapeError(f"{function}() stride must be greater than zero: stride should not be zero")
    if min(kernel) < 1:
        raise ShapeError(f"{function}() kernel_size must be greater than zero, but got {sizes(kernel)}")
    if min(step) < 1:
        raise ShapeError(f"{function}() stride must be greater than zero, but got {sizes(step)}")
    if min(gap) < 1:
        raise ShapeError(
            f"{function}() dilation must be greater than zero: dilation should be greater than zero, but got "
            f"{sizes(gap)}"
        )
    for p, k, d in zip(border, kernel, gap, strict=True):
        if p < 0:
            raise ShapeError(
                f"{function}() padding must be non-negative: pad must be non-negative, but got pad: {p}"
            )
        if p > (d * (k - 1) + 1) // 2:
            raise ShapeError(
                f"{function}() padding should be at most half of kernel size: pad should be at most half of effective "
                f"kernel size, but got pad={p}, kernel_size={k} and dilation={d}"
            )
    windows = sliding(x.array.shape[-rank:], kernel, step, border, gap, ceil)
    if min(windows.number) < 1:
        channels = str(x.array.shape[-rank - 1])
        before, after = (
            "x".join([channels, *map(str, windows.size)]),
            "x".join([channels, *map(str, windows.number)]),
        )
        raise ShapeError(
            f"{function}() Invalid computed output size: {min(windows.number)}. Given input size: ({before}). "
            f"Calculated output size: ({after}). Output size is too small: the padded input is smaller than kernel size"
        )
    return windows


def check_kind(kernel: str, x: Tensor, kinds: str) -> None:
    """Complains about a dtype whose kind is not among these; int64 is 'l' where only it is taken."""
    dtype = x.array.dtype
    if dtype.kind not in kinds and not ("l" in kinds and dtype == "int64"):
        raise unsupported_dtype(kernel, dtype, "convert it with .float()")


def indices_wanted(x: Tensor, asked: bool) -> bool:
    """Whether somebody needs to know where the largest elements are."""
    state = current()
    return asked or (state.grad_enabled and x.requires_grad) or state.special & FORWARD != 0


def both(op: Any, x: Tensor) -> tuple[Any, Any]:
    """The largest elements and their positions; the op watches the positions for changes."""
    values, indices = apply_n(op, (x,))
    op.watch(indices)
    return values, indices


# -- the largest ---------------------------------------------------------------------------------------------------


def _max_pool(
    function: str,
    rank: int,
    input: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: Any,
    return_indices: bool,
) -> Any:
    x = require_tensor(function, "input", 1, input)
    windows = pool_windows(function, x, rank, kernel_size, stride, padding, dilation, bool(ceil_mode))
    single = rank == 1 and not return_indices
    check_kind("max_pool1d_impl" if single else function, x, "f" if single else "fiu")
    if rank == 1:
        # One dimension is pooled as two, as in PyTorch, so that the graph is the same.
        windows = Sliding(*[(o, *v) for o, v in zip((1, 1, 1, 0, 1, 1), windows, strict=True)])
        x = x.unsqueeze(-2)
    op = (MaxPool3DWithIndices if rank == 3 else MaxPool2DWithIndices)(
        windows, bool(ceil_mode), indices_wanted(x, return_indices)
    )
    values, indices = both(op, x) if op.wanted else (apply_n(op, (x,)), None)
    if rank == 1:
        values, indices = values.squeeze(-2), None if indices is None else indices.squeeze(-2)
    return (values, indices) if return_indices else values


@public("max_pool1d", "nn.functional.max_pool1d")
def max_pool1d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of every window of signals [batch, channel, length].

    Args:
        stride: how far apart the windows begin; None means side by side.
        padding: how many elements below all others to put at both ends.
        dilation: how far apart the elements of a window are.
        ceil_mode: whether a window may hang over the end.
        return_indices: whether to return where the largest elements are, too.

    >>> import retrograd as rg
    >>> rg.max_pool1d(rg.tensor([[1.0, 3.0, 2.0, 5.0]]), 2)
    tensor([[3., 5.]])
    """
    return _max_pool(
        "max_pool1d", 1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices
    )


@public("max_pool2d", "nn.functional.max_pool2d")
def max_pool2d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of every window of images [batch, channel, height, width]; see max_pool1d.

    >>> import retrograd as rg
    >>> rg.max_pool2d(rg.arange(16.0).reshape(1, 4, 4), 2)
    tensor([[[ 5.,  7.],
             [13., 15.]]])
    """
    return _max_pool(
        "max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices
    )


@public("max_pool3d", "nn.functional.max_pool3d")
def max_pool3d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of every window of volumes [batch, channel, depth, height, width]; see max_pool1d."""
    return _max_pool(
        "max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices
    )


@public("max_pool1d_with_indices", "nn.functional.max_pool1d_with_indices")
def max_pool1d_with_indices(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = True,
) -> Any:
    """`max_pool1d(…, return_indices=True)`."""
    return _max_pool("max_pool1d", 1, input, kernel_size, stride, padding, dilation, ceil_mode, True)


@public("nn.functional.max_pool2d_with_indices")
def max_pool2d_with_indices(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = True,
) -> Any:
    """`max_pool2d(…, return_indices=True)`."""
    return _max_pool("max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode, True)


@public("nn.functional.max_pool3d_with_indices")
def max_pool3d_with_indices(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = True,
) -> Any:
    """`max_pool3d(…, return_indices=True)`."""
    return _max_pool("max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode, True)


# -- the largest put back ------------------------------------------------------------------------------------------


def _unpooled_size(kernel: Shape, stride: Shape, padding: Shape, x: Tensor, output_size: Any) -> Shape:
    """The size that max pooling started from: the one asked for, if it leads to that of the input."""
    rank = len(kernel)
    given = x.array.shape[-rank:]
    usual = tuple(
        [(n - 1) * s + k - 2 * p for n, k, s, p in zip(given, kernel, stride, padding, strict=True)]
    )
    if output_size is None:
        return usual
    wanted = tuple([integer(n) for n in output_size])
    if len(wanted) == rank + 2:
        wanted = wanted[2:]
    if len(wanted) != rank:
        raise ValueError(
            f"output_size should be a sequence containing {rank} or {rank + 2} elements, but it has a length of "
            f"'{len(wanted)}'"
        )
    for d, (n, u, s) in enumerate(zip(wanted, usual, stride, strict=True)):
        if not u - s < n < u + s:
            raise ValueError(f'invalid output_size "{wanted}" (dim {d} must be between {u - s} and {u + s})')
    return wanted


def _max_unpool(
    function: str,
    rank: int,
    input: Any,
    indices: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    output_size: Any,
) -> Any:
    x = require_tensor(function, "input", 1, input)
    places = require_tensor(function, "indices", 2, indices)
    if x.array.ndim not in (rank + 1, rank + 2):
        raise ShapeError(
            f"Input to max_unpooling{max(rank, 2)}d should be a {rank + 1}d or {rank + 2}d Tensor, but got a tensor "
            f"with {x.array.ndim} dimensions."
        )
    kernel = numbers(function, "kernel_size", 3, kernel_size, rank)
    step = kernel if stride is None else numbers(function, "stride", 4, stride, rank)
    border = numbers(function, "padding", 5, padding, rank)
    size = _unpooled_size(kernel, step, border, x, output_size)
    if places.array.dtype != "int64":
        raise DtypeError(f"elements in indices should be type int64 but got: {places.array.dtype}")
    if places.array.shape != x.array.shape:
        raise ShapeError(
            f"Expected shape of indices to be same as that of the input tensor ({sizes(x.array.shape)}) but got "
            f"indices tensor with shape: {sizes(places.array.shape)}"
        )
    bad = (places.array < 0) | (places.array >= math.prod(size))
    if bad.any():
        first = whole(places.array)[whole(bad)].reshape(-1)[0]
        raise ShapeError(
            f"Found an invalid max index: {first} (output volumes are of size {'x'.join(map(str, size))})"
        )
    if rank == 1:
        return apply1(MaxUnpool2D(places.array[..., None], (*size, 1)), x.unsqueeze(-1)).squeeze(-1)
    return apply1((MaxUnpool3D if rank == 3 else MaxUnpool2D)(places.array.copy(), size), x)


@public("nn.functional.max_unpool1d")
def max_unpool1d(
    input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Any:
    """What max_pool1d returned, put back where it came from, among zeros; `output_size` where the size is open."""
    return _max_unpool("max_unpool1d", 1, input, indices, kernel_size, stride, padding, output_size)


@public("nn.functional.max_unpool2d")
def max_unpool2d(
    input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Any:
    """What max_pool2d returned, put back where it came from, among zeros; `output_size` where the size is open.

    >>> import retrograd as rg
    >>> F = rg.nn.functional
    >>> values, indices = F.max_pool2d(rg.arange(4.0).reshape(1, 2, 2), 2, return_indices=True)
    >>> F.max_unpool2d(values, indices, 2)
    tensor([[[0., 0.],
             [0., 3.]]])
    """
    return _max_unpool("max_unpool2d", 2, input, indices, kernel_size, stride, padding, output_size)


@public("nn.functional.max_unpool3d")
def max_unpool3d(
    input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Any:
    """What max_pool3d returned, put back where it came from, among zeros; `output_size` where the size is open."""
    return _max_unpool("max_unpool3d", 3, input, indices, kernel_size, stride, padding, output_size)


# -- averages ------------------------------------------------------------------------------------------------------


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
) -> Any:
    x = require_tensor(function, "input", 1, input)
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
    options = (bool(ceil_mode), bool(count_include_pad), divisor_override)
    if rank == 1:
        windows = Sliding(*[(o, *v) for o, v in zip((1, 1, 1, 0, 1, 1), windows, strict=True)])
        return apply1(AvgPool2D(windows, *options), x.unsqueeze(-2)).squeeze(-2)
    return apply1((AvgPool3D if rank == 3 else AvgPool2D)(windows, *options), x)


@public("avg_pool1d", "nn.functional.avg_pool1d")
def avg_pool1d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:
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
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: Any = None,
) -> Any:
    """The average of every window of images; `divisor_override` divides by another number. See avg_pool1d."""
    return _avg_pool(
        "avg_pool2d", 2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


@public("nn.functional.avg_pool3d")
def avg_pool3d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: Any = None,
) -> Any:
    """The average of every window of volumes; `divisor_override` divides by another number. See avg_pool1d."""
    return _avg_pool(
        "avg_pool3d", 3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


# -- norms ---------------------------------------------------------------------------------------------------------


def _lp_pool(
    function: str, rank: int, input: Any, norm_type: Any, kernel_size: Any, stride: Any, ceil_mode: Any
) -> Any:
    x = require_tensor(function, "input", 1, input)
    name = f"avg_pool{rank}d"
    mean = _avg_pool(name, rank, x.pow(norm_type), kernel_size, stride, 0, ceil_mode, True, None)
    count = math.prod(numbers(function, "kernel_size", 3, kernel_size, rank))
    return (mean.sign() * mean.abs().relu()).mul(count).pow(1.0 / norm_type)


@public("nn.functional.lp_pool1d")
def lp_pool1d(
    input: Any, norm_type: Any, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
) -> Any:
    """The p-norm (`norm_type`) of every window of signals: the p-th root of the sum of p-th powers."""
    return _lp_pool("lp_pool1d", 1, input, norm_type, kernel_size, stride, ceil_mode)


@public("nn.functional.lp_pool2d")
def lp_pool2d(
    input: Any, norm_type: Any, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
) -> Any:
    """The p-norm (`norm_type`) of every window of images: the p-th root of the sum of p-th powers.

    >>> import retrograd as rg
    >>> rg.nn.functional.lp_pool2d(rg.tensor([[[3.0, 0.0], [0.0, 4.0]]]), 2, 2)
    tensor([[[5.]]])
    """
    return _lp_pool("lp_pool2d", 2, input, norm_type, kernel_size, stride, ceil_mode)


@public("nn.functional.lp_pool3d")
def lp_pool3d(
    input: Any, norm_type: Any, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
) -> Any:
    """The p-norm (`norm_type`) of every window of volumes: the p-th root of the sum of p-th powers."""
    return _lp_pool("lp_pool3d", 3, input, norm_type, kernel_size, stride, ceil_mode)
