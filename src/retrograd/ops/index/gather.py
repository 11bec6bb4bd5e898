"""Gathering and scattering: elements picked by index tensors, and put back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import Backend, backend_of
from retrograd.backends.dtypes import SCALAR_NAMES
from retrograd.backends.kernels.along_axis import is_index
from retrograd.core.apply import apply1, apply_n
from retrograd.core.autocast import autocasting_on_gpu, widest
from retrograd.core.families import Linear
from retrograd.core.op import Unary, Variadic
from retrograd.core.saved import SavedConstant, constant_of
from retrograd.core.tensor import Tensor
from retrograd.errors import DimensionError, DtypeError, ShapeError, sizes, type_name
from retrograd.ops.common import deliver_exact, require_tensor, wrap_dim
from retrograd.ops.index.getitem import Index, IndexPut, arrays_of, check_beforehand, filled, read_index
from retrograd.ops.register import public
from retrograd.ops.shape.reshape import Expand, Reshape, broadcast_shapes, broadcasts_to, expand, reshape
from retrograd.ops.shape.split import PlacePart
from retrograd.ops.tensor.data import number_for
from retrograd.values import Array, Number, Shape


class LinearAt(Linear):
    """A Linear op along a dimension, at an index."""

    params: ClassVar[tuple[str, ...]] = ("dim", "index")
    shown: ClassVar[dict[str, str]] = {"dim": "dim", "index": "constant:0"}

    def __init__(self, dim: int, index: Any) -> None:
        self.dim = dim
        self.constants = (constant_of(index),)

    @property
    def index(self) -> SavedConstant:
        """Where the elements are."""
        return self.constant(0)


class AdjointAt(LinearAt):
    """The adjoint of one that picks elements: it adds them to zeros of the shape they came from."""

    params: ClassVar[tuple[str, ...]] = ("dim", "index", "size")

    def __init__(self, dim: int, index: Any, size: Shape) -> None:
        super().__init__(dim, index)
        self.size = size


class ValueAt(Unary):
    """x with a number written along a dimension, at an index."""

    params: ClassVar[tuple[str, ...]] = ("dim", "index", "value")
    array_params: ClassVar[tuple[str, ...]] = ("value",)
    shown: ClassVar[dict[str, str]] = {"dim": "dim", "index": "constant:0"}

    def __init__(self, dim: int, index: Any, value: Any) -> None:
        self.dim = dim
        self.constants = (constant_of(index),)
        self.value = value

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        return type(self)(self.dim, self.index, 0).on(g)

    def jvp(self, t: Any, x: Any, out: Any) -> Any:
        return type(self)(self.dim, self.index, 0).on(t)

    @property
    def index(self) -> SavedConstant:
        """Where the elements are."""
        return self.constant(0)


class SourceAt(Variadic):
    """x and a source that goes into it along a dimension, at an index."""

    params: ClassVar[tuple[str, ...]] = ("dim", "index")
    shown: ClassVar[dict[str, str]] = {"dim": "dim", "index": "constant:0"}
    x_shape: Shape = ()
    source_shape: Shape = ()

    def __init__(self, dim: int, index: Any) -> None:
        self.dim = dim
        self.constants = (constant_of(index),)

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
        return self.fresh().on(*filled(ts, (self.x_shape, self.source_shape)))

    @property
    def index(self) -> SavedConstant:
        """Where the elements are."""
        return self.constant(0)


class Gather(LinearAt):
    """the elements that an index names along a dimension"""

    def forward(self, xp: Backend, x: Array) -> Array:
        self.in_shape = x.shape
        return xp.take_along(x, self.index.array, self.dim)

    def transpose(self, g: Any) -> Any:
        return GatherAdjoint(self.dim, self.index, self.in_shape).on(g)


class GatherAdjoint(AdjointAt):
    """zeros of some shape with x added at an index along a dimension"""

    node_name = "ScatterAddBackward0"

    def forward(self, xp: Backend, x: Array) -> Array:
        return scatter_added(xp, xp.zeros(self.size, x.dtype), self.dim, self.index.array, x)

    def transpose(self, g: Any) -> Any:
        return Gather(self.dim, self.index).on(g)


def scatter_added(xp: Backend, out: Array, dim: int, index: Array, src: Array) -> Array:
    """Adds a source, cut to the index's shape, to a contiguous array."""
    xp.add_along(out, index, dim, cut(src, index.shape))
    return out


def cut(src: Any, shape: Shape) -> Any:
    """The first elements of each dimension, so many as `shape` says."""
    if 0 in shape:
        return src.reshape(-1)[:0].reshape(shape)  # of an index of nothing PyTorch compares no dimensions
    if not src.shape:
        return src.reshape((1,) * len(shape))
    return src if tuple(src.shape) == shape else src[tuple([slice(0, n) for n in shape])]


class ScatterAdd(SourceAt):
    """x with a source added at an index along a dimension"""

    def keeps_constants(self) -> bool:
        return self.needs(1)

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        x, src = xs
        self.x_shape, self.source_shape = x.shape, src.shape
        return scatter_added(xp, x.copy("C"), self.dim, self.index.array, src)

    def kept(self, g: Any) -> Any:
        return g

    def source_grad(self, g: Any) -> Any:
        index = self.index
        found = Gather(self.dim, index).on(g)
        if index.array.shape == self.source_shape:
            return found
        if not index.array.size or not self.source_shape:
            return Expand(self.source_shape).on(found.sum())
        return PlacePart(self.source_shape, tuple([slice(0, n) for n in index.array.shape])).on(found)


class Scatter(ScatterAdd):
    """x with a source written at an index along a dimension"""

    def keeps_constants(self) -> bool:
        return True

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        x, src = xs
        self.x_shape, self.source_shape = x.shape, src.shape
        out = x.copy("C")
        index = self.index.array
        xp.put_along(out, index, self.dim, cut(src, index.shape))
        return out

    def kept(self, g: Any) -> Any:
        return ScatterValue(self.dim, self.index, 0).on(g)


class ScatterValue(ValueAt):
    """x with a number written at an index along a dimension"""

    node_name = "ScatterBackward1"

    def forward(self, xp: Backend, x: Array) -> Array:
        out = x.copy("C")
        xp.put_along(out, self.index.array, self.dim, xp.asarray(self.value, x.dtype))
        return out


class IndexPutAdd(IndexPut):
    """x with a value added at index arrays and masks"""

    node_name = "IndexPutBackward0"
    accumulate: bool = True

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        x, value = xs
        self.shapes = x.shape, value.shape
        key = arrays_of(self.key)
        return xp.add_at(x.copy("C"), key, xp.broadcast_to(value, x[key].shape))

    def vjp(self, gs: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
        g = gs[0]
        return [g if self.needs(0) else None, Index(self.key).on(g) if self.needs(1) else None]


class Take(LinearAt):
    """elements by their number in the flattened x"""

    params: ClassVar[tuple[str, ...]] = ("index",)
    shown: ClassVar[dict[str, str]] = {"index": "constant:0"}

    def __init__(self, index: Any) -> None:
        super().__init__(0, index)

    def forward(self, xp: Backend, x: Array) -> Array:
        self.in_shape = x.shape
        return xp.take(x, self.index.array)

    def transpose(self, g: Any) -> Any:
        return Put(self.index, self.in_shape).on(g)


class Put(AdjointAt):
    """zeros of some shape with x added at numbers of the flattened result"""

    params: ClassVar[tuple[str, ...]] = ("index", "size")
    shown: ClassVar[dict[str, str]] = {"index": "constant:0"}

    def __init__(self, index: Any, size: Shape) -> None:
        super().__init__(0, index, size)

    def forward(self, xp: Backend, x: Array) -> Array:
        out = xp.zeros(self.size, x.dtype)
        xp.add_at(out.reshape(-1), (self.index.array.reshape(-1),), x.reshape(-1))
        return out

    def transpose(self, g: Any) -> Any:
        return Take(self.index).on(g)


# -- functions -----------------------------------------------------------------------------------------------------


def _check_ranks(index: Shape, shape: Shape, called: str) -> None:
    """An index has as many dimensions as what it picks from; no dimension counts as one."""
    if max(len(index), 1) != max(len(shape), 1):
        raise ShapeError(
            f"Index tensor must have the same number of dimensions as {called} tensor: index is {sizes(index)}, "
            f"{called} is {sizes(shape)}"
        )


def _along(
    function: str, x: Tensor, dim: Any, index: Any, source: Array | None, called: str
) -> tuple[int, SavedConstant]:
    """The dimension and the index of a gather or scatter, checked."""
    given = constant_of(require_tensor(function, "index", 2, index))
    i = given.array
    shape = x.array.shape
    d = wrap_dim(dim, len(shape))
    if not is_index(i) and (i.size or function != "gather"):
        raise DtypeError(
            f"{function}(): Expected dtype int32/int64 for index, but got {SCALAR_NAMES[i.dtype]}"
        )
    if i.size == 0:
        return d, given.like(i.astype(np.int64))
    _check_ranks(i.shape, shape, called)
    if source is not None:
        _check_ranks(i.shape, source.shape, "src")
    for k, n in enumerate(i.shape):
        if len(shape) == len(i.shape) and k != d and n > shape[k]:
            raise _too_large(i.shape, shape, d, k, source)
        if source is not None and n > (source.shape[k] if source.ndim else 1):
            raise _too_large(i.shape, shape, d, k, source)
    check_bounds(i, d, shape[d] if shape else 1, False)
    if source is not None and not i.ndim and (shape or source.ndim):
        i = i.reshape(1)  # one place, of a vector or from one
    return d, given.like(i.astype(np.int64, copy=False))


def lined_up(source: Tensor, index: SavedConstant) -> Tensor:
    """A source of no dimensions as one of one dimension, where the index has it."""
    found: Tensor = source if source.array.ndim or not index.array.ndim else apply1(Reshape((1,)), source)
    return found


def _too_large(index: Shape, shape: Shape, dim: int, at: int, source: Array | None) -> ShapeError:
    larger = (
        f"xpected index {sizes(index)} to be no larger than self {sizes(shape)} apart from dimension {dim}"
    )
    if source is None:
        return ShapeError(f"Size does not match at dimension {at} e{larger}")
    return ShapeError(f"E{larger} and to be no larger size than src {sizes(source.shape)}")


def check_bounds(index: Array, dim: int, size: int, negative: bool) -> None:
    """Every index must point into the dimension; negative ones count from its end where they are allowed."""
    wrong = backend_of(index).outside(index, -size if negative else 0, size)
    if wrong is not None:
        raise ShapeError(f"index {wrong} is out of bounds for dimension {dim} with size {size}")


def check_range(function: str, index: Array, dim: int, shape: Shape, negative: bool) -> None:
    """`check_bounds` where PyTorch raises IndexError."""
    try:
        check_bounds(index, dim, shape[dim] if shape else 1, negative)
    except ShapeError as error:
        raise IndexError(f"{function}{error}") from None


@public("gather", method=True)
def gather(
    input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False, out: Tensor | None = None
) -> Tensor:
    """The elements that `index` names along `dim`: `out[i][j] = input[index[i][j]][j]` for `dim=0`.

    >>> import retrograd as rg
    >>> rg.gather(rg.tensor([[1, 2], [3, 4]]), 1, rg.tensor([[0, 0], [1, 0]]))
    tensor([[1, 1],
            [4, 3]])
    """
    x = require_tensor("gather", "input", 1, input)
    d, i = _along("gather", x, dim, index, None, "input")
    return deliver_exact(apply1(Gather(d, i), x), out)


@public("scatter", "Tensor.scatter_", method=True)
def scatter(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor | Number | None = None,
    *,
    value: Number | None = None,
    reduce: str | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """A copy of `input` with `src`, a tensor or a number, written where `index` points along `dim`.

    Args:
        reduce: "add" or "multiply" to combine instead; see `scatter_reduce`.

    >>> import retrograd as rg
    >>> rg.zeros(1, 3).scatter(1, rg.tensor([[2]]), 5.0)
    tensor([[0., 0., 5.]])
    """
    x = require_tensor("scatter", "input", 1, input)
    if src is not None and value is not None:
        raise TypeError(
            "scatter() received an invalid combination of arguments: src and value. Give the one or the other."
        )
    source = src if src is not None else value
    if source is None:
        raise TypeError("scatter() missing 1 required positional argument: 'src', or 'value' by name")
    if reduce is not None:
        from retrograd.ops.index.scatter_reduce import scatter_combined  # which imports this module

        return deliver_exact(scatter_combined(x, dim, index, source, reduce), out)
    if not isinstance(source, Tensor):
        d, i = _along("scatter", x, dim, index, None, "self")
        return deliver_exact(apply1(ScatterValue(d, i, number_for(source, x.array.dtype)), x), out)
    d, i = _along("scatter", x, dim, index, source.array, "self")
    check_dtypes("scatter(): Expected self.dtype to be equal to src.dtype", x, source)
    return deliver_exact(apply_n(Scatter(d, i), (x, source)), out)


def check_dtypes(complaint: str, x: Tensor, source: Tensor) -> None:
    """What goes into a tensor must have its dtype."""
    if x.array.dtype != source.array.dtype:
        raise DtypeError(
            f"{complaint}, but got {SCALAR_NAMES[x.array.dtype]} and {SCALAR_NAMES[source.array.dtype]}"
        )


@public("scatter_add", "Tensor.scatter_add_", method=True)
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy of `input` with `src` added where `index` points along `dim`.

    >>> import retrograd as rg
    >>> rg.scatter_add(rg.zeros(3), 0, rg.tensor([0, 2, 0]), rg.tensor([1.0, 2.0, 3.0]))
    tensor([4., 0., 2.])
    """
    if autocasting_on_gpu(input):
        return widest(scatter_add, input, dim, index, src, out=out)
    x, source = require_tensor("scatter_add", "input", 1, input), require_tensor("scatter_add", "src", 3, src)
    d, i = _along("scatter", x, dim, index, source.array, "self")
    check_dtypes("scatter(): Expected self.dtype to be equal to src.dtype", x, source)
    return deliver_exact(apply_n(ScatterAdd(d, i), (x, source)), out)


@public("index_put", "index_put_", method=True)
def index_put(input: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: bool = False) -> Tensor:
    """A copy of `input` with `values` written (or added, with `accumulate`) at `input[indices]`, a tuple of tensors.

    >>> import retrograd as rg
    >>> rg.index_put(rg.zeros(3), (rg.tensor([0, 2]),), rg.tensor([1.0, 2.0]))
    tensor([1., 0., 2.])
    """
    if autocasting_on_gpu(input):
        return widest(index_put, input, indices, values, accumulate)
    x, source = (
        require_tensor("index_put", "input", 1, input),
        require_tensor("index_put", "values", 3, values),
    )
    _check_indices(indices)
    # Integers of no dimensions get one: they would be read as views otherwise.
    single = [i.ndim == 0 and i.array.dtype.kind != "b" for i in indices]
    spread = [i.reshape(1) if alone else i for i, alone in zip(indices, single, strict=True)]
    steps, key = read_index(x.array, tuple(spread))
    if x.array.dtype != source.array.dtype:
        raise DtypeError(
            "Index put requires the source and destination dtypes match, got "
            f"{SCALAR_NAMES[x.array.dtype]} for the destination and {SCALAR_NAMES[source.array.dtype]} for the source."
        )
    part: Any = x
    for step in steps:  # masks of no dimensions, each with a new one to select from
        part = apply1(step, part)
    check_beforehand(key, part.array)
    wanted = Index(key).on(part.array).shape[1 if all(single) else 0 :]
    if not broadcasts_to(source.array.shape, wanted):
        raise ShapeError(
            f"shape mismatch: value tensor of shape {sizes(source.array.shape)} cannot be broadcast to indexing result "
            f"of shape {sizes(wanted)}"
        )
    made = apply_n(IndexPutAdd(key) if accumulate else IndexPut(key), (part, source))
    return reshape(made, x.array.shape) if steps else made


def _check_indices(indices: Any) -> None:
    """What `index_put` is given must be tensors, in a tuple."""
    if not isinstance(indices, (tuple, list)):
        raise TypeError(
            f"index_put(): argument 'indices' (position 1) must be tuple of Tensors, not {type_name(indices)}"
        )
    if not indices:
        raise ShapeError(
            "index_put(): no indices were given. To write to all elements, use copy_() or fill_()."
        )
    for i, item in enumerate(indices):
        if not isinstance(item, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type_name(item)}")


@public("take", method=True)
def take(input: Tensor, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements of `input` by their number in its flattened order.

    >>> import retrograd as rg
    >>> rg.take(rg.tensor([[1, 2], [3, 4]]), rg.tensor([0, 3]))
    tensor([1, 4])
    """
    x = require_tensor("take", "input", 1, input)
    at = constant_of(require_tensor("take", "index", 2, index))
    i = at.array
    if not is_index(i) or i.dtype.itemsize < 8:
        raise DtypeError(f"take(): Expected a long tensor for index, but got {SCALAR_NAMES[i.dtype]}")
    n = x.array.size
    if n == 0 and i.size:
        raise IndexError("take(): tried to take from an empty tensor")
    wrong = backend_of(i).outside(i, -n, n)
    if wrong is not None:
        raise IndexError(f"out of range: tried to access index {wrong} on a tensor of {n} elements.")
    return deliver_exact(
        apply1(Take(at), x),
        out,
        "take(): self and out expected to have the same dtype, but got self.dtype = {wanted} and out.dtype = {given}",
    )


@public("take_along_dim", method=True)
def take_along_dim(
    input: Tensor, indices: Tensor, dim: int | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The elements that `indices` names along `dim`, broadcasting the other dimensions; without `dim`, flattened.

    >>> import retrograd as rg
    >>> x = rg.tensor([[3, 1], [2, 5]])
    >>> rg.take_along_dim(x, x.argsort(dim=1), dim=1)
    tensor([[1, 3],
            [2, 5]])
    """
    x = require_tensor("take_along_dim", "input", 1, input)
    i = require_tensor("take_along_dim", "indices", 2, indices)
    if dim is None:
        return gather(reshape(x, -1), 0, reshape(i, -1), out=out)
    if i.array.dtype != np.int64:
        raise DtypeError(
            f"torch.take_along_dim(): dtype of indices should be Long but got {SCALAR_NAMES[i.array.dtype]}"
        )
    if x.array.ndim != i.array.ndim:
        raise ShapeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{x.array.ndim} dimensions for input, and {i.array.ndim} dimensions for indices"
        )
    d = wrap_dim(dim, x.array.ndim)
    others = tuple(broadcast_shapes(*[s[:d] + (1,) + s[d + 1 :] for s in (x.array.shape, i.array.shape)]))
    wide = [others[:d] + a.shape[d : d + 1] + others[d + 1 :] for a in (x.array, i.array)]
    if x.array.ndim == 0:
        raise DimensionError(f"Dimension specified as {dim} but tensor has no dimensions")
    count = x.array.shape[d]
    if not count and i.array.size:
        raise IndexError("take_along_dim: there is nothing to take: the dimension has size 0")
    # Unlike gather, this counts on beyond either end, as often as it takes.
    wrapped = Tensor(i.array % count, share=True) if count else i
    return gather(expand(x, wide[0]), d, expand(wrapped, wide[1]), out=out)
