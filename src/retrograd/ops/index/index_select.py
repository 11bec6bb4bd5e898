"""Whole rows (or columns, …) picked by an index along a dimension, and put back."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import Backend, backend_of
from retrograd.backends.dtypes import SCALAR_NAMES
from retrograd.backends.kernels.along_axis import WHOLE, is_index
from retrograd.backends.shortage import SHORTAGE_TOLD
from retrograd.core.apply import apply1, apply_n
from retrograd.core.autocast import autocasting_on_cpu, widest
from retrograd.core.families import conjugate
from retrograd.core.saved import SavedConstant, constant_of
from retrograd.core.tensor import Tensor
from retrograd.core.upward import UPWARD
from retrograd.errors import DtypeError, ShapeError, out_of_memory, sizes, unsupported_dtype
from retrograd.ops.common import beside, deliver_exact, differ, number_from, require_tensor, wrap_dim
from retrograd.ops.elementwise.choose import Where
from retrograd.ops.index.gather import (
    AdjointAt,
    LinearAt,
    SourceAt,
    ValueAt,
    check_bounds,
    check_range,
)
from retrograd.ops.register import public
from retrograd.ops.shape.reshape import integer, reshape
from retrograd.ops.tensor.data import check_fits, number_for
from retrograd.values import Array, Number


class IndexSelect(LinearAt):
    """the rows (or columns, …) that an index names"""

    shown: ClassVar[dict[str, str]] = {**LinearAt.shown, "self_sym_sizes": "in_shape"}

    def forward(self, xp: Backend, x: Array) -> Array:
        self.in_shape = x.shape
        return xp.take(x, self.index.array, self.dim) if x.ndim else x.copy()

    def transpose(self, g: Any) -> Any:
        return IndexSelectAdjoint(self.dim, self.index, self.in_shape).on(g)


class IndexSelectAdjoint(AdjointAt):
    """zeros of some shape with the rows of x added at an index"""

    node_name = "IndexAddBackward0"

    def forward(self, xp: Backend, x: Array) -> Array:
        if not self.size:
            return x.copy()
        return xp.add_at(xp.zeros(self.size, x.dtype), (WHOLE,) * self.dim + (self.index.array,), x)

    def transpose(self, g: Any) -> Any:
        return IndexSelect(self.dim, self.index).on(g)


class IndexAdd(SourceAt):
    """x with the rows of a source, times a number, added at an index"""

    params: ClassVar[tuple[str, ...]] = ("dim", "index", "alpha")
    shown: ClassVar[dict[str, str]] = {**SourceAt.shown, "alpha": "alpha"}

    def __init__(self, dim: int, index: Any, alpha: Any) -> None:
        super().__init__(dim, index)
        self.alpha = alpha

    def keeps_constants(self) -> bool:
        return self.needs(1)

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        x, source = xs
        self.x_shape, self.source_shape = x.shape, source.shape
        scaled = source if self.alpha == 1 else source * number_for(self.alpha, source.dtype)
        out = x.copy("C")
        rows = out.reshape((1,)) if out.ndim == 0 else out
        xp.add_at(
            rows, (WHOLE,) * self.dim + (self.index.array,), scaled.reshape((1,)) if x.ndim == 0 else scaled
        )
        return out

    def kept(self, g: Any) -> Any:
        return g

    def source_grad(self, g: Any) -> Any:
        found = IndexSelect(self.dim, self.index).on(g)
        found = found if self.alpha == 1 else found * conjugate(self.alpha)
        return found.reshape(self.source_shape)


class IndexCopy(IndexAdd):
    """x with the rows of a source written at an index"""

    params: ClassVar[tuple[str, ...]] = ("dim", "index")
    index_error: ClassVar[bool] = True
    shown: ClassVar[dict[str, str]] = SourceAt.shown

    def __init__(self, dim: int, index: Any) -> None:
        super().__init__(dim, index, 1)

    def keeps_constants(self) -> bool:
        return True

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        x, source = xs
        self.x_shape, self.source_shape = x.shape, source.shape
        if x.ndim == 0:
            return source.reshape(()).astype(x.dtype)
        out = x.copy()
        out[(WHOLE,) * self.dim + (self.index.array,)] = source
        return out

    def kept(self, g: Any) -> Any:
        return IndexFill(self.dim, self.index, 0).on(g)


class IndexFill(ValueAt):
    """x with a number in the rows that an index names"""

    index_error: ClassVar[bool] = True

    def forward(self, xp: Backend, x: Array) -> Array:
        out = x.copy()
        out[(WHOLE,) * self.dim + (self.index.array,) if x.ndim else ...] = xp.asarray(self.value, x.dtype)
        return out


class IndexFillTensor(SourceAt):
    """x with a 0-dim tensor in the rows that an index names"""

    node_name = "IndexFillBackward1"

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        x, value = xs
        self.x_shape = x.shape
        return IndexFill(self.dim, self.index, value).forward(xp, x)

    def kept(self, g: Any) -> Any:
        return IndexFill(self.dim, self.index, 0).on(g)

    def source_grad(self, g: Any) -> Any:
        # A row that the index names twice was filled once.
        n = self.x_shape[self.dim] if self.x_shape else 1
        index = self.index.array
        xp = backend_of(index)
        if not xp.dynamic_shapes:  # samples may fill more or fewer rows
            named = xp.zeros((n,), bool)
            named[index] = True
            line = (-1,) + (1,) * (max(len(self.x_shape), 1) - self.dim - 1)
            return Where().on(named.reshape(line if self.x_shape else ()), g, 0.0).sum()
        rows = xp.unique(xp.where(index < 0, index + n, index))
        return IndexSelect(self.dim, rows).on(g).sum()


# -- functions -----------------------------------------------------------------------------------------------------


def _vector(function: str, index: Any, position: int, wanted: str = "int32/int64") -> SavedConstant:
    """The index of an op on whole rows, checked and with one dimension."""
    given = constant_of(require_tensor(function, "index", position, index))
    i = given.array
    if i.ndim > 1:
        raise IndexError(f"{function}(): Index is supposed to be a vector, but got size {sizes(i.shape)}")
    if not is_index(i) or (wanted == "int64" and i.dtype.itemsize < 8):
        kind = f"Expected dtype {wanted} for index but got: {SCALAR_NAMES[i.dtype]}"
        raise DtypeError(f"{function}(): {kind}")
    return given.like(i if i.ndim and i.dtype == np.int64 else i.astype(np.int64, copy=False).reshape(-1))


def _line(index: Tensor) -> SavedConstant:
    """An index with one dimension."""
    at = constant_of(index)
    return at if at.array.ndim == 1 else at.like(at.array.reshape(-1))


@public("index_select", method=True)
def index_select(input: Tensor, dim: int, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The rows (or columns, …) of `input` that `index` names along `dim`, as a copy.

    >>> import retrograd as rg
    >>> rg.index_select(rg.arange(6).reshape(2, 3), 1, rg.tensor([2, 0]))
    tensor([[2, 0],
            [5, 3]])
    """
    x = require_tensor("index_select", "input", 1, input)
    d, at = wrap_dim(dim, x.array.ndim), _vector("index_select", index, 2, "int32 or int64")
    i = at.array
    n = x.array.shape[d] if x.array.ndim else 1
    if x.array.ndim == 0 and i.size != 1:
        raise ShapeError(f"index_select(): Index to scalar can have only 1 value, got {i.size} value(s)")
    if i.size and n == 0 and x.array.ndim > 1:
        raise ShapeError(
            f"index_select(): self indexing axis dim should be positive, but dimension {d} is empty"
        )
    if backend_of(i).outside(i, 0, n) is not None:
        if d > 0:
            raise RuntimeError(f"INDICES element is out of DATA bounds, id={i.max()} axis_dim={n}")
        raise IndexError(
            f"index out of range in self: dimension {d} has size {n}, the index goes up to {i.max()}"
        )
    return deliver_exact(
        apply1(IndexSelect(d, at), x), out, "index_select(): self and result must have the same scalar type"
    )


@public("index_add", "Tensor.index_add_", method=True)
def index_add(
    input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Number = 1, out: Tensor | None = None
) -> Tensor:
    """A copy of `input` with the rows of `source`, times `alpha`, added to those that `index` names along `dim`.

    >>> import retrograd as rg
    >>> rg.index_add(rg.zeros(3), 0, rg.tensor([0, 2, 0]), rg.tensor([1.0, 2.0, 3.0]))
    tensor([4., 0., 2.])
    """
    x, src = require_tensor("index_add", "input", 1, input), require_tensor("index_add", "source", 3, source)
    d, at = wrap_dim(dim, x.array.ndim), _vector("index_add_", index, 2)
    i = at.array
    shape, given = x.array.shape, src.array.shape
    if shape and d >= len(given) > 0:
        raise ShapeError(
            f"index_add_(): Indexing dim {d} is out of bounds of the source tensor with dim {len(given)}"
        )
    if x.array.dtype != src.array.dtype:
        raise DtypeError(
            f"index_add_(): self ({SCALAR_NAMES[x.array.dtype]}) and source ({SCALAR_NAMES[src.array.dtype]}) must "
            "have the same scalar type"
        )
    if not given and i.size != 1:
        raise IndexError(
            f"index_add_(): the source is a single number, but there are {i.size} indices for it"
        )
    if i.size != (given[d] if given else 1):
        raise ShapeError(
            f"index_add_(): Number of indices ({i.size}) should be equal to source.size(dim): "
            f"({given[d] if given else 1}), for dim: {d}"
        )
    if shape and (shape[:d] + shape[d + 1 :] != given[:d] + given[d + 1 :] or not given):
        raise ShapeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{sizes(shape)} source.shape = {sizes(given)}"
        )
    if len(shape) > 1:
        check_bounds(i, d, shape[d], False)  # a RuntimeError, as PyTorch's
    else:
        check_range("index out of range in self: ", i, d, shape, False)
    factor = number_from("index_add_", "alpha", 5, alpha)
    return deliver_exact(apply_n(IndexAdd(d, at, factor), (x, src)), out)


@public("index_copy", "Tensor.index_copy_", method=True)
def index_copy(
    input: Tensor, dim: int, index: Tensor, source: Tensor, *, out: Tensor | None = None
) -> Tensor:
    """A copy of `input` with the rows of `source` written to those that `index` names along `dim`.

    >>> import retrograd as rg
    >>> rg.index_copy(rg.zeros(3), 0, rg.tensor([2, 0]), rg.tensor([1.0, 2.0]))
    tensor([2., 0., 1.])
    """
    if autocasting_on_cpu():
        return widest(index_copy, input, dim, index, source, out=out)
    x, src = (
        require_tensor("index_copy", "input", 1, input),
        require_tensor("index_copy", "source", 3, source),
    )
    d, rows = wrap_dim(dim, x.array.ndim), require_tensor("index_copy", "index", 2, index)
    if rows.array.ndim > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {rows.array.ndim})")
    at = _line(rows)
    _check_rows(x.array, d, at.array, src.array)
    return deliver_exact(apply_n(IndexCopy(d, at), (x, src)), out)


def _check_rows(x: Array, d: int, i: Array, source: Array) -> None:
    """Refuses a source that is not as many rows of x as there are indices, or of another dtype."""
    shape, given = x.shape, source.shape
    if not given and i.size != 1:
        raise IndexError(
            f"index_copy_(): When source is scalar, index should have one element (got {i.size})"
        )
    if shape and given and len(shape) != len(given):
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must match. Source "
            f"has shape {sizes(given)} and destination has shape {sizes(shape)}."
        )
    if i.dtype != np.int64:
        raise DtypeError(f"index_copy_(): Expected a long tensor for index, but got {SCALAR_NAMES[i.dtype]}")
    if x.dtype != source.dtype:
        raise DtypeError(
            "index_copy_(): self and source expected to have the same dtype, but got (self) "
            f"{SCALAR_NAMES[x.dtype]} and (source) {SCALAR_NAMES[source.dtype]}"
        )
    if shape[:d] + shape[d + 1 :] != given[:d] + given[d + 1 :]:
        raise ShapeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination has shape "
            f"{sizes(shape)} and source has shape {sizes(given)}; only dimension {d} may differ."
        )
    if i.size != (given[d] if given else 1):
        raise IndexError(
            f"index_copy_(): Number of indices ({i.size}) should be equal to source.size(dim) "
            f"({given[d] if given else 1})"
        )
    check_range("index_copy_(): ", i, d, shape, False)


@public("index_fill", "Tensor.index_fill_", method=True)
def index_fill(input: Tensor, dim: int, index: Tensor, value: Number | Tensor) -> Tensor:
    """A copy of `input` with `value`, a number or a 0-dim tensor, in the rows that `index` names along `dim`.

    >>> import retrograd as rg
    >>> rg.index_fill(rg.zeros(3), 0, rg.tensor([0, 2]), 7)
    tensor([7., 0., 7.])
    """
    x = require_tensor("index_fill", "input", 1, input)
    if isinstance(value, Tensor) and value.array.ndim:
        raise ShapeError(
            "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{value.array.ndim} dimension(s)."
        )
    if isinstance(value, complex) and x.array.dtype.kind != "c":
        raise DtypeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
    d, given = wrap_dim(dim, x.array.ndim), require_tensor("index_fill", "index", 2, index)
    if given.array.dtype != np.int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if given.array.ndim > 1:
        raise ShapeError("Index has to be a vector/scalar")
    at = _line(given)
    check_range("", at.array, d, x.array.shape, True)
    if isinstance(value, Tensor):
        check_fits(value, x.array.dtype)
        found: Tensor = apply_n(IndexFillTensor(d, at), (x, value))
        return found
    found = apply1(IndexFill(d, at, number_for(value, x.array.dtype)), x)
    return found


def _repeats(number: int) -> int:
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"Overflow when unpacking long long: repeat_interleave() got {number} repeats")
    return number


def _indices_as_often(counts: Tensor, output_size: int | None) -> Tensor:
    """The index of each count, as often as it says."""
    if not is_index(counts.array):
        raise unsupported_dtype(
            "repeat_interleave_cpu", counts.array.dtype, "repeats has to be Long or Int tensor"
        )
    if counts.array.ndim != 1:
        raise ShapeError("repeat_interleave only accept 1D vector as repeat")
    a = counts.array
    places = Tensor(backend_of(a).arange(a.size, dtype=a.dtype), share=True)
    return repeat_interleave(places, counts, output_size=output_size)


@public("repeat_interleave", method=True)
def repeat_interleave(
    input: Tensor,
    repeats: int | Tensor | None = None,
    dim: int | None = None,
    *,
    output_size: int | None = None,
) -> Tensor:
    """Each element of a dimension repeated in place: so many times, or as often as a tensor says for each.

    With `repeats` alone, its indices, each as often as it says.

    >>> import retrograd as rg
    >>> rg.tensor([1, 2]).repeat_interleave(2)
    tensor([1, 1, 2, 2])
    """
    x = require_tensor("repeat_interleave", "input", 1, input)
    if repeats is None and dim is not None:
        raise TypeError("repeat_interleave() missing 1 required positional argument: 'repeats'")
    if isinstance(repeats, Tensor) and repeats.array.ndim > 1:
        raise ShapeError(
            f"repeat_interleave: repeats must be 0-dim or 1-dim tensor, but it has {repeats.array.ndim} dimensions"
        )
    if differ(repeats) or (repeats is None and differ(x)):
        found: Tensor = UPWARD.by_sample(repeat_interleave, x, repeats, dim, output_size=output_size)
        return found
    if repeats is None:
        return _indices_as_often(x, output_size)
    if dim is None:
        x, dim = reshape(x, -1), 0
    elif x.array.ndim == 0:
        x = reshape(x, 1)
    d = wrap_dim(dim, x.array.ndim)
    counts = _counts(repeats, x.array, d)
    with SHORTAGE_TOLD:
        index = np.repeat(np.arange(x.array.shape[d]), counts.reshape(-1) if counts.ndim else int(counts))
    if output_size is not None and output_size != len(index):
        raise ShapeError(
            f"allocated size does not match required size: repeat_interleave: Invalid output_size, expected "
            f"{len(index)} but got {output_size}"
        )
    found = apply1(IndexSelect(d, beside(index, x.array)), x)
    return found


def _counts(repeats: Any, x: Array, d: int) -> Array:
    """How often each element is repeated, one number or one for each: on the host, since the shape depends on it."""
    counts = (
        backend_of(repeats.array).numpy(repeats.array)
        if isinstance(repeats, Tensor)
        else np.asarray(_repeats(integer(repeats)))
    )
    if not is_index(counts):
        raise unsupported_dtype("repeat_interleave_cpu", counts.dtype, "repeats has to be Long or Int tensor")
    if (counts < 0).any():
        raise ShapeError(f"repeats can not be negative, got {repeats}")
    if counts.ndim and counts.shape not in ((1,), (x.shape[d],)):
        raise ShapeError(
            f"repeats must have the same size as input along dim, but got repeats.size(0) = {counts.shape[0]} and "
            f"input.size({d}) = {x.shape[d]}"
        )
    total = sum(counts.reshape(-1).tolist()) * (1 if counts.size > 1 else x.shape[d])
    if total > sys.maxsize // 8:  # NumPy's sum would wrap around
        raise out_of_memory((total,), x.dtype)
    return counts
