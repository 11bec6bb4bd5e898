"""Running extrema and running logarithms of sums along a dimension. Sums and products are in `running_sums.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import Backend, backend_of
from retrograd.backends.dtypes import SCALAR_NAMES
from retrograd.core.apply import apply1
from retrograd.core.op import OUT, Unary, X
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError, unsupported_dtype
from retrograd.ops.common import deliver, outputs, plain, require_tensor
from retrograd.ops.elementwise.choose import Where
from retrograd.ops.elementwise.exponential import Exp
from retrograd.ops.index.gather import Gather, GatherAdjoint
from retrograd.ops.reduce.extrema import SearchedAlong, found_along
from retrograd.ops.reduce.running_sums import Recurrence, Shift, one_dim
from retrograd.ops.register import public
from retrograd.ops.returns import CummaxResult, CumminResult
from retrograd.values import Array, DType

# -- running extrema -----------------------------------------------------------------------------------------------


class RunningExtremum(SearchedAlong):
    """The extreme element so far along an axis, the last of equal ones, and where it is: NaN, once there is one."""

    params: ClassVar[tuple[str, ...]] = ("axis",)
    shown: ClassVar[dict[str, str]] = {"dim": "axis", "self": "x:0", "indices": "constant:0"}
    constants_behind: ClassVar[bool] = True
    keeps: ClassVar[int] = X
    ufunc: ClassVar[str]

    def __init__(self, axis: int) -> None:
        super().__init__(axis, True)

    def search(self, xp: Backend, x: Array) -> Array:
        line = xp.arange(x.shape[self.axis]).reshape((-1,) + (1,) * (x.ndim - self.axis - 1))
        places = xp.where(self.reached(xp, x), line, 0)
        own = {"out": places} if xp.is_plain else {}  # no second array of that size
        return xp.maximum.accumulate(places, axis=self.axis, **own)

    def reached(self, xp: Backend, x: Array) -> Array:
        """Where an element is the extreme one so far, or NaN."""
        extreme = getattr(xp, self.ufunc).accumulate(x, axis=self.axis)
        return (x == extreme) | xp.isnan(x) if x.dtype.kind == "f" else x == extreme

    def vjp(self, gs: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
        return [GatherAdjoint(self.axis, self.index(), self.in_shape).on(gs[0])]

    def jvp(self, ts: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Any:
        return Gather(self.axis, self.index()).on(ts[0]), None


class Cummax(RunningExtremum):
    """the largest element so far along an axis, and where it is"""

    ufunc: ClassVar[str] = "maximum"


class Cummin(RunningExtremum):
    """the smallest element so far along an axis, and where it is"""

    ufunc: ClassVar[str] = "minimum"


# -- running log-sum-exp -------------------------------------------------------------------------------------------


class Fading(Recurrence):
    """A recurrence whose coefficients are at most 1 in size, in log2(n) steps: what a stretch adds up to doubles it."""

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        a, h = x.astype(xp.result_type(x, y)), y.astype(xp.result_type(x, y))
        front, back = (
            xp.moveaxis(xp.flip(v, self.axis) if self.reverse else v, self.axis, 0) for v in (a, h)
        )
        step = 1
        while step < len(back):
            back[step:] += front[step:] * back[:-step]
            front[step:] *= front[:-step]
            step *= 2
        return h


class Logcumsumexp(Unary):
    """log(cumsum(exp(x))), without overflow

    With y the result, the gradient is exp(x - y) * h where h[i] = g[i] + exp(y[i] - y[i+1]) * h[i+1].
    """

    in_rows: ClassVar[bool] = True
    laborious: ClassVar[bool] = True
    params: ClassVar[tuple[str, ...]] = ("axis",)
    shown: ClassVar[dict[str, str]] = {"dim": "axis"}
    keeps: ClassVar[int] = X | OUT

    def __init__(self, axis: int) -> None:
        self.axis = axis

    def forward(self, xp: Backend, x: Array) -> Array:
        if x.ndim == 0:
            return x.copy()
        if x.dtype.kind == "c":
            return complex_scan(xp, x, self.axis)
        work = np.float32 if x.dtype == np.float16 else x.dtype
        return xp.logaddexp.accumulate(x, axis=self.axis, dtype=work).astype(x.dtype, copy=False)

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        if plain(x).ndim == 0:
            return g
        ratio = Exp().on(gap(out, Shift(self.axis, -1, np.inf).on(out))).conj()
        return Exp().on(x - out).conj() * Fading(self.axis, True).on(ratio, g)

    def jvp(self, t: Any, x: Any, out: Any) -> Any:
        if plain(x).ndim == 0:
            return t
        ratio = Exp().on(gap(Shift(self.axis, 1, -np.inf).on(out), out))
        return Fading(self.axis, False).on(ratio, t * Exp().on(x - out))


def gap(a: Any, b: Any) -> Any:
    """`a - b`, which is 0 between equal infinities."""
    equal = backend_of(plain(a)).isinf(plain(a)) & (plain(a) == plain(b))
    return Where().on(equal, 0.0, a - b) if equal.any() else a - b


def complex_scan(xp: Backend, x: Array, axis: int) -> Array:
    """log(cumsum(exp(x))) of complex numbers: relative to the largest so far, whose branch the logarithm follows."""
    places = Cummax(axis).find(xp, x.real)
    top = xp.take_along_axis(x, places, axis)
    top = xp.where(xp.isfinite(top), top, 0)
    ratio = xp.exp(Shift(axis, 1, -np.inf).forward(xp, top) - top)
    return xp.log(Fading(axis, False).forward(xp, ratio, xp.exp(x - top))) + top


# -- functions -----------------------------------------------------------------------------------------------------


@public("cummax", method=True)
def cummax(
    input: Tensor, dim: int | None = None, *, out: tuple[Tensor, Tensor] | None = None, **numpy: Any
) -> CummaxResult:
    """The largest element so far along `dim`, and its index; of equal ones, the last.

    >>> import retrograd as rg
    >>> rg.cummax(rg.tensor([1.0, 3.0, 2.0, 3.0]), 0).indices
    tensor([0, 1, 1, 3])
    """
    return CummaxResult(*_running("cummax", Cummax, input, dim, out, numpy))


@public("cummin", method=True)
def cummin(
    input: Tensor, dim: int | None = None, *, out: tuple[Tensor, Tensor] | None = None, **numpy: Any
) -> CumminResult:
    """The smallest element so far along `dim`, and its index; of equal ones, the last.

    >>> import retrograd as rg
    >>> rg.cummin(rg.tensor([3.0, 1.0, 2.0]), 0).values
    tensor([3., 1., 1.])
    """
    return CumminResult(*_running("cummin", Cummin, input, dim, out, numpy))


def _running(
    function: str, kind: Any, input: Any, dim: Any, out: Any, numpy: dict[str, Any]
) -> tuple[Any, Any]:
    x = require_tensor(function, "input", 1, input)
    axis = _required_dim(function, dim, x.array.ndim, numpy)
    if x.array.dtype.kind == "c":
        raise unsupported_dtype(f"{function}_cpu", x.array.dtype, "complex numbers have no order.")
    if out is not None:
        values, indices = outputs(out, 2)
        _check_kind(values, x.array.dtype)
        _check_kind(indices, np.dtype(np.int64))
    return found_along(kind(axis), x, out)


def _check_kind(out: Tensor, dtype: DType) -> None:
    """These functions write into the very dtype of their result."""
    if out.array.dtype != dtype:
        raise DtypeError(
            f"expected scalar_type {SCALAR_NAMES[dtype]} but found {SCALAR_NAMES[out.array.dtype]}"
        )


def _required_dim(function: str, dim: Any, ndim: int, numpy: dict[str, Any]) -> int:
    if dim is None and "axis" not in numpy:
        raise TypeError(f'{function}() missing 1 required positional arguments: "dim"')
    return one_dim(function, dim, ndim, numpy)


@public("logcumsumexp", method=True)
def logcumsumexp(input: Tensor, dim: int | None = None, *, out: Tensor | None = None, **numpy: Any) -> Tensor:
    """`log(cumsum(exp(input)))` along `dim`, without overflow.

    >>> import retrograd as rg
    >>> rg.logcumsumexp(rg.tensor([100.0, 100.0]), 0)
    tensor([100.0000, 100.6931])
    """
    x = require_tensor("logcumsumexp", "input", 1, input)
    axis = _required_dim("logcumsumexp", dim, x.array.ndim, numpy)
    if x.array.dtype.kind not in "fc":
        raise unsupported_dtype("logcumsumexp_out_cpu", x.array.dtype, "convert with .float() first.")
    if out is not None:
        _check_kind(out, x.array.dtype)
    return deliver(apply1(Logcumsumexp(axis), x), out)
