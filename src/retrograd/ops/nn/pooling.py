"""The ops behind pooling: the largest elements of windows, their averages, and largest elements put back."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import common_backend
from retrograd.core.op import Linear, Variadic
from retrograd.core.saved import checked
from retrograd.core.tensor import Tensor
from retrograd.core.version import VersionCounter
from retrograd.ops.index.gather import Gather, GatherAdjoint
from retrograd.ops.nn.sliding import Sliding
from retrograd.values import Array, Shape


def lowest(dtype: Any) -> Any:
    """What is below every number of a dtype."""
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def flattened(v: Any, lead: Shape) -> Any:
    """A value whose dimensions behind `lead` are one."""
    return v.reshape((*lead, math.prod(v.shape[len(lead) :])))


class Maxima(Variadic):
    """The largest element of each window, and its position among the last dimensions of x, flattened."""

    rank: ClassVar[int] = 2  # over how many dimensions the windows slide
    # Where the largest elements are; the caller may hold the same array, hence the version.
    positions: Any = None
    counter: VersionCounter | None = None
    version: int = 0
    in_shape: Shape = ()

    def watch(self, indices: Tensor) -> None:
        """Remembers the version of the positions that backward will use."""
        self.counter = indices.counter()
        self.version = self.counter.version

    def index(self) -> tuple[Shape, Array]:
        """The dimensions in front of the windows, and the positions as backward needs them."""
        checked(self, self.positions, self.counter, self.version, self, 1)
        lead = self.in_shape[: len(self.in_shape) - self.rank]
        return lead, flattened(self.positions, lead)

    def vjp(self, gs: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
        self.index()  # refuses positions that were changed
        return [common_backend((gs[0], self.positions)).max_pool_backward(self, gs[0])]

    def formula(self, g: Any) -> Any:
        """The gradient of x."""
        lead, index = self.index()
        size = (*lead, math.prod(self.in_shape[len(lead) :]))
        return GatherAdjoint(len(lead), index, size).on(flattened(g, lead)).reshape(self.in_shape)

    def jvp(self, ts: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Any:
        lead, index = self.index()
        return Gather(len(lead), index).on(flattened(ts[0], lead)).reshape(self.positions.shape), None

    def release(self) -> None:
        self.positions = None
        self._freed = True

    def saved_value(self, name: str) -> Any:
        return Tensor(self.positions) if name == "result1" else super().saved_value(name)


class MaxPool2DWithIndices(Maxima):
    """the largest element of each window that slides over two dimensions"""

    params = ("windows", "ceil_mode", "wanted")
    shown: ClassVar[dict[str, str]] = {
        "kernel_size": "kernel", "stride": "stride", "padding": "padding", "dilation": "dilation",
        "ceil_mode": "ceil_mode",
    }  # fmt: skip

    def __init__(self, windows: Sliding, ceil_mode: bool, wanted: bool) -> None:
        self.windows, self.ceil_mode = windows, ceil_mode
        self.wanted = wanted  # whether anybody will ask where the largest elements are
        self.kernel, self.stride = windows.kernel, windows.stride
        self.padding, self.dilation = windows.padding, windows.dilation

    def forward(self, xp: Any, xs: Sequence[Any]) -> Any:
        self.in_shape = xs[0].shape
        found = xp.max_pool(self, xs[0])
        if self.wanted:
            self.positions = found[1]
        return found

    def computed(self, xp: Any, x: Array) -> Any:
        """The result by the array library."""
        x = self.windows.padded(xp, x, lowest(x.dtype))
        values = self.windows.reduced(x, xp.maximum)
        if values.base is not None:
            values = values.copy()
        return (values, self.find(xp, x, values)) if self.wanted else values

    def find(self, xp: Any, x: Array, values: Array) -> Array:
        """Where in x the values are: the first of equal elements, the last NaN."""
        places = list(self.windows.places())
        # Each place is numbered from the last, so that a maximum over those that fit finds the first: bytes are quick.
        number = xp.zeros(values.shape, np.uint8 if len(places) < 256 else np.int64)
        for j, (_, where) in enumerate(places):
            fits = (x[(..., *where)] == values).view(np.uint8)
            xp.maximum(number, xp.multiply(fits, len(places) - j, dtype=number.dtype), out=number)
        number = len(places) - number.astype(np.int64)
        empty = values == lowest(values.dtype)
        if empty.any():  # then the border fits as well
            xp.copyto(number, self.first_inside(), where=empty)
        if values.dtype.kind == "f" and xp.isnan(values).any():
            for j, (_, where) in enumerate(places):
                xp.copyto(number, j, where=xp.isnan(x[(..., *where)]))
        # A dilated window may lie in the border altogether.
        return (xp.take(self.offsets(), number) + self.starts()).clip(0, math.prod(self.windows.size) - 1)

    def first_inside(self) -> Array:
        """The number of the first place of each window that is not in the border."""
        total: Any = 0
        for axis, (k, s, p, d, c) in enumerate(zip(*self.windows[1:], strict=True)):
            inside = (-((np.arange(c) * s - p) // d)).clip(0, k - 1)
            total = np.expand_dims(total, -1) * k + inside if axis else inside
        return total

    def offsets(self) -> Array:
        """How far from the start of a window each of its places is."""
        total: Any = np.zeros(1, np.int64)
        for n, k, d in zip(self.windows.size, self.kernel, self.dilation, strict=True):
            total = (total[:, None] * n + np.arange(k) * d).reshape(-1)
        return total

    def starts(self) -> Array:
        """Where each window starts in the last dimensions of x, flattened."""
        total: Any = np.zeros((), np.int64)
        for n, s, p, c in zip(self.windows.size, self.stride, self.padding, self.windows.number, strict=True):
            total = total[..., None] * n + (np.arange(c) * s - p)
        return total


class MaxPool3DWithIndices(MaxPool2DWithIndices):
    """the largest element of each window that slides over three dimensions"""

    rank = 3


class MaximaAt(Maxima):
    """The largest element of windows of any shape: one array per dimension says which indices they cover.

    Such an array has a dimension over the places of a window, and then one over the windows; a place may come twice.
    """

    params = ("covers",)
    shown: ClassVar[dict[str, str]] = {}

    def __init__(self, covers: tuple[Array, ...]) -> None:
        self.covers = covers

    def forward(self, xp: Any, xs: Sequence[Any]) -> Any:
        self.in_shape = xs[0].shape
        found = xp.max_cover(self, xs[0])
        self.positions = found[1]
        return found

    def computed(self, xp: Any, x: Array) -> Any:
        """The result by the array library."""
        lead = x.shape[: x.ndim - self.rank]
        flat, values, positions = flattened(x, lead), None, None
        for where in self.candidates(x.shape[len(lead) :], len(lead)):
            index = where.reshape((*where.shape[: len(lead)], -1))
            if index.size == index.shape[-1]:  # the same in all images
                found = flat.take(index.reshape(-1), len(lead))
            else:
                found = xp.take_along_axis(flat, index, len(lead))
            found = found.reshape(lead + where.shape[len(lead) :])
            if values is None:
                values, positions = found, xp.broadcast_to(where, found.shape).copy()
                continue
            better = (found > values) | xp.isnan(found)
            values = xp.where(better, found, values)
            positions = xp.where(better, where, positions)
        return values, positions

    def candidates(self, size: Shape, lead: int) -> Iterator[Array]:
        """For each place in the windows, the positions of that place in all of them."""
        for k in np.ndindex(*[cover.shape[-2] for cover in self.covers]):
            total: Any = 0
            for axis, (cover, n) in enumerate(zip(self.covers, size, strict=True)):
                line = cover[..., k[axis], :]
                shape = line.shape[:-1] + (1,) * (lead + 1 - line.ndim)
                line = line.reshape(shape + (1,) * axis + line.shape[-1:] + (1,) * (self.rank - 1 - axis))
                total = total * n + line
            yield total


class AdaptiveMaxPool2D(MaximaAt):
    """the largest elements of windows that divide two dimensions evenly"""


class AdaptiveMaxPool3D(MaximaAt):
    """the largest elements of windows that divide three dimensions evenly"""

    rank = 3


class FractionalMaxPool2D(MaximaAt):
    """the largest elements of windows that begin at random distances, in two dimensions"""


class FractionalMaxPool3D(MaximaAt):
    """the largest elements of windows that begin at random distances, in three dimensions"""

    rank = 3


class MaxUnpool2D(Linear):
    """zeros with the elements of x at given positions of the last two dimensions, flattened"""

    params = ("indices", "size")
    rank: ClassVar[int] = 2

    def __init__(self, indices: Array, size: Shape) -> None:
        self.indices = indices
        self.size = size

    def forward(self, xp: Any, x: Array) -> Array:
        self.in_shape, lead = x.shape, x.shape[: x.ndim - self.rank]
        out = xp.zeros((*lead, math.prod(self.size)), x.dtype)
        xp.put_along_axis(out, flattened(self.indices, lead), flattened(x, lead), len(lead))
        return out.reshape(*lead, *self.size)

    def transpose(self, g: Any) -> Any:
        lead = self.in_shape[: len(self.in_shape) - self.rank]
        picked = Gather(len(lead), flattened(self.indices, lead)).on(flattened(g, lead))
        return picked.reshape(self.in_shape)

    @property
    def _saved_indices(self) -> Tensor:
        return Tensor(self.indices)


class MaxUnpool3D(MaxUnpool2D):
    """zeros with the elements of x at given positions of the last three dimensions, flattened"""

    rank = 3


class AvgPool2D(Linear):
    """the sum of each window that slides over two dimensions, divided by a number of its own"""

    params = ("windows", "ceil_mode", "count_include_pad", "divisor_override")
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

    def forward(self, xp: Any, x: Array) -> Array:
        return xp.avg_pool(self, x)

    def computed(self, xp: Any, x: Array) -> Array:
        """The result by the array library."""
        dtype = x.dtype
        x = x.astype("float32") if dtype.char == "e" else x
        total = self.windows.reduced(self.windows.padded(xp, x), xp.add)
        if dtype.kind == "i":  # whole numbers are divided towards zero
            return xp.sign(total) * (abs(total) // self.divisors(total.dtype))
        return (total / self.divisors(total.dtype)).astype(dtype, copy=False)

    def transpose(self, g: Any) -> Any:
        return AvgPoolAdjoint(self).on(g)

    def divisors(self, dtype: Any) -> Any:
        """What each window is divided by: how many elements it has, or of how many it would be the average."""
        if self.divisor_override is not None:
            return self.divisor_override
        total: Any = np.ones((), dtype)
        for n, k, s, p, _, c in zip(*self.windows, strict=True):
            start = np.arange(c) * s - p
            end = np.minimum(start + k, n + p)
            if not self.count_include_pad:
                start, end = np.maximum(start, 0), np.minimum(end, n)
            total = total[..., None] * (end - start).astype(dtype)
        first = total.reshape(-1)[:1]
        return first[0] if (total == first).all() and total.size else total


class AvgPool3D(AvgPool2D):
    """the sum of each window that slides over three dimensions, divided by a number of its own"""


class AvgPoolAdjoint(Linear):
    """each element divided, and added to every place of its window"""

    node_name = "AvgPoolBackwardBackward0"
    params = ("pool",)

    def __init__(self, pool: AvgPool2D) -> None:
        self.pool = pool

    def forward(self, xp: Any, x: Array) -> Array:
        return xp.avg_pool_backward(self, x)

    def computed(self, xp: Any, x: Array) -> Array:
        """The result by the array library."""
        windows, dtype = self.pool.windows, x.dtype
        out = (x.astype("float32") if dtype.char == "e" else x) / self.pool.divisors(x.dtype)
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
