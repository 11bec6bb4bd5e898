"""What a convolution is apart from its operands: its options, what fits them, and how windows slide over the input."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from retrograd.backends.base import Backend
from retrograd.backends.kernels.along_axis import WHOLE
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.errors import DTYPE_NAMES, DtypeError, ShapeError, sizes, type_name, unsupported_dtype
from retrograd.ops.common import c_name
from retrograd.ops.nn.pad import pad as padded
from retrograd.ops.nn.sliding import Sliding, ints, sliding, spread_ints
from retrograd.values import Array, Shape

CACHE = 1 << 20  # bytes of windows worked on at a time


class Geometry(NamedTuple):
    """What a convolution is apart from its operands: how windows slide over x, and how many groups of channels."""

    windows: Sliding
    groups: int

    @property
    def pointwise(self) -> bool:
        """Whether each window is one element, and each element one window."""
        w = self.windows
        return max(w.kernel) == 1 and w.lengths == w.size == w.number

    def parts(self, samples: int, channels: int, itemsize: int) -> Iterator[slice]:
        """Slices of the batch whose windows fit into the cache."""
        each = channels * itemsize * math.prod(self.windows.kernel) * math.prod(self.windows.number)
        step = max(1, CACHE // max(each, 1))
        for start in range(0, samples, step):
            yield slice(start, start + step)

    def columns(self, xp: Backend, x: Array) -> Array:
        """The windows of x as matrices [sample, group, channel and place in the kernel, window]."""
        if self.pointwise:
            return self.grouped(x)
        rows = x.shape[1] // self.groups * math.prod(self.windows.kernel)
        windows = self.windows.read(xp, self.windows.padded(xp, x))
        return windows.reshape(len(x), self.groups, rows, math.prod(self.windows.number))

    def grouped(self, v: Array) -> Array:
        """An input or output as matrices [sample, group, channel, place]."""
        return v.reshape(len(v), self.groups, v.shape[1] // self.groups, math.prod(v.shape[2:]))

    def matrices(self, w: Array) -> Array:
        """A weight as matrices [group, output channel, input channel and place in the kernel]."""
        return w.reshape(self.groups, len(w) // self.groups, math.prod(w.shape[1:]))

    def reversed(self) -> Geometry | None:
        """How windows slide over y when x is wanted: only where they are side by side, else None."""
        w = self.windows
        border = tuple([(k - 1) * d - p for k, d, p in zip(w.kernel, w.dilation, w.padding, strict=True)])
        if max(w.stride) > 1 or min(border) < 0 or min(w.number) < 1:
            return None
        back = sliding(w.number, w.kernel, w.stride, border, w.dilation)
        return Geometry(back, self.groups) if back.number == w.size else None

    def reversed_weight(self, w: Array) -> Array:
        """The weight back to front, inputs and outputs exchanged in each group."""
        turned = w[(WHOLE, WHOLE) + (slice(None, None, -1),) * (w.ndim - 2)]
        each = len(w) // self.groups
        turned = turned.reshape(self.groups, each, *w.shape[1:]).swapaxes(1, 2)
        return turned.reshape(self.groups * w.shape[1], each, *w.shape[2:])


class Options(NamedTuple):
    """The options of one call, as many numbers as there are dimensions."""

    stride: Shape
    padding: Shape
    dilation: Shape
    output_padding: Shape
    groups: int
    transposed: bool


def operand(function: str, name: str, value: Any) -> Tensor:
    """A tensor, or a complaint."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"{function}() received an invalid combination of arguments - got {type_name(value)} for '{name}', but "
            "expected (Tensor input, Tensor weight, Tensor bias = None, …)"
        )
    return value


def numbers(function: str, name: str, value: Any, n: int) -> Shape:
    """An option as `n` numbers."""
    if type(value) is int:
        return (value,) * n
    try:
        given = ints(function, name, 4, value)
    except TypeError:
        raise TypeError(
            f"{function}() received an invalid combination of arguments - got {type_name(value)} for '{name}', but "
            "expected an int or a tuple of ints"
        ) from None
    message = (
        f"expected {name} to be a single integer value or a list of {n} values to match the convolution dimensions, "
        f"but got {name}={sizes(given)}"
    )
    return spread_ints(given, n, message)


def check_options(o: Options, w: Array) -> None:
    if o.groups <= 0:
        raise ShapeError("non-positive groups is not supported")
    if min(o.stride) <= 0:
        raise ShapeError(f"non-positive stride is not supported, got {sizes(o.stride)}")
    if min(o.padding) < 0:
        raise ShapeError(f"negative padding is not supported, got {sizes(o.padding)}")
    if min(o.output_padding) < 0:
        raise ShapeError(f"negative output_padding is not supported, got {sizes(o.output_padding)}")
    if min(o.dilation) <= 0:
        raise ShapeError(f"dilation should be greater than zero, but got {sizes(o.dilation)}")
    if len(w) < o.groups:
        raise ShapeError(
            f"Given groups={o.groups}, expected weight to be at least {o.groups} at dimension 0, but got weight of "
            f"size {sizes(w.shape)} instead"
        )
    if len(w) % o.groups:
        raise ShapeError(
            f"Given groups={o.groups}, expected weight to be divisible by {o.groups} at dimension 0, but got weight of "
            f"size {sizes(w.shape)} instead"
        )
    if min(w.shape[2:]) < 1:
        raise ShapeError(
            f"a kernel needs an element in each dimension, but got weight of size {sizes(w.shape)}"
        )


def check_shapes(o: Options, x: Array, w: Array, b: Array | None) -> None:
    kind = "transposed=1" if o.transposed else f"groups={o.groups}"
    wanted = len(w) if o.transposed else w.shape[1] * o.groups
    if x.shape[1] != wanted:
        raise ShapeError(
            f"Given {kind}, weight of size {sizes(w.shape)}, expected input{sizes(x.shape)} to have {wanted} channels, "
            f"but got {x.shape[1]} channels instead"
        )
    outputs = w.shape[1] * o.groups if o.transposed else len(w)
    if b is not None and b.shape != (outputs,):
        raise ShapeError(
            f"Given {'transposed=1, ' if o.transposed else ''}weight of size {sizes(w.shape)}, expected bias to be "
            f"1-dimensional with {outputs} elements, but got bias of size {sizes(b.shape)} instead"
        )
    if 0 in x.shape[2:] and x.size == 0 and (o.transposed or max(o.padding) > 0):
        raise ShapeError(
            f"Only zero batch or zero channel inputs are supported, but got input shape: {sizes(x.shape)}"
        )


def check_dtypes(x: Array, w: Array, b: Array | None) -> None:
    if x.dtype.kind == "b":
        raise unsupported_dtype("slow_conv2d_cpu", x.dtype, "convert it with .float()")
    for name, other in (("bias", b), ("weight", w)):
        if other is not None and other.dtype != x.dtype:
            raise DtypeError(
                f"Input type ({c_name(x)}) and {name} type ({c_name(other)}) should be the same: expected scalar type "
                f"{DTYPE_NAMES[x.dtype.name]} but found {DTYPE_NAMES[other.dtype.name]}. Convert one with .to(dtype)."
            )


def _by(numbers: Sequence[int]) -> str:
    return "(" + " x ".join([str(n) for n in numbers]) + ")"


def forward_geometry(o: Options, x: Array, w: Array) -> Geometry:
    windows = sliding(x.shape[2:], w.shape[2:], o.stride, o.padding, o.dilation)
    room = [n + 2 * p for n, p in zip(windows.size, o.padding, strict=True)]
    reach = [d * (k - 1) + 1 for d, k in zip(o.dilation, windows.kernel, strict=True)]
    if any(r > n for r, n in zip(reach, room, strict=True)):
        raise ShapeError(
            f"Calculated padded input size per channel: {_by(room)}. Kernel size: {_by(reach)}. Kernel size can't be "
            "greater than actual input size. Pad the input, or take a smaller kernel or dilation."
        )
    return Geometry(windows, o.groups)


def transposed_geometry(o: Options, x: Array, w: Array) -> Geometry:
    size = []
    for n, k, s, p, d, extra in zip(
        x.shape[2:], w.shape[2:], o.stride, o.padding, o.dilation, o.output_padding, strict=True
    ):
        if extra >= max(s, d):
            raise ShapeError(
                "output padding must be smaller than either stride or dilation, but got output_padding: "
                f"{sizes(o.output_padding)} stride: {sizes(o.stride)} dilation: {sizes(o.dilation)}"
            )
        size.append((n - 1) * s - 2 * p + d * (k - 1) + extra + 1)
    if min(size) < 1:
        raise ShapeError(
            f"Given input size per channel: {_by(x.shape[2:])}. Calculated output size per channel: {_by(size)}. "
            "Output size is too small"
        )
    return Geometry(Sliding(tuple(size), w.shape[2:], o.stride, o.padding, o.dilation, x.shape[2:]), o.groups)


def check_ranks(x: Array, w: Array) -> None:
    if x.ndim != w.ndim:
        raise ShapeError(
            f"Expected {w.ndim}-dimensional input for {w.ndim}-dimensional weight {sizes(w.shape)}, but got "
            f"{x.ndim}-dimensional input of size {sizes(x.shape)} instead"
        )


def named_padding(x: Any, padding: str, kernel: Shape, stride: Shape, dilation: Shape) -> tuple[Any, Shape]:
    """The border of padding='same' or 'valid'; one of odd width is put around the input here."""
    if padding == "valid":
        return x, (0,) * len(kernel)
    if padding != "same":
        raise ShapeError(f"Invalid padding string: '{padding}'. It can be 'same', 'valid' or numbers.")
    if max(stride) > 1:
        raise ShapeError("padding='same' is not supported for strided convolutions")
    total = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
    if any(t % 2 for t in total):
        warn(
            "Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of the "
            "input be created",
            UserWarning,
        )
        x = padded(x, [width for t in reversed(total) for width in (0, t % 2)])
    return x, tuple([t // 2 for t in total])
