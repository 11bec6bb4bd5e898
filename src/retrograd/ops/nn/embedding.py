"""Embeddings: rows of a table looked up by index; classes as unit vectors. Bags of rows are in `embedding_bag.py`."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import Backend, backend_of, stands_for_many, whole
from retrograd.backends.dtypes import LIMITS, SCALAR_NAMES
from retrograd.backends.kernels.along_axis import is_index
from retrograd.backends.shortage import SHORTAGE_TOLD
from retrograd.core.apply import apply1
from retrograd.core.families import Linear
from retrograd.core.inplace import check_writable
from retrograd.core.saved import SavedConstant, constant_of
from retrograd.core.tensor import Tensor
from retrograd.core.views import is_stretched, overlap_error
from retrograd.errors import DTYPE_NAMES, DtypeError, ShapeError, sizes
from retrograd.ops.common import as_value, deliver, int_from, require_tensor, tensor_of
from retrograd.ops.elementwise.choose import Where
from retrograd.ops.nn.layer_norm import wide
from retrograd.ops.register import public
from retrograd.values import Array

# -- ops -----------------------------------------------------------------------------------------------------------


class Embedding(Linear):
    """the rows of a table at given indices; the gradient leaves one row out, and may be divided by frequencies"""

    params: ClassVar[tuple[str, ...]] = ("indices", "padding_idx", "scale_grad_by_freq", "sparse")
    shown: ClassVar[dict[str, str]] = {
        "padding_idx": "padding_idx", "scale_grad_by_freq": "scale_grad_by_freq", "sparse": "sparse",
        "weight_sym_argsize_0": "count", "indices": "constant:0",
    }  # fmt: skip

    def __init__(
        self, indices: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
    ) -> None:
        self.constants = (constant_of(indices),)
        self.padding_idx = padding_idx
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse

    @property
    def indices(self) -> SavedConstant:
        """The numbers of the rows."""
        return self.constant(0)

    def forward(self, xp: Backend, x: Array) -> Array:
        self.count = x.shape[0]
        return xp.take(x, self.indices.array, axis=0)

    def transpose(self, g: Any) -> Any:
        return EmbeddingDense(self.indices, self.count, self.padding_idx, self.scale_grad_by_freq).on(g)


class EmbeddingDense(Linear):
    """rows summed by the index that each has, those of index `padding_idx` left out"""

    node_name = "EmbeddingDenseBackwardBackward0"
    params: ClassVar[tuple[str, ...]] = ("indices", "count", "padding_idx", "scale_grad_by_freq")

    def __init__(
        self, indices: Any, count: int, padding_idx: int = -1, scale_grad_by_freq: bool = False
    ) -> None:
        self.constants = (constant_of(indices),)
        self.count = count
        self.padding_idx = padding_idx
        self.scale_grad_by_freq = scale_grad_by_freq

    @property
    def indices(self) -> SavedConstant:
        """The number of the row that each goes to."""
        return self.constant(0)

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.embedding_backward(self, x)

    def computed(self, xp: Backend, x: Array) -> Array:
        """The result by the array library."""
        rows, indices = x.reshape(-1, x.shape[-1]), self.indices.array.reshape(-1)
        if self.padding_idx >= 0:
            kept = indices != self.padding_idx
            if not xp.dynamic_shapes:  # samples may leave out more or fewer
                rows = xp.where(kept[:, None], rows, xp.zeros((), x.dtype))
                indices = xp.where(kept, indices, 0)
            else:
                rows, indices = rows[kept], indices[kept]
        if self.scale_grad_by_freq:
            rows = rows / self.frequencies(indices).astype(x.dtype)
        found = xp.add_at(wide(xp.zeros((self.count, x.shape[-1]), x.dtype)), (indices,), wide(rows))
        return found.astype(x.dtype, copy=False)

    def frequencies(self, indices: Array) -> Array:
        """How often each of these indices comes among all, as a column."""
        every = self.indices.array
        found = backend_of(every).bincount(every.reshape(-1), minlength=self.count)
        return found[indices][..., None]

    def transpose(self, g: Any) -> Any:
        given, indices = self.indices, self.indices.array
        kept = indices != self.padding_idx
        all_kept = backend_of(kept).dynamic_shapes and kept.all()
        found = Embedding(given if all_kept else given.like(backend_of(kept).where(kept, indices, 0))).on(g)
        if self.scale_grad_by_freq:
            found = found / as_value(self.frequencies(indices).astype(g.dtype), g)
        return found if all_kept else Where().on(given.like(kept[..., None]), found, 0.0)


# -- functions -----------------------------------------------------------------------------------------------------


def row_indices(function: str, indices: Any, argument: str = "indices", position: int = 2) -> SavedConstant:
    """Indices of rows, which are integers of 32 or 64 bits."""
    given = constant_of(require_tensor(function, argument, position, indices))
    i = given.array
    if not is_index(i):
        raise DtypeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"torch.{SCALAR_NAMES[i.dtype]}Tensor instead (while checking arguments for {function})"
        )
    return given.like(i.astype(np.int64, copy=False))


@public("embedding")
def table_embedding(
    weight: Tensor,
    indices: Tensor,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The rows of `weight` at `indices`: `nn.functional.embedding` has more options."""
    table, given = require_tensor("embedding", "weight", 1, weight), row_indices("embedding", indices)
    i = given.array
    if table.array.ndim != 2:
        raise ShapeError(f"'weight' must be 2-D, but it has the shape {sizes(table.array.shape)}")
    if backend_of(i).outside(i, 0, len(table.array)) is not None:
        i = whole(i)
        raise IndexError(
            f"index out of range in self: indices go from {i.min()} to {i.max()}, but there are {len(table.array)} rows"
        )
    op = Embedding(
        given, int_from("embedding", "padding_idx", 3, padding_idx), bool(scale_grad_by_freq), bool(sparse)
    )
    found: Tensor = deliver(apply1(op, table), out)
    return found


@public("nn.functional.embedding")
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of the table `weight` that the indices in `input` name.

    Args:
        padding_idx: a row that gets no gradient.
        max_norm: rows that are looked up and whose norm is larger are scaled down first, in place.
        norm_type: the p of that norm.
        scale_grad_by_freq: whether gradients are divided by how often an index comes in `input`.
        sparse: accepted; gradients are dense.

    >>> import retrograd as rg
    >>> rg.nn.functional.embedding(rg.tensor([1, 0]), rg.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[3., 4.],
            [1., 2.]])
    """
    indices = require_tensor("embedding", "indices", 1, input)
    table = require_tensor("embedding", "weight", 2, weight)
    padding = _padding(padding_idx, table.array.shape[0] if table.array.ndim else 1)
    if max_norm is not None:
        renormalise(table, row_indices("embedding_renorm_", indices).array, max_norm, norm_type)
    return table_embedding(table, indices, padding, scale_grad_by_freq, sparse)


def _padding(padding_idx: int | None, rows: int) -> int:
    if padding_idx is None:
        return -1
    if not -rows <= padding_idx < rows:
        raise AssertionError(f"Padding_idx must be within num_embeddings: {padding_idx} for {rows} rows")
    return padding_idx % rows


@public("embedding_renorm_")
def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Scales the rows of `input` that `indices` names, in place, where their norm is larger than `max_norm`."""
    x = require_tensor("embedding_renorm_", "input", 1, input)
    check_writable(x)
    return renormalise(x, row_indices("embedding_renorm_", indices).array, max_norm, norm_type)


def renormalise(x: Tensor, indices: Array, max_norm: float, norm_type: float) -> Tensor:
    if x.array.ndim != 2:
        raise ShapeError(
            f"Expected 2-dimensional tensor, but got {x.array.ndim}-dimensional tensor for argument #1 'self' (while "
            "checking arguments for embedding_renorm_)"
        )
    if x.array.dtype.kind in "biu" and indices.size:
        raise DtypeError(
            f"norm(): input dtype should be either floating point or complex. Got {DTYPE_NAMES[x.array.dtype.name]} "
            "instead."
        )
    rows = backend_of(indices).unique(indices)
    size = abs(x.array[rows])
    if norm_type == math.inf and size.size:
        norms = size.max(axis=1)
    elif norm_type == 0:
        norms = (size != 0).sum(axis=1).astype(size.dtype)
    else:
        norms = (size**norm_type).sum(axis=1) ** (1 / norm_type) if norm_type else (size != 0).sum(axis=1)
    large = norms > max_norm
    if large.any():
        if is_stretched(x.array):
            raise overlap_error()
        x.array[rows[large]] *= (max_norm / (norms[large] + 1e-7)).astype(x.array.dtype)[:, None]
    x._bump_version()
    return x


@public("nn.functional.one_hot")
def one_hot(input: Tensor, num_classes: int = -1) -> Tensor:
    """Each class number as a vector with 1 in its place and 0 elsewhere.

    Args:
        num_classes: the length of the vectors; the largest class + 1 if it is -1.

    >>> import retrograd as rg
    >>> rg.nn.functional.one_hot(rg.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    classes = require_tensor("one_hot", "input", 1, input).array
    if classes.dtype != np.int64:
        raise DtypeError(
            f"one_hot is only applicable to index tensor of type LongTensor, not {SCALAR_NAMES[classes.dtype]}. "
            "Convert with .long()."
        )
    if num_classes == -1 and stands_for_many(classes):
        raise RuntimeError(
            "When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive num_classes argument: the "
            "largest class may differ between samples."
        )
    if num_classes == -1 and not classes.size:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    if backend_of(classes).outside(classes, 0, LIMITS[classes.dtype][1]) is not None:
        raise RuntimeError("Class values must be non-negative.")
    count = int(classes.max()) + 1 if num_classes == -1 else num_classes
    if backend_of(classes).outside(classes, 0, count) is not None:
        raise RuntimeError("Class values must be smaller than num_classes.")
    with SHORTAGE_TOLD:
        return tensor_of(
            (classes[..., None] == backend_of(classes).arange(count)).astype(np.int64, order="C")
        )
