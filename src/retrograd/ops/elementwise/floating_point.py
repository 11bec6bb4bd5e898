"""What floating point numbers are made of: sign, mantissa and exponent, infinities and NaN."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import Backend, backend_of
from retrograd.backends.dtypes import LIMITS, bfloat16
from retrograd.core.apply import apply1, apply_n
from retrograd.core.families import ElementwiseUnary
from retrograd.core.modes import current
from retrograd.core.op import OUT, Variadic, X
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError, GradientError
from retrograd.ops.common import as_value, deliver, number_from, outputs, plain, require_tensor, tensor_of
from retrograd.ops.register import public
from retrograd.ops.returns import FrexpResult
from retrograd.values import Array


class Frexp(Variadic):
    """x as mantissa * 2**exponent"""

    keeps: ClassVar[int] = OUT
    shown: ClassVar[dict[str, str]] = {"exponent": "out:1"}

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        mantissa, exponent = xp.frexp(xs[0])
        return mantissa, exponent.astype(np.int32)

    def scale(self, v: Any, exponent: Any) -> Any:
        """V / 2**exponent"""
        e = plain(exponent)
        return v / as_value(backend_of(e).exp2(e.astype(np.float64)).astype(plain(v).dtype), v)

    def vjp(self, gs: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
        return [self.scale(gs[0], outs[1])]

    def jvp(self, ts: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Any:
        return self.scale(ts[0], outs[1]), None


class NanToNum(ElementwiseUnary):
    """x with numbers in place of NaN and the infinities"""

    params: ClassVar[tuple[str, ...]] = ("nan", "posinf", "neginf")
    keeps: ClassVar[int] = X

    def __init__(self, nan: float | None, posinf: float | None, neginf: float | None) -> None:
        self.nan: float = 0.0 if nan is None else nan
        self.posinf = posinf
        self.neginf = neginf

    def forward(self, xp: Backend, x: Array) -> Array:
        if not xp.is_writable(x):
            x = xp.ascontiguousarray(x)  # of dimensions that share memory NumPy would keep the order
        if x.dtype.kind != "f" or not (xp.is_plain or xp.rounds):
            made = partial(xp.nan_to_num, nan=self.nan, posinf=self.posinf, neginf=self.neginf)
            return xp.of_elements(made, x)
        return xp.of_elements(partial(self.of_floats, xp), x)

    def of_floats(self, xp: Backend, x: Array) -> Array:
        """What NumPy's function does, without its care for other types: that takes longer than small arrays do."""
        low, high = LIMITS[x.dtype]
        found = xp.where(x == -math.inf, low if self.neginf is None else self.neginf, x)
        found = xp.where(x == math.inf, high if self.posinf is None else self.posinf, found)
        return xp.where(xp.isnan(x), self.nan, found)

    def slope(self, x: Any, out: Any) -> Any:
        a = plain(x)
        return as_value(backend_of(a).isfinite(a).astype(a.dtype), x)


@public("frexp", method=True)
def frexp(input: Tensor, *, out: tuple[Tensor, Tensor] | None = None) -> FrexpResult:
    """`input` as `mantissa * 2 ** exponent`: the mantissa in [0.5, 1) with the sign, the exponent an int32.

    >>> import retrograd as rg
    >>> rg.frexp(rg.tensor([-3.0])).mantissa
    tensor([-0.7500])
    """
    x = require_tensor("frexp", "input", 1, input)
    if x.array.dtype.kind != "f":
        raise DtypeError("torch.frexp() only supports floating-point dtypes. Convert with .float() first.")
    mantissa, exponent = apply_n(Frexp(), (x,))
    if out is None:
        return FrexpResult(mantissa, exponent)
    first, second = outputs(out, 2)
    return FrexpResult(deliver(mantissa, first), deliver(exponent, second))


@public("nan_to_num", "nan_to_num_", method=True)
def nan_to_num(
    input: Tensor,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """`input` with `nan` (0) in place of NaN, and `posinf` and `neginf` (the largest numbers) of the infinities.

    >>> import retrograd as rg
    >>> rg.nan_to_num(rg.tensor([float("nan"), float("inf"), 2.0]), posinf=9.0)
    tensor([0., 9., 2.])
    """
    x = require_tensor("nan_to_num", "input", 1, input)
    if x.array.dtype.kind == "c" and x.requires_grad and current().grad_enabled:
        raise GradientError(
            "nan_to_num does not support automatic differentiation for outputs with complex dtype. Apply it to "
            "the real and the imaginary part."
        )
    nan, posinf, neginf = [
        None if v is None else number_from("nan_to_num", name, i, v)
        for i, (name, v) in enumerate((("nan", nan), ("posinf", posinf), ("neginf", neginf)), 2)
    ]
    if x.array.dtype is bfloat16:  # which is computed in a wider dtype
        low, high = LIMITS[bfloat16]
        posinf, neginf = high if posinf is None else posinf, low if neginf is None else neginf
    return deliver(apply1(NanToNum(nan, posinf, neginf), x), out)


@public("signbit", method=True)
def signbit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where the sign is negative, also that of a zero."""
    a = require_tensor("signbit", "input", 1, input).array
    if a.dtype.kind == "c":
        raise NotImplementedError("signbit is not implemented for complex tensors.")
    _check_truth("signbit", out)
    return deliver(tensor_of(backend_of(a).signbit(a) if a.dtype.kind == "f" else a < 0), out)


def _check_truth(function: str, out: Any) -> None:
    if isinstance(out, Tensor) and out.array.dtype.kind != "b":
        raise DtypeError(f"{function} does not support non-boolean outputs. Give one of dtype bool.")


def _equal_to(function: str, input: Any, number: float, out: Any) -> Tensor:
    a = require_tensor(function, "input", 1, input).array
    if a.dtype.kind == "c":
        raise DtypeError(f"{function} does not support complex inputs. Ask for its real or imaginary part.")
    _check_truth(function, out)
    return deliver(tensor_of(a == number), out)


@public("isposinf", method=True)
def isposinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where elements are plus infinity."""
    return _equal_to("isposinf", input, np.inf, out)


@public("isneginf", method=True)
def isneginf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where elements are minus infinity."""
    return _equal_to("isneginf", input, -np.inf, out)


@public("isnan", method=True)
def isnan(input: Tensor) -> Tensor:
    """Where elements are not a number."""
    a = require_tensor("isnan", "input", 1, input).array
    return tensor_of(backend_of(a).isnan(a))


@public("isinf", method=True)
def isinf(input: Tensor) -> Tensor:
    """Where elements are infinite."""
    a = require_tensor("isinf", "input", 1, input).array
    return tensor_of(backend_of(a).isinf(a))


@public("isfinite", method=True)
def isfinite(input: Tensor) -> Tensor:
    """Where elements are neither infinite nor not a number."""
    a = require_tensor("isfinite", "input", 1, input).array
    return tensor_of(backend_of(a).isfinite(a))
