"""Reductions of stretches of different lengths: `segment_reduce`."""

from __future__ import annotations

from math import prod
from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import Backend, as_array, backend_of
from retrograd.core.apply import apply1
from retrograd.core.op import OUT, Unary, X
from retrograd.core.saved import SavedConstant, constant_of
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError, ShapeError, unsupported_dtype
from retrograd.ops.common import as_value, beside, plain, require_tensor, require_word, wrap_dim
from retrograd.ops.elementwise.choose import Where
from retrograd.ops.index.getitem import Index
from retrograd.ops.register import public
from retrograd.values import Array, Shape

NEUTRAL = {"sum": 0.0, "mean": 0.0, "max": -np.inf, "min": np.inf, "prod": 1.0}
UFUNCS = {"sum": "add", "mean": "add", "max": "maximum", "min": "minimum", "prod": "multiply"}


class SegmentReduce(Unary):
    """the sum, mean, product or extremum of each stretch of rows; equals share the gradient, NaN takes it"""

    params: ClassVar[tuple[str, ...]] = ("how", "owner", "counts", "initial", "axis")
    array_params: ClassVar[tuple[str, ...]] = ("owner", "counts")
    shown: ClassVar[dict[str, str]] = {
        "reduce": "how", "initial": "initial", "axis": "axis", "data": "x", "lengths": "constant:0",
        "offsets": "constant:1",
    }  # fmt: skip
    keeps: ClassVar[int] = X | OUT

    def __init__(self, how: str, owner: Array, counts: Array, initial: Any, axis: int) -> None:
        self.how = how
        self.owner = owner  # the stretch that each row belongs to; behind the last one, those of none
        self.counts = counts  # how many rows each stretch has, in the shape of the lengths
        self.initial = initial
        self.axis = axis

    def rows(self, v: Any) -> Any:
        """Values as rows: one for each element of the dimensions up to the axis, as long as the rest."""
        return v.reshape((prod(v.shape[: self.axis + 1]), prod(v.shape[self.axis + 1 :])))

    def forward(self, xp: Backend, x: Array) -> Array:
        flat = self.rows(x)
        start = NEUTRAL[self.how] if self.initial is None else self.initial
        out = xp.full((self.counts.size + 1, flat.shape[1]), start, x.dtype)
        getattr(xp, UFUNCS[self.how]).at(out, self.owner, flat)
        if self.how == "mean":
            counts = self.counts.reshape(-1, 1)
            out[:-1] = xp.where(counts == 0, np.nan if self.initial is None else start, out[:-1] / counts)
        return out[:-1].reshape(self.counts.shape + x.shape[self.axis + 1 :])

    def on_rows(self, how: str, initial: Any = None) -> SegmentReduce:
        """A reduction of the same stretches of rows."""
        return SegmentReduce(how, self.owner, self.counts.reshape(-1), initial, 0)

    def spread(self, v: Any) -> Any:
        """What belongs to the stretches, as rows, for each of their own rows; 0 for rows of none."""
        last = max(self.counts.size - 1, 0)
        found = Index((SavedConstant(backend_of(self.owner).minimum(self.owner, last)),)).on(v)
        return Where().on((self.owner <= last)[:, None], found, 0.0)

    def slopes(self, x: Any, out: Any) -> Any:
        """The derivative of each row's stretch with respect to the row."""
        flat = self.rows(x)
        xp = backend_of(plain(flat))
        if self.how == "sum":
            return as_value(xp.ones(tuple(flat.shape), self.out_dtype), x)
        if self.how == "mean":
            inverse = (1 / xp.maximum(self.counts.reshape(-1, 1), 1)).astype(self.out_dtype)
            return as_value(self.spread(inverse) * xp.ones_like(plain(flat)), x)
        if self.how == "prod":
            return self.others(flat, self.rows(out))
        chosen = (plain(flat) == self.spread(self.rows(plain(out)))) | xp.isnan(plain(flat))
        chosen = as_array(chosen).astype(self.out_dtype)
        return as_value(chosen / xp.maximum(self.spread(self.total(chosen)), 1), x)

    def others(self, flat: Any, out: Any) -> Any:
        """The product of the other rows of each row's stretch, which a single zero or NaN does not spoil for itself."""
        zero, lost = plain(flat) == 0, backend_of(plain(flat)).isnan(plain(flat))
        zeros, odd = (self.spread(self.total(m.astype(self.out_dtype))) for m in (zero, zero | lost))
        plainly = Where().on(zero | lost, 1.0, flat)
        alone = (zero | lost) & (odd == 1)
        found = Where().on(alone, self.spread(self.on_rows("prod", self.initial).on(plainly)), 0.0)
        return Where().on((zeros == 0) & ~alone, self.spread(out) / Where().on(zero, 1.0, flat), found)

    def total(self, flat: Array) -> Array:
        """The sum over the rows of each stretch."""
        return self.on_rows("sum").on(flat)

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        return (self.spread(self.rows(g)) * self.slopes(x, out)).reshape(tuple(x.shape))

    def jvp(self, t: Any, x: Any, out: Any) -> Any:
        moved = self.rows(t) * self.slopes(x, out)
        return self.on_rows("sum").on(moved).reshape(tuple(out.shape))


@public("segment_reduce", "_segment_reduce")
def segment_reduce(
    data: Tensor, reduce: str, *, lengths: Tensor | None = None, indices: Tensor | None = None,
    offsets: Tensor | None = None, axis: int = 0, unsafe: bool = False, initial: float | None = None,
) -> Tensor:  # fmt: skip
    """Reduces stretches of `data` along `axis`, given by their lengths or by where they begin and end.

    >>> import retrograd as rg
    >>> rg.segment_reduce(rg.tensor([1.0, 2.0, 3.0]), "max", lengths=rg.tensor([2, 1]))
    tensor([2., 3.])

    Args:
        reduce: "sum", "mean", "max", "min" or "prod".
        unsafe: do not check that the lengths add up to the size of `data`.
        initial: what each reduction begins with.
    """
    x = require_tensor("segment_reduce", "data", 1, data)
    if require_word("segment_reduce", "reduce", reduce, 2) not in NEUTRAL:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    if x.array.dtype.kind != "f":
        raise unsupported_dtype("_segment_reduce_cpu", x.array.dtype)
    axis = wrap_dim(axis, x.array.ndim)
    given = require_tensor("segment_reduce", "lengths", 3, lengths if offsets is None else offsets)
    counts, starts = _stretches(given, offsets is not None, axis, x.array.shape, unsafe)
    start = None if initial is None else float(initial)
    owner = beside(_owners(counts, starts, x.array.shape[axis]), x.array)
    op = SegmentReduce(reduce, owner, beside(counts.copy(), x.array), start, axis)
    # What the caller gave: the formula has its own form of it, but to overwrite it is as wrong as in PyTorch.
    found, missing = constant_of(given), SavedConstant(None)
    op.constants = (found, missing) if offsets is None else (missing, found)
    result: Tensor = apply1(op, x)
    return result


def _stretches(
    given: Tensor, are_offsets: bool, axis: int, shape: Shape, unsafe: bool
) -> tuple[Array, Array]:
    """The lengths of the stretches and where they begin, checked; on the host, for shapes depend on them."""
    a = backend_of(given.array).numpy(given.array)
    if a.dtype.kind not in "iu":
        raise unsupported_dtype("_segment_reduce_lengths_cpu_kernel1", a.dtype)
    if axis != a.ndim - 1:
        raise ShapeError(
            f"segment_reduce(): Expected axis to be the last dimension of lengths but got {axis}."
        )
    if a.shape[:-1] != shape[:axis]:
        raise ShapeError(f"segment_reduce(): lengths of shape {a.shape} do not fit data of shape {shape}")
    if are_offsets:
        return np.diff(a, axis=-1), a[..., :-1]
    if (a < 0).any():
        raise DtypeError("lengths contains negative value!")
    if not unsafe and (a.sum(-1) != shape[axis]).any():
        raise ShapeError(
            "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when "
            "!unsafe."
        )
    return a, np.cumsum(a, axis=-1) - a


def _owners(counts: Array, starts: Array, size: int) -> Array:
    """For each row of the flattened data the number of its stretch; behind the last one for rows of none."""
    number, lead = counts.size, counts.reshape(-1, counts.shape[-1]).shape[0]
    owner = np.full(lead * size, number, np.int64)
    first = (starts + np.arange(lead).reshape((*counts.shape[:-1], 1)) * size).reshape(-1)
    many = counts.reshape(-1)
    within = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
    owner[np.repeat(first, many) + within] = np.repeat(np.arange(number), many)
    return owner
