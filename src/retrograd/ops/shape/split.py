"""Parts of a tensor: one element or a range of a dimension, and a dimension cut into pieces. All of them are views."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar, Final

import numpy as np

from retrograd.backends.base import Backend
from retrograd.backends.dtypes import SCALAR_NAMES
from retrograd.backends.kernels.along_axis import WHOLE
from retrograd.core.apply import apply1, apply_n
from retrograd.core.families import Linear, View
from retrograd.core.op import Variadic
from retrograd.core.tensor import Tensor
from retrograd.core.variant import variant
from retrograd.errors import DimensionError, OutOfMemoryError, ShapeError, sizes, type_name
from retrograd.ops.common import require_sequence, require_tensor, wrap_dim, zeros_beside
from retrograd.ops.register import public
from retrograd.ops.shape.join import Cat, Stack
from retrograd.ops.shape.reshape import SIZES, integer
from retrograd.values import Array, Shape

END = 9223372036854775807  # PyTorch's "to the end"


class Select(View):
    """one element of a dimension, which disappears"""

    params: ClassVar[tuple[str, ...]] = ("dim", "index")
    shown: ClassVar[dict[str, str]] = {"dim": "dim", "index": "index", **SIZES}

    def __init__(self, dim: int, index: int) -> None:
        self.dim = dim
        self.index = index

    def forward(self, xp: Backend, x: Array) -> Array:
        self.in_shape = x.shape
        return x[(WHOLE,) * self.dim + (self.index, ...)]

    def transpose(self, g: Any) -> Any:
        return PlaceSelect(self.in_shape, (WHOLE,) * self.dim + (self.index, ...)).on(g)


class Slice(View):
    """a range of a dimension"""

    params: ClassVar[tuple[str, ...]] = ("dim", "start", "end", "step")
    shown: ClassVar[dict[str, str]] = {"dim": "dim", "start": "start", "end": "end", "step": "step", **SIZES}

    def __init__(self, dim: int, start: Any, end: Any, step: int = 1) -> None:
        self.dim = dim
        self.start = start
        self.end = end
        self.step = step

    def forward(self, xp: Backend, x: Array) -> Array:
        self.in_shape = x.shape
        return x[(WHOLE,) * self.dim + (slice(self.start, self.end, self.step),)]

    def transpose(self, g: Any) -> Any:
        return PlaceSlice(self.in_shape, (WHOLE,) * self.dim + (slice(self.start, self.end, self.step),)).on(
            g
        )


class PlacePart(Linear):
    """zeros of some shape with x written to a basic index: the adjoint of `x[key]`"""

    params: ClassVar[tuple[str, ...]] = ("size", "key")

    def __init__(self, size: Shape, key: tuple[Any, ...]) -> None:
        self.size = size
        self.key = key

    def forward(self, xp: Backend, x: Array) -> Array:
        out = xp.zeros(self.size, x.dtype)
        out[self.key] = x
        return out

    def transpose(self, g: Any) -> Any:
        return g[self.key]


PlaceSelect = variant(
    PlacePart, "SelectBackwardBackward0", "zeros with x written to one element of a dimension"
)


PlaceSlice = variant(PlacePart, "SliceBackwardBackward0", "zeros with x written to a range of a dimension")


class Pieces(Variadic):
    """A dimension cut into several views; a piece without a gradient counts as zeros."""

    is_view: ClassVar[bool] = True

    def whole(self, gs: Sequence[Any]) -> Any:
        """The gradients of all pieces put together again."""
        raise NotImplementedError

    def vjp(self, gs: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
        given = next(g for g in gs if g is not None)
        filled = [
            zeros_beside(given, self.input_shape(i), self.input_dtype(i)) if g is None else g
            for i, g in enumerate(gs)
        ]
        return [self.whole(filled)]

    def jvp(self, ts: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Any:
        return self.fresh().on(ts[0])


class SplitWithSizes(Pieces):
    """pieces of given sizes"""

    params: ClassVar[tuple[str, ...]] = ("split_sizes", "dim")
    shown: ClassVar[dict[str, str]] = {"split_sizes": "split_sizes", "dim": "dim", **SIZES}

    def __init__(self, split_sizes: Shape, dim: int) -> None:
        self.split_sizes = split_sizes
        self.dim = dim

    def lengths(self, n: int) -> Sequence[int]:
        """The sizes of the pieces of a dimension of size `n`."""
        return self.split_sizes

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        (x,) = xs
        self.in_shape = x.shape
        before = (WHOLE,) * self.dim
        pieces, start = [], 0
        for length in self.lengths(x.shape[self.dim]):
            pieces.append(x[before + (slice(start, start + length),)])
            start += length
        return tuple(pieces)

    def whole(self, gs: Sequence[Any]) -> Any:
        return Cat(self.dim).on(*gs)


class Split(SplitWithSizes):
    """pieces of one size; the last may be smaller"""

    params: ClassVar[tuple[str, ...]] = ("split_size", "dim")
    shown: ClassVar[dict[str, str]] = {"split_size": "split_size", "dim": "dim", **SIZES}

    def __init__(self, split_size: int, dim: int) -> None:
        self.split_size = split_size
        self.dim = dim

    def lengths(self, n: int) -> Sequence[int]:
        size = self.split_size
        return [min(size, n - start) for start in range(0, n, size)] if n and size else [0]


class Unbind(Pieces):
    """all elements of a dimension, which disappears"""

    params: ClassVar[tuple[str, ...]] = ("dim",)
    shown: ClassVar[dict[str, str]] = {"dim": "dim"}

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        (x,) = xs
        before = (WHOLE,) * self.dim
        return tuple([x[(*before, i, ...)] for i in range(x.shape[self.dim])])

    def whole(self, gs: Sequence[Any]) -> Any:
        return Stack(self.dim).on(*gs)


# -- functions -----------------------------------------------------------------------------------------------------


@public("select", method=True)
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """Element number `index` of dimension `dim`, which disappears: a view.

    >>> import retrograd as rg
    >>> rg.tensor([[1, 2], [3, 4]]).select(1, 0)
    tensor([1, 3])
    """
    x = require_tensor("select", "input", 1, input)
    shape = x.array.shape
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    d, i = wrap_dim(dim, len(shape)), integer(index)
    if not -shape[d] <= i < shape[d]:
        raise IndexError(
            f"select(): index {i} out of range for tensor of size {sizes(shape)} at dimension {d}"
        )
    found: Tensor = apply1(Select(d, i), x)
    return found


@public("narrow", method=True)
def narrow(input: Tensor, dim: int, start: int | Tensor, length: int) -> Tensor:
    """`length` elements of dimension `dim`, from `start` on: a view.

    >>> import retrograd as rg
    >>> rg.narrow(rg.arange(5), 0, 1, 3)
    tensor([1, 2, 3])
    """
    x = require_tensor("narrow", "input", 1, input)
    if x.array.ndim == 0:
        raise ShapeError("narrow() cannot be applied to a 0-dim tensor.")
    if isinstance(start, Tensor) and (start.array.ndim or start.array.dtype.kind not in "iu"):
        raise ShapeError("start must be an 0-dim integral Tensor.")
    count = integer(length)
    if count < 0:
        raise ShapeError("narrow(): length must be non-negative.")
    d = wrap_dim(dim, x.array.ndim)
    n, first = x.array.shape[d], integer(start)
    if not -n <= first <= n:
        raise IndexError(f"start out of range (expected to be in range of [{-n}, {n}], but got {first})")
    first = first + n if first < 0 else first
    if first + count > n:
        raise ShapeError(f"start ({first}) + length ({count}) exceeds dimension size ({n}).")
    found: Tensor = apply1(Slice(d, first, first + count), x)
    return found


@public("split")
def split(tensor: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Views of consecutive pieces along `dim`: of one size (the last may be smaller), or of a list of sizes.

    >>> import retrograd as rg
    >>> rg.arange(5).split(2)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    x = require_tensor("split", "tensor", 1, tensor)
    given = split_size_or_sections
    if isinstance(given, (tuple, list)):
        return split_with_sizes(x, given, dim)
    n = _length("split", x, dim)
    size = integer(given)
    if size < 0:
        raise ShapeError(f"split expects split_size be non-negative, but got split_size={size}")
    if size == 0 and n:
        raise ShapeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {n}")
    found: tuple[Tensor, ...] = apply_n(Split(size, wrap_dim(dim, x.array.ndim)), (x,))
    return found


@public("Tensor.split")
def split_method(self: Tensor, split_size: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Views of consecutive pieces along `dim`: see `split`."""
    return split(self, split_size, dim)


def _length(function: str, x: Tensor, dim: Any) -> int:
    """The size of the dimension that is to be cut."""
    if x.array.ndim == 0:
        raise ShapeError(f"{function} expects at least a 1-dimensional tensor")
    return int(x.array.shape[wrap_dim(dim, x.array.ndim)])


@public("split_with_sizes", method=True)
def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Views of consecutive pieces of these sizes along `dim`.

    >>> import retrograd as rg
    >>> rg.split_with_sizes(rg.arange(5), [2, 3])
    (tensor([0, 1]), tensor([2, 3, 4]))
    """
    x = require_tensor("split_with_sizes", "input", 1, input)
    n = _length("split_with_sizes", x, dim)
    parts = tuple([integer(s) for s in require_sequence("split_with_sizes", "split_sizes", 2, split_sizes)])
    if any(s < 0 for s in parts):
        raise ShapeError(
            f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={sizes(parts)}"
        )
    if sum(parts) != n:
        raise ShapeError(
            f"split_with_sizes expects split_sizes to sum exactly to {n} (input tensor's size at dimension {dim}), but "
            f"got split_sizes={sizes(parts)}"
        )
    found: tuple[Tensor, ...] = apply_n(SplitWithSizes(parts, wrap_dim(dim, x.array.ndim)), (x,))
    return found


@public("chunk", method=True)
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of at most `chunks` consecutive pieces of equal size along `dim`; the last may be smaller.

    >>> import retrograd as rg
    >>> rg.chunk(rg.arange(5), 2)
    (tensor([0, 1, 2]), tensor([3, 4]))
    """
    x = require_tensor("chunk", "input", 1, input)
    n = _length("chunk", x, dim)
    count = integer(chunks)
    if count <= 0:
        raise ShapeError(f"chunk expects `chunks` to be greater than 0, got: {count}")
    if n == 0:
        return split_with_sizes(x, (0,) * count, dim)
    return split(x, -(-n // count), dim)


@public("unbind", method=True)
def unbind(input: Tensor, dim: int = 0, *, axis: int | None = None) -> tuple[Tensor, ...]:
    """Views of all elements along `dim` (or `axis`), which disappears.

    >>> import retrograd as rg
    >>> rg.tensor([[1, 2], [3, 4]]).unbind()
    (tensor([1, 2]), tensor([3, 4]))
    """
    x = require_tensor("unbind", "input", 1, input)
    dim = dim if axis is None else axis
    if x.array.ndim == 0:
        raise DimensionError(f"Dimension specified as {dim} but tensor has no dimensions")
    found: tuple[Tensor, ...] = apply_n(Unbind(wrap_dim(dim, x.array.ndim)), (x,))
    return found


MOST_EMPTY: Final = 1 << 24  # tensors, most of them empty, that one is split into


@public("tensor_split", method=True)
def tensor_split(
    input: Tensor,
    indices_or_sections: int | Sequence[int] | Tensor | None = None,
    dim: int = 0,
    *,
    indices: Sequence[int] | Tensor | None = None,
    sections: int | Tensor | None = None,
    tensor_indices_or_sections: Tensor | None = None,
) -> tuple[Tensor, ...]:
    """Views of consecutive pieces along `dim`: so many of nearly equal size, or cut before each of some positions.

    >>> import retrograd as rg
    >>> rg.tensor_split(rg.arange(5), [1, 3])
    (tensor([0]), tensor([1, 2]), tensor([3, 4]))
    """
    x = require_tensor("tensor_split", "input", 1, input)
    names = (indices_or_sections, indices, sections, tensor_indices_or_sections)
    if sum([v is not None for v in names]) != 1 or isinstance(indices, Tensor):
        raise TypeError(
            "tensor_split() received an invalid combination of arguments: it takes a number of sections, indices in a "
            "tuple, or a tensor of either"
        )
    if x.array.ndim == 0:
        raise ShapeError(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims"
        )
    d = wrap_dim(dim, x.array.ndim)
    given: Any = next(v for v in names if v is not None)
    if isinstance(given, Tensor):
        given = _cuts(given.array)
    if isinstance(given, (tuple, list)):
        bounds = [0, *[integer(i) for i in given], END]
    else:
        count, n = integer(given), x.array.shape[d]
        if count <= 0:
            raise ShapeError(f"number of sections must be larger than 0, got {count}")
        if count > max(n, MOST_EMPTY):
            raise OutOfMemoryError(
                f"not enough memory: tensor_split would make {count} tensors of {n} elements"
            )
        small, larger = divmod(n, count)
        bounds = [i * small + min(i, larger) for i in range(count + 1)]
    return tuple(apply1(Slice(d, a, b), x) for a, b in pairwise(bounds))


def _cuts(a: Array) -> Any:
    """The positions, or their number, that a tensor names."""
    what = "tensor_split expected tensor_indices_or_sections to"
    if a.dtype != np.int64:
        raise ShapeError(f"{what} have dtype of long, but got {SCALAR_NAMES[a.dtype]}")
    if a.ndim > 1:
        raise ShapeError(
            f"{what} be a zero-dimensional or one-dimensional tensor, but got a tensor with {a.ndim} dims"
        )
    return a.tolist()


def _split_evenly(function: str, x: Tensor, given: Any, dim: int, needed: int) -> tuple[Tensor, ...]:
    """`tensor_split` that insists on equal pieces."""
    ndim = x.array.ndim
    if ndim < needed:
        raise ShapeError(
            f"torch.{function} requires a tensor with at least {needed} dimension, but got a tensor with "
            f"{ndim} dimensions!"
        )
    if isinstance(given, int) and (given <= 0 or x.array.shape[dim] % given):
        raise ShapeError(
            f"torch.{function} attempted to split along dimension {dim}, but the size of the dimension "
            f"{x.array.shape[dim]} is not divisible by the split_size {given}!"
        )
    return tensor_split(x, given, dim)


@public("hsplit", method=True)
def hsplit(
    input: Tensor,
    *places: int | Sequence[int],
    sections: int | None = None,
    indices: Sequence[int] | None = None,
) -> tuple[Tensor, ...]:
    """Views of equal pieces side by side: along dimension 1, or 0 for a vector."""
    x = require_tensor("hsplit", "input", 1, input)
    given = _places("hsplit", places, sections, indices)
    return _split_evenly("hsplit", x, given, min(x.array.ndim - 1, 1), 1)


def _places(function: str, given: Sequence[Any], sections: Any, indices: Any) -> Any:
    """What was given: a number of pieces, or places as a sequence or one by one."""
    given = [v for v in (*given, sections, indices) if v is not None]
    if not given:
        raise TypeError(f"{function}() missing 1 required positional argument: 'indices_or_sections'")
    first, more = given[0], given[1:]
    if more and isinstance(first, (tuple, list)):
        raise TypeError(f"{function}() received an invalid combination of arguments: places are given once")
    if isinstance(first, Tensor) and first.array.ndim == 0:
        first = integer(first)
    if isinstance(first, (str, float)):
        raise TypeError(
            f"{function}() received an invalid combination of arguments - got (Tensor, {type_name(first)}), but a "
            "number of pieces or a sequence of places is expected"
        )
    return (first, *more) if more else first


@public("vsplit", method=True)
def vsplit(
    input: Tensor,
    *places: int | Sequence[int],
    sections: int | None = None,
    indices: Sequence[int] | None = None,
) -> tuple[Tensor, ...]:
    """Views of equal pieces above each other: along dimension 0."""
    x = require_tensor("vsplit", "input", 1, input)
    return _split_evenly("vsplit", x, _places("vsplit", places, sections, indices), 0, 2)


@public("dsplit", method=True)
def dsplit(
    input: Tensor,
    *places: int | Sequence[int],
    sections: int | None = None,
    indices: Sequence[int] | None = None,
) -> tuple[Tensor, ...]:
    """Views of equal pieces along dimension 2."""
    x = require_tensor("dsplit", "input", 1, input)
    return _split_evenly("dsplit", x, _places("dsplit", places, sections, indices), 2, 3)
