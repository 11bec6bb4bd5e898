"""Tensors as collections: what they contain, without repetition, and where a value belongs among sorted ones.

None of these has a derivative. Where PyTorch nevertheless makes a node, which refuses in backward, so do these.
Counting is in `histogram.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, Literal, overload

import numpy as np

from retrograd.backends.base import Backend
from retrograd.backends.dtypes import SCALAR_NAMES, promote_types
from retrograd.core.apply import apply_n
from retrograd.core.op import Variadic
from retrograd.core.tensor import Tensor
from retrograd.errors import DimensionError, DtypeError, ShapeError, sizes, type_name, unsupported_dtype
from retrograd.ops.common import (
    beside,
    deliver,
    deliver_exact,
    require_tensor,
    require_word,
    wrap_dim,
)
from retrograd.ops.reduce.sort import flag, order
from retrograd.ops.register import public
from retrograd.values import Array, Number

FEW = 1 << 14  # elements that may be sorted again for each part of a large array

# -- what is there, once -------------------------------------------------------------------------------------------


class Unique2(Variadic):
    """the different elements in sorted order, the place of each element among them, and how often each occurs"""

    params: ClassVar[tuple[str, ...]] = ("dim", "in_order", "places_wanted", "counts_wanted")
    called: ClassVar[str] = "_unique2"

    def __init__(self, dim: int | None, in_order: bool, places_wanted: bool, counts_wanted: bool) -> None:
        self.dim = dim
        self.in_order = in_order  # whether the elements stay in order, and only neighbours are compared
        self.places_wanted = places_wanted
        self.counts_wanted = counts_wanted

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        x = xs[0]
        rows = x.reshape(-1) if self.dim is None else xp.moveaxis(x, self.dim, 0)
        places, ordered = self.ordered(xp, rows)
        first = xp.ones(len(rows), bool)
        changes = ordered[1:] != ordered[:-1]
        first[1:] = changes.any(axis=tuple(range(1, changes.ndim))) if changes.ndim > 1 else changes
        inverse = self.inverse(xp, places, first)
        edges = xp.append(xp.flatnonzero(first), len(rows)) if self.counts_wanted else xp.zeros(0, np.int64)
        found, counts = ordered[first], xp.diff(edges)
        if self.dim is None:
            return found, inverse.reshape(x.shape) if self.places_wanted else inverse, counts
        return xp.ascontiguousarray(xp.moveaxis(found, 0, self.dim)), inverse, counts

    def ordered(self, xp: Backend, rows: Array) -> tuple[Any, Array]:
        """Rows in order, and where they were, if anybody has to know."""
        if self.in_order:
            return None, rows
        if rows.ndim == 1 and not self.places_wanted:
            return None, xp.sort(rows, kind="stable")
        places = row_order(xp, rows.reshape(len(rows), -1) if rows.size else xp.zeros((len(rows), 1)))
        return places, rows[places]

    def inverse(self, xp: Backend, places: Any, first: Array) -> Array:
        """The place of each row among the different ones."""
        if not self.places_wanted:
            return xp.zeros(0, np.int64)
        numbers = xp.cumsum(first)
        numbers -= 1
        if places is None:
            return numbers
        found = xp.empty(len(first), np.int64)
        found[places] = numbers
        return found

    def vjp(self, gs: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
        raise NotImplementedError(
            f"the derivative for '{self.called}' is not implemented. Detach the input, or index it with the places."
        )


def row_order(xp: Backend, table: Array) -> Array:
    """The order of the rows of a matrix, the first column counting most."""
    return order(xp, table[:, 0], 0) if table.shape[1] == 1 else xp.lexsort(table.T[::-1])


class UniqueDim(Unique2):
    """the same of the slices along a dimension"""

    called: ClassVar[str] = "unique_dim"


class UniqueConsecutive(Unique2):
    """the same without sorting: runs of equal elements become one"""

    called: ClassVar[str] = "unique_consecutive"


def _unique(op: Unique2, x: Tensor) -> Tensor | tuple[Tensor, ...]:
    """The results that were asked for."""
    shape = x.array.shape
    if x.array.dtype.kind == "c":
        kernel = "unique" if op.dim is None else "unique_dim"
        raise unsupported_dtype(
            kernel, x.array.dtype, "complex numbers have no order. Compare view_as_real()."
        )
    if op.dim is not None and 0 in shape and (shape[op.dim] or shape.count(0) > 1):
        raise ShapeError(
            "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied"
        )
    values, inverse, counts = apply_n(op, (x,))
    wanted = [values]
    wanted += [inverse] if op.places_wanted else []
    wanted += [counts] if op.counts_wanted else []
    return tuple(wanted) if len(wanted) > 1 else values


def _dim(dim: Any, x: Tensor) -> int | None:
    if dim is not None and not x.array.ndim:
        raise DimensionError(f"Dimension specified as {dim} but tensor has no dimensions")
    return None if dim is None else wrap_dim(dim, x.array.ndim)


@overload
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: int | None = None,
) -> Tensor: ...


@overload
def unique(
    input: Tensor,
    sorted: bool = True,
    *,
    return_inverse: Literal[True],
    return_counts: Literal[False] = False,
    dim: int | None = None,
) -> tuple[Tensor, Tensor]: ...


@overload
def unique(
    input: Tensor,
    sorted: bool = True,
    *,
    return_inverse: Literal[False] = False,
    return_counts: Literal[True],
    dim: int | None = None,
) -> tuple[Tensor, Tensor]: ...


@overload
def unique(
    input: Tensor,
    sorted: bool = True,
    *,
    return_inverse: Literal[True],
    return_counts: Literal[True],
    dim: int | None = None,
) -> tuple[Tensor, Tensor, Tensor]: ...


@overload
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Tensor | tuple[Tensor, ...]: ...


@public("unique", method=True)
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Tensor | tuple[Tensor, ...]:
    """The different elements, or slices along `dim`, in sorted order; each NaN is different.

    Args:
        sorted: they come sorted either way.
        return_inverse: also return where each element of the input is among them.
        return_counts: also return how often each occurs.

    >>> import retrograd as rg
    >>> rg.unique(rg.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    x = require_tensor("_unique2", "input", 1, input)
    d: int | None = _dim(dim, x)
    kind, function = (Unique2, "_unique2") if d is None else (UniqueDim, "unique_dim")
    flag(function, "sorted", sorted)
    inverse = flag(function, "return_inverse", return_inverse)
    return _unique(kind(d, False, inverse, flag(function, "return_counts", return_counts)), x)


@overload
def unique_consecutive(
    input: Tensor,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: int | None = None,
) -> Tensor: ...


@overload
def unique_consecutive(
    input: Tensor,
    *,
    return_inverse: Literal[True],
    return_counts: Literal[False] = False,
    dim: int | None = None,
) -> tuple[Tensor, Tensor]: ...


@overload
def unique_consecutive(
    input: Tensor,
    *,
    return_inverse: Literal[False] = False,
    return_counts: Literal[True],
    dim: int | None = None,
) -> tuple[Tensor, Tensor]: ...


@overload
def unique_consecutive(
    input: Tensor, *, return_inverse: Literal[True], return_counts: Literal[True], dim: int | None = None
) -> tuple[Tensor, Tensor, Tensor]: ...


@overload
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Tensor | tuple[Tensor, ...]: ...


@public("unique_consecutive", method=True)
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Tensor | tuple[Tensor, ...]:
    """The elements, or slices along `dim`, without those that equal the one before.

    >>> import retrograd as rg
    >>> rg.unique_consecutive(rg.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    x = require_tensor("unique_consecutive", "input", 1, input)
    inverse = flag("unique_consecutive", "return_inverse", return_inverse)
    counts = flag("unique_consecutive", "return_counts", return_counts)
    return _unique(UniqueConsecutive(_dim(dim, x), True, inverse, counts), x)


# -- membership ----------------------------------------------------------------------------------------------------


class Isin(Variadic):
    """which elements of the first are among those of the second"""

    differentiable: ClassVar[bool] = False
    params: ClassVar[tuple[str, ...]] = ("invert",)

    def __init__(self, invert: bool) -> None:
        self.invert = invert

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        x, among = xs[0], xs[1]
        if among.size > FEW:
            return xp.isin(x, among, invert=self.invert)
        return xp.of_elements(lambda part: xp.isin(part, among, invert=self.invert), x)


@public("isin")
def isin(
    elements: Tensor | Number | None = None, test_elements: Tensor | Number | None = None, *,
    assume_unique: bool = False, invert: bool = False, out: Tensor | None = None,
    element: Tensor | Number | None = None, test_element: Tensor | Number | None = None,
) -> Tensor:  # fmt: skip
    """Which of `elements` are among `test_elements`; one of the two may be a number. NaN is nowhere.

    >>> import retrograd as rg
    >>> rg.isin(rg.tensor([1, 2, 3]), rg.tensor([2, 5]))
    tensor([False,  True, False])
    """
    x: Any = elements if element is None else element
    y: Any = test_elements if test_element is None else test_element
    number = (int, float, complex, np.number)
    if not any(isinstance(a, Tensor) and isinstance(b, (Tensor, *number)) for a, b in ((x, y), (y, x))):
        raise TypeError(
            "isin() received an invalid combination of arguments - it takes two Tensors, or one and a number, not "
            f"{type_name(x)} and {type_name(y)}"
        )
    given = x.array if isinstance(x, Tensor) else y.array
    x, y = (v if isinstance(v, Tensor) else Tensor(beside(np.asarray(v), given), share=True) for v in (x, y))
    for v in (x, y):
        if v.array.dtype.kind in "cb":
            raise DtypeError(f"Unsupported input type encountered for isin(): {SCALAR_NAMES[v.array.dtype]}")
    return deliver_exact(apply_n(Isin(bool(invert)), (x, y)), out)


# -- places among sorted values ------------------------------------------------------------------------------------


class Searchsorted(Variadic):
    """where values belong in sorted rows: before (or, if `right`, behind) those that are equal

    The third input, if any, says in which order the rows are sorted. All values are searched for at once, halving.
    """

    differentiable: ClassVar[bool] = False
    params: ClassVar[tuple[str, ...]] = ("right", "dtype")

    def __init__(self, right: bool, dtype: Any) -> None:
        self.right = right
        self.dtype = dtype

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        rows, values, sorter = xs
        narrow = self.dtype.itemsize == 4
        return xp.by_kernel("search", self.by_halves, rows, values, sorter, bool(self.right), narrow)

    def by_halves(
        self, xp: Backend, rows: Array, values: Array, sorter: Any, right: bool, narrow: bool
    ) -> Array:
        """Where the values belong, some of them at a time if there are many."""
        if rows.ndim > 1:
            return self.searched(xp, rows, sorter, values)
        return xp.of_elements(partial(self.searched, xp, rows, sorter), values)

    def searched(self, xp: Backend, rows: Array, sorter: Any, values: Array) -> Array:
        """Where the values belong."""
        n = rows.shape[-1]
        low, high = xp.zeros(values.shape, np.int64), xp.full(values.shape, n)
        for _ in range(n.bit_length()):
            middle = (low + high) // 2
            at = look_up(xp, rows, xp.minimum(middle, n - 1), sorter)
            behind = ~(at > values if self.right else at >= values)  # so that NaN goes to the end
            searching = low < high
            low = xp.where(searching & behind, middle + 1, low)
            high = xp.where(searching & ~behind, middle, high)
        return low.astype(self.dtype)


def look_up(xp: Backend, rows: Array, places: Array, sorter: Any) -> Array:
    """The elements at these places of each row, in the order that a sorter gives."""
    if rows.ndim == 1:
        return rows[places if sorter is None else sorter[places]]
    if sorter is not None:
        places = xp.take_along_axis(sorter, places, -1)
    return xp.take_along_axis(rows, places, -1)


@public("searchsorted")
def searchsorted(
    sorted_sequence: Tensor, input: Number | Tensor, *, out_int32: bool = False, right: bool = False,
    side: str | None = None, sorter: Tensor | None = None, out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The indices at which `input` could be put into `sorted_sequence` so that it stays sorted.

    Args:
        sorted_sequence: sorted along the last dimension: one row, or one for each row of `input`.
        right: whether to count equal elements as smaller; `side="right"` says the same.
        sorter: the indices that sort the rows, if they are not sorted.

    >>> import retrograd as rg
    >>> rg.searchsorted(rg.tensor([1, 3, 5]), rg.tensor([3, 6]))
    tensor([1, 3])
    """
    rows, values = _rows_and_values("searchsorted", sorted_sequence, input)
    if side is not None and require_word("searchsorted", "side", side) not in ("left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True"
        )
    _check_rows(rows.array, values.array)
    _check_sorter(rows.array, sorter)
    return _searched(rows, values, sorter, right or side == "right", out_int32, out)


@public("bucketize")
def bucketize(
    input: Number | Tensor,
    boundaries: Tensor,
    *,
    out_int32: bool = False,
    right: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """The number of the bucket between sorted `boundaries` that each element of `input` falls into.

    >>> import retrograd as rg
    >>> rg.bucketize(rg.tensor([0.5, 1.0, 7.0]), rg.tensor([1.0, 3.0, 5.0]))
    tensor([0, 0, 3])
    """
    rows, values = _rows_and_values("bucketize", boundaries, input)
    if rows.array.ndim != 1:
        raise ShapeError(f"boundaries tensor must be 1 dimension, but got dim({rows.array.ndim})")
    return _searched(rows, values, None, bool(right), out_int32, out)


def _rows_and_values(function: str, rows: Any, values: Any) -> tuple[Tensor, Tensor]:
    if isinstance(values, (bool, int, float, np.number)):
        values = Tensor(
            beside(np.asarray(values), rows.array if isinstance(rows, Tensor) else None), share=True
        )
    for v in (rows, values):
        if not isinstance(v, Tensor):
            raise TypeError(
                f"{function}() received an invalid combination of arguments - it takes Tensors, not {type_name(v)}"
            )
    return rows, values


def _searched(rows: Tensor, values: Tensor, sorter: Any, right: bool, out_int32: Any, out: Any) -> Tensor:
    dtype = np.dtype("int32" if out_int32 else "int64")
    if out is not None and out.array.dtype != dtype:
        raise DtypeError(
            "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending "
            f"on whether out_int32 flag is True, but we got output tensor's dtype {SCALAR_NAMES[out.array.dtype]} and "
            f"out_int32 flag is {bool(out_int32)}"
        )
    common = promote_types(rows.array.dtype, values.array.dtype)  # in which they are compared
    if common.kind in "cb" and values.array.size:
        raise unsupported_dtype("searchsorted_out_cpu", common)
    return deliver(apply_n(Searchsorted(right, dtype), (rows, values, sorter)), out)


def _check_rows(rows: Array, values: Array) -> None:
    if values.ndim == 0 and rows.ndim != 1:
        raise ShapeError(
            "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we got "
            f"boundaries tensor dim({rows.ndim}) and input value's dim(0) numel(1)"
        )
    if rows.ndim == 0:
        raise ShapeError(
            "torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 dimension"
        )
    if rows.ndim != 1 and rows.shape[:-1] != values.shape[:-1]:
        raise ShapeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
            f"tensor and input value tensor must match, but we got boundaries tensor {sizes(rows.shape)} and input "
            f"value tensor {sizes(values.shape)}"
        )


def _check_sorter(rows: Array, sorter: Any) -> None:
    if sorter is None:
        return
    places = require_tensor("searchsorted", "sorter", 3, sorter).array
    if places.shape != rows.shape:
        raise ShapeError(
            f"torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor "
            f"{sizes(rows.shape)} and got sorter tensor {sizes(places.shape)}"
        )
    if places.dtype != np.int64:
        raise DtypeError(
            f"torch.searchsorted(): sorter must be a tensor of long dtype but got dtype {SCALAR_NAMES[places.dtype]}"
        )
    if places.size and (places.min() < 0 or places.max() >= rows.shape[-1]):
        raise RuntimeError("torch.searchsorted(): sorter index out of range")
