"""Bags of embeddings: rows of a table looked up by index and summed, averaged, or taken the maximum of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, overload

import numpy as np

from retrograd.backends.base import Backend, backend_of
from retrograd.backends.dtypes import SCALAR_NAMES
from retrograd.core.apply import apply_n
from retrograd.core.families import added
from retrograd.core.places import warn
from retrograd.core.saved import SavedConstant, constant_of
from retrograd.core.tensor import Tensor
from retrograd.core.upward import UPWARD
from retrograd.errors import DtypeError, sizes
from retrograd.ops.common import as_value, differ, require_tensor, tensor_of
from retrograd.ops.constants import WithConstants
from retrograd.ops.elementwise.choose import Where
from retrograd.ops.index.gather import Gather, GatherAdjoint
from retrograd.ops.nn.embedding import Embedding, EmbeddingDense, renormalise, row_indices
from retrograd.ops.nn.host import as_constant
from retrograd.ops.register import public
from retrograd.ops.shape.reshape import reshape
from retrograd.values import Array

SUM_MODE, MEAN_MODE, MAX_MODE = 0, 1, 2  # PyTorch's numbers for `mode`
_MODES = {"sum": SUM_MODE, "mean": MEAN_MODE, "max": MAX_MODE}

# -- ops -----------------------------------------------------------------------------------------------------------


class EmbeddingBag(WithConstants):
    """the rows of a table at given indices, each times a weight of its own, summed (or averaged) in bags

    `bags` says for each index in which bag it is; one that is in none has the number `count`.
    """

    tracked: ClassVar[int] = 2
    params: ClassVar[tuple[str, ...]] = (
        "indices",
        "offsets",
        "bags",
        "count",
        "mode",
        "padding_idx",
        "scale_grad_by_freq",
    )
    shown: ClassVar[dict[str, str]] = {
        "mode": "mode", "padding_idx": "padding_idx", "scale_grad_by_freq": "scale_grad_by_freq",
        "weight_sym_argsize_0": "rows", "indices": "constant:0", "offsets": "constant:1", "result1": "constant:2",
        "weight": "x:0", "per_sample_weights": "x:1",
    }  # fmt: skip

    def __init__(
        self, indices: SavedConstant, offsets: SavedConstant, bags: Any, count: int, mode: int, padding_idx: int,
        scale_grad_by_freq: bool,
    ) -> None:  # fmt: skip
        self.constants = (indices, offsets, constant_of(bags))
        self.count = count
        self.mode = mode
        self.padding_idx = padding_idx
        self.scale_grad_by_freq = scale_grad_by_freq

    @property
    def indices(self) -> SavedConstant:
        """The numbers of the rows."""
        return self.constant(0)

    @property
    def offsets(self) -> SavedConstant:
        """Where each bag begins."""
        return self.constant(1)

    @property
    def bags(self) -> SavedConstant:
        """The bag of each index."""
        return self.constant(2)

    def keeps_input(self, i: int) -> bool:
        return self.needs(1 - i)

    def summed(self, rows: Any, factors: Any) -> Any:
        """Rows, each times its factor, summed or averaged in the bags."""
        if factors is not None:
            rows = rows * factors.reshape((-1, 1))
        return self.scaled(EmbeddingDense(self.bags, self.count, self.count).on(rows))

    def scaled(self, v: Any) -> Any:
        """Sums over the sizes of the bags, if it is means that are asked for."""
        if self.mode == SUM_MODE:
            return v
        bags = self.bags.array
        size = backend_of(bags).maximum(bag_sizes(bags, self.count), 1).astype(v.dtype)[:, None]
        return v / as_value(size, v)

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        self.rows = xs[0].shape[0]
        return self.summed(xp.take(xs[0], self.indices.array, axis=0), xs[1])

    def vjp(self, gs: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
        g = EmbeddingDense(self.bags, self.count, self.count).transpose(self.scaled(gs[0]))
        grads: list[Any] = [None, None]
        if self.needs(0):
            rows = g if xs[1] is None else g * xs[1].reshape((-1, 1))
            back = EmbeddingDense(self.indices, self.rows, self.padding_idx, self.scale_grad_by_freq)
            grads[0] = back.on(rows)
        if self.needs(1):
            grads[1] = (g * Embedding(self.indices).on(xs[0])).sum(axis=-1)
        return grads

    def jvp(self, ts: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Any:
        by_table = None if ts[0] is None else self.summed(Embedding(self.indices).on(ts[0]), xs[1])
        by_factor = None if ts[1] is None else self.summed(Embedding(self.indices).on(xs[0]), ts[1])
        return added(by_table, by_factor)


class EmbeddingBagMax(WithConstants):
    """the largest of each column among the rows in a bag: `highest` says in which row it is; 0 in an empty bag"""

    node_name = "EmbeddingBagBackward0"
    tracked: ClassVar[int] = 2
    params: ClassVar[tuple[str, ...]] = ("indices", "offsets", "highest", "full")
    shown: ClassVar[dict[str, str]] = {
        "indices": "constant:0", "offsets": "constant:1", "result3": "constant:2",
    }  # fmt: skip

    def __init__(self, indices: SavedConstant, offsets: SavedConstant, highest: Any, full: Any) -> None:
        self.constants = (indices, offsets, constant_of(highest), constant_of(full))

    @property
    def indices(self) -> SavedConstant:
        """The numbers of the rows."""
        return self.constant(0)

    @property
    def offsets(self) -> SavedConstant:
        """Where each bag begins."""
        return self.constant(1)

    @property
    def highest(self) -> SavedConstant:
        """The row of each largest element."""
        return self.constant(2)

    @property
    def full(self) -> SavedConstant:
        """Which bags are not empty."""
        return self.constant(3)

    def keeps_input(self, i: int) -> bool:
        return False

    def picked(self, table: Any) -> Any:
        """The elements of a table at the highest places."""
        return Where().on(self.full, Gather(0, self.highest).on(table), 0.0)

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        self.in_shape = xs[0].shape
        return self.picked(xs[0]).astype(xs[0].dtype, copy=False)

    def vjp(self, gs: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
        g = Where().on(self.full, gs[0], 0.0)
        return [GatherAdjoint(0, self.highest, self.in_shape).on(g), None]

    def jvp(self, ts: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Any:
        return self.picked(ts[0])


def bag_sizes(bags: Array, count: int) -> Array:
    """How many elements each bag has."""
    return backend_of(bags).bincount(bags, minlength=count + 1)[:count]


def highest_rows(table: Array, indices: Array, bags: Array, count: int) -> Array:
    """For each bag and column, the first row that is largest there; 0 for an empty bag."""
    xp, width = backend_of(table), table.shape[1]
    kept = bags < count
    ids, bags = indices[kept], bags[kept]
    if not len(ids):
        return xp.zeros((count, width), np.int64)
    rows, where = table[ids], bags[:, None] * width + xp.arange(width)
    top = xp.full(count * width, -np.inf, table.dtype)
    xp.maximum.at(top, where.reshape(-1), rows.reshape(-1))
    top = top[where]
    place = xp.where((rows == top) | xp.isnan(top), xp.arange(len(ids))[:, None], len(ids) - 1)
    first = xp.full(count * width, len(ids) - 1)
    xp.minimum.at(first, where.reshape(-1), place.reshape(-1))
    found = xp.take(ids, first).reshape(count, width)
    return xp.where(bag_sizes(bags, count)[:, None] > 0, found, 0)


# -- functions -----------------------------------------------------------------------------------------------------


class Bags:
    """Which row is in which bag, as `embedding_bag` reads it from its arguments."""

    def __init__(
        self, table: Tensor, indices: Array, offsets: Array, include_last_offset: bool, padding_idx: int
    ) -> None:
        if include_last_offset and not offsets.size:
            raise RuntimeError("include_last_offset: number of offset should be at least 1")
        if offsets.size and int(offsets[0]) != 0:
            raise RuntimeError(
                "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. "
                f"However, got {int(offsets[0])}"
            )
        if offsets.size and int(offsets[-1]) > indices.size:
            raise RuntimeError(
                f"offsets[-1] can not be greater than input's length {indices.size} but got offsets[-1] of "
                f"{int(offsets[-1])}"
            )
        xp = backend_of(indices)
        ends = offsets if include_last_offset else xp.concatenate([offsets, xp.asarray([indices.size])])
        if (ends[1:] < ends[:-1]).any():
            raise RuntimeError("offsets must not decrease: each bag begins where the one before it ends")
        rows = len(table.array)
        wrong = xp.flatnonzero((indices < 0) | (indices >= rows))
        if wrong.size:
            raise RuntimeError(
                f"Index {int(wrong[0])} of input takes value {int(indices[wrong[0]])} which is not in the valid range "
                f"[0, {rows})"
            )
        self.count: int = len(ends) - 1
        # An index behind the last end is in no bag, which has the number `count`; so is any if there are no bags.
        found = xp.searchsorted(ends, xp.arange(indices.size), side="right") - 1
        self.offset2bag = found if self.count else xp.zeros(indices.size, np.int64)
        self.bags = xp.where(indices == padding_idx, self.count, self.offset2bag)


@overload
def table_embedding_bag(
    weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: bool = False, mode: int = 0,
    sparse: bool = False, per_sample_weights: Tensor | None = None, include_last_offset: bool = False,
) -> tuple[Tensor, Tensor, Tensor, Tensor]: ...  # fmt: skip


@overload
def table_embedding_bag(
    weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: bool, mode: int, sparse: bool,
    per_sample_weights: Tensor | None, include_last_offset: bool, padding_idx: int | None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]: ...  # fmt: skip


@public("embedding_bag")
def table_embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Bags of rows of `weight`, with the bag of each index, the size of each bag, and where the maxima are."""
    if differ(indices, offsets):
        result: tuple[Tensor, Tensor, Tensor, Tensor] = UPWARD.by_sample(
            table_embedding_bag, weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights,
            include_last_offset, padding_idx,
        )  # fmt: skip
        return result
    table, rows = require_tensor("embedding_bag", "weight", 1, weight), row_indices("embedding_bag", indices)
    starts = row_indices("embedding_bag", offsets)
    i = rows.array
    factors = per_sample_weights
    _check_table(table, factors, padding_idx)
    padding = -1 if padding_idx is None else int(padding_idx) % len(table.array)
    found = Bags(table, i, starts.array, include_last_offset, padding)
    length = tensor_of(bag_sizes(found.bags, found.count))
    if mode == MAX_MODE:
        highest = tensor_of(highest_rows(table.array, i, found.bags, found.count))
        out = apply_n(EmbeddingBagMax(rows, starts, highest, length.array[:, None] > 0), (table, None))
        return out, tensor_of(found.offset2bag), length, highest
    op = EmbeddingBag(rows, starts, found.bags, found.count, mode, padding, bool(scale_grad_by_freq))
    out = apply_n(op, (table, factors))
    if mode == SUM_MODE:
        nothing = backend_of(i).zeros(offsets.array.size, np.int64)
        placed = tensor_of(found.offset2bag if padding >= 0 else found.offset2bag[:0].copy())
        return out, placed, tensor_of(nothing), tensor_of(nothing.copy())
    return out, tensor_of(found.offset2bag), length, tensor_of(length.array.copy())


def _check_table(table: Tensor, factors: Any, padding_idx: int | None) -> None:
    if table.array.dtype.kind != "f":
        raise DtypeError(
            "Expected tensor for argument #1 'weight' to have one of the following scalar types: Half, BFloat16, "
            f"Float, Double; but got torch.{SCALAR_NAMES[table.array.dtype]}Tensor instead (while checking arguments "
            "for embedding_bag)"
        )
    if factors is not None and factors.array.dtype != table.array.dtype:
        raise DtypeError(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 "
            "'per_sample_weights'; but type "
            f"torch.{SCALAR_NAMES[table.array.dtype]}Tensor does not equal "
            f"torch.{SCALAR_NAMES[factors.array.dtype]}Tensor (while checking arguments for embedding_bag)"
        )
    rows = table.array.shape[0]
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise RuntimeError(
            f"padding_idx must be within the number of embeddings, {-rows} through {rows - 1}, but got {padding_idx}"
        )


@public("nn.functional.embedding_bag")
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Sums, means or maxima of bags of rows of the table `weight`.

    Args:
        input: indices; of shape (B, N) for B bags of N each, or one line of them, cut into bags by `offsets`.
        offsets: where in a line of indices each bag begins.
        mode: "sum", "mean" or "max".
        per_sample_weights: a factor for each index, in mode "sum".
        include_last_offset: whether the last offset is where the last bag ends.
        padding_idx: an index that does not count.

    >>> import retrograd as rg
    >>> table = rg.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> rg.nn.functional.embedding_bag(rg.tensor([[0, 1], [1, 1]]), table, mode="sum")
    tensor([[4., 6.],
            [6., 8.]])
    """
    name = "embedding_bag"
    indices, table = require_tensor(name, "input", 1, input), require_tensor(name, "weight", 2, weight)
    if table.array.dtype == np.int64 and indices.is_floating_point():  # as the order once was
        warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is "
            "deprecated, and should now be `embedding_bag(input, weight, ...)`."
        )
        indices, table = table, indices
    factors = per_sample_weights
    _check_bag_options(indices, factors, mode, scale_grad_by_freq, sparse)
    shape = indices.array.shape
    if len(shape) == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                f"sequences. However, found offsets of type {type(offsets)}"
            )
        offsets, include_last_offset = as_constant(np.arange(shape[0]) * shape[1], indices), False
        indices = reshape(indices, -1)
        factors = None if factors is None else reshape(factors, -1)
    elif len(shape) != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {len(shape)}")
    elif not isinstance(offsets, Tensor):
        raise ValueError(
            f"offsets has to be a 1D Tensor but got {offsets if offsets is None else type(offsets)}"
        )
    elif offsets.array.ndim != 1:
        raise ValueError(f"offsets has to be a 1D Tensor, but it has the shape {sizes(offsets.array.shape)}")
    if max_norm is not None:
        renormalise(table, row_indices(name, indices).array, max_norm, norm_type)
    return table_embedding_bag(
        table, indices, offsets, scale_grad_by_freq, _MODES[mode], sparse, factors, include_last_offset, padding_idx
    )[0]  # fmt: skip


def _check_bag_options(indices: Tensor, factors: Any, mode: Any, by_freq: bool, sparse: bool) -> None:
    if factors is not None and factors.array.shape != indices.array.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({factors.shape}) is not None, then it must have the same shape as "
            f"the input ({indices.shape})"
        )
    if not isinstance(mode, str) or mode not in _MODES:
        raise ValueError(f"mode has to be one of sum, mean or max, not {mode!r}")
    if mode == "max" and by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if factors is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got "
            f"mode='{mode}')."
        )
