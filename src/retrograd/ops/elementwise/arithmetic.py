"""Arithmetic: sums, products, quotients. Powers are in `power.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import Backend, backend_of
from retrograd.backends.dtypes import python_number, result_type, result_with_scalar
from retrograd.core.apply import apply1, apply2
from retrograd.core.families import ElementwiseBinary, ElementwiseUnary, added, conjugate, scaled
from retrograd.core.op import OUT, Binary, X, Y
from retrograd.core.tensor import Tensor
from retrograd.core.variant import variant
from retrograd.errors import DtypeError, unsupported_dtype
from retrograd.ops.common import (
    check_division,
    deliver,
    memory_order,
    number_from,
    number_pair,
    require_tensor,
    warn_of_order,
    wrapped,
)
from retrograd.ops.elementwise.rounding import DivRounded, rounded_division
from retrograd.ops.register import public
from retrograd.ops.tensor.convert import convert
from retrograd.ops.tensor.data import held_number, narrowed
from retrograd.values import Array, Number

FLOAT16 = np.dtype("float16")


def no_bools(kernel: str, *operands: Any) -> None:
    """Refuses to compute in booleans."""
    if all(
        isinstance(v, bool) if isinstance(v, (int, float, complex)) else v.dtype.kind == "b" for v in operands
    ):
        raise unsupported_dtype(f"{kernel}_cpu", np.dtype("bool"))


def halves_and_number(x: Any, y: Any) -> bool:
    """Whether the operands, which are of two types, are an array of float16 and a number."""
    number, array = (x, y) if isinstance(x, (int, float)) else (y, x)
    return isinstance(number, (int, float)) and getattr(array, "dtype", None) == FLOAT16


def beside_number(compute: Callable[[Any, Any], Array], x: Any, y: Any) -> Array:
    """`compute` of float16 and a number in float32, rounded once; NumPy rounds the number too, 1e5 to infinity."""
    x, y = [
        v if isinstance(v, (int, float)) else v.astype(np.float32, order=memory_order(backend_of(v), v))
        for v in (x, y)
    ]
    found: Array = compute(x, y).astype(FLOAT16)
    return found


class Add(ElementwiseBinary):
    """x + y"""

    flags_faults: ClassVar[bool] = True
    alpha: Any = 1
    shown: ClassVar[dict[str, str]] = {"alpha": "alpha"}

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        try:
            return xp.add(x, y)
        except OverflowError:
            return xp.add(*wrapped(x, y))

    def slope(self, i: int, x: Any, y: Any, out: Any) -> Any:
        return 1


class AddScaled(Add):
    """x + alpha * y"""

    node_name = "AddBackward0"
    params: ClassVar[tuple[str, ...]] = ("alpha",)

    def __init__(self, alpha: Any) -> None:
        self.alpha = alpha

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        return xp.add(*wrapped(x, y * self.alpha))

    def slope(self, i: int, x: Any, y: Any, out: Any) -> Any:
        return 1 if i == 0 else self.alpha


class Sub(ElementwiseBinary):
    """x - y"""

    flags_faults: ClassVar[bool] = True
    alpha: Any = 1
    shown: ClassVar[dict[str, str]] = {"alpha": "alpha"}

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        try:
            return xp.subtract(x, y)
        except OverflowError:
            return xp.subtract(*wrapped(x, y))

    def slope(self, i: int, x: Any, y: Any, out: Any) -> Any:
        return 1 if i == 0 else -1


class SubScaled(Sub):
    """x - alpha * y"""

    node_name = "SubBackward0"
    params: ClassVar[tuple[str, ...]] = ("alpha",)

    def __init__(self, alpha: Any) -> None:
        self.alpha = alpha

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        return xp.subtract(*wrapped(x, y * self.alpha))

    def slope(self, i: int, x: Any, y: Any, out: Any) -> Any:
        return 1 if i == 0 else -self.alpha


class RsubTensor(ElementwiseBinary):
    """y - alpha * x"""

    node_name = "RsubBackward0"
    params: ClassVar[tuple[str, ...]] = ("alpha",)

    def __init__(self, alpha: Any) -> None:
        self.alpha = alpha

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        return xp.subtract(*wrapped(y, x if self.alpha == 1 else x * self.alpha))

    def slope(self, i: int, x: Any, y: Any, out: Any) -> Any:
        return -self.alpha if i == 0 else 1


class Rsub(ElementwiseUnary):
    """number - alpha * x"""

    node_name = "RsubBackward1"
    params: ClassVar[tuple[str, ...]] = ("number", "alpha")
    shown: ClassVar[dict[str, str]] = {"alpha": "alpha"}

    def __init__(self, number: Any, alpha: Any = 1) -> None:
        self.number = number
        self.alpha = alpha

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.subtract(*wrapped(self.number, x if self.alpha == 1 else x * self.alpha))

    def slope(self, x: Any, out: Any) -> Any:
        return -self.alpha


class Mul(ElementwiseBinary):
    """x * y"""

    flags_faults: ClassVar[bool] = True
    keeps0: ClassVar[int] = Y
    keeps1: ClassVar[int] = X

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        if type(x) is not type(y) and halves_and_number(x, y):
            return beside_number(xp.multiply, x, y)
        try:
            return xp.multiply(x, y)
        except OverflowError:
            return xp.multiply(*wrapped(x, y))

    def slope(self, i: int, x: Any, y: Any, out: Any) -> Any:
        return y if i == 0 else x

    def vjp(self, i: int, g: Any, x: Any, y: Any, out: Any) -> Any:
        s = y if i == 0 else x
        if type(s) is float or type(s) is int:
            return scaled(g, s) if self.out_dtype != FLOAT16 else Mul().on(g, s)
        return g * (conjugate(s) if self.out_dtype.kind == "c" else s)


class Div(ElementwiseBinary):
    """x / y"""

    floats: ClassVar[bool] = True
    keeps0: ClassVar[int] = Y
    keeps1: ClassVar[int] = X | Y

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        if type(x) is not type(y) and halves_and_number(x, y):
            return beside_number(xp.true_divide, x, y)
        return xp.true_divide(x, y)

    def vjp(self, i: int, g: Any, x: Any, y: Any, out: Any) -> Any:
        if self.out_dtype.kind == "c":
            x, y = None if x is None else conjugate(x), conjugate(y)
        elif self.out_dtype == FLOAT16 and isinstance(y, (int, float)):
            return Div().on(g, y)
        return g / y if i == 0 else -g * ((x / y) / y)

    def jvp(self, tx: Any, ty: Any, x: Any, y: Any, out: Any) -> Any:
        # The slope 1 / y would raise where y is Python's 0.
        return added(None if tx is None else tx / y, None if ty is None else -ty * ((x / y) / y))


class Reciprocal(ElementwiseUnary):
    """1 / x"""

    widened: ClassVar[bool] = True
    floats: ClassVar[bool] = True
    keeps: ClassVar[int] = OUT

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.reciprocal(x)

    def slope(self, x: Any, out: Any) -> Any:
        return -(out * out)


class Neg(ElementwiseUnary):
    """-x"""

    flags_faults: ClassVar[bool] = True

    def forward(self, xp: Backend, x: Array) -> Array:
        if x.dtype.kind == "b":
            raise DtypeError(
                "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, "
                "use the `~` or `logical_not()` operator instead."
            )
        return xp.negative(x)

    def slope(self, x: Any, out: Any) -> Any:
        return -1


MulByNumber = variant(Mul, "MulBackward1", "a tensor times a number, inside of formulas")


class RemainderOfNumber(ElementwiseUnary):
    """x modulo a number, with the number's sign"""

    node_name = "RemainderBackward0"
    params: ClassVar[tuple[str, ...]] = ("number",)

    def __init__(self, number: Any) -> None:
        self.number = number

    def forward(self, xp: Backend, x: Array) -> Array:
        x, number = wrapped(x, self.number)
        check_division("remainder_cpu", x, number)
        return xp.remainder(x, number)

    def slope(self, x: Any, out: Any) -> Any:
        return 1


class Remainder(ElementwiseBinary):
    """x modulo y, with the sign of y"""

    node_name = "RemainderBackward1"
    keeps1: ClassVar[int] = X | Y

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        x, y = wrapped(x, y)
        check_division("remainder_cpu", x, y)
        return xp.remainder(x, y)

    def slope(self, i: int, x: Any, y: Any, out: Any) -> Any:
        return 1 if i == 0 else -DivRounded("floor").on(x, y)


class FloorDivide(Binary):
    """floor(x / y), which PyTorch does not differentiate"""

    elementwise: ClassVar[bool] = True
    node_name = "NotImplemented"

    def name(self) -> str:
        return "torch::autograd::NotImplemented"

    def function_name(self) -> str:
        return "floor_divide"

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        x, y = wrapped(x, y)
        check_division("div_floor_cpu", x, y)
        return xp.floor_divide(x, y)

    def vjp(self, i: int, g: Any, x: Any, y: Any, out: Any) -> Any:
        raise RuntimeError(
            "derivative for aten::floor_divide is not implemented: it is zero almost everywhere. Detach the result, or "
            "divide with `/`."
        )


# -- functions -----------------------------------------------------------------------------------------------------


@public("add", method=True)
def add(
    input: Tensor | Number,
    other: Tensor | Number,
    last: Tensor | Number | None = None,
    *,
    alpha: Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """`input + alpha * other`, broadcasting.

    >>> import retrograd as rg
    >>> rg.add(rg.tensor([1.0, 2.0]), 10)
    tensor([11., 12.])
    """
    if last is not None:
        return add(input, last, alpha=old_alpha("add", other), out=out)
    input = number_pair(input, other)
    plainly = type(alpha) is int and alpha == 1
    if not plainly and type(other) is bool:
        factor = _factor(alpha, input, other)
        if type(factor) is bool:  # as the result is
            plainly, other = True, other and factor
    return deliver(apply2(Add() if plainly else AddScaled(_factor(alpha, input, other)), input, other), out)


def old_alpha(function: str, alpha: Any) -> Any:
    """The factor of `add(input, alpha, other)`, the order of old."""
    if isinstance(alpha, Tensor) and (alpha.array.ndim or alpha.requires_grad):
        raise TypeError(f"{function}() takes 2 positional arguments but 3 were given: give alpha by name")
    warn_of_order(function, ("alpha",))
    return alpha


def _factor(alpha: Any, x: Any, y: Any) -> Any:
    """`alpha`, if the dtype of the result can hold it."""
    alpha = number_from("add", "alpha", 3, alpha)
    dtype = result_type(x, y)
    if isinstance(alpha, bool) and dtype.kind != "b":
        raise DtypeError("Boolean alpha only supported for Boolean results. Give a number.")
    if isinstance(alpha, float) and dtype.kind in "biu":
        raise DtypeError("For integral input tensors, argument alpha must not be a floating point number.")
    if isinstance(alpha, complex) and dtype.kind != "c":
        raise DtypeError("For non-complex input tensors, argument alpha must not be a complex number.")
    if dtype.kind in "biu":
        return narrowed(np.asarray(alpha), dtype).item()
    held_number(alpha, dtype)
    return alpha


@public("sub", "subtract", "Tensor.subtract_", method=True)
def sub(
    input: Tensor | Number,
    other: Tensor | Number,
    last: Tensor | Number | None = None,
    *,
    alpha: Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """`input - alpha * other`, broadcasting."""
    if last is not None:
        return sub(input, last, alpha=old_alpha("sub", other), out=out)
    refuse_bools(input, other)
    input = number_pair(input, other)
    plainly = type(alpha) is int and alpha == 1
    return deliver(apply2(Sub() if plainly else SubScaled(_factor(alpha, input, other)), input, other), out)


def refuse_bools(x: Any, y: Any) -> None:
    """Raises if one of the operands of a subtraction is a bool, or holds some."""
    first, second = _is_bool(x), _is_bool(y)
    if first and second:
        raise DtypeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
            "operator instead."
        )
    if (first and _is_operand(y)) or (second and _is_operand(x)):
        raise DtypeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, "
            "use the `~` or `logical_not()` operator instead."
        )


def _is_operand(v: Any) -> bool:
    return isinstance(v, (Tensor, int, float, complex, np.ndarray, np.generic))


def _is_bool(v: Any) -> bool:
    if isinstance(v, Tensor):
        return bool(v.array.dtype.kind == "b")
    return type(v) is bool or (type(v) is np.ndarray and v.dtype.kind == "b")


@public("rsub")
def rsub(input: Tensor, other: Tensor | Number, alpha: Number = 1) -> Tensor:
    """`other - alpha * input`."""
    input = require_tensor("rsub", "input", 1, input)
    refuse_bools(other, input)
    other = python_number(other)
    if alpha != 1 or type(alpha) is bool:
        alpha = _factor(alpha, input, other)
    if isinstance(other, (int, float, complex)) and isinstance(input, Tensor):
        found: Tensor = apply1(Rsub(other, alpha), for_number(input, other))
        return found
    found = apply2(RsubTensor(alpha), input, other)
    return found


@public("mul", "multiply", "Tensor.multiply_", method=True)
def mul(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """`input * other`, broadcasting."""
    input = number_pair(input, other)
    return deliver(apply2(Mul(), input, other), out)


@public("div", "divide", "Tensor.divide_", method=True)
def div(
    input: Tensor | Number,
    other: Tensor | Number,
    *,
    rounding_mode: str | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """`input / other`, broadcasting; integers divide to floats.

    Args:
        rounding_mode: None, "trunc" (towards zero) or "floor".
    """
    input = number_pair(input, other)
    if rounding_mode is None:
        return deliver(apply2(Div(), input, other), out)
    return deliver(rounded_division(input, other, rounding_mode), out)


@public("true_divide", "Tensor.true_divide_", method=True)
def true_divide(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """`input / other`, broadcasting; integers divide to floats."""
    return div(input, other, out=out)


@public("reciprocal", "reciprocal_", method=True)
def reciprocal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`1 / input`."""
    return deliver(apply1(Reciprocal(), input), out)


@public("neg", "negative", "neg_", "negative_", method=True)
def neg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`-input`."""
    return deliver(apply1(Neg(), input), out)


@public("positive", method=True)
def positive(input: Tensor) -> Tensor:
    """`input` itself."""
    if require_tensor("positive", "input", 1, input).array.dtype.kind == "b":
        raise DtypeError("The `+` operator, on a bool tensor is not supported. Convert it with .int() first.")
    return input


def for_number(x: Any, number: Any) -> Any:
    """A tensor in the dtype that it and a Python number promote to."""
    if not isinstance(x, Tensor):
        return x
    dtype = result_with_scalar(x.array.dtype, number)
    if dtype == x.array.dtype:
        return x
    return convert(x, dtype)


@public("remainder", "Tensor.remainder_", method=True)
def remainder(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """`input` modulo `other`, with the sign of `other`.

    >>> import retrograd as rg
    >>> rg.remainder(rg.tensor([5, -5]), 3)
    tensor([2, 1])
    """
    return deliver(modulo(input, other), out)


def modulo(x: Any, y: Any) -> Any:
    """`x % y`: by a number, or by a tensor."""
    y = python_number(y)
    if isinstance(x, Tensor) and isinstance(y, (int, float)):
        return apply1(RemainderOfNumber(y), for_number(x, y))
    return apply2(Remainder(), x, y)


@public("floor_divide", "Tensor.floor_divide_", method=True)
def floor_divide(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """`floor(input / other)`.

    >>> import retrograd as rg
    >>> rg.floor_divide(rg.tensor([7, -7]), 2)
    tensor([ 3, -4])
    """
    return deliver(apply2(FloorDivide(), number_pair(input, other), other), out)
