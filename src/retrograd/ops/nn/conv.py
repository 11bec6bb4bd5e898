"""Convolution over one, two or three dimensions, and its transpose.

Note [Three convolutions]
~~~~~~~~~~~~~~~~~~~~~~~~~
A convolution without its bias is one sum of products x · w · y over an input x, a weight w and an output y: the output
is its derivative by y, the gradient of the input its derivative by x, that of the weight its derivative by w. So three
bilinear ops, Correlate (x, w → y), Spread (y, w → x: the transposed convolution) and Overlap (x, y → w), are each
other's derivatives, and no further formula is needed, however often one differentiates.

Each goes through matrix products over the array of all windows (see Note [Windows]), for as many samples at a time as
fit into the processor's cache with theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from retrograd.backends.base import Backend, backend_of
from retrograd.core.apply import apply_n
from retrograd.core.autocast import autocasting, lowered
from retrograd.core.families import Bilinear, added
from retrograd.core.op import Variadic, X
from retrograd.core.tensor import Tensor
from retrograd.errors import ShapeError, sizes, type_name
from retrograd.ops.common import require_tensor
from retrograd.ops.nn.arguments import Ints
from retrograd.ops.nn.conv_geometry import (
    Geometry,
    Options,
    check_dtypes,
    check_options,
    check_ranks,
    check_shapes,
    forward_geometry,
    named_padding,
    numbers,
    operand,
    transposed_geometry,
)
from retrograd.ops.register import public
from retrograd.ops.shape.reshape import integer
from retrograd.values import Array, Shape


def in_single(x: Array, y: Array) -> tuple[Array, Array]:
    """Half precision is summed in single, as PyTorch does."""
    return (x.astype("float32"), y.astype("float32")) if x.dtype.char == "e" else (x, y)


def conjugated(v: Any) -> Any:
    return v.conj() if v.dtype.kind == "c" else v


class OfWindows(Bilinear):
    """One of the three: see Note [Three convolutions]."""

    params: ClassVar[tuple[str, ...]] = ("geometry",)

    def __init__(self, geometry: Geometry) -> None:
        self.geometry = geometry

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        return self.biased(xp, x, y, None)

    def biased(self, xp: Backend, x: Array, y: Array, b: Array | None) -> Array:
        """The result plus a number per channel, by the kernel of the op's name."""
        raise NotImplementedError

    def computed(self, xp: Backend, x: Array, y: Array, b: Array | None) -> Array:
        """The same by matrix products of the array library."""
        raise NotImplementedError

    def plus(self, xp: Backend, out: Array, b: Array | None) -> Array:
        """Adds the bias, in place where there is room."""
        return out if b is None else xp.add_into(out, b.reshape(-1, *[1] * (out.ndim - 2)))


class Correlate(OfWindows):
    """the products of a weight with all windows of an input: (x, w) → y"""

    node_name = "ConvolutionBackwardBackward0"

    def biased(self, xp: Backend, x: Array, y: Array, b: Array | None) -> Array:
        return xp.conv_correlate(self, x, y, b)

    def computed(self, xp: Backend, x: Array, y: Array, b: Array | None) -> Array:
        geometry, dtype = self.geometry, x.dtype
        x, w = in_single(x, y)
        out = xp.empty((len(x), len(w), *geometry.windows.number), x.dtype)
        matrix, target = geometry.matrices(w), geometry.grouped(out)
        for part in geometry.parts(len(x), x.shape[1], x.itemsize):
            xp.matmul(matrix, geometry.columns(xp, x[part]), out=target[part])
        return self.plus(xp, out.astype(dtype, copy=False), b)

    def transpose(self, i: int, g: Any, x: Any, y: Any) -> Any:
        if i == 0:
            return Spread(self.geometry).on(g, conjugated(y))
        return Overlap(self.geometry).on(conjugated(x), g)


class Spread(OfWindows):
    """a weight times each output, added up where the windows were: (y, w) → x"""

    node_name = "ConvolutionBackwardBackward0"

    def biased(self, xp: Backend, x: Array, y: Array, b: Array | None) -> Array:
        return xp.conv_spread(self, x, y, b)

    def computed(self, xp: Backend, x: Array, y: Array, b: Array | None) -> Array:
        geometry, dtype, windows = self.geometry, x.dtype, self.geometry.windows
        x, w = in_single(x, y)
        channels = w.shape[1] * geometry.groups
        back = geometry.reversed() if len(w) <= 2 * channels else None
        if back is not None:  # then it is a convolution too, and reading windows is cheaper than adding them
            turned = Correlate(back).forward(xp, x, geometry.reversed_weight(w))
            return self.plus(xp, turned.astype(dtype, copy=False), b)
        matrix = geometry.matrices(w).swapaxes(1, 2)
        out = xp.empty((len(x), channels, *windows.size), x.dtype)
        for part in geometry.parts(len(x), channels, x.itemsize):
            cols = xp.matmul(matrix, geometry.grouped(x[part]))
            shape = (len(cols), channels, *windows.kernel, *windows.number)
            out[part] = windows.write(xp, cols.reshape(shape))
        return self.plus(xp, out.astype(dtype, copy=False), b)

    def transpose(self, i: int, g: Any, x: Any, y: Any) -> Any:
        if i == 0:
            return Correlate(self.geometry).on(g, conjugated(y))
        return Overlap(self.geometry).on(g, conjugated(x))


class Overlap(OfWindows):
    """the products of all windows of an input with an output: (x, y) → w"""

    node_name = "ConvolutionBackwardBackward0"

    def biased(self, xp: Backend, x: Array, y: Array, b: Array | None) -> Array:
        return xp.conv_overlap(self, x, y)

    def computed(self, xp: Backend, x: Array, y: Array, b: Array | None) -> Array:
        geometry, dtype = self.geometry, x.dtype
        x, y = in_single(x, y)
        shape = (y.shape[1], x.shape[1] // geometry.groups, *geometry.windows.kernel)
        out = xp.zeros(shape, x.dtype)
        target = geometry.matrices(out)
        for part in geometry.parts(len(x), x.shape[1], x.itemsize):
            cols = geometry.columns(xp, x[part])
            target += xp.matmul(geometry.grouped(y[part]), cols.swapaxes(2, 3)).sum(axis=0)
        return out.astype(dtype, copy=False)

    def transpose(self, i: int, g: Any, x: Any, y: Any) -> Any:
        if i == 0:
            return Spread(self.geometry).on(conjugated(y), g)
        return Correlate(self.geometry).on(conjugated(x), g)


class Convolution(Variadic):
    """a convolution, or the transpose of one, plus a bias"""

    params: ClassVar[tuple[str, ...]] = ("geometry", "transposed", "output_padding")
    keeps: ClassVar[int] = X
    multiplies: ClassVar[bool] = True
    shown: ClassVar[dict[str, str]] = {
        "input": "x:0", "weight": "x:1", "bias_sym_sizes_opt": "bias_sizes", "stride": "stride", "padding": "padding",
        "dilation": "dilation", "transposed": "transposed", "output_padding": "output_padding", "groups": "groups",
    }  # fmt: skip
    bias_sizes: Shape = (0,)

    def __init__(self, geometry: Geometry, transposed: bool, output_padding: Shape) -> None:
        self.geometry, self.transposed, self.output_padding = geometry, transposed, output_padding
        self.stride, self.padding = geometry.windows.stride, geometry.windows.padding
        self.dilation, self.groups = geometry.windows.dilation, geometry.groups
        self.inner: Any = Spread(geometry) if transposed else Correlate(geometry)

    def keeps_input(self, i: int) -> bool:
        return i < 2 and self.needs(1 - i)

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        if xs[2] is not None:
            self.bias_sizes = xs[2].shape
        return self.inner.biased(xp, xs[0], xs[1], xs[2])

    def vjp(self, gs: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
        g = gs[0]
        grads = [self.inner.transpose(i, g, xs[0], xs[1]) if self.needs(i) else None for i in (0, 1)]
        if not self.needs(2):
            return [*grads, None]
        return [*grads, backend_of(g).channel_sums(g)]

    def jvp(self, ts: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Any:
        x = None if ts[0] is None else self.inner.fresh().on(ts[0], xs[1])
        w = None if ts[1] is None else self.inner.fresh().on(xs[0], ts[1])
        b = None if ts[2] is None else ts[2].reshape((-1,) + (1,) * len(self.stride))
        return added(added(x, w), b)


def batch_first(x: Any) -> Any:
    """[time, batch, channel] as [batch, channel, time]."""
    return x.swapaxes(0, 1).swapaxes(1, 2)


def time_first(x: Any) -> Any:
    """[batch, channel, time] as [time, batch, channel]."""
    return x.swapaxes(1, 2).swapaxes(0, 1)


class ConvTbc(Convolution):
    """a convolution over [time, batch, channel] with a weight [place, input channel, output channel]"""

    in_rows: ClassVar[bool] = True
    shown: ClassVar[dict[str, str]] = {"self": "x:0", "weight": "x:1", "bias": "x:2", "pad": "pad"}

    @property
    def pad(self) -> int:
        return self.padding[0]

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        return time_first(super().forward(xp, (batch_first(xs[0]), xs[1].swapaxes(0, 2), xs[2])))

    def vjp(self, gs: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
        x = None if xs[0] is None else batch_first(xs[0])
        w = None if xs[1] is None else xs[1].swapaxes(0, 2)
        grads = super().vjp([batch_first(gs[0])], (x, w), outs)
        return [
            None if grads[0] is None else time_first(grads[0]),
            None if grads[1] is None else grads[1].swapaxes(0, 2),
            grads[2],
        ]

    def jvp(self, ts: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Any:
        tx = None if ts[0] is None else batch_first(ts[0])
        tw = None if ts[1] is None else ts[1].swapaxes(0, 2)
        return time_first(super().jvp((tx, tw, ts[2]), (batch_first(xs[0]), xs[1].swapaxes(0, 2)), outs))


# -- calls ---------------------------------------------------------------------------------------------------------


# What is known of convolutions that were made before, by options and shapes: a network makes the same ones again.
_GEOMETRIES: Final[dict[tuple[Options, Shape, Shape], Geometry]] = {}
MOST_GEOMETRIES: Final = 512


def _convolution(x: Tensor, w: Tensor, b: Tensor | None, o: Options) -> Tensor:
    a, weight, bias = x.array, w.array, None if b is None else b.array
    call = (o, a.shape, weight.shape)
    geometry = _GEOMETRIES.get(call)
    if geometry is None:
        check_options(o, weight)
        check_ranks(a, weight)
    check_shapes(o, a, weight, bias)
    check_dtypes(a, weight, bias)
    if geometry is None:
        geometry = transposed_geometry(o, a, weight) if o.transposed else forward_geometry(o, a, weight)
        if len(_GEOMETRIES) >= MOST_GEOMETRIES:
            _GEOMETRIES.clear()
        _GEOMETRIES[call] = geometry
    if a.shape[1] == 0:  # PyTorch gives as many channels as it gets
        w, b = w[:0], None if b is None else b[:0]
    found: Tensor = apply_n(Convolution(geometry, o.transposed, o.output_padding), (x, w, b))
    return found


def _conv_nd(
    function: str,
    n: int,
    operands: tuple[Any, Any, Any],
    stride: Any,
    padding: Any,
    dilation: Any,
    output_padding: Any,
    groups: Any,
    transposed: bool,
) -> Tensor:
    """A convolution over the last `n` dimensions, of a batch or of one sample."""
    x, w = operand(function, "input", operands[0]), operand(function, "weight", operands[1])
    b = None if operands[2] is None else operand(function, "bias", operands[2])
    if x.array.ndim not in (n + 1, n + 2):
        raise ShapeError(
            f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {function}, but got input of size: "
            f"{sizes(x.array.shape)}"
        )
    if w.array.ndim < 3:
        raise ShapeError(f"weight should have at least three dimensions, got {sizes(w.array.shape)}")
    single = x.array.ndim == n + 1
    x = x.unsqueeze(0) if single else x
    kernel = w.array.shape[2:]
    steps, gaps = numbers(function, "stride", stride, n), numbers(function, "dilation", dilation, n)
    if len(kernel) != n:  # a weight of another rank is reported as PyTorch does
        if padding == "same":
            check_ranks(x.array, w.array)
        numbers(function, "stride", steps, len(kernel))
    if isinstance(padding, str):
        x, border = named_padding(x, padding, kernel, steps, gaps)
    else:
        border = numbers(function, "padding", padding, n)
    more = numbers(function, "output_padding", output_padding, n)
    out = _convolution(x, w, b, Options(steps, border, gaps, more, integer(groups), transposed))
    return out.squeeze(0) if single else out


# -- functions -----------------------------------------------------------------------------------------------------


@public("conv1d", "nn.functional.conv1d")
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: str | Ints = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """The convolution of a signal [batch, channel, length] with a weight [output, channel / groups, length].

    Args:
        bias: one number per output channel, or None.
        stride: how far apart the windows begin.
        padding: how many zeros to put at both ends, or "valid" (none), or "same" (the output as long as the input).
        dilation: how far apart the elements of a window are.
        groups: into how many independent convolutions the channels are divided.

    >>> import retrograd as rg
    >>> rg.conv1d(rg.tensor([[[1.0, 2.0, 4.0]]]), rg.tensor([[[-1.0, 1.0]]]))
    tensor([[[1., 2.]]])
    """
    if autocasting():
        return lowered(conv1d, input, weight, bias, stride, padding, dilation, groups)
    return _conv_nd("conv1d", 1, (input, weight, bias), stride, padding, dilation, 0, groups, False)


@public("conv2d", "nn.functional.conv2d")
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: str | Ints = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """The convolution of images [batch, channel, height, width]; see conv1d.

    >>> import retrograd as rg
    >>> rg.conv2d(rg.ones(1, 3, 32, 32), rg.ones(16, 3, 3, 3), padding=1).shape
    torch.Size([1, 16, 32, 32])
    """
    if autocasting():
        return lowered(conv2d, input, weight, bias, stride, padding, dilation, groups)
    return _conv_nd("conv2d", 2, (input, weight, bias), stride, padding, dilation, 0, groups, False)


@public("conv3d", "nn.functional.conv3d")
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: str | Ints = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """The convolution of volumes [batch, channel, depth, height, width]; see conv1d."""
    if autocasting():
        return lowered(conv3d, input, weight, bias, stride, padding, dilation, groups)
    return _conv_nd("conv3d", 3, (input, weight, bias), stride, padding, dilation, 0, groups, False)


@public("conv_transpose1d", "nn.functional.conv_transpose1d")
def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: Ints = 0,
    output_padding: Ints = 0,
    groups: int = 1,
    dilation: Ints = 1,
) -> Tensor:
    """The transpose of conv1d, for a weight [channel, output / groups, length].

    Args:
        stride, padding, dilation, groups: those of the convolution that this is the transpose of.
        output_padding: what to add to the length of the output, which `stride` leaves open.

    >>> import retrograd as rg
    >>> rg.conv_transpose1d(rg.tensor([[[1.0, 2.0]]]), rg.tensor([[[1.0, 1.0, 1.0]]]), stride=2)
    tensor([[[1., 1., 3., 2., 2.]]])
    """
    if autocasting():
        return lowered(
            conv_transpose1d, input, weight, bias, stride, padding, output_padding, groups, dilation
        )
    operands = (input, weight, bias)
    return _conv_nd("conv_transpose1d", 1, operands, stride, padding, dilation, output_padding, groups, True)


@public("conv_transpose2d", "nn.functional.conv_transpose2d")
def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: Ints = 0,
    output_padding: Ints = 0,
    groups: int = 1,
    dilation: Ints = 1,
) -> Tensor:
    """The transpose of conv2d; see conv_transpose1d."""
    if autocasting():
        return lowered(
            conv_transpose2d, input, weight, bias, stride, padding, output_padding, groups, dilation
        )
    operands = (input, weight, bias)
    return _conv_nd("conv_transpose2d", 2, operands, stride, padding, dilation, output_padding, groups, True)


@public("conv_transpose3d", "nn.functional.conv_transpose3d")
def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: Ints = 0,
    output_padding: Ints = 0,
    groups: int = 1,
    dilation: Ints = 1,
) -> Tensor:
    """The transpose of conv3d; see conv_transpose1d."""
    if autocasting():
        return lowered(
            conv_transpose3d, input, weight, bias, stride, padding, output_padding, groups, dilation
        )
    operands = (input, weight, bias)
    return _conv_nd("conv_transpose3d", 3, operands, stride, padding, dilation, output_padding, groups, True)


@public("convolution")
def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Tensor:
    """A convolution of any rank, or its transpose, of a batch; all options must be given."""
    x, w = (
        require_tensor("convolution", "input", 1, input),
        require_tensor("convolution", "weight", 2, weight),
    )
    b = None if bias is None else require_tensor("convolution", "bias", 3, bias)
    for position, value in ((4, stride), (5, padding), (6, dilation), (8, output_padding)):
        if not isinstance(value, (tuple, list)):
            name = ("stride", "padding", "dilation", "", "output_padding")[position - 4]
            raise TypeError(
                f"convolution(): argument '{name}' (position {position}) must be tuple of ints, not {type_name(value)}"
            )
    n = w.array.ndim - 2
    if n < 1:
        raise ShapeError(f"weight should have at least three dimensions, got {sizes(w.array.shape)}")
    o = Options(
        numbers("convolution", "stride", stride, n),
        numbers("convolution", "padding", padding, n),
        numbers("convolution", "dilation", dilation, n),
        numbers("convolution", "output_padding", output_padding, n),
        integer(groups),
        bool(transposed),
    )
    return _convolution(x, w, b, o)


@public("conv_tbc", "nn.functional.conv_tbc")
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """A convolution of [time, batch, channel] with a weight [place, channel, output channel]."""
    if autocasting():
        return lowered(conv_tbc, input, weight, bias, pad)
    x, w = require_tensor("conv_tbc", "input", 1, input), require_tensor("conv_tbc", "weight", 2, weight)
    b = require_tensor("conv_tbc", "bias", 3, bias)
    if x.array.ndim != 3:
        raise ShapeError(
            f"Input must have 3 dims: time, batch, in_channel, but it is of size {sizes(x.array.shape)}"
        )
    if w.array.ndim != 3:
        raise ShapeError(
            "Weight tensor must have 3 dims: kernel_width, in_channels, out_channels, but it is of size "
            f"{sizes(w.array.shape)}"
        )
    if b.array.ndim != 1:
        raise ShapeError(f"Bias must be 1-D, but it is of size {sizes(b.array.shape)}")
    if x.array.shape[2] != w.array.shape[1]:
        raise ShapeError(
            "Input dim 2 (input channels) is not == dim 1 in the weight tensor: they are "
            f"{x.array.shape[2]} and {w.array.shape[1]}"
        )
    if b.array.shape[0] != w.array.shape[2]:
        raise ShapeError("Bias size must equal dim 2 in the weight tensor (output channels).")
    check_dtypes(x.array, w.array, b.array)
    o = Options((1,), (integer(pad),), (1,), (0,), 1, False)
    geometry = forward_geometry(o, batch_first(x.array), w.array.swapaxes(0, 2))
    found: Tensor = apply_n(ConvTbc(geometry, False, (0,)), (x, w, b))
    return found
