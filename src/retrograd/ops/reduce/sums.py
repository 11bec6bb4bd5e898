"""Reductions: sums, means, products, logarithms of sums, and what is true of any or all elements.

Extrema are in `extrema.py`, variances and norms in `statistics.py`.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Final

import numpy as np

from retrograd.backends.base import Backend, as_array, backend_of
from retrograd.backends.dtypes import SCALAR_NAMES, as_dtype
from retrograd.backends.kernels.blocks import LIMIT
from retrograd.backends.native import CPU_BACKEND as XP
from retrograd.backends.native import quick_mean, quick_sum
from retrograd.core.apply import apply1
from retrograd.core.autocast import autocasting, in_float32
from retrograd.core.families import Linear
from retrograd.core.op import OUT, Unary, X
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError, type_name, unsupported_dtype
from retrograd.ops.common import as_value, deliver, plain, require_tensor, wrap_dims, zero_like
from retrograd.ops.elementwise.arithmetic import Div
from retrograd.ops.elementwise.exponential import Exp
from retrograd.ops.reduce.running_sums import Cumprod, Shift, cast, one_dim, summed_dtype
from retrograd.ops.register import public
from retrograd.ops.shape.reshape import Dims, Expand
from retrograd.values import Array, Axis, DType

float16: Final = np.dtype("float16")
float32: Final = np.dtype("float32")
ndarray: Final[Any] = np.ndarray


# -- helpers of all reductions -------------------------------------------------------------------------------------


def restored_axes(v: Any, axis: Axis, keepdims: bool, ndim: int) -> Any:
    """A reduced value with the reduced dimensions back as size 1, ready to broadcast."""
    if keepdims or ndim == 0:
        return v
    axes = range(ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    shape = list(v.shape)
    for a in sorted(axes):
        shape.insert(a, 1)
    return v.reshape(tuple(shape))


def sum_to(v: Any, shape: tuple[int, ...]) -> Any:
    """Sums a value down to the shape it was broadcast from."""
    given = v.shape
    extra = len(given) - len(shape)
    if extra == 1 and type(v) is ndarray and shape and given[1:] == shape:  # what was added to every row
        return XP.sum(v, axis=0)
    axes = tuple([i for i, n in enumerate(given) if i < extra or (n != 1 and shape[i - extra] == 1)])
    if axes:
        stay = axes[-1] >= extra
        if type(v) is np.ndarray:
            v = XP.sum(v, axis=axes, keepdims=stay or not shape)  # NumPy's sum of all would be no array
        elif isinstance(v, Tensor):
            v = v.sum(axis=axes, keepdims=True)
        else:
            v = backend_of(v).sum(v, axis=axes, keepdims=stay)
    return v.reshape(tuple(shape)) if tuple(v.shape) != tuple(shape) else v


def reduced_count(shape: tuple[int, ...], axis: Axis) -> int:
    """How many elements of an array of this shape fall together in one element of the result."""
    count = 1
    for a in range(len(shape)) if axis is None else (axis,) if isinstance(axis, int) else axis:
        count *= shape[a]
    return count


def total(x: Array, axis: Axis, keepdims: bool) -> Array:
    """The sum in the array's own dtype, computed in single precision for float16."""
    kind = x.dtype.kind
    if kind == "f" and type(x) is ndarray and x.dtype is not float16:
        return XP.sum(x, axis=axis, keepdims=keepdims)
    if kind in "biu":
        return backend_of(x).sum(x, axis=axis, keepdims=keepdims, dtype=x.dtype)
    if x.dtype is float16:
        return backend_of(x).sum(x, axis=axis, keepdims=keepdims, dtype=float32).astype(float16)
    return backend_of(x).sum(x, axis=axis, keepdims=keepdims)


def without_nan(xp: Backend, x: Array) -> Array:
    """0 in the place of every NaN."""
    return xp.where(xp.isnan(x), 0, x)


def dims_given(function: str, dim: Any, keepdim: Any, numpy: dict[str, Any]) -> tuple[Any, bool]:
    """`dim` and `keepdim`, which may have come under NumPy's names."""
    if numpy:
        dim, keepdim = numpy.pop("axis", dim), numpy.pop("keepdims", keepdim)
        if numpy:
            raise TypeError(f"{function}() got an unexpected keyword argument '{next(iter(numpy))}'")
    if keepdim is not True and keepdim is not False:
        raise TypeError(
            f"{function}(): argument 'keepdim' (position 3) must be bool, not {type_name(keepdim)}"
        )
    return dim, keepdim


# What `dim` is of a sum or a mean where nobody gives one: PyTorch's node of a sum with `dim=None` is another.
EVERY: Final[Any] = ...


def axes_of(dim: Any, ndim: int) -> Axis:
    """The axes that `dim` names, None for all; a 0-dim tensor has none to choose from."""
    if dim is EVERY:
        return None
    axis = wrap_dims(dim, ndim)
    return None if ndim == 0 else axis


class Reduction(Unary):
    """A reduction over `axis` (None: all dimensions), computed in the dtype `target` (None: the input's)."""

    in_rows: ClassVar[bool] = True
    params: ClassVar[tuple[str, ...]] = ("axis", "keepdims", "target")
    shown: ClassVar[dict[str, str]] = {"dim": "axis", "keepdim": "keepdims"}

    def __init__(self, axis: Axis = None, keepdims: bool = False, target: DType = None) -> None:
        self.axis = axis
        self.keepdims = keepdims
        self.target = target

    def taken(self, x: Array) -> Array:
        """The input in the dtype to compute in; notes its shape."""
        self.in_shape = x.shape
        return x if self.target is None else cast(x, self.target)

    def given_dtype(self) -> DType:
        return self.target

    def back(self, v: Any) -> Any:
        """A value of the result's shape, ready to broadcast against the input."""
        return restored_axes(v, self.axis, self.keepdims, len(self.in_shape))


# -- sums and means ------------------------------------------------------------------------------------------------


def in_dtype(target: DType, x: Array) -> Array:
    return cast(x, target)


class Sum(Linear):
    """the sum over all elements"""

    widened: ClassVar[bool] = True
    in_rows: ClassVar[bool] = True
    params: ClassVar[tuple[str, ...]] = ("axis", "keepdims", "target")
    shown: ClassVar[dict[str, str]] = {"self_sym_sizes": "in_shape"}

    def __init__(self, axis: Axis = None, keepdims: bool = False, target: DType = None) -> None:
        self.axis = axis
        self.keepdims = keepdims
        self.target = target

    def forward(self, xp: Backend, x: Array) -> Array:
        self.in_shape = x.shape
        if self.target is None:
            return total(x, self.axis, self.keepdims)
        if self.avoids_copy(x):
            return xp.reduced("add", partial(in_dtype, self.target), x, self.axis, self.keepdims)
        return total(cast(x, self.target), self.axis, self.keepdims)

    def forward_kernel(self, x: Any) -> Any:
        """The sum of floats by a kernel, NotImplemented for others. See `Traits.forward`."""
        return self.quick(quick_sum, x)

    def quick(self, kernel: Any, x: Any) -> Any:
        """What a kernel makes of floats, NotImplemented where it does not serve."""
        if type(x) is not ndarray or self.target is not None:
            return NotImplemented
        self.in_shape = x.shape
        return kernel(x, self.axis, self.keepdims)

    def avoids_copy(self, x: Array) -> bool:
        """Whether a copy in the dtype to compute in would be large, and can do without."""
        return bool(x.size > LIMIT and x.dtype != self.target and self.target.char in "fdl")

    def given_dtype(self) -> DType:
        return self.target

    def transpose(self, g: Any) -> Any:
        if self.axis is not None:
            g = restored_axes(g, self.axis, self.keepdims, len(self.in_shape))
        return Expand(self.in_shape).on(g)


class SumDim(Sum):
    """the sum over some dimensions"""

    node_name = "SumBackward1"
    shown: ClassVar[dict[str, str]] = {"self_sym_sizes": "in_shape", "dim": "axis", "keepdim": "keepdims"}

    def forward_kernel(self, x: Any) -> Any:
        return self.quick(quick_sum, x)


class Nansum(Reduction):
    """the sum of the elements that are not NaN"""

    keeps: ClassVar[int] = X

    def forward(self, xp: Backend, x: Array) -> Array:
        a = self.taken(x)
        if a.dtype.kind != "f":
            return total(a, self.axis, self.keepdims)
        if a.dtype == float16:
            return total(without_nan(xp, a), self.axis, self.keepdims)
        return xp.reduced("add", partial(without_nan, xp), a, self.axis, self.keepdims)

    def present(self, v: Any, x: Any) -> Any:
        """1 where x is a number, else 0."""
        return as_value((~backend_of(plain(x)).isnan(plain(x))).astype(plain(v).dtype), v)

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        return self.back(g) * self.present(g, x)

    def jvp(self, t: Any, x: Any, out: Any) -> Any:
        return (t * self.present(t, x)).sum(axis=self.axis, keepdims=self.keepdims)


class Mean(Sum):
    """the mean of all elements"""

    widened: ClassVar[bool] = False
    shown: ClassVar[dict[str, str]] = {"self_sym_sizes": "in_shape", "self_sym_numel": "count"}

    def forward(self, xp: Backend, x: Array) -> Array:
        self.in_shape = x.shape
        self.count = reduced_count(x.shape, self.axis)
        if self.target is not None and self.avoids_copy(x):
            sums = xp.reduced("add", partial(in_dtype, self.target), x, self.axis, self.keepdims)
            return as_array(sums / self.target.type(self.count))
        a = x if self.target is None else cast(x, self.target)
        if a.dtype is float16:
            sums = xp.sum(a, axis=self.axis, keepdims=self.keepdims, dtype=float32)
            return (sums / self.count).astype(float16)
        return xp.average(a, self.axis, self.keepdims, self.count)

    def forward_kernel(self, x: Any) -> Any:
        return self.quick(quick_mean, x)

    def quick(self, kernel: Any, x: Any) -> Any:
        found = super().quick(kernel, x)
        if found is not NotImplemented:
            self.count = reduced_count(self.in_shape, self.axis)
        return found

    def transpose(self, g: Any) -> Any:
        count = self.count or 1  # nothing to divide where there are no elements
        if type(g) is ndarray:
            return super().transpose(
                XP.true_divide(g, count)
            )  # NumPy's own would make a number of one element
        return Div().on(super().transpose(g), count)  # in this order the gradient has memory of its own


class MeanDim(Mean):
    """the mean over some dimensions"""

    node_name = "MeanBackward1"
    shown: ClassVar[dict[str, str]] = {
        "self_sym_sizes": "in_shape", "self_sym_numel": "numel", "dim": "axis", "keepdim": "keepdims",
    }  # fmt: skip

    def forward_kernel(self, x: Any) -> Any:
        return self.quick(quick_mean, x)

    @property
    def numel(self) -> int:
        """How many elements there were, not how many of them fell together."""
        return reduced_count(self.in_shape, None)


# -- products ------------------------------------------------------------------------------------------------------


ON_THE_WAY: Final = "?bBhHiIlLqQfdFD"  # dtypes that NumPy converts to while it multiplies


class Prod(Reduction):
    """the product of all elements"""

    widened: ClassVar[bool] = True
    keeps: ClassVar[int] = X | OUT
    shown: ClassVar[dict[str, str]] = {}

    def forward(self, xp: Backend, x: Array) -> Array:
        if (
            type(x) is ndarray
            and x.dtype.kind in "biu"
            and self.target is not None
            and self.target.char in ON_THE_WAY
        ):
            self.in_shape = x.shape
            return xp.prod(x, axis=self.axis, keepdims=self.keepdims, dtype=self.target)
        a = self.taken(x)
        return xp.prod(a, axis=self.axis, keepdims=self.keepdims, dtype=a.dtype)

    def others(self, x: Any, out: Any) -> Any:
        """For each element, the product of the others: a quotient, or running products from both sides if one is 0."""
        if plain(x).all():
            return self.back(out) / x
        if isinstance(self.axis, int):
            return product_of_others(x, self.axis)
        return product_of_others(x.reshape((-1,)), 0).reshape(tuple(x.shape))

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        x = x if self.target is None else cast(x, self.target)
        a = plain(x)
        if a.ndim == 0:
            return g
        if self.axis is None and not isinstance(x, Tensor) and several_zeros(a):
            return zero_like(x)  # also where one of the others is infinite
        return self.back(g) * self.others(x, out).conj()

    def jvp(self, t: Any, x: Any, out: Any) -> Any:
        if self.target is not None:
            t, x = cast(t, self.target), cast(x, self.target)
        return (t * self.others(x, out)).sum(axis=self.axis, keepdims=self.keepdims)


class ProdDim(Prod):
    """the product over one dimension"""

    node_name = "ProdBackward1"
    shown: ClassVar[dict[str, str]] = {"dim": "axis", "keepdim": "keepdims"}


def several_zeros(a: Array) -> bool:
    """Whether more than one element is zero; no where samples could answer differently."""
    xp = backend_of(a)
    return bool(xp.dynamic_shapes and a.size - int(xp.count_nonzero(a)) > 1)


def product_of_others(x: Any, axis: int) -> Any:
    """For each element the product of all others along the axis, without a division."""
    before = Cumprod(axis).on(Shift(axis, 1, 1).on(x))
    return before * Cumprod(axis, reverse=True).on(Shift(axis, -1, 1).on(x))


# -- logarithms of sums of exponentials ----------------------------------------------------------------------------


class Logsumexp(Reduction):
    """log(sum(exp(x))), without overflow"""

    widened: ClassVar[bool] = True
    floats: ClassVar[bool] = True
    keeps: ClassVar[int] = X | OUT

    def forward(self, xp: Backend, x: Array) -> Array:
        sums = xp.logsumexp(self.taken(x), self.axis)
        return sums if self.keepdims else sums.reshape(self.reduced_shape())

    def reduced_shape(self) -> tuple[int, ...]:
        """The result's shape without the reduced dimensions."""
        if self.axis is None:
            return ()
        axes = (self.axis,) if isinstance(self.axis, int) else self.axis
        return tuple(n for i, n in enumerate(self.in_shape) if i not in axes)

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        return backend_of(g).logsumexp_backward(self, g, x, out)

    def formula(self, g: Any, x: Any, out: Any) -> Any:
        """The gradient of x."""
        return self.back(g) * Exp().on(x - self.back(out)).conj()

    def jvp(self, t: Any, x: Any, out: Any) -> Any:
        return (t * Exp().on(x - self.back(out))).sum(axis=self.axis, keepdims=self.keepdims)


# -- truth and counts: no gradients --------------------------------------------------------------------------------


class Truth(Unary):
    """Whether any, or all, elements are non-zero; as PyTorch does it, uint8 stays uint8."""

    in_rows: ClassVar[bool] = True
    differentiable: ClassVar[bool] = False
    params: ClassVar[tuple[str, ...]] = ("function", "axis", "keepdims")

    def __init__(self, function: str, axis: Axis, keepdims: bool) -> None:
        self.function = function
        self.axis = axis
        self.keepdims = keepdims

    def function_name(self) -> str:
        return self.function

    def forward(self, xp: Backend, x: Array) -> Array:
        found = xp.asarray(getattr(xp, self.function)(x, axis=self.axis, keepdims=self.keepdims))
        return found.astype(x.dtype) if x.dtype == np.uint8 else found


class CountNonzero(Unary):
    """how many elements are non-zero"""

    in_rows: ClassVar[bool] = True
    differentiable: ClassVar[bool] = False
    params: ClassVar[tuple[str, ...]] = ("axis",)

    def __init__(self, axis: Axis) -> None:
        self.axis = axis

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.asarray(xp.count_nonzero(x, axis=self.axis), np.int64)

    def function_name(self) -> str:
        return "count_nonzero"


# -- functions -----------------------------------------------------------------------------------------------------


@public("sum", method=True)
def sum(
    input: Tensor,
    dim: Dims = ...,  # type: ignore[assignment]
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    out: Tensor | None = None,
    **numpy: Any,
) -> Tensor:
    """The sum of the elements, over all dimensions or those in `dim`.

    Args:
        dim: a dimension, several, or None for all (`axis` is accepted too).
        keepdim: keep reduced dimensions with size 1 (`keepdims` is accepted too).
        dtype: compute in this dtype.

    >>> import retrograd as rg
    >>> rg.sum(rg.ones(2, 3), dim=1)
    tensor([3., 3.])
    """
    dim, keepdim = dims_given("sum", dim, keepdim, numpy)
    x = require_tensor("sum", "input", 1, input)
    own = dtype is None and out is None and x.array.dtype.kind == "f"
    target = None if own else summed_dtype(x, dtype, out)
    if dim is EVERY and not keepdim:
        return deliver(apply1(Sum(None, False, target), x), out)
    return deliver(apply1(SumDim(axes_of(dim, x.array.ndim), keepdim, target), x), out)


@public("nansum", method=True)
def nansum(
    input: Tensor,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    out: Tensor | None = None,
    **numpy: Any,
) -> Tensor:
    """The sum of the elements that are not NaN.

    >>> import retrograd as rg
    >>> rg.nansum(rg.tensor([1.0, float("nan"), 2.0]))
    tensor(3.)
    """
    dim, keepdim = dims_given("nansum", dim, keepdim, numpy)
    x = require_tensor("nansum", "input", 1, input)
    if x.array.dtype.kind == "c":
        raise DtypeError("nansum on CPU does not support complex inputs. Sum x.real and x.imag instead.")
    target = summed_dtype(x, dtype)
    if target is not None and target.kind == "c" and x.array.dtype.kind == "f":
        raise unsupported_dtype("nansum_cpu", target, "sum in a real dtype.")
    return deliver(apply1(Nansum(axes_of(dim, x.array.ndim), keepdim, target), x), out)


@public("mean", method=True)
def mean(
    input: Tensor,
    dim: Dims = ...,  # type: ignore[assignment]
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    out: Tensor | None = None,
    **numpy: Any,
) -> Tensor:
    """The mean of the elements, over all dimensions or those in `dim`.

    >>> import retrograd as rg
    >>> rg.mean(rg.tensor([[1.0, 3.0], [5.0, 7.0]]), dim=1)
    tensor([2., 6.])
    """
    dim, keepdim = dims_given("mean", dim, keepdim, numpy)
    x = require_tensor("mean", "input", 1, input)
    target = x.array.dtype if dtype is None else as_dtype(dtype)
    if target.kind not in "fc":
        raise DtypeError(
            f"mean(): could not infer output dtype. {'Input' if dtype is None else 'Optional'} dtype must be either a "
            f"floating point or complex dtype. Got: {SCALAR_NAMES[target]}. Convert with .float(), or pass dtype=."
        )
    if dim is EVERY and not keepdim:
        return deliver(apply1(Mean(None, False, target), x), out)
    return deliver(apply1(MeanDim(axes_of(dim, x.array.ndim), keepdim, target), x), out)


@public("prod", method=True)
def prod(
    input: Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    out: Tensor | None = None,
    **numpy: Any,
) -> Tensor:
    """The product of the elements, over all dimensions or along one.

    >>> import retrograd as rg
    >>> rg.prod(rg.tensor([2.0, 3.0, 4.0]))
    tensor(24.)
    """
    if autocasting():
        return in_float32(prod, input, dim, keepdim, dtype=dtype, out=out, **numpy)
    dim, keepdim = dims_given("prod", dim, keepdim, numpy)
    x = require_tensor("prod", "input", 1, input)
    target = summed_dtype(x, dtype, out)
    if dim is None and not keepdim:
        return deliver(apply1(Prod(None, False, target), x), out)
    axis = one_dim("prod", dim, x.array.ndim, {})
    return deliver(apply1(ProdDim(axis if x.array.ndim else None, keepdim, target), x), out)


@public("logsumexp", "special.logsumexp", method=True)
def logsumexp(
    input: Tensor, dim: Dims = None, keepdim: bool = False, *, out: Tensor | None = None, **numpy: Any
) -> Tensor:
    """`log(sum(exp(input)))` over `dim`, without overflow.

    >>> import retrograd as rg
    >>> rg.logsumexp(rg.tensor([100.0, 100.0]), 0)
    tensor(100.6931)
    """
    dim, keepdim = dims_given("logsumexp", dim, keepdim, numpy)
    x = require_tensor("logsumexp", "input", 1, input)
    if dim is None:
        raise TypeError(
            'logsumexp() missing 1 required positional arguments: "dim". Give a dimension, or several.'
        )
    return deliver(apply1(Logsumexp(axes_of(dim, x.array.ndim), keepdim), x), out)


@public("any", method=True)
def any(
    input: Tensor, dim: Dims = None, keepdim: bool = False, *, out: Tensor | None = None, **numpy: Any
) -> Tensor:
    """Whether any element is non-zero, over all dimensions or those in `dim`.

    >>> import retrograd as rg
    >>> rg.any(rg.tensor([[0, 1], [0, 0]]), dim=1)
    tensor([ True, False])
    """
    return _truth("any", input, dim, keepdim, out, numpy)


@public("all", method=True)
def all(
    input: Tensor, dim: Dims = None, keepdim: bool = False, *, out: Tensor | None = None, **numpy: Any
) -> Tensor:
    """Whether all elements are non-zero, over all dimensions or those in `dim`.

    >>> import retrograd as rg
    >>> rg.all(rg.tensor([[1, 1], [0, 1]]), dim=1)
    tensor([ True, False])
    """
    return _truth("all", input, dim, keepdim, out, numpy)


def _truth(function: str, input: Any, dim: Any, keepdim: Any, out: Any, numpy: dict[str, Any]) -> Tensor:
    dim, keepdim = dims_given(function, dim, keepdim, numpy)
    x = require_tensor(function, "input", 1, input)
    axis = axes_of(dim, x.array.ndim)
    if isinstance(dim, (tuple, list)) and not dim:
        axis = ()  # unlike elsewhere, no dimensions means none
    if out is not None and out.array.dtype not in (np.dtype(bool), np.dtype(np.uint8)):
        raise DtypeError(
            f"{function} only supports bool tensor for result, got: {SCALAR_NAMES[out.array.dtype]}"
        )
    return deliver(apply1(Truth(function, axis, keepdim), x), out)


@public("count_nonzero", method=True)
def count_nonzero(input: Tensor, dim: Dims = None, *dims: int, **numpy: Any) -> Tensor:
    """How many elements are non-zero, over all dimensions or those in `dim`, as a tuple or one by one.

    >>> import retrograd as rg
    >>> rg.eye(3).count_nonzero(0), rg.eye(3).count_nonzero(0, 1)
    (tensor([1, 1, 1]), tensor(3))
    """
    if dims:
        dim = (dim, *dims)  # type: ignore[arg-type]  # a sequence among them is refused below
    dim, _ = dims_given("count_nonzero", dim, False, numpy)
    x = require_tensor("count_nonzero", "input", 1, input)
    found: Tensor = apply1(CountNonzero(axes_of(dim, x.array.ndim)), x)
    return found
