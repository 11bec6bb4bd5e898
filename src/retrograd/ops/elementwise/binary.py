"""Elementwise functions of two tensors: angles and lengths, signs and exponents, extrema that skip NaN."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import Backend, backend_of
from retrograd.backends.dtypes import python_number, scalar_dtype
from retrograd.core.apply import apply1, apply2
from retrograd.core.families import ElementwiseBinary
from retrograd.core.op import OUT, Binary, X, Y
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError, operand_error, unsupported_dtype
from retrograd.ops.common import as_value, deliver, plain, require_tensor, zero_like
from retrograd.ops.elementwise.choose import Where
from retrograd.ops.elementwise.compare import Pointwise
from retrograd.ops.elementwise.exponential import LN2, Exp2, Log, Log1p, Sigmoid
from retrograd.ops.elementwise.steps import tied
from retrograd.ops.register import public
from retrograd.ops.special.real import RealBinary, RealUnary
from retrograd.values import Array, Number


class Atan2(RealBinary):
    """the angle of the point (y, x), in radians"""

    node_name = "Atan2Backward0"
    kernel = "atan2_cpu"
    special = "atan2"
    floats: ClassVar[bool] = True

    def surface(self, xp: Backend, x: Array, y: Array) -> Array:
        return xp.arctan2(x, y)

    def slope(self, i: int, x: Any, y: Any, out: Any) -> Any:
        square = x * x + y * y
        at_origin = plain(square) == 0
        safe = Where().on(at_origin, 1.0, square)
        return Where().on(at_origin, 0.0, (y if i == 0 else -x) / safe)


class Hypot(RealBinary):
    """the length of (x, y), without overflow"""

    kernel = "hypot_cpu"
    special = "hypot"
    keeps0: ClassVar[int] = X | OUT
    keeps1: ClassVar[int] = Y | OUT

    def surface(self, xp: Backend, x: Array, y: Array) -> Array:
        return xp.hypot(x, y)

    def slope(self, i: int, x: Any, y: Any, out: Any) -> Any:
        return (x if i == 0 else y) / out


class Copysign(RealBinary):
    """x with the sign of y"""

    kernel = "copysign_cpu"
    special = "copysign"
    floats: ClassVar[bool] = True
    keeps0: ClassVar[int] = X | OUT
    keeps1: ClassVar[int] = 0

    def surface(self, xp: Backend, x: Array, y: Array) -> Array:
        return xp.copysign(x, y)

    def vjp(self, i: int, g: Any, x: Any, y: Any, out: Any) -> Any:
        return zero_like(g) if i == 1 else super().vjp(i, g, x, y, out)

    def slope(self, i: int, x: Any, y: Any, out: Any) -> Any:
        return zero_like(x) if i == 1 else tied(sign_change(x, out), x, self)


class CopysignNumber(RealUnary):
    """x with the sign of a number"""

    node_name = "CopysignBackward1"
    kernel = "copysign_cpu"
    params: ClassVar[tuple[str, ...]] = ("number",)
    keeps: ClassVar[int] = X | OUT

    def __init__(self, number: float) -> None:
        self.number = number

    def curve(self, xp: Backend, x: Array) -> Array:
        return xp.copysign(x, self.number)

    def slope(self, x: Any, out: Any) -> Any:
        return tied(sign_change(x, out), x, self)


def sign_change(x: Any, out: Any) -> Any:
    """Out / x where the two differ by their sign at most; 0 at 0, NaN where either is not finite, as in PyTorch."""
    a = plain(x)
    xp = backend_of(a)
    return as_value(xp.where(a == 0, xp.zeros_like(a), plain(out) / xp.where(a == 0, xp.ones_like(a), a)), x)


class Ldexp(ElementwiseBinary):
    """x * 2**y"""

    floats: ClassVar[bool] = True
    keeps0: ClassVar[int] = Y
    keeps1: ClassVar[int] = OUT

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        return x * xp.exp2(y)

    def slope(self, i: int, x: Any, y: Any, out: Any) -> Any:
        return Exp2().on(y) if i == 0 else out * LN2


class Fmax(Binary):
    """the larger of x and y, NaN only where both are; x gets the gradient of equals"""

    elementwise: ClassVar[bool] = True
    keeps0: ClassVar[int] = X | Y
    keeps1: ClassVar[int] = X | Y

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        return xp.fmax(x, y)

    def first(self, x: Array, y: Array) -> Array:
        """Where x is chosen."""
        return (x >= y) | backend_of(y).isnan(y)

    def vjp(self, i: int, g: Any, x: Any, y: Any, out: Any) -> Any:
        first = self.first(plain(x), plain(y))
        return Where().on(first, g, 0.0) if i == 0 else Where().on(first, 0.0, g)

    def jvp(self, tx: Any, ty: Any, x: Any, y: Any, out: Any) -> Any:
        first = self.first(plain(x), plain(y))
        return Where().on(first, 0.0 if tx is None else tx, 0.0 if ty is None else ty)


class Fmin(Fmax):
    """the smaller of x and y, NaN only where both are; x gets the gradient of equals"""

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        return xp.fmin(x, y)

    def first(self, x: Array, y: Array) -> Array:
        return (x <= y) | backend_of(y).isnan(y)


class Nextafter(ElementwiseBinary):
    """the next number after x towards y; it moves with x"""

    copies: ClassVar[bool] = True  # for bfloat16 has neighbours of its own
    keeps0: ClassVar[int] = X | Y
    keeps1: ClassVar[int] = X | Y

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        if x.dtype.kind != "f":
            raise unsupported_dtype("nextafter_cpu", x.dtype)
        return xp.nextafter(x, y)

    def vjp(self, i: int, g: Any, x: Any, y: Any, out: Any) -> Any:
        return zero_like(g) if i == 1 else Where().on(plain(x) != plain(y), g, 0.0)

    def slope(self, i: int, x: Any, y: Any, out: Any) -> Any:
        return as_value((plain(x) != plain(y)).astype(plain(x).dtype), x) if i == 0 else zero_like(y)


class Heaviside(Binary):
    """0 where x is negative, 1 where it is positive, y at 0; PyTorch does not differentiate it"""

    elementwise: ClassVar[bool] = True
    node_name = "NotImplemented"

    def name(self) -> str:
        return "torch::autograd::NotImplemented"

    def function_name(self) -> str:
        return "heaviside"

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        return xp.where(x == 0, y, (x > 0).astype(x.dtype))

    def vjp(self, i: int, g: Any, x: Any, y: Any, out: Any) -> Any:
        raise RuntimeError(
            "derivative for aten::heaviside is not implemented: it is zero almost everywhere. Detach the result."
        )


# -- logarithms ----------------------------------------------------------------------------------------------------


class Xlogy(RealBinary):
    """x * log(y), and 0 where x is 0"""

    kernel = "xlogy_cpu"
    special = "xlogy"
    floats: ClassVar[bool] = True

    def surface(self, xp: Backend, x: Array, y: Array) -> Array:
        return xp.where((x == 0) & ~xp.isnan(y), 0.0, x * xp.log(y))

    def slope(self, i: int, x: Any, y: Any, out: Any) -> Any:
        if i == 1:
            return x / y
        flat = (plain(x) == 0) & (plain(y) <= 0)
        return Where().on(flat, 0.0, Log().on(Where().on(flat, 1.0, y)))

    def vjp(self, i: int, g: Any, x: Any, y: Any, out: Any) -> Any:
        if i == 1:
            return super().vjp(i, g, x, y, out)
        # A gradient of 0 stays one, whatever the logarithm is.
        return Where().on((plain(x) == 0) & (plain(y) <= 0), 0.0, Xlogy().on(g, y))


class XlogyOfNumber(RealUnary):
    """number * log(x)"""

    node_name = "XlogyBackward1"
    kernel = "xlogy_cpu"
    params: ClassVar[tuple[str, ...]] = ("number",)
    shown: ClassVar[dict[str, str]] = {"self": "number"}

    def __init__(self, number: float) -> None:
        self.number = number

    def curve(self, xp: Backend, x: Array) -> Array:
        return Xlogy().surface(xp, xp.full_like(x, self.number), x)

    def slope(self, x: Any, out: Any) -> Any:
        return self.number / x


def filled_like(v: Any, number: float) -> Any:
    """A number in the shape and kind of `v`."""
    array = plain(v)
    return as_value(backend_of(array).full_like(array, number), v)


class XlogyByNumber(RealUnary):
    """x * log(number)"""

    node_name = "XlogyBackward2"
    kernel = "xlogy_cpu"
    params: ClassVar[tuple[str, ...]] = ("number",)
    shown: ClassVar[dict[str, str]] = {"other": "number"}

    def __init__(self, number: float) -> None:
        self.number = number

    def curve(self, xp: Backend, x: Array) -> Array:
        return Xlogy().surface(xp, x, xp.full_like(x, self.number))

    def slope(self, x: Any, out: Any) -> Any:
        return Xlogy().slope(0, x, filled_like(x, self.number), None)

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        return Xlogy().vjp(0, g, x, filled_like(x, self.number), None)


class Xlog1py(RealBinary):
    """x * log(1 + y), and 0 where x is 0"""

    node_name = "SpecialXlog1PyBackward0"
    kernel = "xlog1py_cpu"
    special = "xlog1py"
    floats: ClassVar[bool] = True

    def surface(self, xp: Backend, x: Array, y: Array) -> Array:
        return xp.where((x == 0) & ~xp.isnan(y), 0.0, x * xp.log1p(y))

    def slope(self, i: int, x: Any, y: Any, out: Any) -> Any:
        if i == 1:
            return x / (y + 1)
        flat = (plain(x) == 0) & (plain(y) <= -1)
        return Where().on(flat, 0.0, Log1p().on(Where().on(flat, 0.0, y)))

    def vjp(self, i: int, g: Any, x: Any, y: Any, out: Any) -> Any:
        if i == 1:
            return super().vjp(i, g, x, y, out)
        return Where().on((plain(x) == 0) & (plain(y) <= -1), 0.0, Xlog1py().on(g, y))  # as that of Xlogy


class Xlog1pyOfNumber(XlogyOfNumber):
    """number * log(1 + x)"""

    node_name = "SpecialXlog1PyBackward1"
    kernel = "xlog1py_cpu"

    def curve(self, xp: Backend, x: Array) -> Array:
        return Xlog1py().surface(xp, xp.full_like(x, self.number), x)

    def slope(self, x: Any, out: Any) -> Any:
        return self.number / (x + 1)


class Xlog1pyByNumber(XlogyByNumber):
    """x * log(1 + number)"""

    node_name = "SpecialXlog1PyBackward2"
    kernel = "xlog1py_cpu"

    def curve(self, xp: Backend, x: Array) -> Array:
        return Xlog1py().surface(xp, x, xp.full_like(x, self.number))

    def slope(self, x: Any, out: Any) -> Any:
        return Xlog1py().slope(0, x, filled_like(x, self.number), None)

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        return Xlog1py().vjp(0, g, x, filled_like(x, self.number), None)


class Logaddexp(ElementwiseBinary):
    """log(exp(x) + exp(y)), without overflow"""

    keeps0: ClassVar[int] = X | Y
    keeps1: ClassVar[int] = X | Y

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        if x.dtype.kind in "biu":
            raise unsupported_dtype("logaddexp_cpu", x.dtype)
        if x.dtype.kind == "f":
            return xp.logaddexp(x, y)
        first = x.real >= y.real
        high, low = xp.where(first, x, y), xp.where(first, y, x)
        return high + xp.log1p(xp.exp(low - high))

    def slope(self, i: int, x: Any, y: Any, out: Any) -> Any:
        return Sigmoid().on(x - y if i == 0 else y - x)


class Logaddexp2(RealBinary):
    """log2(2**x + 2**y), without overflow"""

    node_name = "Logaddexp2Backward0"
    kernel = "logaddexp2_cpu"

    def surface(self, xp: Backend, x: Array, y: Array) -> Array:
        return xp.logaddexp2(x, y)

    def slope(self, i: int, x: Any, y: Any, out: Any) -> Any:
        return Sigmoid().on((x - y if i == 0 else y - x) * LN2)


# -- functions -----------------------------------------------------------------------------------------------------


def _tensors(function: str, input: Any, other: Any, name: str = "other") -> None:
    require_tensor(function, "input", 1, input)
    require_tensor(function, name, 2, other)


@public("atan2", "arctan2", "Tensor.arctan2_", "Tensor.atan2_", method=True)
def atan2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle in radians from the positive x axis to the point (`other`, `input`), for each pair of elements.

    >>> import retrograd as rg
    >>> rg.atan2(rg.tensor([1.0, -1.0]), rg.tensor([1.0, 0.0]))
    tensor([ 0.7854, -1.5708])
    """
    _tensors("atan2", input, other)
    return deliver(apply2(Atan2(), input, other), out)


@public("hypot", "Tensor.hypot_", method=True)
def hypot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`sqrt(input ** 2 + other ** 2)`, without overflow.

    >>> import retrograd as rg
    >>> rg.hypot(rg.tensor([3.0]), rg.tensor([4.0]))
    tensor([5.])
    """
    _tensors("hypot", input, other)
    return deliver(apply2(Hypot(), input, other), out)


@public("copysign", "Tensor.copysign_", method=True)
def copysign(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """`input` with the sign of `other`, a tensor or a number.

    >>> import retrograd as rg
    >>> rg.copysign(rg.tensor([1.0, -2.0]), -1)
    tensor([-1., -2.])
    """
    x, other = require_tensor("copysign", "input", 1, input), python_number(other)
    if isinstance(other, (int, float)):
        return deliver(apply1(CopysignNumber(other), x), out)
    return deliver(apply2(Copysign(), x, other), out)


@public("ldexp", "ldexp_", method=True)
def ldexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`input * 2 ** other`.

    >>> import retrograd as rg
    >>> rg.ldexp(rg.tensor([1.0, 3.0]), rg.tensor([4, 1]))
    tensor([16.,  6.])
    """
    _tensors("ldexp", input, other)
    return deliver(apply2(Ldexp(), input, other), out)


def _no_complex(function: str, *operands: Tensor) -> None:
    if any(v.array.dtype.kind == "c" for v in operands):
        raise DtypeError(f"{function} not implemented for complex tensors. They have no order.")


@public("fmax", method=True)
def fmax(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The larger of two tensors, element by element; NaN only where both are.

    >>> import retrograd as rg
    >>> rg.fmax(rg.tensor([1.0, float("nan")]), rg.tensor([0.0, 2.0]))
    tensor([1., 2.])
    """
    _tensors("fmax", input, other)
    _no_complex("fmax", input, other)
    return deliver(apply2(Fmax(), input, other), out)


@public("fmin", method=True)
def fmin(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smaller of two tensors, element by element; NaN only where both are."""
    _tensors("fmin", input, other)
    _no_complex("fmin", input, other)
    return deliver(apply2(Fmin(), input, other), out)


@public("nextafter", "Tensor.nextafter_", method=True)
def nextafter(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The next floating point number after `input` towards `other`."""
    _tensors("nextafter", input, other)
    return deliver(apply2(Nextafter(), input, other), out)


@public("heaviside", "Tensor.heaviside_", method=True)
def heaviside(input: Tensor, values: Tensor, *, out: Tensor | None = None) -> Tensor:
    """0 where `input` is negative, 1 where it is positive, `values` where it is 0.

    >>> import retrograd as rg
    >>> rg.heaviside(rg.tensor([-1.0, 0.0, 2.0]), rg.tensor(0.5))
    tensor([0.0000, 0.5000, 1.0000])
    """
    _tensors("heaviside", input, values, "values")
    if "c" in (input.array.dtype.kind, values.array.dtype.kind):
        raise DtypeError("heaviside is not yet implemented for complex tensors.")
    if input.array.dtype != values.array.dtype:
        raise DtypeError(
            "heaviside is not yet implemented for tensors with different dtypes: "
            f"{input.dtype} and {values.dtype}. Convert one with .to()."
        )
    return deliver(apply2(Heaviside(), input, values), out)


@public("xlogy", "special.xlogy", "xlogy_", method=True)
def xlogy(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """`input * log(other)`, and 0 where `input` is 0; either may be a number.

    >>> import retrograd as rg
    >>> rg.xlogy(rg.tensor([0.0, 2.0]), rg.tensor([0.0, 1.0]))
    tensor([0., 0.])
    """
    return deliver(product_with_log("xlogy", (Xlogy, XlogyOfNumber, XlogyByNumber), input, other), out)


@public("special.xlog1py")
def xlog1py(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """`input * log1p(other)`, and 0 where `input` is 0; either may be a number.

    >>> import retrograd as rg
    >>> rg.special.xlog1py(rg.tensor([0.0, 2.0]), rg.tensor([-1.0, 1.0]))
    tensor([0.0000, 1.3863])
    """
    forms = (Xlog1py, Xlog1pyOfNumber, Xlog1pyByNumber)
    return deliver(product_with_log("special_xlog1py", forms, input, other), out)


def product_with_log(function: str, forms: tuple[Any, Any, Any], x: Any, y: Any) -> Any:
    """The form for two tensors, of a number and a tensor, or of a tensor and a number."""
    number = (int, float, complex)
    x, y = python_number(x), python_number(y)
    if isinstance(x, complex) and isinstance(y, Tensor):
        raise unsupported_dtype(function.removeprefix("special_") + "_cpu", scalar_dtype(x))
    if isinstance(x, number) and isinstance(y, Tensor):
        return apply1(forms[1](x), y)
    if not isinstance(x, Tensor):
        raise operand_error(function, "input", 1, x)
    if isinstance(y, complex):
        return apply2(forms[0](), x, y)
    return apply1(forms[2](y), x) if isinstance(y, number) else apply2(forms[0](), x, y)


@public("logaddexp", method=True)
def logaddexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`log(exp(input) + exp(other))`, without overflow.

    >>> import retrograd as rg
    >>> rg.logaddexp(rg.tensor([1000.0]), rg.tensor([1000.0]))
    tensor([1000.6932])
    """
    _tensors("logaddexp", input, other)
    return deliver(apply2(Logaddexp(), input, other), out)


@public("logaddexp2", method=True)
def logaddexp2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`log2(2 ** input + 2 ** other)`, without overflow."""
    _tensors("logaddexp2", input, other)
    return deliver(apply2(Logaddexp2(), input, other), out)


def _of_integers(function: str, input: Any, other: Any, out: Any) -> Tensor:
    _tensors(function, input, other)
    kinds = {input.array.dtype.kind, other.array.dtype.kind}
    if kinds - set("biu") or kinds == {"b"}:
        dtype = next((v.array.dtype for v in (input, other) if v.array.dtype.kind in "fc"), np.dtype(bool))
        raise unsupported_dtype(f"{function}_cpu", dtype, "it takes integer tensors.")
    return deliver(apply2(Pointwise(function), input, other), out)


@public("gcd", "gcd_", method=True)
def gcd(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The greatest common divisor of integers.

    >>> import retrograd as rg
    >>> rg.gcd(rg.tensor([12, 18]), rg.tensor(8))
    tensor([4, 2])
    """
    return _of_integers("gcd", input, other, out)


@public("lcm", "lcm_", method=True)
def lcm(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The least common multiple of integers.

    >>> import retrograd as rg
    >>> rg.lcm(rg.tensor([4, 6]), rg.tensor(10))
    tensor([20, 30])
    """
    return _of_integers("lcm", input, other, out)
