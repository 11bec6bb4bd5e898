"""Scattering that reduces what falls together: sums, products, means and extrema at an index."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import Backend, as_array, backend_of
from retrograd.backends.casts import maker_of
from retrograd.backends.dtypes import SCALAR_NAMES
from retrograd.backends.kernels.along_axis import positions
from retrograd.core.apply import apply_n
from retrograd.core.families import Linear, added, conjugate, scaled
from retrograd.core.op import OUT, Variadic, X
from retrograd.core.places import warn
from retrograd.core.saved import SavedConstant, constant_of
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError, ShapeError, sizes, unsupported_dtype
from retrograd.ops.common import (
    as_value,
    beside,
    deliver_exact,
    plain,
    require_tensor,
    require_word,
    wrap_dim,
)
from retrograd.ops.elementwise.choose import Where
from retrograd.ops.index.gather import (
    Gather,
    GatherAdjoint,
    ScatterValue,
    SourceAt,
    Take,
    _along,
    check_dtypes,
    cut,
    lined_up,
)
from retrograd.ops.index.getitem import Cleared, filled
from retrograd.ops.index.index_select import IndexFill, IndexSelect, IndexSelectAdjoint
from retrograd.ops.register import public
from retrograd.ops.shape.split import PlacePart
from retrograd.ops.tensor.data import number_for
from retrograd.values import Array, DType, Shape

UFUNCS = {"sum": "add", "mean": "add", "prod": "multiply", "amax": "maximum", "amin": "minimum"}


def neutral(reduce: str, dtype: DType) -> Any:
    """What a reduction of nothing begins with."""
    if reduce in ("sum", "mean", "prod"):
        return 1 if reduce == "prod" else 0
    if dtype.kind == "b":
        return reduce == "amin"
    if dtype.kind == "f":
        return -np.inf if reduce == "amax" else np.inf
    return np.iinfo(dtype).min if reduce == "amax" else np.iinfo(dtype).max


class ReduceAt(SourceAt):
    """x with a source reduced into it along a dimension, at an index.

    The result depends on each element of x and of the source by a slope of its own: `slopes` gives vjp and jvp.
    """

    function: ClassVar[str] = ""
    keeps: ClassVar[int] = X | OUT
    params: ClassVar[tuple[str, ...]] = ("dim", "index", "reduce", "include_self")
    shown: ClassVar[dict[str, str]] = {
        **SourceAt.shown, "reduce": "reduce", "include_self": "include_self", "self": "x:0", "result": "out:0",
    }  # fmt: skip

    def __init__(self, dim: int, index: Any, reduce: str, include_self: bool) -> None:
        super().__init__(dim, index)
        self.reduce = reduce
        self.include_self = include_self

    def targets(self, xp: Backend, shape: Shape) -> Array:
        """Where the elements of the source go, in the flattened result."""
        raise NotImplementedError

    def picked(self, v: Any) -> Any:
        """For each element of the source, that of `v` which it goes to."""
        raise NotImplementedError

    def summed(self, v: Any) -> Any:
        """Zeros of the shape of x with the elements of `v` added where the source's go."""
        raise NotImplementedError

    def cleared(self, v: Any) -> Any:
        """`v` with zeros where the source goes."""
        raise NotImplementedError

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        x, source = xs
        self.x_shape, self.source_shape = x.shape, source.shape
        out = x.copy("C")
        flat, where = out.reshape(-1), self.targets(xp, x.shape).reshape(-1)
        if not self.include_self:
            flat[where] = neutral(self.reduce, x.dtype)
        getattr(xp, UFUNCS[self.reduce]).at(flat, where, self.used(source).reshape(-1))
        if self.reduce == "mean":
            count = xp.maximum(xp.bincount(where, minlength=x.size) + int(self.include_self), 1)
            count = count.astype(x.dtype)
            flat[...] = flat // count if x.dtype.kind in "iu" else flat / count
        return out

    def used(self, source: Any) -> Any:
        """That part of the source which goes anywhere."""
        return source

    def slopes(self, x: Any, source: Any, out: Any) -> tuple[Any, Any]:
        """The derivative of the result by x, and by the source where it goes."""
        if self.reduce == "sum":
            return 1, 1
        if self.reduce == "prod":
            return self._product_slopes(x, source, out)
        a, b, top = plain(x), plain(source), plain(out)
        xp = backend_of(a)
        if self.reduce == "mean":
            own, others = xp.full(a.shape, int(self.include_self), a.dtype), xp.ones(b.shape, a.dtype)
        else:  # equals share
            own, others = (a == top).astype(a.dtype), (b == self.picked(top)).astype(a.dtype)
        share = own + self.summed(others)
        share = 1 / (xp.where(share == 0, 1, share) if self.reduce == "mean" else share)
        if self.reduce == "mean":
            return as_value(share, x), as_value(self.picked(share), x)
        return as_value(own * share, x), as_value(others * self.picked(share), x)

    def _product_slopes(self, x: Any, source: Any, out: Any) -> tuple[Any, Any]:
        """The product of all others: a quotient, unless an element is itself the only zero."""
        safe = Where().on(plain(x) == 0, 1.0, x)
        by_x = self.fresh().on(safe, source) / safe
        zero = plain(source) == 0
        zeros = self.picked(self.summed(zero.astype(plain(x).dtype)))
        alone = zero & (zeros == 1)
        without = self.picked(self.fresh().on(x, Where().on(alone, 1.0, source)))
        by_source = Where().on(alone, without, self.picked(out) / Where().on(zero, 1.0, source))
        return by_x, TwoZeros(self.function).on(by_source) if (zeros > 1).any() else by_source

    def vjp(self, gs: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
        g = gs[0]
        by_x, by_source = (conjugate(s) for s in self.slopes(xs[0], self.used(xs[1]), outs[0]))
        found: list[Any] = [None, None]
        if self.needs(0):
            found[0] = self._by_x(g, by_x)
        if self.needs(1):
            part = scaled(self.picked(g), by_source)
            if tuple(part.shape) != self.source_shape:
                part = PlacePart(self.source_shape, tuple([slice(0, n) for n in part.shape])).on(part)
            found[1] = part
        return found

    def _by_x(self, v: Any, slope: Any) -> Any:
        """`v` times the slope by x, which is none where x was overwritten."""
        found = scaled(v, slope)
        if self.include_self:
            return found
        return self.cleared(found if isinstance(found, Tensor) else as_array(found))

    def jvp(self, ts: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Any:
        by_x, by_source = self.slopes(xs[0], self.used(xs[1]), outs[0])
        first = None if ts[0] is None else self._by_x(ts[0], by_x)
        return added(first, None if ts[1] is None else self.summed(scaled(self.used(ts[1]), by_source)))


class TwoZeros(Linear):
    """slopes of products with several zeros, which are right but not to be differentiated: theirs are no quotients"""

    params: ClassVar[tuple[str, ...]] = ("function",)

    def __init__(self, function: str) -> None:
        self.function = function

    def forward(self, xp: Backend, x: Array) -> Array:
        return x

    def transpose(self, g: Any) -> Any:
        raise RuntimeError(
            f"{self.function}(): Double backward is unsupported for src when >1 zeros in src are scattered to the same "
            "position in self"
        )


class ScatterReduce(ReduceAt):
    """x with a source reduced into it where an index points along a dimension"""

    function: ClassVar[str] = "scatter_reduce"
    shown: ClassVar[dict[str, str]] = {**ReduceAt.shown, "src": "x:1"}

    def targets(self, xp: Backend, shape: Shape) -> Array:
        return positions(xp, self.index.array, self.dim, shape)

    def used(self, source: Any) -> Any:
        return cut(source, self.index.array.shape)

    def picked(self, v: Any) -> Any:
        return Gather(self.dim, self.index).on(v)

    def summed(self, v: Any) -> Any:
        return GatherAdjoint(self.dim, self.index, self.x_shape).on(v)

    def cleared(self, v: Any) -> Any:
        return ScatterValue(self.dim, self.index, 0).on(v)


class IndexReduce(ReduceAt):
    """x with the rows (or columns, …) of a source reduced into those that an index names"""

    function: ClassVar[str] = "index_reduce"
    shown: ClassVar[dict[str, str]] = {**ReduceAt.shown, "source": "x:1"}

    def targets(self, xp: Backend, shape: Shape) -> Array:
        if not shape:
            return xp.zeros(1, np.int64)
        places = xp.arange(prod(shape)).reshape(shape)
        return xp.take(places, self.index.array, self.dim)

    def picked(self, v: Any) -> Any:
        return IndexSelect(self.dim, self.index).on(v).reshape(self.source_shape)

    def summed(self, v: Any) -> Any:
        return IndexSelectAdjoint(self.dim, self.index, self.x_shape).on(v).reshape(self.x_shape)

    def cleared(self, v: Any) -> Any:
        return IndexFill(self.dim, self.index, 0).on(v)


class PutSource(Variadic):
    """x with a source written, or added, at numbers of its flattened order"""

    node_name = "PutBackward0"
    params: ClassVar[tuple[str, ...]] = ("index", "accumulate")
    shown: ClassVar[dict[str, str]] = {"accumulate": "accumulate", "index": "constant:0"}

    def __init__(self, index: Any, accumulate: bool) -> None:
        self.constants = (constant_of(index),)
        self.accumulate = accumulate

    @property
    def index(self) -> SavedConstant:
        """Where the elements go."""
        return self.constant(0)

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        x, source = xs
        self.shapes = x.shape, source.shape
        out = x.copy("C")
        flat, where = out.reshape(-1), self.index.array.reshape(-1)
        if self.accumulate:
            xp.add_at(flat, (where,), source.reshape(-1))
        else:
            flat[where] = source.reshape(-1)
        return out

    def vjp(self, gs: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
        g = gs[0]
        kept = None
        if self.needs(0):
            kept = g if self.accumulate else self._cleared(g)
        return [kept, Take(self.index).on(g).reshape(self.shapes[1]) if self.needs(1) else None]

    def _cleared(self, v: Any) -> Any:
        index = self.index
        key = (index.like(index.array.reshape(-1)),)
        return Cleared(key).on(v.reshape((-1,))).reshape(self.shapes[0])

    def jvp(self, ts: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Any:
        return self.fresh().on(*filled(ts, self.shapes))


# -- functions -----------------------------------------------------------------------------------------------------


@public("scatter_reduce", "Tensor.scatter_reduce_", method=True)
def scatter_reduce(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor,
    reduce: str,
    *,
    include_self: bool = True,
    out: Tensor | None = None,
) -> Tensor:
    """A copy of `input` into which `src` is reduced where `index` points along `dim`.

    Args:
        reduce: "sum", "prod", "mean", "amax" or "amin".
        include_self: whether the elements of `input` take part where something is scattered to them.

    >>> import retrograd as rg
    >>> rg.zeros(2).scatter_reduce(0, rg.tensor([0, 0, 1]), rg.tensor([1.0, 5.0, 2.0]), "amax")
    tensor([5., 2.])
    """
    x, source = (
        require_tensor("scatter_reduce", "input", 1, input),
        require_tensor("scatter_reduce", "src", 4, src),
    )
    word = require_word("scatter_reduce", "reduce", reduce, 5)
    wrap_dim(dim, x.array.ndim)
    if word not in UFUNCS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    d, i = _along("scatter", x, dim, index, source.array, "self")
    check_dtypes("scatter(): Expected self.dtype to be equal to src.dtype", x, source)
    _check_kind("scatter_gather_tensor_cpu_reduce", reduce, x.array.dtype)
    return deliver_exact(
        apply_n(ScatterReduce(d, i, reduce, bool(include_self)), (x, lined_up(source, i))), out
    )


def scatter_combined(x: Tensor, dim: Any, index: Any, source: Any, reduce: Any) -> Any:
    """`scatter` with a reduction: what `scatter_reduce` has come to replace."""
    word = require_word("scatter", "reduce", reduce)
    wrap_dim(dim, x.array.ndim)
    if word not in ("add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    if isinstance(source, Tensor):
        warn(
            "The reduce argument of torch.scatter with Tensor src is deprecated: use scatter_reduce, which knows more "
            "reductions.",
            UserWarning,
        )
    else:
        number = number_for(source, x.array.dtype)
        shape = require_tensor("scatter", "index", 3, index).array.shape
        source = Tensor(
            beside(maker_of(x.array.dtype).full(shape, number, x.array.dtype), x.array), share=True
        )
    return scatter_reduce(x, dim, index, source, "sum" if reduce == "add" else "prod")


def _check_kind(kernel: str, reduce: str, dtype: DType) -> None:
    """Complex numbers have no order, truth values no mean."""
    if (dtype.kind == "c" and reduce in ("amax", "amin")) or (dtype.kind == "b" and reduce == "mean"):
        raise unsupported_dtype(f"{kernel}_{reduce}", dtype)


@public("index_reduce", "Tensor.index_reduce_", method=True)
def index_reduce(
    input: Tensor,
    dim: int,
    index: Tensor,
    source: Tensor,
    reduce: str,
    *,
    include_self: bool = True,
    out: Tensor | None = None,
) -> Tensor:
    """A copy of `input` into whose rows (or columns, …) named by `index` those of `source` are reduced.

    Args:
        reduce: "prod", "mean", "amax" or "amin".
        include_self: whether the rows of `input` take part where something is added to them.

    >>> import retrograd as rg
    >>> rg.index_reduce(rg.ones(3), 0, rg.tensor([0, 0, 2]), rg.tensor([2.0, 3.0, 4.0]), "prod")
    tensor([6., 1., 4.])
    """
    x, rows = (
        require_tensor("index_reduce", "input", 1, input),
        require_tensor("index_reduce", "source", 4, source),
    )
    at = constant_of(require_tensor("index_reduce", "index", 3, index))
    if require_word("index_reduce", "reduce", reduce, 5) not in UFUNCS or reduce == "sum":
        raise RuntimeError(
            f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}."
        )
    d = wrap_dim(dim, x.array.ndim)
    _check_rows(x.array, rows.array, d, at.array)
    where = at.like(at.array.reshape(-1).astype(np.int64, copy=False))
    return deliver_exact(apply_n(IndexReduce(d, where, reduce, bool(include_self)), (x, rows)), out)


def _check_rows(a: Array, b: Array, d: int, i: Array) -> None:
    """Complains where the rows of `b` cannot go to those of `a` that the index names."""
    if i.ndim > 1:
        raise IndexError(
            f"index_reduce_(): Index is supposed to be a vector, but got dim: {i.ndim} and size: {sizes(i.shape)}"
        )
    if i.dtype not in (np.int64, np.int32):
        raise DtypeError(
            f"index_reduce_(): Expected dtype int32/int64 for index but got: {SCALAR_NAMES[i.dtype]}"
        )
    if a.dtype != b.dtype:
        raise DtypeError(
            f"index_reduce_(): self ({SCALAR_NAMES[a.dtype]}) and source ({SCALAR_NAMES[b.dtype]}) must have the same "
            "scalar type"
        )
    if a.ndim and b.ndim and d >= b.ndim:
        raise ShapeError(
            f"index_reduce_(): Indexing dim {d} is out of bounds of the source tensor with dim {b.ndim}"
        )
    if not b.ndim and i.size != 1:
        raise IndexError(
            f"index_reduce_(): the source is a single number, but there are {i.size} indices for it"
        )
    length = b.shape[d] if b.ndim else 1
    if i.size != length:
        raise ShapeError(
            f"index_reduce_(): Number of indices ({i.size}) should be equal to source.size(dim): ({length}), for dim: "
            f"{d}"
        )
    if a.ndim != b.ndim or a.shape[:d] + a.shape[d + 1 :] != b.shape[:d] + b.shape[d + 1 :]:
        raise ShapeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{sizes(a.shape)} source.shape = {sizes(b.shape)}"
        )
    if ((i < 0) | (i >= (a.shape[d] if a.ndim else 1))).any():
        raise IndexError("index out of range in self")
    if a.dtype.kind in "cb":
        raise unsupported_dtype("index_func_", a.dtype)


@public("put", "Tensor.put_", method=True)
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """A copy of `input` with `source` written (or added) at numbers of its flattened order.

    >>> import retrograd as rg
    >>> rg.zeros(2, 2).put(rg.tensor([1, 2]), rg.tensor([5.0, 6.0]))
    tensor([[0., 5.],
            [6., 0.]])
    """
    x, values = require_tensor("put", "input", 1, input), require_tensor("put", "source", 3, source)
    at = constant_of(require_tensor("put", "index", 2, index))
    i = at.array
    if i.dtype != np.int64:
        raise DtypeError(f"put_(): Expected a long tensor for index, but got {SCALAR_NAMES[i.dtype]}")
    if x.array.dtype != values.array.dtype:
        raise DtypeError(
            "put_(): self and source expected to have the same dtype, but got self.dtype = "
            f"{SCALAR_NAMES[x.array.dtype]} and source.dtype = {SCALAR_NAMES[values.array.dtype]}"
        )
    if i.size != values.array.size:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{values.array.size}, index.numel() = {i.size}"
        )
    n = x.array.size
    wrong = backend_of(i).outside(i, -n, n)
    if wrong is not None:
        raise IndexError(f"out of range: tried to access index {wrong} on a tensor of {n} elements.")
    found: Tensor = apply_n(PutSource(at, bool(accumulate)), (x, values))
    return found
