"""Gathering and scattering: elements picked by index tensors, and put back.

Note [Positions]
~~~~~~~~~~~~~~~~
`gather` and `scatter` along a dimension point at elements; `positions` says where those elements lie in the flattened
array. Reading, writing and adding at positions of one dimension is what NumPy does fastest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from retrograd.backends.dtypes import SCALAR_NAMES
from retrograd.core.apply import apply1, apply_n
from retrograd.core.op import Linear, Unary, Variadic
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError, ShapeError, broadcast_error, operand_error, sizes
from retrograd.ops.common import as_value, deliver, require_tensor, wrap_dim
from retrograd.ops.index import added_at, number_for
from retrograd.ops.shape import Expand, reshaped
from retrograd.ops.split import WHOLE, Place
from retrograd.values import Array, Shape


def positions(xp: Any, index: Array, dim: int, shape: Shape) -> Array:
    """Where the elements that `index` names along `dim` lie in a flattened array of `shape`."""
    if not shape or not index.ndim:
        return index
    found, stride = 0, 1
    for d in range(len(shape) - 1, -1, -1):
        if d == dim:
            found = found + index * stride
        elif d < index.ndim:
            line = [1] * index.ndim
            line[d] = index.shape[d]
            found = found + (xp.arange(index.shape[d]) * stride).reshape(line)
        stride *= shape[d]
    return found


class LinearAt(Linear):
    """A Linear op along a dimension, at an index."""

    params: ClassVar[tuple[str, ...]] = ("dim", "index")
    shown: ClassVar[dict[str, str]] = {"dim": "dim"}

    def __init__(self, dim: int, index: Array) -> None:
        self.dim = dim
        self.index = index

    @property
    def _saved_index(self) -> Tensor:
        return Tensor(self.index)


class AdjointAt(LinearAt):
    """The adjoint of one that picks elements: it adds them to zeros of the shape they came from."""

    params = ("dim", "index", "size")

    def __init__(self, dim: int, index: Array, size: Shape) -> None:
        super().__init__(dim, index)
        self.size = size


class ValueAt(Unary):
    """x with a number written along a dimension, at an index."""

    params = ("dim", "index", "value")
    shown: ClassVar[dict[str, str]] = {"dim": "dim"}

    def __init__(self, dim: int, index: Array, value: Any) -> None:
        self.dim = dim
        self.index = index
        self.value = value

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        return type(self)(self.dim, self.index, 0).on(g)

    def jvp(self, t: Any, x: Any, out: Any) -> Any:
        return type(self)(self.dim, self.index, 0).on(t)

    @property
    def _saved_index(self) -> Tensor:
        return Tensor(self.index)


class SourceAt(Variadic):
    """x and a source that goes into it along a dimension, at an index."""

    params: ClassVar[tuple[str, ...]] = ("dim", "index")
    shown: ClassVar[dict[str, str]] = {"dim": "dim"}
    source_shape: Shape = ()

    def __init__(self, dim: int, index: Array) -> None:
        self.dim = dim
        self.index = index

    def kept(self, g: Any) -> Any:
        """The gradient of x: without what was overwritten."""
        raise NotImplementedError

    def source_grad(self, g: Any) -> Any:
        """The gradient of the source."""
        raise NotImplementedError

    def vjp(self, gs: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
        g = gs[0]
        return [self.kept(g) if self.needs(0) else None, self.source_grad(g) if self.needs(1) else None]

    def jvp(self, ts: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Any:
        given = next(t for t in ts if t is not None)
        filled = [
            as_value(np.zeros(shape, given.dtype), given) if t is None else t
            for t, shape in zip(ts, (self.shape, self.source_shape), strict=True)
        ]
        return self.fresh().on(*filled)

    @property
    def _saved_index(self) -> Tensor:
        return Tensor(self.index)


class Gather(LinearAt):
    """the elements that an index names along a dimension"""

    def forward(self, xp: Any, x: Array) -> Array:
        self.in_shape = x.shape
        return xp.take(x, positions(xp, self.index, self.dim, x.shape))

    def transpose(self, g: Any) -> Any:
        return GatherAdjoint(self.dim, self.index, self.in_shape).on(g)


class GatherAdjoint(AdjointAt):
    """zeros of some shape with x added at an index along a dimension"""

    node_name = "ScatterAddBackward0"
    def forward(self, xp: Any, x: Array) -> Array:
        return scatter_added(xp, xp.zeros(self.size, x.dtype), self.dim, self.index, x)

    def transpose(self, g: Any) -> Any:
        return Gather(self.dim, self.index).on(g)


def scatter_added(xp: Any, out: Array, dim: int, index: Array, src: Array) -> Array:
    """Adds a source, cut to the index's shape, to a contiguous array."""
    where = positions(xp, index, dim, out.shape).reshape(-1)
    xp.add.at(out.reshape(-1), where, cut(src, index.shape).reshape(-1))
    return out


def cut(src: Any, shape: Shape) -> Any:
    """The first elements of each dimension, so many as `shape` says."""
    return src if tuple(src.shape) == shape else src[tuple([slice(0, n) for n in shape])]


class ScatterAdd(SourceAt):
    """x with a source added at an index along a dimension"""

    def forward(self, xp: Any, xs: Sequence[Any]) -> Any:
        x, src = xs
        self.source_shape = src.shape
        return scatter_added(xp, x.copy("C"), self.dim, self.index, src)

    def kept(self, g: Any) -> Any:
        return g

    def source_grad(self, g: Any) -> Any:
        found = Gather(self.dim, self.index).on(g)
        if self.index.shape == self.source_shape:
            return found
        return Place(self.source_shape, tuple([slice(0, n) for n in self.index.shape])).on(found)


class Scatter(ScatterAdd):
    """x with a source written at an index along a dimension"""

    def forward(self, xp: Any, xs: Sequence[Any]) -> Any:
        x, src = xs
        self.source_shape = src.shape
        out = x.copy("C")
        where = positions(xp, self.index, self.dim, out.shape).reshape(-1)
        out.reshape(-1)[where] = cut(src, self.index.shape).reshape(-1)
        return out

    def kept(self, g: Any) -> Any:
        return ScatterValue(self.dim, self.index, 0).on(g)


class ScatterValue(ValueAt):
    """x with a number written at an index along a dimension"""

    node_name = "ScatterBackward1"
    def forward(self, xp: Any, x: Array) -> Array:
        out = x.copy("C")
        out.reshape(-1)[positions(xp, self.index, self.dim, out.shape).reshape(-1)] = self.value
        return out


class Take(ByIndex, Linear):
    """elements by their number in the flattened x"""

    params = ("index",)

    def __init__(self, index: Array) -> None:
        self.index = index

    def forward(self, xp: Any, x: Array) -> Array:
        self.in_shape = x.shape
        return xp.take(x, self.index)

    def transpose(self, g: Any) -> Any:
        return Put(self.index, self.in_shape).on(g)


class Put(ByIndex, Linear):
    """zeros of some shape with x added at numbers of the flattened result"""

    params = ("index", "size")

    def __init__(self, index: Array, size: Shape) -> None:
        self.index = index
        self.size = size

    def forward(self, xp: Any, x: Array) -> Array:
        out = xp.zeros(self.size, x.dtype)
        added_at(xp, out.reshape(-1), (self.index.reshape(-1),), x.reshape(-1))
        return out

    def transpose(self, g: Any) -> Any:
        return Take(self.index).on(g)


class IndexSelect(LinearAt):
    """the rows (or columns, …) that an index names"""

    params = ("dim", "index")
    shown: ClassVar[dict[str, str]] = {"dim": "dim", "self_sym_sizes": "in_shape"}

    def __init__(self, dim: int, index: Array) -> None:
        self.dim = dim
        self.index = index

    def forward(self, xp: Any, x: Array) -> Array:
        self.in_shape = x.shape
        return xp.take(x, self.index, self.dim) if x.ndim else x.copy()

    def transpose(self, g: Any) -> Any:
        return IndexSelectAdjoint(self.dim, self.index, self.in_shape).on(g)


class IndexSelectAdjoint(AdjointAt):
    """zeros of some shape with the rows of x added at an index"""

    node_name = "IndexAddBackward0"
    def forward(self, xp: Any, x: Array) -> Array:
        if not self.size:
            return x.copy()
        return added_at(xp, xp.zeros(self.size, x.dtype), (WHOLE,) * self.dim + (self.index,), x)

    def transpose(self, g: Any) -> Any:
        return IndexSelect(self.dim, self.index).on(g)


class IndexAdd(SourceAt):
    """x with the rows of a source, times a number, added at an index"""

    params = ("dim", "index", "alpha")
    shown: ClassVar[dict[str, str]] = {"dim": "dim", "alpha": "alpha"}

    def __init__(self, dim: int, index: Array, alpha: Any) -> None:
        super().__init__(dim, index)
        self.alpha = alpha

    def forward(self, xp: Any, xs: Sequence[Any]) -> Any:
        x, source = xs
        self.source_shape = source.shape
        scaled = source if self.alpha == 1 else source * self.alpha
        out = x.copy("C")
        rows = out.reshape((1,)) if out.ndim == 0 else out
        added_at(xp, rows, (WHOLE,) * self.dim + (self.index,), scaled.reshape((1,)) if x.ndim == 0 else scaled)
        return out

    def kept(self, g: Any) -> Any:
        return g

    def source_grad(self, g: Any) -> Any:
        found = IndexSelect(self.dim, self.index).on(g)
        found = found if self.alpha == 1 else found * self.alpha
        return found.reshape(self.source_shape)


class IndexCopy(IndexAdd):
    """x with the rows of a source written at an index"""

    params = ("dim", "index")
    shown: ClassVar[dict[str, str]] = {"dim": "dim"}

    def __init__(self, dim: int, index: Array) -> None:
        super().__init__(dim, index, 1)

    def forward(self, xp: Any, xs: Sequence[Any]) -> Any:
        x, source = xs
        self.source_shape = source.shape
        if x.ndim == 0:
            return source.reshape(()).astype(x.dtype)
        out = x.copy()
        out[(WHOLE,) * self.dim + (self.index,)] = source
        return out

    def kept(self, g: Any) -> Any:
        return IndexFill(self.dim, self.index, 0).on(g)


class IndexFill(ValueAt):
    """x with a number in the rows that an index names"""

    def forward(self, xp: Any, x: Array) -> Array:
        out = x.copy()
        out[(WHOLE,) * self.dim + (self.index,) if x.ndim else ...] = self.value
        return out


class IndexFillTensor(SourceAt):
    """x with a 0-dim tensor in the rows that an index names"""

    node_name = "IndexFillBackward1"
    def forward(self, xp: Any, xs: Sequence[Any]) -> Any:
        x, value = xs
        return IndexFill(self.dim, self.index, value).forward(xp, x)

    def kept(self, g: Any) -> Any:
        return IndexFill(self.dim, self.index, 0).on(g)

    def source_grad(self, g: Any) -> Any:
        # A row that the index names twice was filled once.
        n = self.shape[self.dim] if self.shape else 1
        rows = np.unique(np.where(self.index < 0, self.index + n, self.index))
        return IndexSelect(self.dim, rows).on(g).sum()
