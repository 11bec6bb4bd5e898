"""Choosing between values: where, maximum, minimum, clamp."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, overload

import numpy as np

from retrograd.backends.base import Backend, as_array, backend_of
from retrograd.backends.casts import maker_of
from retrograd.backends.dtypes import (
    SCALAR_NAMES,
    promote_types,
    python_number,
    result_of_arrays,
    result_with_scalar,
    scalar_dtype,
)
from retrograd.core.apply import apply1, apply2, apply_n
from retrograd.core.families import added
from retrograd.core.op import Binary, Unary, Variadic, X, Y
from retrograd.core.places import warn
from retrograd.core.saved import SavedConstant, constant_of
from retrograd.core.tensor import Tensor
from retrograd.core.variant import variant
from retrograd.errors import DtypeError, broadcast_error, operand_error, unsupported_dtype
from retrograd.ops.common import (
    as_value,
    deliver,
    deliver_exact,
    joint_shape,
    memory_order,
    number_from,
    plain,
    require_tensor,
    tensor_of,
)
from retrograd.ops.register import public
from retrograd.ops.tensor.data import held_number, narrowed, number_for
from retrograd.values import Array, DType, Number


class Where(Binary):
    """x where the condition holds, else y. The condition is a constant: it has no gradient."""

    elementwise: ClassVar[bool] = True
    shown: ClassVar[dict[str, str]] = {"condition": "constant:0"}

    @property
    def condition(self) -> SavedConstant:
        """Where x is chosen."""
        return self.constant(0)

    def on(self, *values: Any) -> Any:
        """`Where().on(condition, x, y)`, inside a formula."""
        self.constants = (constant_of(values[0]),)
        return super().on(values[1], values[2])

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        return xp.where(self.condition.array, x, y)

    def vjp(self, i: int, g: Any, x: Any, y: Any, out: Any) -> Any:
        return Where().on(self.condition, g, 0.0) if i == 0 else Where().on(self.condition, 0.0, g)

    def jvp(self, tx: Any, ty: Any, x: Any, y: Any, out: Any) -> Any:
        return Where().on(self.condition, 0.0 if tx is None else tx, 0.0 if ty is None else ty)

    def fresh(self) -> Where:
        made = Where()
        made.constants = (self.condition,)
        return made


class Extremum(Binary):
    """The larger or smaller of two; equals share the gradient, NaN wins and leaves it to both, as in PyTorch."""

    elementwise: ClassVar[bool] = True
    keeps0: ClassVar[int] = X | Y
    keeps1: ClassVar[int] = X | Y

    def shared(self, i: int, v: Any, x: Any, y: Any) -> Any:
        """What operand `i` has of v: all where it was chosen, half where both are equal, else nothing."""
        a, b = (plain(x), plain(y)) if i == 0 else (plain(y), plain(x))
        same = a == b
        half = backend_of(same).where(same, self.out_dtype.type(0.5), self.out_dtype.type(1))
        return Where().on(self.prefers(b, a), 0.0, v * as_value(half, v))

    def prefers(self, a: Array, b: Array) -> Array:
        """Where `a` is chosen over `b`."""
        raise NotImplementedError

    def vjp(self, i: int, g: Any, x: Any, y: Any, out: Any) -> Any:
        return self.shared(i, g, x, y)

    def jvp(self, tx: Any, ty: Any, x: Any, y: Any, out: Any) -> Any:
        a = None if tx is None else self.shared(0, tx, x, y)
        b = None if ty is None else self.shared(1, ty, x, y)
        return added(a, b)


class Maximum(Extremum):
    """the larger of x and y"""

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        return xp.maximum(x, y)

    def prefers(self, a: Array, b: Array) -> Array:
        return a > b


class Minimum(Extremum):
    """the smaller of x and y"""

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        return xp.minimum(x, y)

    def prefers(self, a: Array, b: Array) -> Array:
        return a < b


SAFE = 60_000  # up to here every floating dtype can hold a number


def _limit(number: Any, dtype: DType) -> Any:
    """A limit for `clamp`; one for integers has to fit their dtype."""
    return (
        narrowed(np.asarray(number), dtype).item() if type(number) is int and dtype.kind in "iu" else number
    )


class Clamp(Unary):
    """x limited to [low, high], each a number or None; the gradient passes where x is within"""

    node_name = "ClampBackward1"
    params: ClassVar[tuple[str, ...]] = ("low", "high")
    shown: ClassVar[dict[str, str]] = {"min": "low", "max": "high"}
    keeps: ClassVar[int] = X

    def __init__(self, low: Any, high: Any) -> None:
        self.low: Any = python_number(low)
        self.high: Any = python_number(high)

    def forward(self, xp: Backend, x: Array) -> Array:
        if x.dtype.kind == "c":
            raise NotImplementedError("clamp is not supported for complex types")
        low, high = _limit(self.low, x.dtype), _limit(self.high, x.dtype)
        found = x if low is None else xp.maximum(x, low)
        return found if high is None else xp.minimum(found, high)

    def inside(self, x: Any) -> Array:
        """Where x is within the limits."""
        a = plain(x)
        low = True if self.low is None else a >= self.low
        return as_array(low & (a <= self.high) if self.high is not None else low)

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        return Where().on(self.inside(x), g, 0.0)

    def jvp(self, t: Any, x: Any, out: Any) -> Any:
        return self.vjp(t, x, out)


ClampMin = variant(Clamp, "ClampMinBackward0", "x, but at least a number")


ClampMax = variant(Clamp, "ClampMaxBackward0", "x, but at most a number")


class ClampMinTensor(Binary):
    """x, but at least y, which gets the gradient where x is below it"""

    elementwise: ClassVar[bool] = True
    node_name = "ClampMinBackward1"
    shown: ClassVar[dict[str, str]] = {"min": "y"}
    keeps0: ClassVar[int] = X | Y
    keeps1: ClassVar[int] = X | Y

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        return xp.maximum(x, y)

    def within(self, i: int, x: Any, y: Any) -> Array:
        """Where operand `i` is chosen; neither is where one of them is NaN."""
        return as_array(plain(x) >= plain(y) if i == 0 else plain(x) < plain(y))

    def vjp(self, i: int, g: Any, x: Any, y: Any, out: Any) -> Any:
        return Where().on(self.within(i, x, y), g, 0.0)

    def jvp(self, tx: Any, ty: Any, x: Any, y: Any, out: Any) -> Any:
        a = None if tx is None else self.vjp(0, tx, x, y, out)
        return added(a, None if ty is None else self.vjp(1, ty, x, y, out))


class ClampMaxTensor(ClampMinTensor):
    """x, but at most y, which gets the gradient where x is above it"""

    node_name = "ClampMaxBackward1"
    shown: ClassVar[dict[str, str]] = {"max": "y"}

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        return xp.minimum(x, y)

    def within(self, i: int, x: Any, y: Any) -> Array:
        return as_array(plain(x) <= plain(y) if i == 0 else plain(x) > plain(y))


class ClampTensor(Variadic):
    """x limited by tensors; a limit that is passed gets the gradient, NaN and two equal limits leave it to nobody"""

    node_name = "ClampBackward0"
    keeps: ClassVar[int] = X
    shown: ClassVar[dict[str, str]] = {"self": "x:0", "min": "x:1", "max": "x:2"}

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        dtype = dtype_of_all([v for v in xs if v is not None])
        x, low, high = (
            None if v is None else v.astype(dtype, order=memory_order(xp, v), copy=False) for v in xs
        )
        try:
            found = x if low is None else xp.maximum(x, low)
            return found if high is None else xp.minimum(found, high)
        except ValueError:
            shapes = [v.shape for v in xs if v is not None]
            raise broadcast_error(shapes[0], next(s for s in shapes if s != shapes[0])) from None

    def masks(self, xs: Sequence[Any]) -> tuple[Array, Array, Array]:
        """Where x, the lower and the upper limit decide; None for a limit that is not there."""
        x, low, high = (None if v is None else plain(v) for v in xs)
        over = None if high is None else (x > high if low is None else (x > high) | (low > high))
        under = None if low is None else (x < low if high is None else (x < low) & (low < high))
        inside = (True if low is None else x >= low) & (True if high is None else x <= high)
        return as_array(inside), under, over

    def vjp(self, gs: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
        g = gs[0]
        return [Where().on(m, g, 0.0) if self.needs(i) else None for i, m in enumerate(self.masks(xs))]

    def jvp(self, ts: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Any:
        total: Any = None
        for t, m in zip(ts, self.masks(xs), strict=True):
            if t is not None:
                total = added(total, Where().on(m, t, 0.0))
        return total


def dtype_of_all(arrays: Sequence[Array]) -> DType:
    """The dtype of a result of these arrays."""
    found = arrays[0]
    for other in arrays[1:]:
        dtype = result_of_arrays(found, other)
        found = maker_of(dtype).empty((1,) * max(found.ndim, other.ndim), dtype)
    return found.dtype


# -- functions -----------------------------------------------------------------------------------------------------


@overload
def where(condition: Tensor) -> tuple[Tensor, ...]: ...


@overload
def where(
    condition: Tensor, input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None
) -> Tensor: ...


@public("where")
def where(
    condition: Tensor,
    input: Tensor | Number | None = None,
    other: Tensor | Number | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor | tuple[Tensor, ...]:
    """`input` where `condition` holds, else `other`; with the condition alone, the indices where it holds.

    >>> import retrograd as rg
    >>> x = rg.tensor([-1.0, 2.0])
    >>> rg.where(x > 0, x, 0.0)
    tensor([0., 2.])
    """
    if not isinstance(condition, Tensor):
        raise operand_error("where", "condition", 1, condition)
    if input is None and other is None:
        a = condition.array
        xp = backend_of(a)
        return tuple([tensor_of(xp.ascontiguousarray(i)) for i in xp.nonzero(a if a.ndim else a.reshape(1))])
    if input is None or other is None:
        raise TypeError("where() received an invalid combination of arguments: input and other come together")
    if condition.array.dtype == "uint8":
        warn(
            "where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future "
            "version of PyTorch. Use a boolean condition instead: condition.bool().",
            UserWarning,
        )
        condition = Tensor(condition.array != 0, share=True)
    if condition.array.dtype.kind != "b":
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype "
            f"{SCALAR_NAMES[condition.array.dtype]}"
        )
    x, y = _pair(input, other, backend_of(condition.array))
    op = Where()
    op.constants = (constant_of(condition),)
    try:
        return deliver_exact(apply2(op, x, y), out, "Expected out type to be {wanted} but got {given}")
    except ValueError:
        raise broadcast_error(condition.array.shape, joint_shape(x.array.shape, y.array.shape)) from None


def _pair(x: Any, y: Any, xp: Backend) -> tuple[Tensor, Tensor]:
    """Two branches as tensors of a common dtype; numbers count less than tensors, and `xp` makes arrays of them."""
    if not isinstance(x, Tensor) and not isinstance(y, Tensor):
        dtype = promote_types(scalar_dtype(x), scalar_dtype(y))
        return Tensor(xp.asarray(x, dtype), share=True), Tensor(xp.asarray(y, dtype), share=True)
    if not isinstance(x, Tensor):
        return _beside(y, x, xp), y
    return x, y if isinstance(y, Tensor) else _beside(x, y, xp)


def _beside(x: Tensor, number: Any, xp: Backend) -> Tensor:
    """A number as a tensor that counts less than `x`; one beside integers has to fit them."""
    if type(number) is int and x.array.dtype.kind in "iu":
        return Tensor(xp.asarray(narrowed(np.asarray(number), x.array.dtype)), share=True)
    return Tensor(xp.asarray(number_for(number, scalar_dtype(number))), share=True)


def _two_tensors(function: str, x: Any, y: Any) -> None:
    """Refuses numbers, and tensors without an order."""
    require_tensor(function, "input", 1, x)
    if "c" in (x.array.dtype.kind, require_tensor(function, "other", 2, y).array.dtype.kind):
        raise DtypeError(f"{function} not implemented for complex tensors. They have no order.")


@public("maximum", method=True)
def maximum(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The larger of two tensors, element by element; NaN wins.

    >>> import retrograd as rg
    >>> rg.maximum(rg.tensor([1, 4]), rg.tensor([3, 2]))
    tensor([3, 4])
    """
    _two_tensors("maximum", input, other)
    return deliver(apply2(Maximum(), input, other), out)


@public("minimum", method=True)
def minimum(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smaller of two tensors, element by element; NaN wins."""
    _two_tensors("minimum", input, other)
    return deliver(apply2(Minimum(), input, other), out)


@public("clamp", "clip", "clamp_", "clip_", method=True)
def clamp(
    input: Tensor,
    min: Tensor | Number | None = None,
    max: Tensor | Number | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """`input` limited to the range from `min` to `max`, each a number, a tensor or None.

    >>> import retrograd as rg
    >>> rg.clamp(rg.tensor([-1.0, 0.5, 3.0]), 0, 1)
    tensor([0.0000, 0.5000, 1.0000])
    """
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if isinstance(min, Tensor) != isinstance(max, Tensor) and min is not None and max is not None:
        # Beside a number, a tensor without dimensions is one.
        min, max = number_from("clamp", "min", 2, min), number_from("clamp", "max", 3, max)
    x = _clamp_input("clamp", input, min, max)
    if not isinstance(min, Tensor) and not isinstance(max, Tensor):
        return deliver(apply1(Clamp(min, max), x), out)
    for position, (name, limit) in enumerate((("min", min), ("max", max)), 2):
        if limit is not None:
            require_tensor("clamp", name, position, limit)
    if all(isinstance(t, Tensor) and t.array.dtype.kind == "b" for t in (x, min, max)):
        raise unsupported_dtype("clamp_cpu", x.array.dtype)
    return deliver(apply_n(ClampTensor(), (x, min, max)), out)


def _are_safe(limits: Sequence[Any]) -> bool:
    """Whether limits are numbers that every floating dtype can hold, or None."""
    for v in limits:
        if v is not None and not ((type(v) is float or type(v) is int) and -SAFE <= v <= SAFE):
            return False
    return True


def _clamp_input(function: str, input: Any, *limits: Any) -> Tensor:
    """What is to be clamped, in the dtype that it and the numbers among its limits have in common."""
    x = require_tensor(function, "input", 1, input)
    if x.array.dtype.kind == "f" and _are_safe(limits):
        return x
    if x.array.dtype.kind == "c":
        raise NotImplementedError("clamp is not supported for complex types")
    numbers = [v for v in limits if v is not None and not isinstance(v, Tensor)]
    for v in numbers:
        number_from(function, "min" if v is limits[0] else "max", 2, v)
    if any(isinstance(v, complex) for v in numbers):
        if function == "clamp" and x.array.dtype.kind == "f":
            raise DtypeError("value cannot be converted to type double without overflow: a limit is complex")
        raise NotImplementedError("clamp is not supported for complex types: they have no order")
    for v in limits:
        if isinstance(v, Tensor) and v.array.dtype.kind == "c":
            raise unsupported_dtype("maximum_cpu", v.array.dtype, "complex numbers have no order.")
    dtype = x.array.dtype
    for v in numbers:
        dtype = result_with_scalar(dtype, v)
    if dtype.kind == "b" and numbers:
        raise unsupported_dtype("clamp_scalar_cpu", dtype)
    for v in numbers:
        if abs(v) > SAFE and dtype.kind == "f":
            held_number(v, dtype)
    return x if dtype is x.array.dtype else Tensor(x.array.astype(dtype), share=True)


def _check_limit(function: str, limit: Any) -> None:
    if limit is None:
        raise TypeError(f"{function}() received an invalid combination of arguments - got (Tensor, NoneType)")


@public("clamp_min", "clamp_min_", method=True)
def clamp_min(input: Tensor, min: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """`input`, but at least `min`."""
    if isinstance(min, Tensor):
        return deliver(apply2(ClampMinTensor(), _clamp_input("clamp_min", input, min), min), out)
    _check_limit("clamp_min", min)
    return deliver(apply1(ClampMin(min, None), _clamp_input("clamp_min", input, min)), out)


@public("clamp_max", "clamp_max_", method=True)
def clamp_max(input: Tensor, max: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """`input`, but at most `max`."""
    if isinstance(max, Tensor):
        return deliver(apply2(ClampMaxTensor(), _clamp_input("clamp_max", input, max), max), out)
    _check_limit("clamp_max", max)
    return deliver(apply1(ClampMax(None, max), _clamp_input("clamp_max", input, max)), out)


@public("Tensor.where")
def where_method(input: Tensor, condition: Tensor, other: Tensor | Number) -> Tensor:
    """`input` where `condition` holds, else `other`."""
    return where(condition, input, other)
