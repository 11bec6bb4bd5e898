"""Sorting, and what a sorted dimension tells: the largest few, the k-th, the median, the most frequent.

Note [Order]
~~~~~~~~~~~~
NaN is larger than every number. Equal elements keep their order: `sort` is stable whether asked to be or not, and where
equal elements compete for a place (`topk`, `kthvalue`), the first ones win. PyTorch leaves open which of them it takes.

Quantiles, which are made of sorting and interpolation, are in `quantile.py`.
"""

from __future__ import annotations

from typing import Any, ClassVar, overload

import numpy as np

from retrograd.backends.base import Backend
from retrograd.backends.kernels.along_axis import WHOLE
from retrograd.backends.long_calls import MANY
from retrograd.core.apply import apply1
from retrograd.core.op import Unary
from retrograd.core.tensor import Tensor
from retrograd.core.variant import variant
from retrograd.errors import DtypeError, type_name, unsupported_dtype
from retrograd.ops.common import c_name, deliver, deliver_exact, int_from, outputs, require_tensor
from retrograd.ops.reduce.extrema import ExtremeOfAll, ExtremumAlong, SearchedAlong, check_size, found_along
from retrograd.ops.reduce.running_sums import one_dim
from retrograd.ops.reduce.sums import dims_given
from retrograd.ops.register import public
from retrograd.ops.returns import (
    KthvalueResult,
    MedianResult,
    ModeResult,
    NanmedianResult,
    SortResult,
    TopkResult,
)
from retrograd.values import Array

# -- order ---------------------------------------------------------------------------------------------------------

BACKWARDS = slice(None, None, -1)
LONG = 1024  # lines longer than this are partitioned before the few that are wanted are sorted


def order(xp: Backend, x: Array, axis: int, descending: bool = False) -> Array:
    """The places of the elements along the axis in sorted order. See Note [Order]."""
    if not descending:
        return _argsort(xp, x, axis)
    # Turned round twice, so that equal elements keep their order.
    turned = (WHOLE,) * axis + (BACKWARDS,)
    return xp.subtract(x.shape[axis] - 1, _argsort(xp, x[turned], axis)[turned])


def _argsort(xp: Backend, x: Array, axis: int) -> Array:
    """A few elements are sorted by the array's own method, which costs less; Note [Long calls] is about many."""
    if x.size <= MANY:
        return x.argsort(axis=axis, kind="stable")
    return xp.argsort(x, axis=axis, kind="stable")


def part(x: Array, axis: int, start: int, stop: int | None) -> Array:
    """The elements from `start` to `stop` along the axis."""
    return x[(WHOLE,) * axis + (slice(start, stop),)]


def nan_count(xp: Backend, x: Array, axis: int) -> Array:
    """How many elements along the axis, which stays as 1, are NaN."""
    if x.dtype.kind != "f":
        return xp.zeros((*x.shape[:axis], 1, *x.shape[axis + 1 :]), np.int64)
    return xp.isnan(x).sum(axis=axis, keepdims=True)


# -- ops -----------------------------------------------------------------------------------------------------------


class Sort(ExtremumAlong):
    """the elements in sorted order along an axis, and where they were"""

    params: ClassVar[tuple[str, ...]] = ("axis", "descending")
    shown: ClassVar[dict[str, str]] = {"dim": "axis", "self_sym_sizes": "in_shape", "indices": "constant:0"}

    def __init__(self, axis: int, descending: bool) -> None:
        super().__init__(axis, True)
        self.descending = descending

    def find(self, xp: Backend, x: Array) -> Array:
        return order(xp, x, self.axis, self.descending)


SortStable = variant(Sort, "SortBackward1", "the same where stability was asked for")


class Topk(SearchedAlong):
    """the k largest or smallest elements along an axis, and where they were"""

    params: ClassVar[tuple[str, ...]] = ("k", "axis", "largest")
    shown: ClassVar[dict[str, str]] = {"dim": "axis", "self_sym_sizes": "in_shape", "indices": "constant:0"}

    def __init__(self, k: int, axis: int, largest: bool) -> None:
        super().__init__(axis, True)
        self.k = k
        self.largest = largest

    def search(self, xp: Backend, x: Array) -> Array:
        n, k = x.shape[self.axis], self.k
        if n <= LONG or 4 * k > n or k == 0:
            return xp.ascontiguousarray(part(order(xp, x, self.axis, self.largest), self.axis, 0, k))
        start = n - k if self.largest else 0
        cut = xp.argpartition(x, n - k if self.largest else k - 1, axis=self.axis)
        places = xp.sort(part(cut, self.axis, start, start + k), axis=self.axis)
        few = xp.take_along_axis(x, places, self.axis)
        return xp.take_along_axis(places, order(xp, few, self.axis, self.largest), self.axis)


class Kthvalue(SearchedAlong):
    """the k-th smallest element along an axis, counted from 1, and where it is"""

    params: ClassVar[tuple[str, ...]] = ("k", "axis", "keepdims")

    def __init__(self, k: int, axis: int, keepdims: bool) -> None:
        super().__init__(axis, keepdims)
        self.k = k

    def search(self, xp: Backend, x: Array) -> Array:
        return xp.ascontiguousarray(part(order(xp, x, self.axis), self.axis, self.k - 1, self.k))


class MedianAlong(SearchedAlong):
    """the lower median along an axis, or the first NaN, and where it is"""

    node_name = "MedianBackward1"

    def search(self, xp: Backend, x: Array) -> Array:
        count = x.shape[self.axis]
        lost = nan_count(xp, x, self.axis)
        middle = xp.where(lost > 0, count - lost, (count - 1) // 2)  # NaNs come last
        return xp.take_along_axis(order(xp, x, self.axis), middle, self.axis)


class NanmedianAlong(SearchedAlong):
    """the lower median along an axis of what is not NaN, and where it is"""

    node_name = "NanmedianBackward1"

    def search(self, xp: Backend, x: Array) -> Array:
        count = x.shape[self.axis] - nan_count(xp, x, self.axis)
        middle = xp.maximum(count - 1, 0) // 2
        return xp.take_along_axis(order(xp, x, self.axis), middle, self.axis)


class Mode(SearchedAlong):
    """the smallest of the most frequent elements along an axis, and where it is last; each NaN counts for itself"""

    def search(self, xp: Backend, x: Array) -> Array:
        places, axis = order(xp, x, self.axis), self.axis
        lengths = run_lengths(xp, xp.take_along_axis(x, places, axis), axis)
        return xp.take_along_axis(places, lengths.argmax(axis=axis, keepdims=True), axis)


def run_lengths(xp: Backend, values: Array, axis: int) -> Array:
    """How many equal elements there are in front of each along the axis, without a gap."""
    count = values.shape[axis]
    narrow = np.dtype(np.int32 if count < 2**31 else np.int64)  # half the memory
    line = xp.arange(count, dtype=narrow).reshape((-1,) + (1,) * (values.ndim - axis - 1))
    same = part(values, axis, 1, None) == part(values, axis, 0, -1)
    starts = xp.zeros(values.shape, narrow)
    part(starts, axis, 1, None)[...] = xp.where(same, narrow.type(0), line[1:])
    return line - xp.maximum.accumulate(starts, axis=axis)


class Median(ExtremeOfAll):
    """the lower median of all elements, or NaN if there is one; equal elements share the gradient"""

    def forward(self, xp: Backend, x: Array) -> Array:
        a = self.taken(x).reshape(-1)
        if not a.size:
            return nothing(xp, a.dtype)
        ordered = xp.partition(a, ((a.size - 1) // 2, a.size - 1)) if xp.dynamic_shapes else xp.sort(a)
        found, last = ordered[(a.size - 1) // 2], ordered[-1]  # NaN, if there is one
        return xp.asarray(xp.where(last == last, found, last) if a.dtype.kind == "f" else found)  # noqa: PLR0124


class Nanmedian(ExtremeOfAll):
    """the lower median of all elements that are not NaN; equal elements share the gradient"""

    def forward(self, xp: Backend, x: Array) -> Array:
        a = self.taken(x).reshape(-1)
        if not a.size:
            return nothing(xp, a.dtype)
        count = a.size - nan_count(xp, a, 0)  # more or fewer in each sample
        middle = xp.maximum(count - 1, 0) // 2
        if xp.dynamic_shapes:
            return xp.asarray(xp.partition(a, int(middle[0]))[int(middle[0])])
        return xp.take_along_axis(xp.sort(a), middle, 0).reshape(())


def nothing(xp: Backend, dtype: Any) -> Array:
    """The median of no numbers: NaN, or the least integer."""
    return xp.asarray(np.nan if dtype.kind == "f" else np.iinfo(dtype).min, dtype)


class Argsort(Unary):
    """where the elements in sorted order along an axis are"""

    differentiable: ClassVar[bool] = False
    params: ClassVar[tuple[str, ...]] = ("axis", "descending")

    def __init__(self, axis: int, descending: bool) -> None:
        self.axis = axis
        self.descending = descending

    def forward(self, xp: Backend, x: Array) -> Array:
        return order(xp, x, self.axis, self.descending) if x.ndim else xp.zeros((), np.int64)


# -- functions -----------------------------------------------------------------------------------------------------


def check_outs(x: Tensor, out: Any) -> None:
    """The tensors for values and indices must have the dtypes of those."""
    if out is None:
        return
    values, indices = outputs(out, 2)
    for wanted, given in ((c_name(x.array), c_name(values.array)), ("long int", c_name(indices.array))):
        if given != wanted:
            raise DtypeError(f"Expected out tensor to have dtype {wanted}, but got {given} instead")


def flag(function: str, argument: str, value: Any) -> bool:
    """An argument that must be True or False."""
    if value is not True and value is not False:
        raise TypeError(f"{function}(): argument '{argument}' must be bool, not {type_name(value)}")
    return value


def sort_dim(function: str, dim: Any, x: Tensor, numpy: dict[str, Any]) -> int:
    """The dimension to sort along, of a tensor that has an order."""
    if isinstance(dim, bool):
        raise TypeError(
            f"{function}() received an invalid combination of arguments - dim must be int, not bool. "
            "Pass descending= and stable= by name."
        )
    axis = one_dim(function, dim, x.array.ndim, numpy)
    if x.array.dtype.kind == "c":
        raise DtypeError(
            f"{function.capitalize()} does not support complex dtypes on CPU: complex numbers have no order. "
            "Sort their abs() or real parts."
        )
    return axis


@public("sort", method=True)
def sort(
    input: Tensor,
    dim: int = -1,
    descending: bool = False,
    *,
    stable: bool | None = None,
    out: tuple[Tensor, Tensor] | None = None,
    **numpy: Any,
) -> SortResult:
    """The elements in ascending (or descending) order along `dim`, and their indices; NaN counts as the largest.

    Args:
        dim: the dimension to sort along (`axis` is accepted too).
        stable: whether equal elements keep their order; here they always do.

    >>> import retrograd as rg
    >>> values, indices = rg.sort(rg.tensor([3.0, 1.0, 2.0]))
    >>> values, indices
    (tensor([1., 2., 3.]), tensor([1, 2, 0]))
    """
    x = require_tensor("sort", "input", 1, input)
    axis = sort_dim("sort", dim, x, numpy)
    check_outs(x, out)
    kind = Sort if stable is None else SortStable
    return SortResult(*found_along(kind(axis, flag("sort", "descending", descending)), x, out))


@public("argsort", method=True)
def argsort(
    input: Tensor,
    dim: int = -1,
    descending: bool = False,
    *,
    stable: bool = False,
    out: Tensor | None = None,
    **numpy: Any,
) -> Tensor:
    """The indices that sort `input` along `dim`.

    >>> import retrograd as rg
    >>> rg.argsort(rg.tensor([3.0, 1.0, 2.0]), descending=True)
    tensor([0, 2, 1])
    """
    x = require_tensor("argsort", "input", 1, input)
    axis = sort_dim("sort", dim, x, numpy)
    return deliver(apply1(Argsort(axis, flag("argsort", "descending", descending)), x), out)


@public("msort", method=True)
def msort(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements sorted along the first dimension: `sort(input, 0)` without the indices."""
    x = require_tensor("msort", "input", 1, input)
    return deliver_exact(found_along(Sort(sort_dim("sort", 0, x, {}), False), x, None)[0], out)


@public("topk", method=True)
def topk(
    input: Tensor,
    k: int,
    dim: int = -1,
    largest: bool = True,
    sorted: bool = True,
    *,
    out: tuple[Tensor, Tensor] | None = None,
    **numpy: Any,
) -> TopkResult:
    """The `k` largest (or smallest) elements along `dim`, and their indices; they come sorted either way.

    >>> import retrograd as rg
    >>> rg.topk(rg.tensor([1.0, 5.0, 3.0]), 2).values
    tensor([5., 3.])
    """
    x = require_tensor("topk", "input", 1, input)
    n, shape = int_from("topk", "k", 2, k), x.array.shape
    axis = one_dim("topk", dim, len(shape), numpy)
    if not 0 <= n <= (shape[axis] if shape else 1):
        raise RuntimeError(f"selected index k out of range: k is {n}, dimension {axis} of {list(shape)}")
    if x.array.dtype.kind in "cb":
        kind = "bool" if x.array.dtype.kind == "b" else "complex"
        raise DtypeError(
            f"topk does not support {kind} dtypes on CPU. Convert it to a type with an order first."
        )
    check_outs(x, out)
    return TopkResult(*found_along(Topk(n, axis, flag("topk", "largest", largest)), x, out))


@public("kthvalue", method=True)
def kthvalue(
    input: Tensor,
    k: int,
    dim: int = -1,
    keepdim: bool = False,
    *,
    out: tuple[Tensor, Tensor] | None = None,
    **numpy: Any,
) -> KthvalueResult:
    """The `k`-th smallest element along `dim`, counted from 1, and its index.

    >>> import retrograd as rg
    >>> rg.kthvalue(rg.tensor([4.0, 1.0, 3.0]), 2).values
    tensor(3.)
    """
    dim, keepdim = dims_given("kthvalue", dim, keepdim, numpy)
    x = require_tensor("kthvalue", "input", 1, input)
    n = int_from("kthvalue", "k", 2, k)
    axis = _axis("kthvalue", dim, x)
    if not 1 <= n <= (x.array.shape[axis] if x.array.ndim else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {axis}: k is {n}")
    _check_order("kthvalue_cpu", x)
    if out is not None:
        values, indices = outputs(out, 2)
        if values.array.dtype != x.array.dtype:
            raise DtypeError("output values must be of same type as input")
        if indices.array.dtype != np.int64:
            raise DtypeError("output indices must be of scalar type Long")
    return KthvalueResult(*found_along(Kthvalue(n, axis, keepdim), x, out))


def _axis(function: str, dim: Any, x: Tensor) -> int:
    """The dimension that is searched, which must not be empty."""
    axis = one_dim(function, dim, x.array.ndim, {})
    check_size(f"{function}():", axis, x)
    return axis


def _check_order(kernel: str, x: Tensor, kinds: str = "cb") -> None:
    if x.array.dtype.kind in kinds:
        raise unsupported_dtype(kernel, x.array.dtype, "it takes types with an order. Convert it first.")


@overload
def median(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...


@overload
def median(
    input: Tensor, dim: int, keepdim: bool = False, *, out: tuple[Tensor, Tensor] | None = None, **numpy: Any
) -> MedianResult: ...


@overload
def median(input: Tensor, *, axis: int, **numpy: Any) -> MedianResult: ...


@public("median", method=True)
def median(
    input: Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    out: Tensor | tuple[Tensor, Tensor] | None = None,
    **numpy: Any,
) -> Tensor | MedianResult:
    """The median, the lower one of two; along `dim` with its index. NaN if there is one.

    >>> import retrograd as rg
    >>> rg.median(rg.tensor([4.0, 1.0, 3.0, 2.0]))
    tensor(2.)
    """
    found: Tensor | MedianResult = _median(
        "median", Median(), MedianAlong, MedianResult, input, dim, keepdim, out, numpy
    )
    return found


@overload
def nanmedian(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...


@overload
def nanmedian(
    input: Tensor, dim: int, keepdim: bool = False, *, out: tuple[Tensor, Tensor] | None = None, **numpy: Any
) -> NanmedianResult: ...


@overload
def nanmedian(input: Tensor, *, axis: int, **numpy: Any) -> NanmedianResult: ...


@public("nanmedian", method=True)
def nanmedian(
    input: Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    out: Tensor | tuple[Tensor, Tensor] | None = None,
    **numpy: Any,
) -> Tensor | NanmedianResult:
    """The median of the elements that are not NaN, the lower one of two; along `dim` with its index.

    >>> import retrograd as rg
    >>> rg.nanmedian(rg.tensor([4.0, float("nan"), 3.0]))
    tensor(3.)
    """
    found: Tensor | NanmedianResult = _median(
        "nanmedian", Nanmedian(), NanmedianAlong, NanmedianResult, input, dim, keepdim, out, numpy
    )
    return found


def _median(
    function: str, of_all: ExtremeOfAll, along: Any, result: Any, input: Any, dim: Any, keepdim: Any, out: Any,
    numpy: dict[str, Any],
) -> Any:  # fmt: skip
    dim, keepdim = dims_given(function, dim, keepdim, numpy)
    x = require_tensor(function, "input", 1, input)
    if dim is None:
        if keepdim:
            raise TypeError(
                f'{function}() missing 1 required positional arguments: "dim", which keepdim goes with'
            )
        _check_order("median_cpu", x)
        return deliver(apply1(of_all, x), out)
    axis = _axis("median", dim, x)
    _check_order("median_out", x)
    check_outs(x, out)
    return result(*found_along(along(axis, keepdim), x, out))


@public("mode", method=True)
def mode(
    input: Tensor,
    dim: int = -1,
    keepdim: bool = False,
    *,
    out: tuple[Tensor, Tensor] | None = None,
    **numpy: Any,
) -> ModeResult:
    """The most frequent element along `dim`, the smallest if there are several, and the index of its last place.

    >>> import retrograd as rg
    >>> rg.mode(rg.tensor([1.0, 2.0, 2.0, 1.0, 3.0]))
    torch.return_types.mode(
    values=tensor(1.),
    indices=tensor(3))
    """
    dim, keepdim = dims_given("mode", dim, keepdim, numpy)
    x = require_tensor("mode", "input", 1, input)
    axis = _axis("mode", dim, x)
    _check_order("mode_cpu", x, "c")
    check_outs(x, out)
    return ModeResult(*found_along(Mode(axis, keepdim), x, out))
