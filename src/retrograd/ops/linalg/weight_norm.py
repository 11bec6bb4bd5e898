"""A weight made of directions and lengths, as weight norm has it: one node for the whole."""

from __future__ import annotations

from typing import Any, ClassVar, Final

import numpy as np

from retrograd.backends.base import Backend
from retrograd.backends.dtypes import SCALAR_NAMES
from retrograd.core.apply import apply2
from retrograd.core.families import added
from retrograd.core.op import Binary, X, Y
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError, unsupported_dtype
from retrograd.ops.common import int_from, require_tensor, wrap_dim
from retrograd.ops.linalg.distance import norm_except_dim
from retrograd.ops.reduce.statistics import VectorNorm
from retrograd.ops.register import public
from retrograd.ops.shape.reshape import reshape
from retrograd.values import Array

float16: Final = np.dtype("float16")
float32: Final = np.dtype("float32")


class WeightNormInterface(Binary):
    """v, with each of its slices along a dimension brought to the length that g has for it"""

    in_rows: ClassVar[bool] = True
    params: ClassVar[tuple[str, ...]] = ("dim",)
    shown: ClassVar[dict[str, str]] = {"dim": "dim", "v": "x", "g": "y"}
    keeps0: ClassVar[int] = X | Y
    keeps1: ClassVar[int] = X

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def axes(self, v: Any) -> tuple[int, ...]:
        """The dimensions that a length is of."""
        return tuple([i for i in range(v.ndim) if i != self.dim])

    def lengths(self, v: Any) -> Any:
        axes = self.axes(v)
        return VectorNorm(2, axes, True).on(v) if axes else abs(v)

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        if x.dtype is float16:  # rounded once
            return self.forward(xp, x.astype(float32), y.astype(float32)).astype(float16)
        axes = self.axes(x)
        return x * (y / (VectorNorm(2, axes, True).forward(xp, x) if axes else xp.absolute(x)))

    def within(self, g: Any, x: Any) -> Any:
        """How much of g lies along each slice of x, times the length of the slice."""
        axes = self.axes(x)
        return (g * x).sum(axis=axes, keepdims=True) if axes else g * x

    def vjp(self, i: int, g: Any, x: Any, y: Any, out: Any) -> Any:
        length = self.lengths(x)
        along = self.within(g, x) / length
        if i:
            return along
        size = y / length
        return size * g - x * (size * (along / length))

    def jvp(self, tx: Any, ty: Any, x: Any, y: Any, out: Any) -> Any:
        length = self.lengths(x)
        turned = None if tx is None else (y / length) * (tx - x * (self.within(tx, x) / (length * length)))
        return added(turned, None if ty is None else x * (ty / length))


@public("_weight_norm")
def _weight_norm(v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
    """`v`, of which each slice along `dim` has the length that `g` says; all of it one length if `dim` is -1.

    >>> import retrograd as rg
    >>> rg._weight_norm(rg.tensor([[3.0, 4.0], [0.0, 1.0]]), rg.tensor([[10.0], [2.0]]))
    tensor([[6., 8.],
            [0., 2.]])
    """
    x, y = require_tensor("_weight_norm", "v", 1, v), require_tensor("_weight_norm", "g", 2, g)
    at = int_from("_weight_norm", "dim", 3, dim)
    if at == -1 or not x.array.ndim or (at != 0 and at != x.array.ndim - 1):
        found: Tensor = x * (y / norm_except_dim(x, 2, at))
        return found
    if x.array.dtype.kind != "f":
        raise unsupported_dtype("weight_norm_kernel", x.array.dtype, "use a floating point dtype.")
    if x.array.dtype != y.array.dtype:
        raise DtypeError(
            f"expected scalar type {SCALAR_NAMES[x.array.dtype]} but found {SCALAR_NAMES[y.array.dtype]}: directions "
            "and lengths have one dtype. Convert g."
        )
    shape = [1] * x.array.ndim
    shape[at] = x.array.shape[at]
    if list(y.array.shape) != shape:
        y = reshape(y, shape)
    found = apply2(WeightNormInterface(wrap_dim(at, x.array.ndim)), x, y)
    return found
