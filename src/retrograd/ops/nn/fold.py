"""Patches of images: every window as a column (`unfold`), and columns added up to an image (`fold`)."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from retrograd.backends.base import Backend
from retrograd.core.apply import apply1
from retrograd.core.families import Linear
from retrograd.core.tensor import Tensor
from retrograd.errors import ShapeError, dimension_error, sizes, unsupported_dtype
from retrograd.ops.common import require_tensor
from retrograd.ops.nn.arguments import Ints
from retrograd.ops.nn.sliding import Sliding, ints, sliding, spread_ints
from retrograd.ops.register import public
from retrograd.ops.shape.repeat import COPIED
from retrograd.values import Array, Shape


class Im2Col(Linear):
    """all windows of an image, each a column of its channels and places"""

    params: ClassVar[tuple[str, ...]] = ("windows",)
    shown: ClassVar[dict[str, str]] = {
        "kernel_size": "kernel", "dilation": "dilation", "padding": "padding", "stride": "stride",
        "self_sym_argsize_minus_1": "width", "self_sym_argsize_minus_2": "height",
    }  # fmt: skip

    def __init__(self, windows: Sliding) -> None:
        self.windows = windows
        self.kernel, self.dilation = windows.kernel, windows.dilation
        self.padding, self.stride = windows.padding, windows.stride
        self.height, self.width = windows.size

    def forward(self, xp: Backend, x: Array) -> Array:
        found = self.windows.read(xp, self.windows.padded(xp, x))
        rows, columns = x.shape[-3] * math.prod(self.kernel), math.prod(self.windows.number)
        return xp.of_lines(COPIED, found).reshape(*x.shape[:-3], rows, columns)

    def transpose(self, g: Any) -> Any:
        return Col2Im(self.windows).on(g)


class Col2Im(Im2Col):
    """columns put back where the windows of an image were, and added up there"""

    shown: ClassVar[dict[str, str]] = {
        "kernel_size": "kernel", "dilation": "dilation", "padding": "padding", "stride": "stride",
    }  # fmt: skip

    def forward(self, xp: Backend, x: Array) -> Array:
        channels = x.shape[-2] // math.prod(self.kernel)
        out = self.windows.write(xp, x.reshape(*x.shape[:-2], channels, *self.kernel, *self.windows.number))
        return xp.ascontiguousarray(out)

    def transpose(self, g: Any) -> Any:
        return Im2Col(self.windows).on(g)


def _pair(function: str, name: str, position: int, value: Any) -> Shape:
    given = ints(function, name, position, value)
    if isinstance(value, (tuple, list)) and len(given) == 1:  # unlike kernels of convolutions
        raise ShapeError(f"It is expected {name} equals to 2, but got size 1. Give an int, or two.")
    return spread_ints(given, 2, f"It is expected {name} equals to 2, but got size {len(given)}")


def _options(
    function: str, kernel_size: Any, dilation: Any, padding: Any, stride: Any
) -> tuple[Shape, Shape, Shape, Shape]:
    """Kernel, stride, padding and dilation as pairs."""
    kernel, gap = (
        _pair(function, "kernel_size", 2, kernel_size),
        _pair(function, "dilation", 3, dilation),
    )
    border, step = _pair(function, "padding", 4, padding), _pair(function, "stride", 5, stride)
    for label, short, pair in (
        ("kernel size", "kernel", kernel),
        ("stride", "stride", step),
        ("dilation", "dilation", gap),
    ):
        if min(pair) < 1:
            raise ShapeError(
                f"{label} should be greater than zero, but got {short}_height: {pair[0]} {short}_width: {pair[1]}"
            )
    if min(border) < 0:
        raise ShapeError(
            f"padding should be non-negative, but got pad_height: {border[0]} pad_width: {border[1]}"
        )
    return kernel, step, border, gap


def _check(function: str, kernel: str, x: Tensor, rank: int, tail: str) -> None:
    shape = x.array.shape
    if len(shape) not in (rank, rank + 1) or 0 in shape[len(shape) - rank :]:
        raise ShapeError(
            f"Expected {rank}D or {rank + 1}D (batch mode) tensor {tail}, but got: {sizes(shape)}"
        )
    if x.array.dtype.kind in "iu":
        raise unsupported_dtype(kernel, x.array.dtype, "convert it with .float()")


def _text(pair: Shape) -> str:
    return f"({pair[0]}, {pair[1]})"


@public("nn.functional.unfold")
def unfold(
    input: Tensor, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1
) -> Tensor:
    """All windows of images [batch, channel, height, width] as columns [batch, channel * places, windows].

    >>> import retrograd as rg
    >>> rg.nn.functional.unfold(rg.arange(9.0).reshape(1, 1, 3, 3), 2)
    tensor([[[0., 1., 3., 4.],
             [1., 2., 4., 5.],
             [3., 4., 6., 7.],
             [4., 5., 7., 8.]]])
    """
    x = require_tensor("im2col", "input", 1, input)
    kernel, step, border, gap = _options("im2col", kernel_size, dilation, padding, stride)
    if x.array.ndim < 3:
        raise dimension_error(max(x.array.ndim, 1), x.array.ndim)
    tail = "with possibly 0 batch size and other non-zero dimensions for input"
    _check("unfold", "im2col_out_cpu", x, 3, tail)
    windows = sliding(x.array.shape[-2:], kernel, step, border, gap)
    if min(windows.number) < 1:
        raise ShapeError(
            f"Given input with spatial size {_text(windows.size)}, kernel_size={_text(kernel)}, dilation={_text(gap)}, "
            f"padding={_text(border)}, calculated shape of the array of sliding blocks as {_text(windows.number)}, but "
            "its components must be at least one."
        )
    found: Tensor = apply1(Im2Col(windows), x)
    return found


@public("nn.functional.fold")
def fold(
    input: Tensor,
    output_size: Ints,
    kernel_size: Ints,
    dilation: Ints = 1,
    padding: Ints = 0,
    stride: Ints = 1,
) -> Tensor:
    """Columns [batch, channel * places, windows] put back as windows of images of `output_size`, and added up there.

    >>> import retrograd as rg
    >>> rg.nn.functional.fold(rg.ones(1, 4, 4), (3, 3), 2)
    tensor([[[[1., 2., 1.],
              [2., 4., 2.],
              [1., 2., 1.]]]])
    """
    x = require_tensor("col2im", "input", 1, input)
    size = _pair("col2im", "output_size", 2, output_size)
    kernel, step, border, gap = _options("col2im", kernel_size, dilation, padding, stride)
    _check(
        "fold",
        "col2im_out_cpu",
        x,
        2,
        "for input with possibly 0 batch size and non-zero dimensions for input",
    )
    rows, columns = x.array.shape[-2:]
    if rows % math.prod(kernel):
        raise ShapeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got input.size(1)="
            f"{rows} and kernel_size={_text(kernel)}."
        )
    windows = sliding(size, kernel, step, border, gap)
    _check_number(windows, columns)
    found: Tensor = apply1(Col2Im(windows), x)
    return found


def _check_number(windows: Sliding, columns: int) -> None:
    """There is a column for each window of the image, and an image for them."""
    kernel, step, border, gap = windows.kernel, windows.stride, windows.padding, windows.dilation
    given = (
        f"Given output_size={_text(windows.size)}, kernel_size={_text(kernel)}, dilation={_text(gap)}, "
        f"padding={_text(border)}, stride={_text(step)}, "
    )
    if math.prod(windows.number) != columns:
        raise ShapeError(
            f"{given}expected size of input's dimension 2 to match the calculated number of sliding blocks "
            f"{windows.number[0]} * {windows.number[1]} = {math.prod(windows.number)}, but got "
            f"input.size(2)={columns}."
        )
    if min(windows.number) < 1:
        raise ShapeError(
            f"{given}calculated shape of the array of sliding blocks as {_text(windows.number)}, which is too small "
            "(non-positive)"
        )
