"""Poolings whose windows divide the input evenly into a result of the size that is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Literal, overload

import numpy as np

from retrograd.backends.base import Backend
from retrograd.backends.shortage import SHORTAGE_TOLD
from retrograd.core.apply import apply1
from retrograd.core.autocast import autocasting_on_cpu, in_float32
from retrograd.core.saved import SavedConstant
from retrograd.core.tensor import Tensor
from retrograd.errors import ShapeError, sizes, unsupported_dtype
from retrograd.ops.common import require_tensor
from retrograd.ops.nn.arguments import Ints, Sizes
from retrograd.ops.nn.max_pool import Maxima, flattened
from retrograd.ops.nn.pool_arguments import both
from retrograd.ops.nn.resample import AdaptiveAvgPool2D, AdaptiveAvgPool3D, Taps, average_taps, kept
from retrograd.ops.nn.sliding import ints, spread_ints
from retrograd.ops.register import public
from retrograd.values import Array, Shape

# -- ops -----------------------------------------------------------------------------------------------------------


class MaximaAt(Maxima):
    """The largest element of windows of any shape: one array per dimension says which indices they cover.

    Such an array has a dimension over the places of a window, and then one over the windows; a place may come twice.
    """

    params: ClassVar[tuple[str, ...]] = ("covers",)
    array_params: ClassVar[tuple[str, ...]] = ("covers",)

    def __init__(self, covers: tuple[Array, ...]) -> None:
        self.covers = covers

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        self.in_shape = xs[0].shape
        found = xp.max_cover(self, xs[0])
        self.constants = (SavedConstant(found[1]),)
        return found

    def computed(self, xp: Backend, x: Array) -> Any:
        """The result by the array library."""
        lead = x.shape[: x.ndim - self.rank]
        flat, values, positions = flattened(x, lead), None, None
        for place in self.candidates(x.shape[len(lead) :], len(lead)):
            where = xp.asarray(place)
            index = flattened(where, where.shape[: len(lead)])
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


# -- adaptive ------------------------------------------------------------------------------------------------------


def _size(function: str, rank: int, x: Tensor, output_size: Any) -> Shape:
    """The size asked for; None stands for that of the input."""
    shape = x.array.shape
    if output_size is None and rank > 1:
        raise TypeError(
            f"{function}(): object of type 'NoneType' has no len(): output_size is a number or several"
        )
    if isinstance(output_size, (tuple, list)) and rank > 1 and len(shape) <= len(output_size):
        raise ValueError(f"Input dimension should be at least {len(output_size) + 1}")
    if len(shape) not in (rank + 1, rank + 2):
        low, high = rank + 1, rank + 2
        detail = f" (Expected {low} to {high} dimensions)" if rank == 1 else ""
        raise ShapeError(f"{function}(): Expected {low}D or {high}D tensor, but got {sizes(shape)}{detail}")
    if isinstance(output_size, (tuple, list)) and rank > 1 and len(output_size) == rank:
        given = zip(output_size, shape[-rank:], strict=True)
        output_size = tuple([n if wanted is None else wanted for wanted, n in given])
    given_ints = ints(function, "output_size", 2, output_size)
    message = (
        f"{function}: output_size must be {rank}, one int per dimension, but argument 'output_size' should contain "
        f"{'one int' if rank == 1 else rank} (got {len(given_ints)})"
    )
    if rank > 1 and isinstance(output_size, (tuple, list)) and len(given_ints) != rank:
        called = (
            f"{function}(): internal error: output_size.size()"
            if "max" in function
            else f"{function}: output_size"
        )
        raise ShapeError(f"{called} must be {rank}, but is {len(given_ints)}")
    size = spread_ints(given_ints, rank, message)
    if min(size) < 0:
        raise ShapeError(
            f"{function}: elements of output_size must be greater than or equal to 0 but received {sizes(size)}: "
            "Trying to create tensor with negative dimension"
        )
    return size


def _check_filled(function: str, x: Tensor, first: int) -> None:
    """Refuses an input that is empty in a dimension from the first one on."""
    shape = x.array.shape
    for d in range(first, len(shape)):
        if shape[d] == 0:
            raise ShapeError(
                f"{function}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
                f"{sizes(shape)} with dimension {d} being empty"
            )


def adaptive_avg(function: str, x: Tensor, size: Shape) -> Tensor:
    """Averages over windows that divide the last dimensions evenly."""
    rank = len(size)
    if min(size) < 0:
        raise ShapeError(
            f"{function}: elements of output_size must be greater than or equal to 0 but received {sizes(size)}"
        )
    if rank == 1:
        return adaptive_avg(function, x.unsqueeze(-2), (1, *size)).squeeze(-2)
    if all(n == 1 for n in size):
        return x.mean(tuple(range(-rank, 0)), True)
    _check_filled(function, x, 1 if rank == 3 else x.array.ndim - rank)
    if x.array.dtype.kind != "f":
        kernel = "adaptive_avg_pool2d" if rank == 2 else "adaptive_avg_pool3d_cpu"
        raise unsupported_dtype(kernel, x.array.dtype, "convert it with .float()")
    with SHORTAGE_TOLD:
        maps = tuple([kept(average_taps, n, m) for n, m in zip(x.array.shape[-rank:], size, strict=True)])
    found: Tensor = apply1((AdaptiveAvgPool2D if rank == 2 else AdaptiveAvgPool3D)(maps), x)
    return found


def _cover(n: int, m: int) -> Array:
    """Which of n elements each of m windows covers, the last one again where one has fewer than another."""
    taps: Taps = kept(average_taps, n, m)
    return taps.index


def _adaptive_max(function: str, rank: int, input: Any, output_size: Any, return_indices: bool) -> Any:
    x = require_tensor(function, "input", 1, input)
    size = _size(function, rank, x, output_size)
    _check_filled(function, x, 1)
    if x.array.dtype.kind != "f":
        kernel = "adaptive_max_pool3d_cpu" if rank == 3 else "adaptive_max_pool2d"
        raise unsupported_dtype(kernel, x.array.dtype, "convert it with .float()")
    with SHORTAGE_TOLD:
        covers = tuple([_cover(n, m) for n, m in zip(x.array.shape[-rank:], size, strict=True)])
    if rank == 1:
        values, indices = both(AdaptiveMaxPool2D((_cover(1, 1), *covers)), x.unsqueeze(-2))
        values, indices = values.squeeze(-2), indices.squeeze(-2)
    else:
        values, indices = both((AdaptiveMaxPool2D if rank == 2 else AdaptiveMaxPool3D)(covers), x)
    return (values, indices) if return_indices else values


def _adaptive_avg(function: str, rank: int, input: Any, output_size: Any) -> Tensor:
    x = require_tensor(function, "input", 1, input)
    if (
        rank > 1 and type(output_size) is int and output_size == 1
    ):  # a mean, however many dimensions there are
        return adaptive_avg(function, x, (1,) * rank)
    return adaptive_avg(function, x, _size(function, rank, x, output_size))


@public("adaptive_avg_pool1d", "nn.functional.adaptive_avg_pool1d")
def adaptive_avg_pool1d(input: Tensor, output_size: Ints) -> Tensor:
    """The averages of `output_size` windows that divide signals [batch, channel, length] as evenly as they can.

    >>> import retrograd as rg
    >>> rg.adaptive_avg_pool1d(rg.tensor([[1.0, 2.0, 3.0, 4.0]]), 2)
    tensor([[1.5000, 3.5000]])
    """
    return _adaptive_avg("adaptive_avg_pool1d", 1, input, output_size)


@public("nn.functional.adaptive_avg_pool2d")
def adaptive_avg_pool2d(input: Tensor, output_size: Sizes) -> Tensor:
    """The averages of windows that divide images evenly; None in `output_size` keeps a dimension."""
    return _adaptive_avg("adaptive_avg_pool2d", 2, input, output_size)


@public("nn.functional.adaptive_avg_pool3d")
def adaptive_avg_pool3d(input: Tensor, output_size: Sizes) -> Tensor:
    """The averages of windows that divide volumes evenly; None in `output_size` keeps a dimension."""
    if autocasting_on_cpu():
        return in_float32(adaptive_avg_pool3d, input, output_size)
    return _adaptive_avg("adaptive_avg_pool3d", 3, input, output_size)


@overload
def adaptive_max_pool1d(
    input: Tensor, output_size: Ints, return_indices: Literal[False] = False
) -> Tensor: ...


@overload
def adaptive_max_pool1d(
    input: Tensor, output_size: Ints, *, return_indices: Literal[True]
) -> tuple[Tensor, Tensor]: ...


@overload
def adaptive_max_pool1d(
    input: Tensor, output_size: Ints, return_indices: bool = False
) -> Tensor | tuple[Tensor, Tensor]: ...


@public("nn.functional.adaptive_max_pool1d")
def adaptive_max_pool1d(
    input: Tensor, output_size: Ints, return_indices: bool = False
) -> Tensor | tuple[Tensor, Tensor]:
    """The largest elements of `output_size` windows that divide signals evenly, and if asked where they are."""
    found: Tensor | tuple[Tensor, Tensor] = _adaptive_max(
        "adaptive_max_pool1d", 1, input, output_size, return_indices
    )
    return found


@overload
def adaptive_max_pool2d(
    input: Tensor, output_size: Sizes, return_indices: Literal[False] = False
) -> Tensor: ...


@overload
def adaptive_max_pool2d(
    input: Tensor, output_size: Sizes, *, return_indices: Literal[True]
) -> tuple[Tensor, Tensor]: ...


@overload
def adaptive_max_pool2d(
    input: Tensor, output_size: Sizes, return_indices: bool = False
) -> Tensor | tuple[Tensor, Tensor]: ...


@public("nn.functional.adaptive_max_pool2d")
def adaptive_max_pool2d(
    input: Tensor, output_size: Sizes, return_indices: bool = False
) -> Tensor | tuple[Tensor, Tensor]:
    """The largest elements of windows that divide images evenly, and if asked where they are.

    >>> import retrograd as rg
    >>> rg.nn.functional.adaptive_max_pool2d(rg.arange(9.0).reshape(1, 3, 3), 2)
    tensor([[[4., 5.],
             [7., 8.]]])
    """
    found: Tensor | tuple[Tensor, Tensor] = _adaptive_max(
        "adaptive_max_pool2d", 2, input, output_size, return_indices
    )
    return found


@overload
def adaptive_max_pool3d(
    input: Tensor, output_size: Sizes, return_indices: Literal[False] = False
) -> Tensor: ...


@overload
def adaptive_max_pool3d(
    input: Tensor, output_size: Sizes, *, return_indices: Literal[True]
) -> tuple[Tensor, Tensor]: ...


@overload
def adaptive_max_pool3d(
    input: Tensor, output_size: Sizes, return_indices: bool = False
) -> Tensor | tuple[Tensor, Tensor]: ...


@public("nn.functional.adaptive_max_pool3d")
def adaptive_max_pool3d(
    input: Tensor, output_size: Sizes, return_indices: bool = False
) -> Tensor | tuple[Tensor, Tensor]:
    """The largest elements of windows that divide volumes evenly, and if asked where they are."""
    if autocasting_on_cpu():
        return in_float32(adaptive_max_pool3d, input, output_size, return_indices)
    found: Tensor | tuple[Tensor, Tensor] = _adaptive_max(
        "adaptive_max_pool3d", 3, input, output_size, return_indices
    )
    return found


@public("adaptive_max_pool1d", "nn.functional.adaptive_max_pool1d_with_indices")
def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: Ints, return_indices: bool = True
) -> tuple[Tensor, Tensor]:
    """`adaptive_max_pool1d(…, return_indices=True)`."""
    found: tuple[Tensor, Tensor] = _adaptive_max("adaptive_max_pool1d", 1, input, output_size, True)
    return found


@public("nn.functional.adaptive_max_pool2d_with_indices")
def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: Sizes, return_indices: bool = True
) -> tuple[Tensor, Tensor]:
    """`adaptive_max_pool2d(…, return_indices=True)`."""
    found: tuple[Tensor, Tensor] = _adaptive_max("adaptive_max_pool2d", 2, input, output_size, True)
    return found


@public("nn.functional.adaptive_max_pool3d_with_indices")
def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: Sizes, return_indices: bool = True
) -> tuple[Tensor, Tensor]:
    """`adaptive_max_pool3d(…, return_indices=True)`."""
    found: tuple[Tensor, Tensor] = _adaptive_max("adaptive_max_pool3d", 3, input, output_size, True)
    return found
