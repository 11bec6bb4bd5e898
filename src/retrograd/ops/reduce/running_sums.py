"""Running sums and products along a dimension."""

from __future__ import annotations

from typing import Any, ClassVar

from retrograd.backends import casts
from retrograd.backends.base import Backend
from retrograd.backends.dtypes import SCALAR_NAMES, as_dtype, int64
from retrograd.core.apply import apply1
from retrograd.core.autocast import autocasting_on_gpu, in_float32
from retrograd.core.families import Linear, added
from retrograd.core.modes import current
from retrograd.core.op import OUT, Binary, Unary, X
from retrograd.core.tensor import Tensor
from retrograd.errors import GradientError, type_name, unsupported_dtype
from retrograd.ops.common import deliver, plain, require_tensor, wrap_dim
from retrograd.ops.register import public
from retrograd.values import Array, DType


def summed_dtype(x: Tensor, dtype: Any, out: Tensor | None = None) -> DType:
    """The dtype a sum or product is computed in: the one asked for, int64 for integers, else the tensor's own."""
    if dtype is None and out is not None:
        return out.array.dtype
    if dtype is None:
        return int64 if x.array.dtype.kind in "biu" else x.array.dtype
    wanted = as_dtype(dtype)
    if wanted.kind not in "fc" and x._requires and current().grad_enabled:
        raise GradientError(
            f"Autograd not support dtype: {SCALAR_NAMES[wanted]}. Integers have no gradient: detach() the tensor first."
        )
    return wanted


def _running_dtype(function: str, x: Tensor, dtype: Any, out: Tensor | None) -> DType:
    """`summed_dtype`; there are no running sums of truth values."""
    wanted = summed_dtype(x, dtype, out)
    if wanted.kind == "b":
        raise unsupported_dtype(f"{function}_out_cpu", wanted)
    return wanted


def cast(x: Array, target: DType) -> Array:
    """`x` in another dtype; a complex array that must become real loses its imaginary part."""
    if x.dtype is target or x.dtype == target:
        return x
    return casts.cast(x.real if x.dtype.kind == "c" and target.kind not in "bc" else x, target)


def one_dim(function: str, dim: Any, ndim: int, numpy: dict[str, Any]) -> int:
    """The one dimension a function works along, given as `dim` or as NumPy's `axis`."""
    if numpy:
        dim = numpy.pop("axis", dim)
        if numpy:
            raise TypeError(f"{function}() got an unexpected keyword argument '{next(iter(numpy))}'")
    if type(dim) is not int and not hasattr(dim, "__index__"):
        raise TypeError(f"{function}(): argument 'dim' (position 2) must be int, not {type_name(dim)}")
    return wrap_dim(dim, ndim)


# -- ops -----------------------------------------------------------------------------------------------------------


class Cumsum(Linear):
    """the running sum, from the front or, reversed, from the back"""

    in_rows: ClassVar[bool] = True
    laborious: ClassVar[bool] = True
    params: ClassVar[tuple[str, ...]] = ("axis", "reverse", "target")
    shown: ClassVar[dict[str, str]] = {"dim": "axis"}

    def __init__(self, axis: int, reverse: bool = False, target: DType = None) -> None:
        self.axis = axis
        self.reverse = reverse
        self.target = target

    def forward(self, xp: Backend, x: Array) -> Array:
        a = x if self.target is None else cast(x, self.target)
        return xp.running_sum(a, self.axis, self.reverse)

    def given_dtype(self) -> DType:
        return self.target

    def transpose(self, g: Any) -> Any:
        return Cumsum(self.axis, not self.reverse).on(g)


class Cumprod(Unary):
    """the running product, from the front or, reversed, from the back

    With y the running products, the gradient is y[i-1] * h[i] where h[i] = g[i] + x[i+1] * h[i+1]: exact with
    any number of zeros, and differentiable again. Without zeros the reversed sum of g * y, divided by x, is cheaper.
    """

    in_rows: ClassVar[bool] = True
    laborious: ClassVar[bool] = True
    params: ClassVar[tuple[str, ...]] = ("axis", "reverse", "target")
    shown: ClassVar[dict[str, str]] = {"dim": "axis"}
    keeps: ClassVar[int] = X | OUT

    def __init__(self, axis: int, reverse: bool = False, target: DType = None) -> None:
        self.axis = axis
        self.reverse = reverse
        self.target = target

    def forward(self, xp: Backend, x: Array) -> Array:
        a = x if self.target is None else cast(x, self.target)
        return xp.running_product(a, self.axis, self.reverse)

    def given_dtype(self) -> DType:
        return self.target

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        if plain(x).ndim == 0 or plain(x).shape[self.axis] == 1:
            return g
        x, out = x.conj(), out.conj()
        if plain(x).all():
            return Cumsum(self.axis, not self.reverse).on(g * out) / x
        step = -1 if self.reverse else 1
        following = Shift(self.axis, -step, 0).on(x)
        return Shift(self.axis, step, 1).on(out) * Recurrence(self.axis, not self.reverse).on(following, g)

    def jvp(self, t: Any, x: Any, out: Any) -> Any:
        if plain(x).ndim == 0:
            return t
        before = Shift(self.axis, -1 if self.reverse else 1, 1).on(out)
        return Recurrence(self.axis, self.reverse).on(x, t * before)


class Shift(Unary):
    """x moved one place along an axis, the free place filled with a number"""

    params: ClassVar[tuple[str, ...]] = ("axis", "step", "fill")

    def __init__(self, axis: int, step: int, fill: float) -> None:
        self.axis = axis
        self.step = step
        self.fill = fill

    def forward(self, xp: Backend, x: Array) -> Array:
        out = xp.full(x.shape, self.fill, x.dtype)
        skip = (slice(None),) * self.axis
        first, last = (*skip, slice(1, None)), (*skip, slice(None, -1))
        if self.step > 0:
            out[first] = x[last]
        else:
            out[last] = x[first]
        return out

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        return Shift(self.axis, -self.step, 0).on(g)

    def jvp(self, t: Any, x: Any, out: Any) -> Any:
        return Shift(self.axis, self.step, 0).on(t)


class Recurrence(Binary):
    """h[i] = b[i] + a[i] * h[i-1] along an axis, or with h[i+1] if reversed; outside, h is 0. a comes first."""

    laborious: ClassVar[bool] = True
    params: ClassVar[tuple[str, ...]] = ("axis", "reverse")
    keeps0: ClassVar[int] = X | OUT
    keeps1: ClassVar[int] = X

    def __init__(self, axis: int, reverse: bool) -> None:
        self.axis = axis
        self.reverse = reverse

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        out = xp.empty(y.shape, xp.result_type(x, y))
        a, b, h = (xp.moveaxis(v, self.axis, 0) for v in (x, y, out))
        places = range(len(h))
        last = None
        for i in reversed(places) if self.reverse else places:
            h[i] = b[i] if last is None else b[i] + a[i] * h[last]
            last = i
        return out

    def vjp(self, i: int, g: Any, x: Any, y: Any, out: Any) -> Any:
        # The adjoint runs the other way; each place takes the coefficient of the place that used it.
        step = -1 if self.reverse else 1
        back = type(self)(self.axis, not self.reverse).on(Shift(self.axis, -step, 0).on(x.conj()), g)
        return back if i == 1 else back * Shift(self.axis, step, 0).on(out).conj()

    def jvp(self, tx: Any, ty: Any, x: Any, y: Any, out: Any) -> Any:
        before = Shift(self.axis, -1 if self.reverse else 1, 0).on(out)
        moved = added(None if tx is None else tx * before, ty)
        return type(self)(self.axis, self.reverse).on(x, moved)


# -- functions -----------------------------------------------------------------------------------------------------


@public("cumsum", "Tensor.cumsum_", method=True)
def cumsum(
    input: Tensor,
    dim: int | None = None,
    *,
    dtype: DType | None = None,
    out: Tensor | None = None,
    **numpy: Any,
) -> Tensor:
    """The running sum along `dim` (`axis` is accepted too).

    >>> import retrograd as rg
    >>> rg.cumsum(rg.tensor([1.0, 2.0, 3.0]), 0)
    tensor([1., 3., 6.])
    """
    if dtype is None and autocasting_on_gpu(input):
        return in_float32(cumsum, input, dim, out=out, **numpy)
    x = require_tensor("cumsum", "input", 1, input)
    axis = one_dim("cumsum", dim, x.array.ndim, numpy)
    return deliver(apply1(Cumsum(axis, False, _running_dtype("cumsum", x, dtype, out)), x), out)


@public("cumprod", "Tensor.cumprod_", method=True)
def cumprod(
    input: Tensor,
    dim: int | None = None,
    *,
    dtype: DType | None = None,
    out: Tensor | None = None,
    **numpy: Any,
) -> Tensor:
    """The running product along `dim` (`axis` is accepted too).

    >>> import retrograd as rg
    >>> rg.cumprod(rg.tensor([1.0, 2.0, 3.0]), 0)
    tensor([1., 2., 6.])
    """
    if dtype is None and autocasting_on_gpu(input):
        return in_float32(cumprod, input, dim, out=out, **numpy)
    x = require_tensor("cumprod", "input", 1, input)
    axis = one_dim("cumprod", dim, x.array.ndim, numpy)
    return deliver(apply1(Cumprod(axis, False, _running_dtype("cumprod", x, dtype, out)), x), out)
