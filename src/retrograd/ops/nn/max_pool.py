"""The largest element of every window, and the way back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, overload

import numpy as np

from retrograd.backends.base import Backend, common_backend, whole
from retrograd.core.apply import apply1, apply_n
from retrograd.core.autocast import autocasting_on_cpu, in_float32
from retrograd.core.families import Linear
from retrograd.core.op import Variadic
from retrograd.core.saved import SavedConstant, constant_of
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError, ShapeError, sizes, unsupported_dtype
from retrograd.ops.common import require_sequence, require_tensor
from retrograd.ops.index.gather import Gather, GatherAdjoint
from retrograd.ops.nn.arguments import Ints
from retrograd.ops.nn.pool_arguments import both, check_kind, indices_wanted, numbers, pool_windows
from retrograd.ops.nn.sliding import Sliding
from retrograd.ops.register import public
from retrograd.ops.shape.reshape import integer
from retrograd.values import Array, Shape

# -- ops -----------------------------------------------------------------------------------------------------------


def lowest(dtype: Any) -> Any:
    """What is below every number of a dtype."""
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def flattened(v: Any, lead: Shape) -> Any:
    """A value whose dimensions behind `lead` are one."""
    return v.reshape((*lead, math.prod(v.shape[len(lead) :])))


class Maxima(Variadic):
    """The largest element of each window, and its position among the last dimensions of x, flattened."""

    in_rows: ClassVar[bool] = True
    rank: ClassVar[int] = 2  # over how many dimensions the windows slide
    shown: ClassVar[dict[str, str]] = {"result1": "constant:0"}
    in_shape: Shape = ()

    @property
    def positions(self) -> SavedConstant:
        """Where the largest elements are: the indices that the caller may get."""
        return self.constant(0)

    def index(self) -> tuple[Shape, SavedConstant]:
        """The dimensions in front of the windows, and the positions as backward needs them."""
        lead, positions = self.in_shape[: len(self.in_shape) - self.rank], self.positions
        return lead, positions.like(flattened(positions.array, lead))

    def vjp(self, gs: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
        return [common_backend((gs[0], self.positions.array)).max_pool_backward(self, gs[0])]

    def formula(self, g: Any) -> Any:
        """The gradient of x."""
        lead, index = self.index()
        size = (*lead, math.prod(self.in_shape[len(lead) :]))
        return GatherAdjoint(len(lead), index, size).on(flattened(g, lead)).reshape(self.in_shape)

    def jvp(self, ts: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Any:
        lead, index = self.index()
        return Gather(len(lead), index).on(flattened(ts[0], lead)).reshape(self.positions.array.shape), None


class MaxPool2DWithIndices(Maxima):
    """the largest element of each window that slides over two dimensions"""

    params: ClassVar[tuple[str, ...]] = ("windows", "ceil_mode", "wanted")
    shown: ClassVar[dict[str, str]] = {
        **Maxima.shown, "kernel_size": "kernel", "stride": "stride", "padding": "padding", "dilation": "dilation",
        "ceil_mode": "ceil_mode",
    }  # fmt: skip

    def __init__(self, windows: Sliding, ceil_mode: bool, wanted: bool) -> None:
        self.windows, self.ceil_mode = windows, ceil_mode
        self.wanted = wanted  # whether anybody will ask where the largest elements are
        self.kernel, self.stride = windows.kernel, windows.stride
        self.padding, self.dilation = windows.padding, windows.dilation

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        self.in_shape = xs[0].shape
        found = xp.max_pool(self, xs[0])
        if self.wanted:
            self.constants = (SavedConstant(found[1]),)
        return found

    def computed(self, xp: Backend, x: Array) -> Any:
        """The result by the array library."""
        x = self.windows.padded(xp, x, lowest(x.dtype))
        values = self.windows.reduced(x, xp.maximum)
        if values.base is not None:
            values = values.copy()
        return (values, self.find(xp, x, values)) if self.wanted else values

    def find(self, xp: Backend, x: Array, values: Array) -> Array:
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
            xp.copyto(number, xp.asarray(self.first_inside()), where=empty)
        if values.dtype.kind == "f" and xp.isnan(values).any():
            for j, (_, where) in enumerate(places):
                xp.copyto(number, j, where=xp.isnan(x[(..., *where)]))
        # A dilated window may lie in the border altogether.
        found = xp.take(xp.asarray(self.offsets()), number) + xp.asarray(self.starts())
        return found.clip(0, math.prod(self.windows.size) - 1)

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


class MaxUnpool2D(Linear):
    """zeros with the elements of x at given positions of the last two dimensions, flattened"""

    params: ClassVar[tuple[str, ...]] = ("indices", "size")
    shown: ClassVar[dict[str, str]] = {"indices": "constant:0"}
    rank: ClassVar[int] = 2

    def __init__(self, indices: SavedConstant, size: Shape) -> None:
        self.constants = (indices,)
        self.size = size

    @property
    def indices(self) -> SavedConstant:
        """The positions."""
        return self.constant(0)

    def forward(self, xp: Backend, x: Array) -> Array:
        self.in_shape, lead = x.shape, x.shape[: x.ndim - self.rank]
        out = xp.zeros((*lead, math.prod(self.size)), x.dtype)
        xp.put_along(out, flattened(self.indices.array, lead), len(lead), flattened(x, lead))
        return out.reshape(*lead, *self.size)

    def transpose(self, g: Any) -> Any:
        lead = self.in_shape[: len(self.in_shape) - self.rank]
        index = self.indices.like(flattened(self.indices.array, lead))
        return Gather(len(lead), index).on(flattened(g, lead)).reshape(self.in_shape)


class MaxUnpool3D(MaxUnpool2D):
    """zeros with the elements of x at given positions of the last three dimensions, flattened"""

    rank = 3


# -- functions -----------------------------------------------------------------------------------------------------


def max_pool(
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
    """The pooling over the last `rank` dimensions, with the places of what was found where they are wanted."""
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


@overload
def max_pool1d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: Literal[False] = False,
) -> Tensor: ...


@overload
def max_pool1d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...


@overload
def max_pool1d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]: ...


@public("max_pool1d", "nn.functional.max_pool1d")
def max_pool1d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
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
    found: Tensor | tuple[Tensor, Tensor] = max_pool(
        "max_pool1d", 1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices
    )
    return found


@overload
def max_pool2d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: Literal[False] = False,
) -> Tensor: ...


@overload
def max_pool2d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...


@overload
def max_pool2d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]: ...


@public("max_pool2d", "nn.functional.max_pool2d")
def max_pool2d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """The largest element of every window of images [batch, channel, height, width]; see max_pool1d.

    >>> import retrograd as rg
    >>> rg.max_pool2d(rg.arange(16.0).reshape(1, 4, 4), 2)
    tensor([[[ 5.,  7.],
             [13., 15.]]])
    """
    found: Tensor | tuple[Tensor, Tensor] = max_pool(
        "max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices
    )
    return found


@overload
def max_pool3d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: Literal[False] = False,
) -> Tensor: ...


@overload
def max_pool3d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...


@overload
def max_pool3d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]: ...


@public("max_pool3d", "nn.functional.max_pool3d")
def max_pool3d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """The largest element of every window of volumes [batch, channel, depth, height, width]; see max_pool1d."""
    if autocasting_on_cpu() and not return_indices:  # the function with indices is not on PyTorch's list
        return in_float32(max_pool3d, input, kernel_size, stride, padding, dilation, ceil_mode)
    found: Tensor | tuple[Tensor, Tensor] = max_pool(
        "max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices
    )
    return found


@public("max_pool1d_with_indices", "nn.functional.max_pool1d_with_indices")
def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = True,
) -> tuple[Tensor, Tensor]:
    """`max_pool1d(…, return_indices=True)`."""
    found: tuple[Tensor, Tensor] = max_pool(
        "max_pool1d", 1, input, kernel_size, stride, padding, dilation, ceil_mode, True
    )
    return found


@public("nn.functional.max_pool2d_with_indices")
def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = True,
) -> tuple[Tensor, Tensor]:
    """`max_pool2d(…, return_indices=True)`."""
    found: tuple[Tensor, Tensor] = max_pool(
        "max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode, True
    )
    return found


@public("nn.functional.max_pool3d_with_indices")
def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = True,
) -> tuple[Tensor, Tensor]:
    """`max_pool3d(…, return_indices=True)`."""
    found: tuple[Tensor, Tensor] = max_pool(
        "max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode, True
    )
    return found


def _unpooled_size(kernel: Shape, stride: Shape, padding: Shape, x: Tensor, output_size: Any) -> Shape:
    """The size that max pooling started from: the one asked for, if it leads to that of the input."""
    rank = len(kernel)
    given = x.array.shape[-rank:]
    usual = tuple(
        [(n - 1) * s + k - 2 * p for n, k, s, p in zip(given, kernel, stride, padding, strict=True)]
    )
    if output_size is None:
        if min(usual) < 0:
            raise ValueError(
                f"max_unpooling: output_size must contain non-negative spatial dimensions, but got {sizes(usual)}"
            )
        return usual
    wanted = tuple([integer(n) for n in require_sequence("max_unpool", "output_size", 6, output_size)])
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
) -> Tensor:
    x = require_tensor(function, "input", 1, input)
    asked = len(kernel_size) if isinstance(kernel_size, (tuple, list)) else rank
    if x.array.ndim < asked or any(
        isinstance(v, (tuple, list)) and len(v) < asked for v in (stride, padding)
    ):
        raise IndexError(
            f"tuple index out of range: {function} takes an input of {rank + 1} or {rank + 2} dimensions, and {rank} "
            f"sizes or one for each of its options, but the input has {x.array.ndim}"
        )
    kernel = numbers(function, "kernel_size", 3, kernel_size, rank)
    step = kernel if stride is None else numbers(function, "stride", 4, stride, rank)
    border = numbers(function, "padding", 5, padding, rank)
    size = _unpooled_size(kernel, step, border, x, output_size)
    places = require_tensor(function, "indices", 2, indices)
    if x.array.ndim not in (rank + 1, rank + 2):
        raise ShapeError(
            f"Input to max_unpooling{max(rank, 2)}d should be a {rank + 1}d or {rank + 2}d Tensor, but got a tensor "
            f"with {x.array.ndim} dimensions."
        )
    if x.array.dtype.kind != "f":
        raise unsupported_dtype(f"max_unpool{max(rank, 2)}d", x.array.dtype, "convert it with .float()")
    _check_places(places.array, x.array.shape, size)
    at = constant_of(places)
    if rank == 1:
        op = MaxUnpool2D(at.like(at.array[..., None]), (*size, 1))
        found: Tensor = apply1(op, x.unsqueeze(-1)).squeeze(-1)
    else:
        found = apply1((MaxUnpool3D if rank == 3 else MaxUnpool2D)(at, size), x)
    return found


def _check_places(places: Array, shape: Shape, size: Shape) -> None:
    """There is a place in the output for each element."""
    if places.dtype != "int64":
        raise DtypeError(f"elements in indices should be type int64 but got: {places.dtype}")
    if places.shape != shape:
        raise ShapeError(
            f"Expected shape of indices to be same as that of the input tensor ({sizes(shape)}) but got "
            f"indices tensor with shape: {sizes(places.shape)}"
        )
    bad = (places < 0) | (places >= math.prod(size))
    if bad.any():
        first = whole(places)[whole(bad)].reshape(-1)[0]
        raise ShapeError(
            f"Found an invalid max index: {first} (output volumes are of size {'x'.join(map(str, size))})"
        )


@public("nn.functional.max_unpool1d")
def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """What max_pool1d returned, put back where it came from, among zeros; `output_size` where the size is open."""
    return _max_unpool("max_unpool1d", 1, input, indices, kernel_size, stride, padding, output_size)


@public("nn.functional.max_unpool2d")
def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """What max_pool2d returned, put back where it came from, among zeros; `output_size` where the size is open.

    >>> import retrograd as rg
    >>> F = rg.nn.functional
    >>> values, indices = F.max_pool2d(rg.arange(4.0).reshape(1, 2, 2), 2, return_indices=True)
    >>> F.max_unpool2d(values, indices, 2)
    tensor([[[0., 0.],
             [0., 3.]]])
    """
    if autocasting_on_cpu():
        return in_float32(max_unpool2d, input, indices, kernel_size, stride, padding, output_size)
    return _max_unpool("max_unpool2d", 2, input, indices, kernel_size, stride, padding, output_size)


@public("nn.functional.max_unpool3d")
def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """What max_pool3d returned, put back where it came from, among zeros; `output_size` where the size is open."""
    if autocasting_on_cpu():
        return in_float32(max_unpool3d, input, indices, kernel_size, stride, padding, output_size)
    return _max_unpool("max_unpool3d", 3, input, indices, kernel_size, stride, padding, output_size)
