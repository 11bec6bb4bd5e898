"""In-place methods: `t.add_(1)`, `t.zero_()`, `t.copy_(other)`, and the fused sums that optimisers write by hand.

Most are the method of the same name followed by a move; see Note [In-place is out of place plus a move]. Those that
optimisers call write straight into memory where nothing is recorded.
"""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np

from retrograd.backends.dtypes import result_of_arrays, scalar_dtype
from retrograd.core.apply import apply1, apply2, apply_n
from retrograd.core.inplace import check_writable, write_back
from retrograd.core.modes import current
from retrograd.core.op import ElementwiseBinary, Linear, Variadic, X, added, conjugate, scaled
from retrograd.core.tensor import Tensor
from retrograd.core.version import VersionCounter
from retrograd.errors import DtypeError, ShapeError, broadcast_error, operand_error, sizes
from retrograd.ops.arrange import T, Transpose
from retrograd.ops.common import deliver, require_tensor, wrap_dim, wrap_dims, zero_like
from retrograd.ops.convert import convert
from retrograd.ops.create import number_from
from retrograd.ops.data import narrowed
from retrograd.ops.shape import Squeeze, SqueezeDim, SqueezeDims, Unsqueeze
from retrograd.values import Array

# -- ops -----------------------------------------------------------------------------------------------------------


class Replaced(Linear):
    """values that do not depend on x"""

    params = ("values",)

    def __init__(self, values: Array) -> None:
        self.values = values

    def forward(self, xp: Any, x: Array) -> Array:
        return self.values

    def transpose(self, g: Any) -> Any:
        return zero_like(g)


class Zero(Replaced):
    """zeros in place of x"""


class Fill(Replaced):
    """a number in place of x"""


class FillInPlace(Replaced):
    """a number in place of x, in its own memory"""

    node_name = "FillBackward2"


class Copied(Variadic):
    """y in place of x, in the shape and dtype of x"""

    node_name = "CopyBackwards"

    def forward(self, xp: Any, xs: Any) -> Any:
        x, y = xs
        if y.dtype.kind == "c" and x.dtype.kind != "c":
            y = y.real
        return xp.broadcast_to(y, x.shape).astype(x.dtype)

    def vjp(self, gs: Any, xs: Any, outs: Any) -> Any:
        return [zero_like(gs[0]) if self.needs(0) else None, gs[0] if self.needs(1) else None]

    def jvp(self, ts: Any, xs: Any, outs: Any) -> Any:
        return zero_like(ts[0]) if ts[1] is None else Copied().on(xs[0], ts[1])


class FillTensor(Copied):
    """a 0-dim y in place of x"""

    node_name = "FillBackward1"


class FillTensorInPlace(Copied):
    """a 0-dim y in place of x, in its own memory"""

    node_name = "FillBackward3"


class Addcmul(Variadic):
    """x + value * y * z"""

    params = ("value",)
    keeps: ClassVar[int] = X
    shown: ClassVar[dict[str, str]] = {"value": "value", "tensor1": "x:1", "tensor2": "x:2"}

    def __init__(self, value: Any) -> None:
        self.value = value

    def keeps_input(self, i: int) -> bool:
        return i > 0 and self.needs(3 - i)

    def forward(self, xp: Any, xs: Any) -> Any:
        x, y, z = xs
        return xp.add(x, y * z if self.value == 1 else (y * self.value) * z)

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

    params = ("value",)
    keeps: ClassVar[int] = X
    shown: ClassVar[dict[str, str]] = {"value": "value", "tensor1": "x:1", "tensor2": "x:2"}

    def __init__(self, value: Any) -> None:
        self.value = value

    def keeps_input(self, i: int) -> bool:
        return i == 2 or (i == 1 and self.needs(2))

    def forward(self, xp: Any, xs: Any) -> Any:
        x, y, z = xs
        return xp.add(x, y / z if self.value == 1 else (y * self.value) / z)

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
    low = np.abs(weight) < 0.5
    if isinstance(low, np.ndarray):
        return np.where(low, x + weight * (y - x), y - (y - x) * (1 - weight))
    return x + weight * (y - x) if low else y - (y - x) * (1 - weight)


class Lerp(ElementwiseBinary):
    """x + weight * (y - x), the weight a number"""

    params = ("weight",)
    shown: ClassVar[dict[str, str]] = {"weight": "weight"}

    def __init__(self, weight: Any) -> None:
        self.weight = weight

    def forward(self, xp: Any, x: Array, y: Array) -> Array:
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

    def forward(self, xp: Any, xs: Any) -> Any:
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


class TInPlace(T):
    """a matrix turned round, where it stands"""

    node_name = "TBackward1"
    is_view: ClassVar[bool] = False


class TransposeInPlace(Transpose):
    """two dimensions swapped, where they stand"""

    node_name = "TransposeBackward1"
    is_view: ClassVar[bool] = False


class SqueezeInPlace(Squeeze):
    """x without its dimensions of size 1, where it stands"""

    node_name = "SqueezeBackward3"
    is_view: ClassVar[bool] = False


class SqueezeDimInPlace(SqueezeDim):
    """x without one dimension, where it stands"""

    node_name = "SqueezeBackward4"
    is_view: ClassVar[bool] = False


class SqueezeDimsInPlace(SqueezeDims):
    """x without some dimensions, where it stands"""

    node_name = "SqueezeBackward5"
    is_view: ClassVar[bool] = False


class UnsqueezeInPlace(Unsqueeze):
    """x with one more dimension, where it stands"""

    node_name = "UnsqueezeBackward1"
    is_view: ClassVar[bool] = False


# -- the move ------------------------------------------------------------------------------------------------------


def write(x: Tensor, result: Tensor) -> Tensor:
    """`write_back`, also for ops of many operands, and for results without a derivative."""
    node = result._node
    if isinstance(node, Variadic) and node.xs is not None and node.x_counters and node.x_versions:
        for i, saved in enumerate(node.xs):
            if saved is x.array:
                node.xs[i], node.x_counters[i], node.x_versions[i] = saved.copy(), VersionCounter(), 0
    if node is None and x.requires_grad and current().grad_enabled:
        result = apply1(Replaced(result.array.astype(x.array.dtype)), x)
    return write_back(x, result)


def _in_place(name: str) -> Any:
    """The in-place form of the method `name`."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        check_writable(self)
        return write(self, getattr(self, name)(*args, **kwargs))

    method.__name__ = method.__qualname__ = f"{name}_"
    method.__doc__ = f"`{name}`, in place."
    return method


def bare(x: Any, other: Any) -> Any:
    """`other` as NumPy can add it into `x.array` with nothing to record or convert; None if there is more to do."""
    if type(x) is not Tensor or x.array.dtype.kind != "f" or not x.array.flags.writeable:
        return None
    recording = current().grad_enabled
    if recording and x._requires:
        return None
    if type(other) is float or type(other) is int:
        return other
    if type(other) is not Tensor or (recording and other._requires):
        return None
    a = other.array
    return a if a.dtype == x.array.dtype and (a.shape == x.array.shape or a.ndim == 0) else None


def _written(x: Tensor) -> Tensor:
    check_writable(x)
    x.bump_version()
    return x
