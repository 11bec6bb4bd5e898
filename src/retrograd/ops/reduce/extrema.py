"""Extrema: the largest and smallest elements, and where they are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, overload

import numpy as np

from retrograd.backends.base import Backend, as_array, backend_of
from retrograd.backends.casts import cast
from retrograd.backends.dtypes import SCALAR_NAMES
from retrograd.core.apply import apply1, apply_n
from retrograd.core.families import added
from retrograd.core.op import OUT, Unary, Variadic, X
from retrograd.core.saved import SavedConstant
from retrograd.core.tensor import Tensor
from retrograd.errors import DimensionError, DtypeError, type_name, unsupported_dtype
from retrograd.ops.common import (
    as_value,
    deliver,
    deliver_exact,
    outputs,
    plain,
    require_tensor,
    wrap_dim,
)
from retrograd.ops.constants import share_version
from retrograd.ops.elementwise.choose import Where, maximum, minimum
from retrograd.ops.index.pick import Picked, PickedAdjoint
from retrograd.ops.reduce.running_sums import one_dim
from retrograd.ops.reduce.sums import Reduction, axes_of, dims_given, restored_axes
from retrograd.ops.register import public
from retrograd.ops.returns import AminmaxResult, MaxResult, MinResult
from retrograd.ops.shape.reshape import Dims, integer
from retrograd.values import Array, Axis

# -- extrema along a dimension: the gradient goes to the element that was found ------------------------------------


class ExtremumAlong(Variadic):
    """The extreme elements along one axis and their indices: the gradient goes to the element that was found."""

    in_rows: ClassVar[bool] = True
    params: ClassVar[tuple[str, ...]] = ("axis", "keepdims")
    shown: ClassVar[dict[str, str]] = {
        "dim": "axis", "keepdim": "keepdims", "self_sym_sizes": "in_shape", "indices": "constant:0",
    }  # fmt: skip

    def __init__(self, axis: int, keepdims: bool) -> None:
        self.axis = axis
        self.keepdims = keepdims

    def find(self, xp: Backend, x: Array) -> Array:
        """The places of the extrema along the axis, as a dimension of size 1."""
        raise NotImplementedError(f"{self.name()} has no find()")

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        x = xs[0]
        self.in_shape = x.shape
        if x.ndim == 0:
            self.constants = (SavedConstant(xp.zeros((), np.int64)),)
            return x.copy(), self.places.array
        places = self.find(xp, x)
        values = xp.take_along(x, places, self.axis)
        self.constants = (SavedConstant(places if self.keepdims else places.squeeze(self.axis)),)
        return values if self.keepdims else values.squeeze(self.axis), self.places.array

    @property
    def places(self) -> SavedConstant:
        """Where the extrema are: the indices that the caller gets."""
        return self.constant(0)

    def index(self) -> SavedConstant:
        """The places with their dimension of size 1."""
        places = self.places
        return places.like(restored_axes(places.array, self.axis, self.keepdims, len(self.in_shape)))

    def vjp(self, gs: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
        if not self.in_shape:
            return [gs[0]]
        g = restored_axes(gs[0], self.axis, self.keepdims, len(self.in_shape))
        return [PickedAdjoint(self.index(), self.axis, self.in_shape).on(g)]

    def jvp(self, ts: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Any:
        if not self.in_shape:
            return ts[0], None
        picked = Picked(self.index(), self.axis).on(ts[0])
        return picked if self.keepdims else picked.reshape(tuple(self.places.array.shape)), None


class SearchedAlong(ExtremumAlong):
    """Elements along one axis for which all lines are searched, some at a time: that takes memory."""

    def search(self, xp: Backend, x: Array) -> Array:
        """The places of the elements along the axis, as a dimension of one size for all lines."""
        raise NotImplementedError(f"{self.name()} has no search()")

    def find(self, xp: Backend, x: Array) -> Array:
        return xp.of_lines(partial(self.search, xp), x, self.axis)


class MaxAlong(ExtremumAlong):
    """the largest elements along an axis and their indices"""

    node_name = "MaxBackward0"

    def find(self, xp: Backend, x: Array) -> Array:
        return xp.argmax(x, axis=self.axis, keepdims=True)


class MinAlong(ExtremumAlong):
    """the smallest elements along an axis and their indices"""

    node_name = "MinBackward0"

    def find(self, xp: Backend, x: Array) -> Array:
        return xp.argmin(x, axis=self.axis, keepdims=True)


# -- extreme values: equal elements share the gradient -------------------------------------------------------------


def shared(v: Any, x: Any, out: Any, axis: Axis) -> Any:
    """`v` divided equally among the elements of x that equal `out`; `v` and `out` broadcast against x."""
    chosen = plain(x) == plain(out)
    count = chosen.sum(axis=axis, keepdims=True)
    dtype = plain(v).dtype
    return (v / as_value(cast(count, dtype), v)) * as_value(cast(chosen, dtype), v)


class Extreme(Reduction):
    """An extreme value over some dimensions."""

    keeps: ClassVar[int] = X | OUT

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        return shared(self.back(g), x, self.back(out), self.axis)

    def jvp(self, t: Any, x: Any, out: Any) -> Any:
        return shared(t, x, self.back(out), self.axis).sum(axis=self.axis, keepdims=self.keepdims)


class Amax(Extreme):
    """the largest element over some dimensions"""

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.max(self.taken(x), axis=self.axis, keepdims=self.keepdims)


class Amin(Extreme):
    """the smallest element over some dimensions"""

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.min(self.taken(x), axis=self.axis, keepdims=self.keepdims)


class ExtremeOfAll(Extreme):
    """The extreme of all elements; if it is NaN, the NaNs share the gradient."""

    shown: ClassVar[dict[str, str]] = {}

    def part(self, v: Any, x: Any, out: Any) -> Any:
        """`v` divided among the elements that were chosen; the others have nothing of it, also where it is infinite."""
        a, best = plain(x), plain(out)
        xp = backend_of(a)
        chosen = (a == best) | (xp.isnan(a) & xp.isnan(best))
        count = as_value(cast(as_array(chosen.sum()), plain(v).dtype), v)
        return Where().on(chosen, v / count, 0.0)

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        return self.part(self.back(g), x, out)

    def jvp(self, t: Any, x: Any, out: Any) -> Any:
        return self.part(t, x, out).sum()


class Max(ExtremeOfAll):
    """the largest of all elements"""

    node_name = "MaxBackward1"

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.max(self.taken(x))


class Min(ExtremeOfAll):
    """the smallest of all elements"""

    node_name = "MinBackward1"

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.min(self.taken(x))


class Aminmax(Variadic):
    """the smallest and the largest element, over all dimensions or one"""

    in_rows: ClassVar[bool] = True
    params: ClassVar[tuple[str, ...]] = ("axis", "keepdims")
    keeps: ClassVar[int] = X | OUT
    shown: ClassVar[dict[str, str]] = {
        "self": "x:0", "min": "out:0", "max": "out:1", "dim": "axis", "keepdim": "keepdims",
    }  # fmt: skip

    def __init__(self, axis: int | None, keepdims: bool) -> None:
        self.axis = axis
        self.keepdims = keepdims

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        self.ndim = xs[0].ndim
        low = xp.min(xs[0], axis=self.axis, keepdims=self.keepdims)
        return low, xp.max(xs[0], axis=self.axis, keepdims=self.keepdims)

    def vjp(self, gs: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
        parts = [
            None if g is None else self.share(self.back(g), xs[0], out)
            for g, out in zip(gs, outs, strict=True)
        ]
        return [added(parts[0], parts[1])]

    def jvp(self, ts: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Any:
        return tuple(
            self.share(ts[0], xs[0], out).sum(axis=self.axis, keepdims=self.keepdims) for out in outs
        )

    def share(self, v: Any, x: Any, out: Any) -> Any:
        """`v` divided among the elements that equal `out`."""
        return shared(v, x, self.back(out), self.axis)

    def back(self, v: Any) -> Any:
        """A value of the result's shape, ready to broadcast against the input."""
        return restored_axes(v, self.axis, self.keepdims, self.ndim)


class Arg(Unary):
    """Where the first extreme element is, by the name of the NumPy function."""

    in_rows: ClassVar[bool] = True
    differentiable: ClassVar[bool] = False
    params: ClassVar[tuple[str, ...]] = ("function", "axis", "keepdims")

    def __init__(self, function: str, axis: int | None, keepdims: bool) -> None:
        self.function = function
        self.axis = axis
        self.keepdims = keepdims

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.asarray(getattr(xp, self.function)(x, axis=self.axis, keepdims=self.keepdims), np.int64)

    def function_name(self) -> str:
        return self.function


# -- functions -----------------------------------------------------------------------------------------------------


@overload
def max(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...


@overload
def max(
    input: Tensor, dim: int, keepdim: bool = False, *, out: tuple[Tensor, Tensor] | None = None, **numpy: Any
) -> MaxResult: ...


@overload
def max(input: Tensor, dim: Tensor, *, out: Tensor | None = None) -> Tensor: ...


@overload
def max(input: Tensor, *, other: Tensor, out: Tensor | None = None) -> Tensor: ...


@overload
def max(input: Tensor, *, axis: int, **numpy: Any) -> MaxResult: ...


@public("max", method=True)
def max(
    input: Tensor,
    dim: int | Tensor | None = None,
    keepdim: bool = False,
    *,
    other: Tensor | None = None,
    out: Tensor | tuple[Tensor, Tensor] | None = None,
    **numpy: Any,
) -> Tensor | MaxResult:
    """The largest element; with `dim` the largest along it and their indices; with `other` a tensor, `maximum`.

    >>> import retrograd as rg
    >>> x = rg.tensor([[1.0, 5.0], [7.0, 2.0]])
    >>> rg.max(x)
    tensor(7.)
    >>> rg.max(x, dim=1).indices
    tensor([1, 0])
    """
    place: Any = out
    if isinstance(dim, Tensor) and keepdim:
        dim = integer(dim)
    if isinstance(dim, Tensor) or other is not None:
        found: Tensor = maximum(input, _other("max", dim, other), out=place)
        return found
    dim, keepdim = dims_given("max", dim, keepdim, numpy)
    x = require_tensor("max", "input", 1, input)
    if dim is None:
        _check_all("max", "max_all", x, keepdim)
        return deliver(apply1(Max(), x), out)
    return MaxResult(*found_along(MaxAlong(_check_along("max", dim, x), keepdim), x, out))


@overload
def min(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...


@overload
def min(
    input: Tensor, dim: int, keepdim: bool = False, *, out: tuple[Tensor, Tensor] | None = None, **numpy: Any
) -> MinResult: ...


@overload
def min(input: Tensor, dim: Tensor, *, out: Tensor | None = None) -> Tensor: ...


@overload
def min(input: Tensor, *, other: Tensor, out: Tensor | None = None) -> Tensor: ...


@overload
def min(input: Tensor, *, axis: int, **numpy: Any) -> MinResult: ...


@public("min", method=True)
def min(
    input: Tensor,
    dim: int | Tensor | None = None,
    keepdim: bool = False,
    *,
    other: Tensor | None = None,
    out: Tensor | tuple[Tensor, Tensor] | None = None,
    **numpy: Any,
) -> Tensor | MinResult:
    """The smallest element; with `dim` the smallest along it and their indices; with `other` a tensor, `minimum`.

    >>> import retrograd as rg
    >>> rg.min(rg.tensor([[1.0, 5.0], [7.0, 2.0]]), dim=0).values
    tensor([1., 2.])
    """
    place: Any = out
    if isinstance(dim, Tensor) and keepdim:
        dim = integer(dim)
    if isinstance(dim, Tensor) or other is not None:
        found: Tensor = minimum(input, _other("min", dim, other), out=place)
        return found
    dim, keepdim = dims_given("min", dim, keepdim, numpy)
    x = require_tensor("min", "input", 1, input)
    if dim is None:
        _check_all("min", "min_all", x, keepdim)
        return deliver(apply1(Min(), x), out)
    return MinResult(*found_along(MinAlong(_check_along("min", dim, x), keepdim), x, out))


def found_along(op: ExtremumAlong, x: Tensor, out: Any) -> tuple[Any, Any]:
    """The values and the indices of extrema along a dimension."""
    values, indices = apply_n(op, (x,))
    share_version(op, indices)
    return delivered_pair((values, indices), out)


def _other(function: str, dim: Any, other: Any) -> Tensor:
    """The second operand, which comes in the place of a dimension or by its name."""
    if other is not None and dim is not None:
        raise TypeError(
            f"{function}() received an invalid combination of arguments: both a dimension and `other`"
        )
    other = dim if other is None else other
    if not isinstance(other, Tensor):
        raise TypeError(
            f"{function}() received an invalid combination of arguments - `other` must be a Tensor, not "
            f"{type_name(other)}. To limit a tensor by a number, use clamp()."
        )
    return other


def _check_all(function: str, kernel: str, x: Tensor, keepdim: bool) -> None:
    """Whether an extreme of all elements can be taken."""
    if keepdim:
        raise TypeError(
            f"{function}() received an invalid combination of arguments - keepdim needs a dim. Use a{function}()."
        )
    _check_order(kernel, x)
    _check_not_empty(function, x)


def _check_order(kernel: str, x: Tensor) -> None:
    if x.array.dtype.kind == "c":
        cure = "complex numbers have no order. Compare their abs() or real parts."
        raise unsupported_dtype(kernel, x.array.dtype, cure)


def _check_not_empty(function: str, x: Tensor) -> None:
    if x.array.size == 0:
        raise RuntimeError(
            f"{function}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
            "with the 'dim' argument. (An empty tensor has no extreme element.)"
        )


def _check_along(function: str, dim: Any, x: Tensor) -> int:
    """The axis for an extremum along one dimension."""
    axis = one_dim(function, dim, x.array.ndim, {})
    if x.array.dtype.kind == "c":
        raise DtypeError(f"{function}(): does not support complex input. Compare abs() or real parts.")
    check_size(f"{function}():", axis, x)
    return axis


def check_size(what: str, axis: int, x: Tensor) -> None:
    if x.array.ndim and x.array.shape[axis] == 0:
        raise DimensionError(
            f"{what} Expected reduction dim {axis} to have non-zero size. (The shape is {list(x.array.shape)}.)"
        )


def delivered_pair(results: tuple[Any, Any], out: Any) -> tuple[Any, Any]:
    """Both results, written into the pair `out` if it was given."""
    if out is None:
        return results
    first, second = outputs(out, 2)
    return deliver_exact(results[0], first), deliver_exact(results[1], second)


@public("amax", method=True)
def amax(
    input: Tensor,
    dim: Dims = (),
    keepdim: bool = False,
    *,
    out: Tensor | None = None,
    **numpy: Any,
) -> Tensor:
    """The largest elements over the dimensions in `dim` (all if empty); equal ones share the gradient.

    >>> import retrograd as rg
    >>> rg.amax(rg.tensor([[1.0, 5.0], [7.0, 2.0]]), dim=0)
    tensor([7., 5.])
    """
    x, axis, keepdim = _over("amax", "max_values_cpu", input, dim, keepdim, numpy)
    _check_out(x, out)
    return deliver(apply1(Amax(axis, keepdim), x), out)


@public("amin", method=True)
def amin(
    input: Tensor,
    dim: Dims = (),
    keepdim: bool = False,
    *,
    out: Tensor | None = None,
    **numpy: Any,
) -> Tensor:
    """The smallest elements over the dimensions in `dim` (all if empty); equal ones share the gradient."""
    x, axis, keepdim = _over("amin", "min_values_cpu", input, dim, keepdim, numpy)
    _check_out(x, out)
    return deliver(apply1(Amin(axis, keepdim), x), out)


def _check_out(x: Tensor, out: Any) -> None:
    if isinstance(out, Tensor) and out.array.dtype != x.array.dtype:
        ours, given = SCALAR_NAMES[x.array.dtype], SCALAR_NAMES[out.array.dtype]
        raise DtypeError(
            f"Expected the dtype for input and out to match, but got {ours} for input's dtype and {given} for out's "
            "dtype."
        )


def _over(
    function: str, kernel: str, input: Any, dim: Any, keepdim: Any, numpy: dict[str, Any]
) -> tuple[Tensor, Axis, bool]:
    """The checked arguments of amax and amin."""
    dim, keepdim = dims_given(function, dim, keepdim, numpy)
    x = require_tensor(function, "input", 1, input)
    axis = axes_of(dim, x.array.ndim)
    if axis is None:
        _check_not_empty(function, x)
    else:
        for a in (axis,) if isinstance(axis, int) else axis:
            check_size(f"{function}():", a, x)
    _check_order(kernel, x)
    return x, axis, keepdim


@public("aminmax", method=True)
def aminmax(
    input: Tensor,
    *,
    dim: int | None = None,
    keepdim: bool = False,
    out: tuple[Tensor, Tensor] | None = None,
    **numpy: Any,
) -> AminmaxResult:
    """The smallest and the largest element, of all or along `dim`.

    >>> import retrograd as rg
    >>> low, high = rg.aminmax(rg.tensor([3.0, 1.0, 2.0]))
    >>> low, high
    (tensor(1.), tensor(3.))
    """
    x = require_tensor("aminmax", "input", 1, input)
    dim, keepdim = dims_given("aminmax", dim, keepdim, numpy)
    axis: int | None = None
    if dim is not None:
        axis = wrap_dim(dim, x.array.ndim)
        check_size("aminmax:", axis, x)
    elif x.array.size == 0:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
        )
    _check_order("aminmax_cpu", x)
    op = Aminmax(axis if x.array.ndim else None, bool(keepdim))
    return AminmaxResult(*delivered_pair(apply_n(op, (x,)), out))


@public("argmax", method=True)
def argmax(
    input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Tensor | None = None, **numpy: Any
) -> Tensor:
    """The index of the largest element: along `dim`, or in the flattened tensor.

    >>> import retrograd as rg
    >>> rg.argmax(rg.tensor([[1, 5], [7, 2]]), dim=1)
    tensor([1, 0])
    """
    return deliver_exact(_arg("argmax", input, dim, keepdim, numpy), out)


@public("argmin", method=True)
def argmin(
    input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Tensor | None = None, **numpy: Any
) -> Tensor:
    """The index of the smallest element: along `dim`, or in the flattened tensor.

    >>> import retrograd as rg
    >>> rg.argmin(rg.tensor([[3, 1], [0, 2]]), dim=1)
    tensor([1, 0])
    """
    return deliver_exact(_arg("argmin", input, dim, keepdim, numpy), out)


def _arg(function: str, input: Any, dim: Any, keepdim: Any, numpy: dict[str, Any]) -> Tensor:
    dim, keepdim = dims_given(function, dim, keepdim, numpy)
    x = require_tensor(function, "input", 1, input)
    if x.array.dtype.kind in "cb":
        kind = "complex" if x.array.dtype.kind == "c" else "bool"
        raise DtypeError(
            f"{function}(): does not support {kind} input. Convert it to a type with an order first."
        )
    axis: int | None = None
    if dim is not None:
        axis = one_dim(function, dim, x.array.ndim, {})
        check_size(f"{function}():", axis, x)
    elif x.array.size == 0:
        raise DimensionError(f"{function}(): Expected reduction dim to be specified for input.numel() == 0.")
    found: Tensor = apply1(Arg(function, axis if x.array.ndim else None, keepdim), x)
    return found
