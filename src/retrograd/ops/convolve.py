"""The ops behind `conv`: convolution over any number of dimensions, and its derivatives.

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

import math
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from retrograd.backends.convolution import channel_sums, correlated, overlapped, spread
from retrograd.core.op import Bilinear, Variadic, X, added
from retrograd.ops.sliding import Sliding, sliding
from retrograd.ops.split import WHOLE
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

    def columns(self, xp: Any, x: Array) -> Array:
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
        turned = turned.reshape(self.groups, -1, *w.shape[1:]).swapaxes(1, 2)
        return turned.reshape(self.groups * w.shape[1], -1, *w.shape[2:])


def in_single(x: Array, y: Array) -> tuple[Array, Array]:
    """Half precision is summed in single, as PyTorch does."""
    return (x.astype("float32"), y.astype("float32")) if x.dtype.char == "e" else (x, y)


def conjugated(v: Any) -> Any:
    return v.conj() if v.dtype.kind == "c" else v


class OfWindows(Bilinear):
    """One of the three: see Note [Three convolutions]."""

    params = ("geometry",)

    def __init__(self, geometry: Geometry) -> None:
        self.geometry = geometry

    def forward(self, xp: Any, x: Array, y: Array) -> Array:
        return self.biased(xp, x, y, None)

    def biased(self, xp: Any, x: Array, y: Array, b: Array | None) -> Array:
        """The result plus a number per channel."""
        raise NotImplementedError

    def plus(self, out: Array, b: Array | None) -> Array:
        """Adds the bias in place."""
        if b is not None:
            out += b.reshape(-1, *[1] * (out.ndim - 2))
        return out


class Correlate(OfWindows):
    """the products of a weight with all windows of an input: (x, w) → y"""

    node_name = "ConvolutionBackwardBackward0"

    def biased(self, xp: Any, x: Array, y: Array, b: Array | None) -> Array:
        geometry, dtype = self.geometry, x.dtype
        found = correlated(xp, x, y, b, geometry.windows, geometry.groups)
        if found is not None:
            return found
        x, w = in_single(x, y)
        out = xp.empty((len(x), len(w), *geometry.windows.number), x.dtype)
        matrix, target = geometry.matrices(w), geometry.grouped(out)
        for part in geometry.parts(len(x), x.shape[1], x.itemsize):
            xp.matmul(matrix, geometry.columns(xp, x[part]), out=target[part])
        return self.plus(out.astype(dtype, copy=False), b)

    def transpose(self, i: int, g: Any, x: Any, y: Any) -> Any:
        if i == 0:
            return Spread(self.geometry).on(g, conjugated(y))
        return Overlap(self.geometry).on(conjugated(x), g)


class Spread(OfWindows):
    """a weight times each output, added up where the windows were: (y, w) → x"""

    node_name = "ConvolutionBackwardBackward0"

    def biased(self, xp: Any, x: Array, y: Array, b: Array | None) -> Array:
        geometry, dtype, windows = self.geometry, x.dtype, self.geometry.windows
        found = spread(xp, x, y, b, windows, geometry.groups)
        if found is not None:
            return found
        x, w = in_single(x, y)
        channels = w.shape[1] * geometry.groups
        back = geometry.reversed() if len(w) <= 2 * channels else None
        if back is not None:  # then it is a convolution too, and reading windows is cheaper than adding them
            turned = Correlate(back).forward(xp, x, geometry.reversed_weight(w))
            return self.plus(turned.astype(dtype, copy=False), b)
        matrix = geometry.matrices(w).swapaxes(1, 2)
        out = xp.empty((len(x), channels, *windows.size), x.dtype)
        for part in geometry.parts(len(x), channels, x.itemsize):
            cols = xp.matmul(matrix, geometry.grouped(x[part]))
            shape = (len(cols), channels, *windows.kernel, *windows.number)
            out[part] = windows.write(xp, cols.reshape(shape))
        return self.plus(out.astype(dtype, copy=False), b)

    def transpose(self, i: int, g: Any, x: Any, y: Any) -> Any:
        if i == 0:
            return Correlate(self.geometry).on(g, conjugated(y))
        return Overlap(self.geometry).on(g, conjugated(x))


class Overlap(OfWindows):
    """the products of all windows of an input with an output: (x, y) → w"""

    node_name = "ConvolutionBackwardBackward0"

    def biased(self, xp: Any, x: Array, y: Array, b: Array | None) -> Array:
        geometry, dtype = self.geometry, x.dtype
        found = overlapped(xp, x, y, geometry.windows, geometry.groups)
        if found is not None:
            return found
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

    params = ("geometry", "transposed", "output_padding")
    keeps: ClassVar[int] = X
    multiplies: ClassVar[bool] = True
    shown: ClassVar[dict[str, str]] = {
        "input": "x:0", "weight": "x:1", "bias_sym_sizes_opt": "bias_sizes", "stride": "stride", "padding": "padding",
        "dilation": "dilation", "transposed": "transposed", "output_padding": "output_padding", "groups": "groups",
    }  # fmt: skip
    bias_sizes: Shape | None = None

    def __init__(self, geometry: Geometry, transposed: bool, output_padding: Shape) -> None:
        self.geometry, self.transposed, self.output_padding = geometry, transposed, output_padding
        self.stride, self.padding = geometry.windows.stride, geometry.windows.padding
        self.dilation, self.groups = geometry.windows.dilation, geometry.groups
        self.inner: Any = Spread(geometry) if transposed else Correlate(geometry)

    def keeps_input(self, i: int) -> bool:
        return i < 2 and self.needs(1 - i)

    def forward(self, xp: Any, xs: Sequence[Any]) -> Any:
        if xs[2] is not None:
            self.bias_sizes = xs[2].shape
        return self.inner.biased(xp, xs[0], xs[1], xs[2])

    def vjp(self, gs: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
        g = gs[0]
        grads = [self.inner.transpose(i, g, xs[0], xs[1]) if self.needs(i) else None for i in (0, 1)]
        if not self.needs(2):
            return [*grads, None]
        return [*grads, channel_sums(g) if type(g) is np.ndarray else g.sum(axis=(0, *range(2, g.ndim)))]

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

    shown: ClassVar[dict[str, str]] = {"self": "x:0", "weight": "x:1", "bias": "x:2", "pad": "pad"}

    @property
    def pad(self) -> int:
        return self.padding[0]

    def forward(self, xp: Any, xs: Sequence[Any]) -> Any:
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
