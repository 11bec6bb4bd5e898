"""Sums fused with a product or a quotient, and linear interpolation: what optimisers are written with."""

from __future__ import annotations

from typing import Any, ClassVar

from retrograd.backends.base import Backend, backend_of, is_array
from retrograd.backends.casts import maker_of
from retrograd.backends.dtypes import (
    C_NAMES,
    result_of_arrays,
)
from retrograd.core.apply import apply2, apply_n
from retrograd.core.families import ElementwiseBinary, added, conjugate, scaled
from retrograd.core.op import Variadic, X
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError, broadcast_error, unsupported_dtype
from retrograd.ops.common import deliver, joint_shape, number_from, old_order, require_tensor
from retrograd.ops.register import public
from retrograd.ops.tensor.convert import convert
from retrograd.ops.tensor.data import held_number
from retrograd.values import Array, Number


class Addcmul(Variadic):
    """x + value * y * z"""

    params: ClassVar[tuple[str, ...]] = ("value",)
    keeps: ClassVar[int] = X
    shown: ClassVar[dict[str, str]] = {"value": "value", "tensor1": "x:1", "tensor2": "x:2"}

    def __init__(self, value: Any) -> None:
        self.value = value

    def keeps_input(self, i: int) -> bool:
        return i > 0 and self.needs(3 - i)

    def forward(self, xp: Backend, xs: Any) -> Any:
        x, y, z = xs
        return xp.add(x, xp.multiply(y if self.value == 1 else xp.multiply(y, self.value), z))

    def vjp(self, gs: Any, xs: Any, outs: Any) -> Any:
        g = gs[0]
        part = scaled(g, conjugate(self.value))
        return [
            g if self.needs(0) else None,
            part * conjugate(xs[2]) if self.needs(1) else None,
            part * conjugate(xs[1]) if self.needs(2) else None,
        ]

    def jvp(self, ts: Any, xs: Any, outs: Any) -> Any:
        y = None if ts[1] is None else scaled(ts[1], self.value) * xs[2]
        z = None if ts[2] is None else scaled(ts[2], self.value) * xs[1]
        return added(added(ts[0], y), z)


class Addcdiv(Variadic):
    """x + value * y / z"""

    params: ClassVar[tuple[str, ...]] = ("value",)
    keeps: ClassVar[int] = X
    shown: ClassVar[dict[str, str]] = {"value": "value", "tensor1": "x:1", "tensor2": "x:2"}

    def __init__(self, value: Any) -> None:
        self.value = value

    def keeps_input(self, i: int) -> bool:
        return i == 2 or (i == 1 and self.needs(2))

    def forward(self, xp: Backend, xs: Any) -> Any:
        x, y, z = xs
        return xp.add(x, xp.true_divide(y if self.value == 1 else xp.multiply(y, self.value), z))

    def vjp(self, gs: Any, xs: Any, outs: Any) -> Any:
        g = gs[0]
        part = scaled(g, conjugate(self.value)) / conjugate(xs[2])
        return [
            g if self.needs(0) else None,
            part if self.needs(1) else None,
            -part * conjugate(xs[1] / xs[2]) if self.needs(2) else None,
        ]

    def jvp(self, ts: Any, xs: Any, outs: Any) -> Any:
        y = None if ts[1] is None else scaled(ts[1], self.value) / xs[2]
        z = None if ts[2] is None else scaled(ts[2], -self.value) * xs[1] / (xs[2] * xs[2])
        return added(added(ts[0], y), z)


def between(x: Any, y: Any, weight: Any) -> Any:
    """From x to y by a weight, computed from the nearer end so that weight 1 gives y exactly."""
    low = abs(weight) < 0.5
    if is_array(low):
        return backend_of(low).where(low, x + weight * (y - x), y - (y - x) * (1 - weight))
    return x + weight * (y - x) if low else y - (y - x) * (1 - weight)


class Lerp(ElementwiseBinary):
    """x + weight * (y - x), the weight a number"""

    params: ClassVar[tuple[str, ...]] = ("weight",)
    shown: ClassVar[dict[str, str]] = {"weight": "weight"}

    def __init__(self, weight: Any) -> None:
        self.weight = weight

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        return between(x, y, self.weight)

    def slope(self, i: int, x: Any, y: Any, out: Any) -> Any:
        return 1 - self.weight if i == 0 else self.weight


class LerpTensor(Variadic):
    """x + weight * (y - x)"""

    node_name = "LerpBackward1"
    keeps: ClassVar[int] = X
    shown: ClassVar[dict[str, str]] = {"self": "x:0", "end": "x:1", "weight": "x:2"}

    def keeps_input(self, i: int) -> bool:
        return self.needs(2) if i < 2 else self.needs(0) or self.needs(1)

    def forward(self, xp: Backend, xs: Any) -> Any:
        return between(xs[0], xs[1], xs[2])

    def vjp(self, gs: Any, xs: Any, outs: Any) -> Any:
        g = gs[0]
        return [
            g * (1 - conjugate(xs[2])) if self.needs(0) else None,
            g * conjugate(xs[2]) if self.needs(1) else None,
            g * conjugate(xs[1] - xs[0]) if self.needs(2) else None,
        ]

    def jvp(self, ts: Any, xs: Any, outs: Any) -> Any:
        x = None if ts[0] is None else ts[0] * (1 - xs[2])
        y = None if ts[1] is None else ts[1] * xs[2]
        return added(added(x, y), None if ts[2] is None else ts[2] * (xs[1] - xs[0]))


# -- functions -----------------------------------------------------------------------------------------------------


def _together(function: str, x: Any, y: Any, z: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Three operands of a common dtype whose shapes broadcast."""
    a = require_tensor(function, "input", 1, x)
    b = require_tensor(function, "tensor1", 2, y)
    c = require_tensor(function, "tensor2", 3, z)
    shape = a.array.shape
    for other in (b.array.shape, c.array.shape):
        try:
            shape = joint_shape(shape, other)
        except ValueError:
            raise broadcast_error(shape, other) from None
    if a.array.dtype == b.array.dtype == c.array.dtype:
        return a, b, c
    dtype = result_of_arrays(b.array, c.array)
    dtype = result_of_arrays(a.array, maker_of(dtype).empty((1,) * max(b.array.ndim, c.array.ndim), dtype))
    return convert(a, dtype), convert(b, dtype), convert(c, dtype)


def _factor(function: str, name: str, position: int, value: Any, x: Tensor) -> Any:
    """An argument that is a number, which the dtype of `x` must be able to hold."""
    number = number_from(function, name, position, value)
    dtype = x.array.dtype
    held_number(number, dtype)
    if isinstance(number, complex) and dtype.kind != "c":
        number = number.real
    return int(number) if dtype.kind in "iu" else number


@public("addcmul", method=True)
def addcmul(
    input: Tensor,
    tensor1: Tensor,
    tensor2: Tensor,
    *old: Tensor,
    value: Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """`input + value * tensor1 * tensor2`.

    >>> import retrograd as rg
    >>> rg.addcmul(rg.zeros(2), rg.tensor([1.0, 2.0]), rg.tensor([3.0, 4.0]), value=10)
    tensor([30., 80.])
    """
    if old:
        tensors, numbers = old_order("addcmul", (input, tensor1, tensor2, *old), ("value",))
        return addcmul(*tensors, **numbers, out=out)
    x, y, z = _together("addcmul", input, tensor1, tensor2)
    if x.array.dtype.kind == "b":
        raise unsupported_dtype("addcmul_cpu_out", x.array.dtype)
    return deliver(apply_n(Addcmul(_factor("addcmul", "value", 4, value, x)), (x, y, z)), out)


@public("addcdiv", method=True)
def addcdiv(
    input: Tensor,
    tensor1: Tensor,
    tensor2: Tensor,
    *old: Tensor,
    value: Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """`input + value * tensor1 / tensor2`.

    >>> import retrograd as rg
    >>> rg.addcdiv(rg.zeros(2), rg.tensor([1.0, 2.0]), rg.tensor([2.0, 8.0]))
    tensor([0.5000, 0.2500])
    """
    if old:
        tensors, numbers = old_order("addcdiv", (input, tensor1, tensor2, *old), ("value",))
        return addcdiv(*tensors, **numbers, out=out)
    kinds = [t.array.dtype.kind for t in (tensor1, tensor2) if isinstance(t, Tensor)]
    if len(kinds) == 2 and all(kind in "biu" for kind in kinds):
        raise DtypeError(
            "Integer division with addcdiv is no longer supported. Convert the operands first: t.float(), or write "
            "input + value * (tensor1 / tensor2)."
        )
    x, y, z = _together("addcdiv", input, tensor1, tensor2)
    return deliver(apply_n(Addcdiv(_factor("addcdiv", "value", 4, value, x)), (x, y, z)), out)


@public("lerp", method=True)
def lerp(input: Tensor, end: Tensor, weight: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """`input + weight * (end - input)`: from one to the other by a weight, a number or a tensor.

    >>> import retrograd as rg
    >>> rg.lerp(rg.zeros(2), rg.tensor([10.0, 20.0]), 0.25)
    tensor([2.5000, 5.0000])
    """
    x, y = require_tensor("lerp", "input", 1, input), require_tensor("lerp", "end", 2, end)
    if x.array.dtype != y.array.dtype:
        raise DtypeError(
            f"expected dtype {C_NAMES[x.array.dtype]} for `end` but got dtype {C_NAMES[y.array.dtype]}. Convert one "
            "with .to(dtype)."
        )
    if isinstance(weight, Tensor):
        if weight.array.ndim and weight.array.dtype != x.array.dtype:
            raise DtypeError(
                f"expected dtype {C_NAMES[x.array.dtype]} for `weight` but got dtype {C_NAMES[weight.array.dtype]}. "
                "Convert it with "
                ".to(dtype)."
            )
        x, y, weight = _together("lerp", x, y, weight)
        if x.array.dtype.kind not in "fc":
            raise unsupported_dtype("lerp_kernel_tensor", x.array.dtype)
        return deliver(apply_n(LerpTensor(), (x, y, weight)), out)
    if x.array.dtype.kind not in "fc":
        raise unsupported_dtype("lerp_kernel_scalar", x.array.dtype)
    return deliver(apply2(Lerp(_factor("lerp", "weight", 3, weight, x)), x, y), out)
