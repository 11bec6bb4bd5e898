"""Counting: how often integers occur, and how many elements fall into bins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import Backend
from retrograd.backends.kernels.blocks import LIMIT, total
from retrograd.backends.shortage import made
from retrograd.core.apply import apply1, apply_n
from retrograd.core.op import Unary, Variadic
from retrograd.core.tensor import Tensor
from retrograd.errors import DimensionError, DtypeError, ShapeError, sizes, unsupported_dtype
from retrograd.ops.common import (
    beside,
    c_name,
    deliver,
    deliver_exact,
    int_from,
    number_from,
    outputs,
    require_tensor,
    tensor_of,
)
from retrograd.ops.register import public
from retrograd.ops.returns import HistogramddResult, HistogramResult
from retrograd.ops.tensor.create import spaced
from retrograd.values import Array, Shape

# -- ops -----------------------------------------------------------------------------------------------------------


class Count(Variadic):
    """Something counted, which PyTorch does not differentiate: its node refuses in backward."""

    node_name = "NotImplemented"
    called: ClassVar[str] = ""

    def name(self) -> str:
        return "torch::autograd::NotImplemented"

    def function_name(self) -> str:
        return self.called

    def vjp(self, gs: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
        raise RuntimeError(
            f"derivative for aten::{self.called} is not implemented: counts do not change smoothly. Detach the inputs."
        )


class Bincount(Count):
    """how often each integer occurs, or the sum of the weights where it does"""

    node_name = "NotImplemented"
    called: ClassVar[str] = "bincount"
    params: ClassVar[tuple[str, ...]] = ("minlength",)

    def __init__(self, minlength: int) -> None:
        self.minlength = minlength

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        numbers, weights = xs[0].astype(np.int64, copy=False), xs[1]
        if weights is None or not numbers.size:
            return xp.bincount(numbers, minlength=self.minlength)
        dtype = weights.dtype if weights.dtype == np.float32 else np.float64
        return xp.bincount(numbers, real(weights), self.minlength).astype(dtype)


def counted(xp: Backend, count: Callable[..., Array], xs: Sequence[Array]) -> Array:
    """What is counted in arrays of one length: in a part of them at a time, if they are large."""
    return total(count, xs) if xp.is_plain and len(xs[0]) > LIMIT else count(*xs)


def real(a: Array) -> Array:
    """The real part of what may be complex."""
    return a.real if a.dtype.kind == "c" else a


class Histogram(Count):
    """how many points, the rows of the first input, fall into each bin; the second is their weights, then the edges

    A bin has its lower edge, the last bin both. As a density, the sum over all bins times their sizes is 1.
    """

    node_name = "NotImplemented"
    called: ClassVar[str] = "histogram"
    params: ClassVar[tuple[str, ...]] = ("density",)

    def __init__(self, density: bool) -> None:
        self.density = density

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        x, weights, *edges = xs
        points = x.reshape(-1, len(edges))
        shape = tuple([len(e) - 1 for e in edges])
        given = [points] if weights is None else [points, weights.reshape(-1)]
        hist = (
            counted(xp, partial(self.bins, xp, edges, prod(shape)), given).reshape(shape).astype(points.dtype)
        )
        if self.density:
            hist = hist / hist.sum()
            for i, e in enumerate(edges):
                hist = hist / xp.diff(e).reshape((-1,) + (1,) * (len(edges) - i - 1))
        return hist, *[e.copy() for e in edges]

    def bins(
        self, xp: Backend, edges: Sequence[Array], count: int, points: Array, weights: Any = None
    ) -> Array:
        """How many points fall into each bin, of all dimensions in a row."""
        inside, place = xp.ones(len(points), bool), xp.zeros(len(points), np.int64)
        for column, e in zip(points.T, edges, strict=True):
            inside &= (column >= e[0]) & (column <= e[-1])
            bins = xp.minimum(xp.searchsorted(e, column, side="right") - 1, len(e) - 2)
            place = place * (len(e) - 1) + bins
        return xp.bincount(xp.where(inside, place, count), weights, count + 1)[:count]


class Histogramdd(Histogram):
    """the same of points in several dimensions"""

    node_name = "NotImplemented"
    called: ClassVar[str] = "histogramdd"


class Histc(Unary):
    """how many elements fall into each of equal bins between two numbers"""

    differentiable: ClassVar[bool] = False
    params: ClassVar[tuple[str, ...]] = ("bins", "low", "high")

    def __init__(self, bins: int, low: float, high: float) -> None:
        self.bins = bins
        self.low = low
        self.high = high

    def forward(self, xp: Backend, x: Array) -> Array:
        return counted(xp, partial(self.counts, xp), [x.reshape(-1)]).astype(x.dtype)

    def counts(self, xp: Backend, x: Array) -> Array:
        """How many elements of a line fall into each bin."""
        inside = (x >= self.low) & (x <= self.high)
        place = xp.where(inside, x - x.dtype.type(self.low), 0) * self.bins / (self.high - self.low)
        # What is outside is counted too, in a bin behind the others.
        place = xp.where(inside, xp.minimum(place.astype(np.int64), self.bins - 1), self.bins)
        return xp.bincount(place, minlength=self.bins + 1)[: self.bins]


# -- functions -----------------------------------------------------------------------------------------------------


@public("bincount", method=True)
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each integer from 0 on occurs in a 1-D tensor; with `weights`, the sum of theirs.

    >>> import retrograd as rg
    >>> rg.bincount(rg.tensor([0, 1, 1, 3]))
    tensor([1, 2, 0, 1])
    """
    x = require_tensor("bincount", "input", 1, input)
    if x.array.dtype.kind not in "iu":
        raise unsupported_dtype("bincount_cpu", x.array.dtype, "it counts integers. Convert with .long().")
    least = int_from("bincount", "minlength", 3, minlength)
    if least < 0:
        raise RuntimeError(f"minlength should be >= 0, but it is {least}")
    if x.array.ndim != 1 or (x.array < 0).any():
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is not None:
        w = require_tensor("bincount", "weights", 2, weights).array
        if w.shape != x.array.shape:
            raise ShapeError(
                "weights should be 1-d and have the same length as input, which is "
                f"{x.array.size}; they are {sizes(w.shape)}"
            )
    found: Tensor = apply_n(Bincount(least), (x, weights))
    return found


_WORDS = (
    "torch.histogram: input tensor and hist tensor should have the same dtype, but got input {c_wanted} and hist "
    "{c_given}"
)


@public("histc", method=True)
def histc(
    input: Tensor, bins: int = 100, min: float = 0, max: float = 0, *, out: Tensor | None = None
) -> Tensor:
    """How many elements fall into each of `bins` equal bins from `min` to `max` (of the input, if both are equal).

    >>> import retrograd as rg
    >>> rg.histc(rg.tensor([1.0, 2.0, 1.0]), bins=4, min=0, max=3)
    tensor([0., 2., 1., 0.])
    """
    x = require_tensor("histc", "input", 1, input)
    number = _enough(int_from("histc", "bins", 2, bins), 0)
    if x.array.dtype.kind != "f":
        kernel = "aminmax_cpu" if x.array.dtype.kind == "c" else "histogram_cpu"
        raise unsupported_dtype(kernel, x.array.dtype, "it takes floating-point tensors.")
    low, high = number_from("histc", "min", 3, min), number_from("histc", "max", 4, max)
    if isinstance(low, complex) or isinstance(high, complex):
        raise RuntimeError("value cannot be converted to type double without overflow: histc has real limits")
    low, high = float(low), float(high)
    if low == high and x.array.size:
        low, high = float(x.array.min()), float(x.array.max())
    if low == high:
        low, high = low - 1, high + 1
    if not (np.isfinite(low) and np.isfinite(high)):
        raise RuntimeError(f"torch.histc: range of [{low:g}, {high:g}] is not finite. Give min and max.")
    if low > high:
        raise RuntimeError(f"torch.histc: max must be larger than min, but they are {high:g} and {low:g}")
    return deliver_exact(apply1(Histc(number, low, high), x), out, _WORDS)


def _enough(count: int, dim: int) -> int:
    if count < 1:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {count} for dimension {dim}")
    return count


@public("histogram", method=True)
def histogram(
    input: Tensor,
    bins: int | Tensor = 100,
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
    out: tuple[Tensor, Tensor] | None = None,
) -> HistogramResult:
    """How many elements fall into each bin, and the edges of the bins.

    Args:
        bins: how many equal bins, or a 1-D tensor of their edges.
        range: from where to where; the default is the range of the input.
        weight: what each element counts for.
        density: divide, so that the sum of the bins times their widths is 1.

    >>> import retrograd as rg
    >>> rg.histogram(rg.tensor([1.0, 2.0, 1.0]), bins=4, range=(0.0, 3.0)).hist
    tensor([0., 2., 1., 0.])
    """
    x = require_tensor("histogram", "input", 1, input)
    if isinstance(bins, Tensor) and range is not None:
        raise TypeError(
            "histogram() received an invalid combination of arguments - edges as a Tensor have their own range"
        )
    if weight is not None:
        _check_weight(x.array.reshape(-1, 1), require_tensor("histogram", "weight", 3, weight), x.array.shape)
    given = [bins] if isinstance(bins, Tensor) else [_enough(int_from("histogram", "bins", 2, bins), 0)]
    if not isinstance(bins, Tensor):
        _check_dtype(x)
    hist, edges = _histogram_and_edges(Histogram(bool(density)), x, given, range, weight)
    if out is not None:
        first, second = outputs(out, 2)
        return HistogramResult(deliver_exact(hist, first, _WORDS), deliver(edges[0], second))
    return HistogramResult(hist, edges[0])


@public("histogramdd")
def histogramdd(
    input: Tensor,
    bins: int | Sequence[int] | Sequence[Tensor],
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> HistogramddResult:
    """How many points, the innermost vectors of `input`, fall into each bin of a grid, and the edges in each dimension.

    Args:
        bins: how many bins in all dimensions, a list of such numbers, or a list of tensors of edges.
        range: from where to where in each dimension, one after another in one list.

    >>> import retrograd as rg
    >>> rg.histogramdd(rg.tensor([[0.0, 1.0], [1.0, 0.0], [2.0, 0.0]]), [2, 2]).hist
    tensor([[0., 1.],
            [2., 0.]])
    """
    x = require_tensor("histogramdd", "input", 1, input)
    if x.array.ndim == 0:
        raise DimensionError("Dimension specified as -1 but tensor has no dimensions")
    if x.array.ndim < 2:
        raise ShapeError(
            f"torch.histogramdd: input tensor should have at least 2 dimensions, but got {x.array.ndim}"
        )
    _check_dtype(x)
    n = x.array.shape[-1]
    given = list(bins) if isinstance(bins, (tuple, list)) else [int_from("histogramdd", "bins", 2, bins)] * n
    if len(given) != n:
        raise ShapeError(
            "histogramdd: The size of bins must be equal to the innermost dimension of the input, but they are "
            f"{len(given)} and {n}"
        )
    if weight is not None:
        _check_weight(x.array, require_tensor("histogramdd", "weight", 4, weight), x.array.shape[:-1])
    hist, edges = _histogram_and_edges(Histogramdd(bool(density)), x, given, range, weight)
    return HistogramddResult(hist, edges)


def _check_dtype(x: Tensor) -> None:
    if str(x.array.dtype) not in ("float32", "float64"):
        raise unsupported_dtype("histogramdd", x.array.dtype, "it takes floating-point tensors.")


def _histogram_and_edges(
    op: Histogram, x: Tensor, bins: list[Any], span: Any, weight: Any
) -> tuple[Any, tuple[Any, ...]]:
    """The histogram and its edges, which are given or made."""
    a = x.array.reshape(-1, len(bins))
    if span is not None and len(span) != 2 * len(bins):
        raise RuntimeError(
            f"torch.histogramdd: for a {len(bins)}-dimensional histogram range should have {2 * len(bins)} elements, "
            f"but got {len(span)}"
        )
    edges = []
    for i, given in enumerate(bins):
        ends = None if span is None else (float(span[2 * i]), float(span[2 * i + 1]))
        edges.append(
            _given_edges(given, i, a) if isinstance(given, Tensor) else _edges(given, ends, i, a[:, i])
        )
    if str(a.dtype) not in ("float32", "float64"):
        raise unsupported_dtype("histogram_cpu", a.dtype, "it takes floating-point tensors.")
    hist, *found = apply_n(op, (x, weight, *edges))
    return hist, tuple(found)


def _check_weight(a: Array, weight: Tensor, shape: Shape) -> None:
    """A weight for each point, of their dtype."""
    w = weight.array
    if w.dtype != a.dtype:
        raise DtypeError(
            "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the same "
            f"dtype, but got input({c_name(a)}), and weight({c_name(w)})"
        )
    if w.shape != shape:
        raise ShapeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor "
            f"excluding its innermost dimension, but got input with shape {sizes(a.shape)} and weight with shape "
            f"{sizes(w.shape)}"
        )


def _given_edges(bins: Tensor, dim: int, a: Array) -> Tensor:
    """Edges that were given, checked."""
    e = bins.array
    if e.dtype != a.dtype:
        raise DtypeError(
            "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with dtype "
            f"{c_name(a)} and bins for dimension {dim} with dtype {c_name(e)}"
        )
    if e.ndim != 1:
        raise ShapeError(
            f"torch.histogramdd: bins tensor should have one dimension, but got {e.ndim} dimensions in the bins "
            f"tensor for dimension {dim}"
        )
    if e.size == 0:
        raise ShapeError(
            "torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements in the bins tensor for "
            f"dimension {dim}"
        )
    _enough(e.size - 1, dim)
    return bins


def _edges(bins: int, ends: tuple[float, float] | None, dim: int, column: Array) -> Tensor:
    """The edges of equal bins over a range, the column's own if none was given."""
    low, high = ends or ((float(column.min()), float(column.max())) if column.size else (0.0, 1.0))
    _enough(bins, dim)
    if not (np.isfinite(low) and np.isfinite(high)):
        raise RuntimeError(f"torch.histogramdd: dimension {dim}'s range [{low:g}, {high:g}] is not finite")
    if low > high:
        raise RuntimeError(
            f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for dimension {dim}"
        )
    if low == high:
        low, high = low - 0.5, high + 0.5
    edges = made(partial(spaced, [low, high]), (bins + 1,), column.dtype).astype(column.dtype)
    return tensor_of(beside(edges, column))
