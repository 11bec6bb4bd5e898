"""Joining tensors: along a dimension they have, or along a new one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, overload

from retrograd.backends.base import Backend
from retrograd.backends.dtypes import (
    SCALAR_NAMES,
    keeps_category,
    promote_types,
)
from retrograd.core.apply import apply1, apply_n
from retrograd.core.autocast import autocasting, widest
from retrograd.core.op import Variadic
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.errors import (
    OperandError,
    ShapeError,
    sizes,
    type_name,
)
from retrograd.ops.common import deliver, require_tensor, require_word, wrap_dim, zero_like, zeros_beside
from retrograd.ops.register import public
from retrograd.ops.shape.reshape import Expand, Reshape, reshaped, unsqueeze
from retrograd.values import Array, DType, Shape


class Joined(Variadic):
    """Several tensors as one, in the dtype that all of them promote to."""

    in_rows: ClassVar[bool] = True
    params: ClassVar[tuple[str, ...]] = ("dim",)
    shown: ClassVar[dict[str, str]] = {"dim": "dim"}
    is_new: ClassVar[bool] = False  # whether the inputs lack the dimension

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def joined(self, xp: Backend, arrays: Sequence[Array], dtype: DType) -> Array:
        """The arrays as one."""
        raise NotImplementedError

    def key(self, i: int) -> tuple[Any, ...]:
        """Where input `i` has gone, as an index."""
        raise NotImplementedError

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        self.shapes = [x.shape for x in xs]
        return xp.join(self, xs)

    def computed(self, xp: Backend, xs: Sequence[Array]) -> Array:
        """The result by the array library."""
        return self.joined(xp, xs, common_dtype([x.dtype for x in xs]))

    def vjp(self, gs: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
        return [self.piece(gs[0], i) if self.needs(i) else None for i in range(self.edge_count)]

    def piece(self, g: Any, i: int) -> Any:
        """The part of `g` that belongs to input `i`."""
        return g[self.key(i)]

    def jvp(self, ts: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Any:
        given = next(t for t in ts if t is not None)
        filled = [
            zeros_beside(given, shape) if t is None else t for t, shape in zip(ts, self.shapes, strict=True)
        ]
        return self.fresh().on(*filled)


class Cat(Joined):
    """tensors one after the other along a dimension"""

    starts: list[int] | None = None

    def joined(self, xp: Backend, arrays: Sequence[Array], dtype: DType) -> Array:
        kept = [a for a in arrays if a.shape != (0,)] or arrays
        return xp.concatenate(kept, self.dim, dtype=dtype, casting="unsafe")

    def piece(self, g: Any, i: int) -> Any:
        # Vectors of size 0 join anything, and have no place in the result.
        return zero_like(g).reshape((-1,))[:0] if self.shapes[i] == (0,) else super().piece(g, i)

    def key(self, i: int) -> tuple[Any, ...]:
        if self.starts is None:
            self.starts = self.where_pieces_start()
        return (slice(None),) * self.dim + (slice(self.starts[i], self.starts[i + 1]),)

    def where_pieces_start(self) -> list[int]:
        """Where each input begins in the result, and where the last one ends."""
        starts = [0]
        for shape in self.shapes:
            starts.append(starts[-1] + (0 if shape == (0,) else shape[self.dim]))
        return starts


class Stack(Joined):
    """tensors of one shape along a new dimension"""

    is_new: ClassVar[bool] = True

    def joined(self, xp: Backend, arrays: Sequence[Array], dtype: DType) -> Array:
        return xp.stack(arrays, self.dim, dtype=dtype, casting="unsafe")

    def key(self, i: int) -> tuple[Any, ...]:
        return (slice(None),) * self.dim + (i, ...)


def common_dtype(dtypes: Sequence[DType]) -> DType:
    """The dtype that all of these promote to."""
    found = dtypes[0]
    for dtype in dtypes[1:]:
        if dtype is not found:
            found = promote_types(found, dtype)
    return found


def tensors_of(function: str, tensors: Any) -> tuple[Tensor, ...]:
    """The tensors to join, checked."""
    if isinstance(tensors, Tensor) or not isinstance(tensors, (tuple, list)):
        raise TypeError(
            f"{function}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type_name(tensors)}"
        )
    for i, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type_name(t)}")
    return tuple(tensors)


# -- functions -----------------------------------------------------------------------------------------------------


@public("cat")
def cat(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None, **numpy: Any) -> Tensor:
    """The tensors one after the other along `dim`; their other sizes must agree.

    >>> import retrograd as rg
    >>> rg.cat([rg.tensor([1, 2]), rg.tensor([3])])
    tensor([1, 2, 3])
    """
    if autocasting():
        return widest(cat, tensors, dim, out=out, **numpy)
    given = tensors_of("cat", tensors)
    if not given:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    shapes = [t.array.shape for t in given]
    axis = _cat_dim(shapes, numpy.pop("axis", dim))
    found = apply_n(Cat(axis), given)
    if out is not None and not keeps_category(found.array.dtype, out.array.dtype):
        raise OperandError(
            f"torch.cat(): input types can't be cast to the desired output type {SCALAR_NAMES[out.array.dtype]}"
        )
    return deliver(found, out)


@public("concat")
def concat(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None, **numpy: Any) -> Tensor:
    """Another name for `cat`."""
    return cat(tensors, dim, out=out, **numpy)


@public("concatenate")
def concatenate(
    tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None, **numpy: Any
) -> Tensor:
    """NumPy's name for `cat`."""
    return cat(tensors, dim, out=out, **numpy)


def _cat_dim(shapes: Sequence[Shape], dim: Any) -> int:
    """The dimension to join along, after the shapes have been checked."""
    first: Shape | None = None
    axis = 0
    for i, shape in enumerate(shapes):
        if not shape:
            raise ShapeError(
                f"zero-dimensional tensor (at position {i}) cannot be concatenated. Use stack() for numbers."
            )
        if shape == (0,):
            continue
        if first is None:
            first, axis = shape, wrap_dim(dim, len(shape))
        if shape == first:
            continue
        if len(shape) != len(first):
            raise ShapeError(
                f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)} "
                f"(shapes {sizes(first)} and {sizes(shape)})"
            )
        if shape[:axis] != first[:axis] or shape[axis + 1 :] != first[axis + 1 :]:
            n, m = next(
                (n, m) for d, (n, m) in enumerate(zip(first, shape, strict=True)) if n != m and d != axis
            )
            raise ShapeError(
                f"Sizes of tensors must match except in dimension {axis}. Expected size {n} but got size {m} for "
                f"tensor number {i} in the list."
            )
    return axis


@public("stack")
def stack(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None, **numpy: Any) -> Tensor:
    """The tensors, all of one shape, along a new dimension.

    >>> import retrograd as rg
    >>> rg.stack([rg.tensor([1, 2]), rg.tensor([3, 4])], dim=1)
    tensor([[1, 3],
            [2, 4]])
    """
    if autocasting():
        return widest(stack, tensors, dim, out=out, **numpy)
    given = tensors_of("stack", tensors)
    if not given:
        raise ShapeError("stack expects a non-empty TensorList")
    first = given[0].array.shape
    axis = wrap_dim(numpy.pop("axis", dim), len(first) + 1)
    for i, t in enumerate(given):
        if t.array.shape != first:
            raise ShapeError(
                f"stack expects each tensor to be equal size, but got {sizes(first)} at entry 0 and "
                f"{sizes(t.array.shape)} at entry {i}"
            )
    return deliver(apply_n(Stack(axis), given), out)


@overload
def atleast_1d(tensor: Tensor, /) -> Tensor: ...


@overload
def atleast_1d(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]: ...


@overload
def atleast_1d(first: Tensor, second: Tensor, /, *others: Tensor) -> tuple[Tensor, ...]: ...


@public("atleast_1d")
def atleast_1d(*tensors: Tensor | Sequence[Tensor]) -> Tensor | tuple[Tensor, ...]:
    """Each tensor with at least one dimension."""
    return _each(tensors, 1)


@overload
def atleast_2d(tensor: Tensor, /) -> Tensor: ...


@overload
def atleast_2d(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]: ...


@overload
def atleast_2d(first: Tensor, second: Tensor, /, *others: Tensor) -> tuple[Tensor, ...]: ...


@public("atleast_2d")
def atleast_2d(*tensors: Tensor | Sequence[Tensor]) -> Tensor | tuple[Tensor, ...]:
    """Each tensor with at least two dimensions: a vector becomes a row.

    >>> import retrograd as rg
    >>> rg.atleast_2d(rg.tensor(1.0)).shape, rg.atleast_2d(rg.zeros(3)).shape
    (torch.Size([1, 1]), torch.Size([1, 3]))
    """
    return _each(tensors, 2)


@overload
def atleast_3d(tensor: Tensor, /) -> Tensor: ...


@overload
def atleast_3d(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]: ...


@overload
def atleast_3d(first: Tensor, second: Tensor, /, *others: Tensor) -> tuple[Tensor, ...]: ...


@public("atleast_3d")
def atleast_3d(*tensors: Tensor | Sequence[Tensor]) -> Tensor | tuple[Tensor, ...]:
    """Each tensor with at least three dimensions: a matrix gets a last one."""
    return _each(tensors, 3)


def _each(tensors: Sequence[Any], ndim: int) -> Tensor | tuple[Tensor, ...]:
    if len(tensors) == 1 and isinstance(tensors[0], Tensor):
        return _atleast(tensors[0], ndim)
    given = tensors[0] if len(tensors) == 1 else tensors
    if not isinstance(given, (tuple, list)):
        raise TypeError(
            f"atleast_{ndim}d() received an invalid combination of arguments - got ({type_name(given)}): it takes "
            "tensors, or a list of them"
        )
    return tuple(_atleast(t, ndim) for t in given)


def _atleast(x: Any, ndim: int) -> Tensor:
    x = require_tensor(f"atleast_{ndim}d", "tensors", 1, x)
    if x.array.ndim == 0:
        return reshaped(x, (1,) * ndim)
    if x.array.ndim == 1 and ndim > 1:
        x = unsqueeze(x, 0)
    return unsqueeze(x, -1) if x.array.ndim == 2 and ndim > 2 else x


def _some(function: str, tensors: Any) -> tuple[Tensor, ...]:
    given = tensors_of(function, tensors)
    if not given:
        raise ShapeError(f"{function} expects a non-empty TensorList")
    return given


@public("hstack")
def hstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The tensors side by side: along dimension 1, or 0 for vectors.

    >>> import retrograd as rg
    >>> rg.hstack((rg.tensor([1, 2]), rg.tensor([3])))
    tensor([1, 2, 3])
    """
    given = [_atleast(t, 1) for t in _some("hstack", tensors)]
    return cat(given, 0 if given[0].array.ndim == 1 else 1, out=out)


@public("vstack")
def vstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The tensors above each other, vectors as rows.

    >>> import retrograd as rg
    >>> rg.vstack((rg.tensor([1, 2]), rg.tensor([3, 4])))
    tensor([[1, 2],
            [3, 4]])
    """
    return cat([_atleast(t, 2) for t in _some("vstack", tensors)], 0, out=out)


@public("row_stack")
def row_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Another name for `vstack`."""
    return vstack(tensors, out=out)


@public("dstack")
def dstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The tensors behind each other: along dimension 2."""
    return cat([_atleast(t, 3) for t in _some("dstack", tensors)], 2, out=out)


@public("column_stack")
def column_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The tensors side by side, vectors as columns.

    >>> import retrograd as rg
    >>> rg.column_stack((rg.tensor([1, 2]), rg.tensor([3, 4])))
    tensor([[1, 3],
            [2, 4]])
    """
    given = _some("column_stack", tensors)
    return cat([reshaped(t, (t.array.size, 1)) if t.array.ndim < 2 else t for t in given], 1, out=out)


@public("meshgrid")
def meshgrid(*tensors: Tensor | Sequence[Tensor], indexing: str | None = None) -> tuple[Tensor, ...]:
    """The coordinates of a grid, one tensor per dimension, from the coordinates along each.

    Args:
        indexing: "ij" lays the first tensor along dimension 0, "xy" along dimension 1.

    >>> import retrograd as rg
    >>> rows, columns = rg.meshgrid(rg.tensor([1, 2]), rg.tensor([3, 4, 5]), indexing="ij")
    >>> rows, columns
    (tensor([[1, 1, 1],
            [2, 2, 2]]), tensor([[3, 4, 5],
            [3, 4, 5]]))
    """
    if indexing is None:
        warn(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.",
            UserWarning,
        )
        indexing = "ij"
    if require_word("meshgrid", "indexing", indexing) not in ("ij", "xy"):
        raise ShapeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    given = _some(
        "meshgrid", tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    )
    for t in given:
        if t.array.ndim > 1:
            raise ShapeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {t}")
        if t.array.dtype != given[0].array.dtype:
            raise ShapeError("meshgrid expects all tensors to have the same dtype")
    place = list(range(len(given)))
    if indexing == "xy" and len(given) > 1:
        place[:2] = 1, 0
    whole = [0] * len(given)
    for p, t in zip(place, given, strict=True):
        whole[p] = t.array.size
    grids = []
    for p, t in zip(place, given, strict=True):
        line = tuple([t.array.size if d == p else 1 for d in range(len(given))])
        grids.append(apply1(Expand(tuple(whole)), apply1(Reshape(line), t)))
    return tuple(grids)
