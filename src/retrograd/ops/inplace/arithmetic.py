"""Arithmetic in place: `t.add_(1)`, `t.mul_(other)`. Where nothing is recorded, results go straight into memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.backends.base import Backend, backend_of
from retrograd.backends.dtypes import SCALAR_NAMES, int64
from retrograd.backends.native import CPU_BACKEND as XP
from retrograd.backends.quiet import QUIET, hush, unhush
from retrograd.core.apply import apply1
from retrograd.core.families import Linear
from retrograd.core.inplace import check_writable, write_back
from retrograd.core.modes import FORWARD, current
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError
from retrograd.ops.common import require_tensor
from retrograd.ops.elementwise.addcmul import addcdiv, addcmul, lerp
from retrograd.ops.elementwise.arithmetic import add, div, mul, old_alpha, sub
from retrograd.ops.elementwise.choose import SAFE
from retrograd.ops.elementwise.sign import abs as absolute
from retrograd.ops.inplace.write import write
from retrograd.ops.register import public
from retrograd.values import Array, Number


def bare(x: Any, other: Any) -> Any:
    """`other` as NumPy can take it for a write into `x.array` that needs no record; None if there is more to do."""
    if type(x) is not Tensor or x.array.dtype.kind != "f":
        return None
    state = current()
    recording = state.grad_enabled
    if (recording and (x._requires or x._base is not None)) or state.special & FORWARD:
        return None
    if type(other) is float or type(other) is int:
        return other
    if type(other) is not Tensor or (recording and other.requires_grad):
        return None
    a = other.array
    return a if a.dtype == x.array.dtype and (a.shape == x.array.shape or a.ndim == 0) else None


def _is_plain(number: Any) -> bool:
    """Whether a factor fits in with any floating dtype."""
    return (type(number) is int or type(number) is float) and -SAFE <= number <= SAFE


def _counts(x: Tensor, other: Any, alpha: Any) -> bool:
    """Whether a small whole number is added to whole numbers, as where steps or batches are counted."""
    return type(other) is int and alpha == 1 and -SAFE <= other <= SAFE and x._base is None


def _scaled(values: Any, number: Any) -> Any:
    """What is to be added, times a number: by a kernel, since NumPy's operator takes as long as the whole call."""
    if number == 1:
        return values
    return XP.multiply(values, number) if type(values) is np.ndarray else values * number


def _into(ufunc: str, x: Tensor, other: Any) -> Tensor:
    """Writes what a ufunc makes of `x` and `other` into the memory of `x`."""
    token = hush(QUIET)
    try:
        getattr(backend_of(x.array), ufunc)(x.array, other, out=x.array)
    finally:
        unhush(token)
    x._bump_version()
    return x


@public("Tensor.add_")
def add_(
    self: Tensor, other: Tensor | Number, last: Tensor | Number | None = None, *, alpha: Number = 1
) -> Tensor:
    """`self + alpha * other`, in place."""
    check_writable(self)
    if last is not None:
        other, alpha = last, old_alpha("add_", other)
    b: Any = None
    if self.array.dtype is int64:
        b = other if _counts(self, other, alpha) else None
    elif _is_plain(alpha) and (alpha == 1 or type(other) is not bool):
        b = bare(self, other)
    if b is None:
        return write(self, add(self, other, alpha=alpha))
    return _into("add", self, _scaled(b, alpha))


@public("Tensor.sub_")
def sub_(
    self: Tensor, other: Tensor | Number, last: Tensor | Number | None = None, *, alpha: Number = 1
) -> Tensor:
    """`self - alpha * other`, in place."""
    check_writable(self)
    if last is not None:
        other, alpha = last, old_alpha("sub_", other)
    b = bare(self, other) if _is_plain(alpha) else None
    if b is None:
        return write(self, sub(self, other, alpha=alpha))
    return _into("subtract", self, _scaled(b, alpha))


@public("Tensor.mul_")
def mul_(self: Tensor, other: Tensor | Number) -> Tensor:
    """`self * other`, in place."""
    check_writable(self)
    b = bare(self, other)
    return write(self, mul(self, other)) if b is None else _into("multiply", self, b)


@public("Tensor.div_")
def div_(self: Tensor, other: Tensor | Number, *, rounding_mode: str | None = None) -> Tensor:
    """`self / other`, in place."""
    check_writable(self)
    b = bare(self, other) if rounding_mode is None else None
    return (
        write(self, div(self, other, rounding_mode=rounding_mode))
        if b is None
        else _into("true_divide", self, b)
    )


@public("Tensor.addcmul_")
def addcmul_(
    self: Tensor, tensor1: Tensor, tensor2: Tensor, last: Tensor | None = None, *, value: Number = 1
) -> Tensor:
    """`self + value * tensor1 * tensor2`, in place."""
    check_writable(self)
    if last is not None:
        return write(self, addcmul(self, tensor1, tensor2, last))
    a, b = bare(self, tensor1), bare(self, tensor2)
    if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and _is_plain(value)):
        return write(self, addcmul(self, tensor1, tensor2, value=value))
    return _into("add", self, XP.multiply(_scaled(a, value), b))


@public("Tensor.addcdiv_")
def addcdiv_(
    self: Tensor, tensor1: Tensor, tensor2: Tensor, last: Tensor | None = None, *, value: Number = 1
) -> Tensor:
    """`self + value * tensor1 / tensor2`, in place."""
    check_writable(self)
    if last is not None:
        return write(self, addcdiv(self, tensor1, tensor2, last))
    a, b = bare(self, tensor1), bare(self, tensor2)
    if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and _is_plain(value)):
        return write(self, addcdiv(self, tensor1, tensor2, value=value))
    token = hush(QUIET)
    try:
        quotient = XP.true_divide(_scaled(a, value), b)
    finally:
        unhush(token)
    return _into("add", self, quotient)


@public("Tensor.lerp_")
def lerp_(self: Tensor, end: Tensor, weight: Tensor | Number) -> Tensor:
    """`self + weight * (end - self)`, in place."""
    check_writable(self)
    b = bare(self, end)
    if not isinstance(b, np.ndarray) or type(weight) is not float or abs(weight) >= 0.5:
        return write(self, lerp(self, end, weight))
    return _into("add", self, _scaled(XP.subtract(b, self.array), weight))


@public("abs_", "Tensor.absolute_", method=True)
def abs_(self: Tensor) -> Tensor:
    """`abs`, in place."""
    if self.array.dtype.kind == "c":
        raise DtypeError("In-place abs is not supported for complex tensors. Their absolute values are real.")
    check_writable(self)
    return write(self, absolute(self))


@public("Tensor.float_power_")
def float_power_(self: Tensor, exponent: Tensor | Number) -> Tensor:
    """`float_power`, in place: only what is float64 or complex128 already can hold the result."""
    x: Any = require_tensor("float_power_", "input", 1, self)
    kinds = [x.array.dtype.kind] + ([exponent.array.dtype.kind] if isinstance(exponent, Tensor) else [])
    is_complex = "c" in kinds or isinstance(exponent, complex)
    wanted = np.dtype("complex128" if is_complex else "float64")
    if x.array.dtype != wanted:
        raise DtypeError(
            f"the base given to float_power_ has dtype {SCALAR_NAMES[x.array.dtype]} but the operation's result "
            f"requires dtype {SCALAR_NAMES[wanted]}"
        )
    found: Tensor = x.pow_(exponent.to(wanted) if isinstance(exponent, Tensor) else exponent)
    return found


class ConjPhysicalInPlace(Linear):
    """the complex conjugate, in its own memory"""

    node_name = "ConjPhysicalBackward1"

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.conjugate(x) if x.dtype.kind == "c" else x.copy()

    def transpose(self, g: Any) -> Any:
        return g.conj()


@public("conj_physical_", method=True)
def conj_physical_(self: Tensor) -> Tensor:
    """The complex conjugate, in place."""
    x = require_tensor("conj_physical_", "input", 1, self)
    check_writable(x, stretched=True)
    return write_back(x, apply1(ConjPhysicalInPlace(), x))
