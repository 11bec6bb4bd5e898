"""Variances, standard deviations and norms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import Backend, backend_of
from retrograd.backends.dtypes import SCALAR_NAMES, as_dtype, real_of
from retrograd.core.apply import apply1, apply_n
from retrograd.core.families import added
from retrograd.core.op import OUT, Unary, Variadic, X
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError, type_name
from retrograd.ops.common import (
    as_value,
    deliver,
    deliver_exact,
    plain,
    require_tensor,
    scalar_from,
    zero_like,
)
from retrograd.ops.elementwise.choose import Where
from retrograd.ops.elementwise.sign import Abs, Sgn
from retrograd.ops.reduce.sums import (
    Mean,
    Reduction,
    axes_of,
    dims_given,
    float16,
    float32,
    reduced_count,
    restored_axes,
)
from retrograd.ops.register import public
from retrograd.ops.shape.reshape import Dims, Expand
from retrograd.values import Array, Axis, DType, Shape

# -- variances -----------------------------------------------------------------------------------------------------

WIDER = {np.dtype(a): np.dtype(b) for a, b in (("f2", "f4"), ("f4", "f8"), ("c8", "c16"))}


def real_part(v: Any) -> Any:
    """The real part of a value that may be complex."""
    return v.real if v.dtype.kind == "c" else v


def squares(x: Any) -> Any:
    """|x|**2, real."""
    return x.real * x.real + x.imag * x.imag if x.dtype.kind == "c" else x * x


def variance(xp: Backend, x: Array, axis: Axis, correction: float, keepdims: bool) -> tuple[Array, Array]:
    """The variance, and the mean with reduced dimensions of size 1; single precision is computed in double."""
    count = reduced_count(x.shape, axis)
    mean = xp.sum(x, axis=axis, keepdims=True, dtype=WIDER.get(x.dtype, x.dtype)) / count
    total = xp.reduced("add", squared_offset, x, axis, keepdims, mean)
    return total / (count - correction if 0 < count > correction else 0), mean


def squared_offset(x: Array, mean: Array) -> Array:
    """|x - mean|**2, in the dtype of the mean."""
    return squares(x.astype(mean.dtype, copy=False) - mean)


def of_difference(function: Any, x: Array, y: Array) -> Array:
    found: Array = function(x - y)
    return found


def power(p: float, x: Array) -> Array:
    """|x|**p"""
    found: Array = abs(x) ** p
    return found


class Variance(Unary):
    """What variances have in common: the axes, and n - correction in place of n."""

    in_rows: ClassVar[bool] = True
    params: ClassVar[tuple[str, ...]] = ("axis", "correction", "keepdims")
    shown: ClassVar[dict[str, str]] = {"dim": "axis", "correction": "correction", "keepdim": "keepdims"}
    keeps: ClassVar[int] = X
    root: ClassVar[bool] = False  # whether the root of the variance is wanted

    def __init__(self, axis: Axis, correction: float, keepdims: bool) -> None:
        self.axis = axis
        self.correction = correction
        self.keepdims = keepdims

    def forward(self, xp: Backend, x: Array) -> Array:
        self.in_shape = x.shape
        return xp.variance(self, x)

    def computed(self, xp: Backend, x: Array) -> Array:
        """The result by the array library."""
        found = variance(xp, x, self.axis, self.correction, self.keepdims)[0]
        # The variance itself may be too large or small for the dtype.
        return (xp.sqrt(found) if self.root else found).astype(real_of(x.dtype), copy=False)

    def back(self, g: Any, x: Any) -> Any:
        """The gradient of x, from a gradient of the variance."""
        return backend_of(g).variance_backward(self, g, x)

    def freedom(self) -> float:
        """What the sum of squares is divided by."""
        return reduced_count(self.in_shape, self.axis) - self.correction

    def formula(self, g: Any, x: Any) -> Any:
        """The gradient of x."""
        g = restored_axes(g, self.axis, self.keepdims, len(self.in_shape))
        return g * variance_slope(x, self.axis, self.correction)


class Var(Variance):
    """the variance"""

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        return self.back(g, x)

    def jvp(self, t: Any, x: Any, out: Any) -> Any:
        slope = variance_slope(x, self.axis, self.correction)
        return real_part(t * slope.conj()).sum(axis=self.axis, keepdims=self.keepdims)


def variance_slope(x: Any, axis: Axis, correction: float) -> Any:
    """The derivative of the variance: 2 (x - mean) / (n - correction), infinite where nothing is left to divide by."""
    offset = x - Mean(axis, True).on(x)
    freedom = reduced_count(tuple(x.shape), axis) - correction
    if freedom > 0 or (axis is not None and x.ndim):
        return offset * (2 / freedom if freedom else math.inf)
    flat = plain(offset) == 0
    return as_value(backend_of(flat).where(flat, np.nan, np.inf).astype(plain(x).dtype), x)


class Std(Variance):
    """the standard deviation; where it is 0 its gradient is 0"""

    keeps: ClassVar[int] = X | OUT
    root: ClassVar[bool] = True

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        return self.back(halved(g, out), x)

    def jvp(self, t: Any, x: Any, out: Any) -> Any:
        slope = variance_slope(x, self.axis, self.correction)
        return halved(real_part(t * slope.conj()).sum(axis=self.axis, keepdims=self.keepdims), out)


def halved(v: Any, out: Any) -> Any:
    """`v / (2 * out)`, and 0 where out is 0: the way through a square root."""
    flat = plain(out) == 0
    return Where().on(flat, 0.0, v / (Where().on(flat, 1.0, out) * 2))


class VarMean(Variadic):
    """the variance and the mean"""

    in_rows: ClassVar[bool] = True
    params: ClassVar[tuple[str, ...]] = ("axis", "correction", "keepdims")
    shown: ClassVar[dict[str, str]] = {
        "self": "x:0", "dim": "axis", "correction": "correction", "keepdim": "keepdims",
    }  # fmt: skip
    keeps: ClassVar[int] = X

    def __init__(self, axis: Axis, correction: float, keepdims: bool) -> None:
        self.axis = axis
        self.correction = correction
        self.keepdims = keepdims

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        self.in_shape: Shape = xs[0].shape
        found, mean = variance(xp, xs[0], self.axis, self.correction, self.keepdims)
        found = self.from_square(xp, found).astype(real_of(xs[0].dtype), copy=False)
        return found, mean.astype(xs[0].dtype, copy=False).reshape(found.shape)

    def from_square(self, xp: Backend, found: Array) -> Array:
        """The first result, of a variance that may be too large or small for its dtype."""
        return found

    def back(self, v: Any) -> Any:
        """A value of the result's shape, ready to broadcast against the input."""
        return restored_axes(v, self.axis, self.keepdims, len(self.in_shape))

    def from_variance(self, v: Any, x: Any) -> Any:
        """The derivative of the first result with respect to the variance, times v."""
        return v

    def vjp(self, gs: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
        x, (g, h) = xs[0], gs
        if g is not None:
            g = self.back(self.from_variance(g, x)) * variance_slope(x, self.axis, self.correction)
        if h is not None:
            h = Expand(self.in_shape).on(self.back(h / (reduced_count(self.in_shape, self.axis) or 1)))
        return [added(g, h)]

    def jvp(self, ts: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Any:
        slope = variance_slope(xs[0], self.axis, self.correction)
        moved = real_part(ts[0] * slope.conj()).sum(axis=self.axis, keepdims=self.keepdims)
        return self.from_variance(moved, xs[0]), Mean(self.axis, self.keepdims).on(ts[0])


class StdMean(VarMean):
    """the standard deviation and the mean"""

    def from_square(self, xp: Backend, found: Array) -> Array:
        return xp.sqrt(found)

    def from_variance(self, v: Any, x: Any) -> Any:
        return halved(v, Std(self.axis, self.correction, self.keepdims).on(x))


# -- norms ---------------------------------------------------------------------------------------------------------


class VectorNorm(Reduction):
    """(sum |x|**ord) ** (1 / ord): the largest and smallest |x| for ord = inf and -inf, the count of non-zeros for 0"""

    widened: ClassVar[bool] = True
    node_name = "LinalgVectorNormBackward0"
    params: ClassVar[tuple[str, ...]] = ("ord", "axis", "keepdims", "target")
    shown: ClassVar[dict[str, str]] = {"ord": "ord", "dim": "axis", "keepdim": "keepdims"}
    keeps: ClassVar[int] = X | OUT

    def __init__(self, ord: float, axis: Axis, keepdims: bool, target: DType = None) -> None:
        super().__init__(axis, keepdims, target)
        self.ord = ord

    def forward(self, xp: Backend, x: Array) -> Array:
        a = self.taken(x)
        dtype = real_of(a.dtype)
        return self.measure(xp, a.astype(float32) if dtype == float16 else a).astype(dtype, copy=False)

    def measure(self, xp: Backend, a: Array, minus: Array | None = None) -> Array:
        """The norm of an array, by its order; or of what is left of it when another is taken away."""
        p, axis, keep = self.ord, self.axis, self.keepdims
        if p != 0 and reduced_count(a.shape, axis) == 1:  # exact, however large or small
            return xp.sum(xp.absolute(a if minus is None else a - minus), axis=axis, keepdims=keep)
        if p == 0:
            return (a != (0 if minus is None else minus)).sum(axis=axis, keepdims=keep)
        how = "add" if math.isfinite(p) else "maximum" if p > 0 else "minimum"
        size: Any = squares if p == 2 else abs if p == 1 or math.isinf(p) else partial(power, p)
        if minus is None:
            found = xp.reduced(how, size, a, axis, keep)
        else:
            found = xp.reduced(how, partial(of_difference, size), a, axis, keep, minus)
        return xp.sqrt(found) if p == 2 else found if p == 1 or math.isinf(p) else found ** (1 / p)

    def field(self, v: Any, x: Any, out: Any) -> Any:
        """`v` times the derivative of the norm at x; `v` and `out` broadcast against x. At the origin it is 0."""
        p = self.ord
        if p == 1:
            return v * Sgn().on(x)
        if math.isinf(p):
            xp = backend_of(plain(x))
            size = xp.absolute(plain(x))
            chosen = (size == plain(out)) | xp.isnan(size)
            count = chosen.sum(axis=self.axis, keepdims=True)
            return (
                Sgn().on(x)
                * as_value(chosen.astype(size.dtype), x)
                * (v / as_value(count.astype(size.dtype), x))
            )
        flat = plain(out) == 0
        length = Where().on(flat, 1.0, out)
        if p == 2:
            return v * Where().on(flat, 0.0, x / length)
        # |x|**(p - 2) is infinite or not smooth at 0, where the product with x is 0; below 2 it may underflow.
        zero = plain(x) == 0
        size = Abs().on(Where().on(zero, 1.0, x))
        power = Sgn().on(x) * size ** (p - 1) if p < 2 else x * size ** (p - 2)
        return Where().on(zero, 0.0, power) * Where().on(flat, 0.0, v / length ** (p - 1))

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        return None if self.ord == 0 else self.field(self.back(g), x, self.back(out))

    def jvp(self, t: Any, x: Any, out: Any) -> Any:
        if self.ord == 0:
            return as_value(plain(zero_like(out)), t)
        moved = real_part(self.field(1, x, self.back(out)).conj() * t)
        return moved.sum(axis=self.axis, keepdims=self.keepdims)


# -- functions -----------------------------------------------------------------------------------------------------


class _Arguments:
    """The arguments of var and its like, whichever of their forms was used."""

    def __init__(
        self, function: str, input: Any, dim: Any, args: tuple[Any, ...], named: dict[str, Any]
    ) -> None:
        self.function = function
        self.x = require_tensor(function, "input", 1, input)
        keepdim = named.pop("keepdim", named.pop("keepdims", False))
        dim = named.pop("axis", dim)
        if dim is True or dim is False:  # var(input, unbiased)
            args, dim = (dim, *args), None
        if len(args) > 2 or (args and "unbiased" in named) or ("unbiased" in named and "correction" in named):
            raise TypeError(f"{function}() received an invalid combination of arguments")
        if args and not isinstance(args[0], bool):
            kinds = ", ".join(type_name(v) for v in (input, dim, *args))
            raise TypeError(
                f"{function}() received an invalid combination of arguments - got ({kinds}): what comes after dim, "
                "unbiased, is bool. Give a number by name: correction=..."
            )
        unbiased = args[0] if args else named.pop("unbiased", None)
        correction = named.pop("correction", None)
        if named:
            raise TypeError(f"{function}() got an unexpected keyword argument '{next(iter(named))}'")
        _, self.keepdims = dims_given(function, dim, args[1] if len(args) > 1 else keepdim, {})
        self._check_dtype()
        self.axis = axes_of(dim, self.x.array.ndim)
        self.correction = 1 if correction is None else scalar_from(function, "correction", 3, correction)
        if unbiased is not None:
            self.correction = 1 if unbiased else 0
        self._check_count()

    def _check_dtype(self) -> None:
        if self.x.array.dtype.kind not in "fc":
            they = "std and var" if self.function in ("std", "var") else self.function
            raise DtypeError(
                f"{they} only support floating point and complex "
                f"dtypes, but {self.function} got {SCALAR_NAMES[self.x.array.dtype]}. Convert with .float() first."
            )

    def _check_count(self) -> None:
        if reduced_count(self.x.array.shape, self.axis) <= self.correction:
            warn(
                f"{self.function}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction "
                "factor (input numel divided by output numel).",
                UserWarning,
            )


@public("var", method=True)
def var(
    input: Tensor, dim: Dims | bool = None, *args: bool, out: Tensor | None = None, **named: Any
) -> Tensor:
    """The variance: `var(input, dim, unbiased, keepdim)`, `var(input, unbiased)` or `var(input, dim, correction=...)`.

    Args:
        dim: a dimension, several, or None for all (`axis` is accepted too).
        unbiased: divide by n - 1 (the default) or by n.
        correction: divide by n - correction.
        keepdim: keep reduced dimensions with size 1 (`keepdims` is accepted too).

    >>> import retrograd as rg
    >>> rg.var(rg.tensor([1.0, 2.0, 3.0])), rg.var(rg.tensor([1.0, 2.0, 3.0]), correction=0)
    (tensor(1.), tensor(0.6667))
    """
    a = _Arguments("var", input, dim, args, named)
    return deliver(apply1(Var(a.axis, a.correction, a.keepdims), a.x), out)


@public("std", method=True)
def std(
    input: Tensor, dim: Dims | bool = None, *args: bool, out: Tensor | None = None, **named: Any
) -> Tensor:
    """The standard deviation; the arguments are those of `var`.

    >>> import retrograd as rg
    >>> rg.std(rg.tensor([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]]), dim=1)
    tensor([1., 2.])
    """
    a = _Arguments("std", input, dim, args, named)
    return deliver(apply1(Std(a.axis, a.correction, a.keepdims), a.x), out)


@public("var_mean")
def var_mean(input: Tensor, dim: Dims | bool = None, *args: bool, **named: Any) -> tuple[Tensor, Tensor]:
    """The variance and the mean, as a pair; the arguments are those of `var`."""
    a = _Arguments("var_mean", input, dim, args, named)
    found: tuple[Tensor, Tensor] = apply_n(VarMean(a.axis, a.correction, a.keepdims), (a.x,))
    return found


@public("std_mean")
def std_mean(input: Tensor, dim: Dims | bool = None, *args: bool, **named: Any) -> tuple[Tensor, Tensor]:
    """The standard deviation and the mean, as a pair; the arguments are those of `var`.

    >>> import retrograd as rg
    >>> rg.std_mean(rg.tensor([1.0, 2.0, 3.0]))
    (tensor(1.), tensor(2.))
    """
    a = _Arguments("std_mean", input, dim, args, named)
    found: tuple[Tensor, Tensor] = apply_n(StdMean(a.axis, a.correction, a.keepdims), (a.x,))
    return found


@public("linalg.vector_norm")
def vector_norm(
    x: Tensor,
    ord: float | Tensor = 2,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    out: Tensor | None = None,
    **numpy: Any,
) -> Tensor:
    """The norm of order `ord` of all elements, or of the vectors along `dim`.

    >>> import retrograd as rg
    >>> vector_norm(rg.tensor([[3.0, 4.0], [0.0, 0.0]]), dim=1)
    tensor([5., 0.])
    """
    dim, keepdim = dims_given("linalg.vector_norm", dim, keepdim, numpy)
    x = require_tensor("linalg_vector_norm", "input", 1, x)
    order = norm_order(ord)
    target = None if dtype is None else as_dtype(dtype)
    _check_norm_dtype(x.array.dtype, target)
    axis = axes_of(dim, x.array.ndim)
    if order < 0 or order == math.inf:
        check_identity(order, axis, x)
    return deliver_exact(apply1(VectorNorm(order, axis, keepdim, target), x), out)


def norm_order(ord: Any) -> float:
    """The order of a norm as a number."""
    if isinstance(ord, Tensor) and ord.array.size == 1 and not ord.requires_grad:
        ord = ord.array.item()
    if isinstance(ord, complex):
        raise RuntimeError("linalg.vector_norm: Expected a non-complex scalar as the order of norm.")
    if not isinstance(ord, (int, float, np.number)):
        raise TypeError(
            f"linalg_vector_norm(): argument 'ord' (position 2) must be Number, not {type_name(ord)}"
        )
    return ord if type(ord) is int else float(ord)


def _check_norm_dtype(given: DType, target: DType | None) -> None:
    if given.kind not in "fc":
        raise DtypeError(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
            f"{SCALAR_NAMES[given]}. Convert with .float() first."
        )
    if target is not None:
        check_norm_target("linalg.vector_norm", given, target)


def check_norm_target(function: str, given: DType, target: DType) -> None:
    """Refuses a `dtype=` of a norm that its input cannot be converted to without loss."""
    wanted = SCALAR_NAMES[target]
    if target.kind not in "fc":
        raise DtypeError(f"{function}: dtype should be floating point or complex, but got {wanted}")
    if target.kind != given.kind:
        kind = "complex for complex" if given.kind == "c" else "real for real"
        raise DtypeError(f"{function}: dtype should be {kind} inputs, but got {wanted}")
    if target.itemsize < given.itemsize:
        raise DtypeError(
            f"{function}: the dtype of the input ({SCALAR_NAMES[given]}) should be convertible without narrowing to "
            f"the specified dtype ({wanted})"
        )


def check_identity(order: float, axis: Axis, x: Tensor) -> None:
    """Norms that are no sum have no value for nothing."""
    shape = x.array.shape
    if axis is None and x.array.size == 0:
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {order} norm on an empty tensor because the operation does not "
            "have an identity"
        )
    for a in () if axis is None else (axis,) if isinstance(axis, int) else axis:
        if shape[a] == 0:
            raise RuntimeError(
                f"linalg.vector_norm cannot compute the {order} norm on the dimension {a} because this dimension is "
                "empty and the operation does not have an identity"
            )
