"""Functions of real numbers that are computed in double precision, whatever the dtype: their families, and series."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, Final

import numpy as np

from retrograd.backends.base import Backend
from retrograd.backends.dtypes import result_type
from retrograd.backends.pieces import look
from retrograd.core.apply import apply1, apply2
from retrograd.core.families import ElementwiseBinary, ElementwiseUnary
from retrograd.core.op import X, Y
from retrograd.core.tensor import Tensor
from retrograd.errors import unsupported_dtype
from retrograd.ops.common import deliver
from retrograd.values import Array

PART: Final = 1 << 14  # elements at a time: what is computed of them on the way stays in the cache


def powers(coefficients: Sequence[float], t: Array) -> Array:
    """The polynomial with these coefficients, lowest first, by Horner's rule; there are two or more."""
    total: Array = coefficients[-1] * t
    total += coefficients[-2]
    for c in coefficients[-3::-1]:
        total *= t
        total += c
    return total


def chebyshev(coefficients: Sequence[float], t: Array) -> Array:
    """The Chebyshev series with these coefficients, lowest first, at t in [-1, 1], by Clenshaw's rule."""
    double = 2 * t
    last: Array = 0.0
    total: Array = coefficients[-1]
    for c in coefficients[-2:0:-1]:
        last, total = total, c + double * total - last
    return coefficients[0] + t * total - last


def by_parts(xp: Backend, function: Callable[..., Array], dtype: Any, arrays: Sequence[Array]) -> Array:
    """A function of flat arrays of float64, of arrays of one shape: of large ones a part at a time, to save memory."""
    shape = arrays[0].shape
    lines = [a.reshape(-1) for a in arrays]
    size = lines[0].size
    if size <= PART or not xp.is_plain:
        return function(*[xp.asarray(a, np.float64) for a in lines]).reshape(shape).astype(dtype, copy=False)
    out = xp.empty(size, dtype)
    for start in range(0, size, PART):
        look()
        part = slice(start, start + PART)
        out[part] = function(*[xp.asarray(a[part], np.float64) for a in lines])
    return out.reshape(shape)


def _refuse(kernel: str, dtype: Any) -> None:
    raise unsupported_dtype(kernel, dtype, "it takes real floating point tensors.")


class RealUnary(ElementwiseUnary):
    """A function of a real number. Owes `curve`, of a flat array of float64; `xp` computes on it."""

    kernel: str = ""  # how PyTorch's messages call it
    special: str = ""  # its name among the special functions of a backend
    floats: ClassVar[bool] = True
    laborious: ClassVar[bool] = True
    keeps: ClassVar[int] = X

    def curve(self, xp: Backend, x: Array) -> Array:
        """The function."""
        raise NotImplementedError(f"{self.name()} has no curve()")

    def forward(self, xp: Backend, x: Array) -> Array:
        if x.dtype.kind != "f":
            _refuse(self.kernel, x.dtype)
        return xp.special(self.special, self.by_parts, x) if self.special else self.by_parts(xp, x)

    def by_parts(self, xp: Backend, x: Array) -> Array:
        return by_parts(xp, partial(self.curve, xp), x.dtype, (x,))


class RealBinary(ElementwiseBinary):
    """A function of two real numbers. Owes `surface`, of two flat arrays of float64; `xp` computes on them."""

    kernel: str = ""
    special: str = ""
    keeps0: ClassVar[int] = X | Y
    keeps1: ClassVar[int] = X | Y

    def surface(self, xp: Backend, x: Array, y: Array) -> Array:
        """The function."""
        raise NotImplementedError(f"{self.name()} has no surface()")

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        dtype = (y if isinstance(x, (int, float, complex)) else x).dtype
        if dtype.kind != "f":
            _refuse(self.kernel, dtype)
        a, b = xp.asarray(x), xp.asarray(y)
        if a.shape != b.shape:
            a, b = xp.broadcast_arrays(a, b)
        plain = partial(self.by_parts, dtype)
        return xp.special(self.special, plain, a, b) if self.special else plain(xp, a, b)

    def by_parts(self, dtype: Any, xp: Backend, x: Array, y: Array) -> Array:
        return by_parts(xp, partial(self.surface, xp), dtype, (x, y))


def of_one(op: RealUnary, input: Any, out: Any) -> Tensor:
    """The function of a tensor, where PyTorch's kernel has none for half precision."""
    if isinstance(input, Tensor):
        _refuse_half(op.kernel, input.array.dtype)
    return deliver(apply1(op, input), out)


def of_two(op: RealBinary, x: Any, y: Any, out: Any) -> Tensor:
    """The function of two operands, where PyTorch's kernel has none for half precision."""
    if isinstance(x, Tensor) or isinstance(y, Tensor):
        _refuse_half(op.kernel, result_type(x, y))
    return deliver(apply2(op, x, y), out)


def _refuse_half(kernel: str, dtype: Any) -> None:
    if dtype.kind == "f" and dtype.itemsize == 2:
        raise unsupported_dtype(kernel, dtype, "convert it with .float() first.")


class Underived(RealUnary):
    """A function of a real number that PyTorch does not differentiate: its result requires no gradient."""

    differentiable: ClassVar[bool] = False
    params: ClassVar[tuple[str, ...]] = ("kernel", "function")

    def __init__(self, kernel: str, function: Any, special: str = "") -> None:
        self.kernel = kernel
        self.function = function
        self.special = special

    def function_name(self) -> str:
        return f"special_{self.kernel.removesuffix('_cpu')}"

    def curve(self, xp: Backend, x: Array) -> Array:
        found: Array = self.function(xp, x)
        return found
