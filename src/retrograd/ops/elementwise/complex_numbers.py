"""Complex numbers and their parts."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import Backend, backend_of
from retrograd.backends.dtypes import SCALAR_NAMES, bfloat16, complex_of, real_of
from retrograd.core.apply import apply1, apply2
from retrograd.core.autocast import autocasting, in_float32
from retrograd.core.families import View, added
from retrograd.core.op import Binary, Unary, X, Y
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError, ShapeError
from retrograd.ops.common import deliver, deliver_exact, plain, require_tensor, tensor_of, zero_like
from retrograd.ops.elementwise.conjugate import conj, neg_view
from retrograd.ops.elementwise.trigonometry import Cos, Sin
from retrograd.ops.index.getitem import setitem
from retrograd.ops.register import public, public_property
from retrograd.ops.shape.split import Select
from retrograd.ops.tensor.convert import contiguous
from retrograd.values import Array


class Angle(Unary):
    """the argument of a complex number; 0 or pi for a real one"""

    floats: ClassVar[bool] = True
    keeps: ClassVar[int] = X

    def forward(self, xp: Backend, x: Array) -> Array:
        found = xp.angle(x).astype(real_of(x.dtype), copy=False)
        return found if x.dtype.kind == "c" else xp.where(xp.isnan(x) | (x == 0), xp.absolute(x), found)

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        if plain(x).dtype.kind != "c":
            return zero_like(g)
        # d angle = (re d im - im d re) / |x|^2, which is g * i x / |x|^2 as a gradient; 0 at the origin.
        size = x.real * x.real + x.imag * x.imag + (plain(x) == 0).astype(real_of(plain(x).dtype))
        return x * (g / size) * 1j

    def jvp(self, t: Any, x: Any, out: Any) -> Any:
        if plain(x).dtype.kind != "c":
            return zero_like(t)
        size = x.real * x.real + x.imag * x.imag + (plain(x) == 0).astype(real_of(plain(x).dtype))
        return (x.real * t.imag - x.imag * t.real) / size


class ViewAsReal(View):
    """complex numbers as pairs of real ones, in a new last dimension"""

    def forward(self, xp: Backend, x: Array) -> Array:
        if x.size == 0:
            return xp.empty((*x.shape, 2), real_of(x.dtype))
        return x[..., None].view(real_of(x.dtype))

    def transpose(self, g: Any) -> Any:
        return ViewAsComplex().on(dense(g))


class ViewAsComplex(View):
    """pairs of real numbers, in the last dimension, as complex ones"""

    def forward(self, xp: Backend, x: Array) -> Array:
        if x.size == 0:
            return xp.empty(
                x.shape[:-1], complex_of(x.dtype)
            )  # NumPy's strides of empty arrays allow no view
        return x.view(complex_of(x.dtype)).reshape(x.shape[:-1])

    def transpose(self, g: Any) -> Any:
        return ViewAsReal().on(g)


def dense(v: Any) -> Any:
    """A value whose elements lie in row-major order."""
    return contiguous(v) if isinstance(v, Tensor) else backend_of(v).ascontiguousarray(v)


class Complex(Binary):
    """x + iy, of real x and y"""

    elementwise: ClassVar[bool] = True

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        out = xp.empty(xp.broadcast_shapes(x.shape, y.shape), complex_of(x.dtype))
        out.real = x
        out.imag = y
        return out

    def vjp(self, i: int, g: Any, x: Any, y: Any, out: Any) -> Any:
        return g.real if i == 0 else g.imag

    def jvp(self, tx: Any, ty: Any, x: Any, y: Any, out: Any) -> Any:
        if tx is None or ty is None:
            return Complex().on(ty * 0 if tx is None else tx, tx * 0 if ty is None else ty)
        return Complex().on(tx, ty)


class Polar(Binary):
    """the complex number of absolute value x and angle y"""

    elementwise: ClassVar[bool] = True
    keeps0: ClassVar[int] = Y
    keeps1: ClassVar[int] = X | Y

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        out = xp.empty(xp.broadcast_shapes(x.shape, y.shape), complex_of(x.dtype))
        out.real = x * xp.cos(y)
        out.imag = x * xp.sin(y)
        return out

    def vjp(self, i: int, g: Any, x: Any, y: Any, out: Any) -> Any:
        if i == 0:
            return g.real * Cos().on(y) + g.imag * Sin().on(y)
        return x * (g.imag * Cos().on(y) - g.real * Sin().on(y))

    def jvp(self, tx: Any, ty: Any, x: Any, y: Any, out: Any) -> Any:
        along = None if tx is None else Polar().on(tx, y)
        across = None if ty is None else out * Complex().on(ty * 0, ty)
        return added(along, across)


@public("view_as_real")
def view_as_real(input: Tensor) -> Tensor:
    """A view of complex numbers as pairs of real ones, in a new last dimension.

    >>> import retrograd as rg
    >>> rg.view_as_real(rg.tensor([1 + 2j]))
    tensor([[1., 2.]])
    """
    x = require_tensor("view_as_real", "input", 1, input)
    if x.array.dtype.kind != "c":
        raise DtypeError("view_as_real is only supported for complex tensors")
    if x.is_conj():
        raise RuntimeError(
            "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you can "
            "view it as real, use self.resolve_conj(); however, be warned that the resulting tensor will NOT alias the "
            "original."
        )
    found: Tensor = apply1(ViewAsReal(), x)
    return found


@public("view_as_complex")
def view_as_complex(input: Tensor) -> Tensor:
    """A view of pairs of real numbers, in the last dimension, as complex ones.

    >>> import retrograd as rg
    >>> rg.view_as_complex(rg.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([1.+2.j, 3.+4.j])
    """
    if autocasting():
        return in_float32(view_as_complex, input)
    x = require_tensor("view_as_complex", "input", 1, input)
    a = x.array
    if a.dtype not in (np.float32, np.float64):
        raise DtypeError(
            "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: "
            f"{SCALAR_NAMES[a.dtype]}"
        )
    if a.ndim == 0:
        raise ShapeError("Input tensor must have one or more dimensions")
    if a.shape[-1] != 2:
        raise ShapeError(f"Tensor must have a last dimension of size 2, but its size is {a.shape[-1]}")
    if a.size and a.strides[-1] != a.itemsize:
        raise ShapeError("Tensor must have a last dimension with stride 1. Call contiguous() first.")
    if a.size and any(s % (2 * a.itemsize) for s in a.strides[:-1]):
        raise ShapeError(
            "Tensor must have a stride divisible by 2 for all but last dimension. Use contiguous() first."
        )
    if a.size and a.base is not None and x.storage_offset() % 2:
        raise ShapeError("Tensor must have a storage_offset divisible by 2. Use contiguous() first.")
    found: Tensor = apply1(ViewAsComplex(), x)
    return found


def _set_real(x: Tensor, value: Any) -> None:
    setitem(real(x), ..., value)


def _set_imag(x: Tensor, value: Any) -> None:
    setitem(imag(x), ..., value)


@public("real")
@public_property("Tensor.real", setter=_set_real)
def real(input: Tensor) -> Tensor:
    """A view of the real parts; a real tensor itself."""
    x = require_tensor("real", "input", 1, input)
    if x.array.dtype.kind != "c":
        return x
    pairs = apply1(ViewAsReal(), conj(x) if x.is_conj() else x)
    found: Tensor = apply1(Select(x.array.ndim, 0), pairs)
    return found


@public("imag")
@public_property("Tensor.imag", setter=_set_imag)
def imag(input: Tensor) -> Tensor:
    """A view of the imaginary parts."""
    x = require_tensor("imag", "input", 1, input)
    if x.array.dtype.kind != "c":
        raise DtypeError("imag is not implemented for tensors with non-complex dtypes.")
    pairs = neg_view(apply1(ViewAsReal(), conj(x))) if x.is_conj() else apply1(ViewAsReal(), x)
    found: Tensor = apply1(Select(x.array.ndim, 1), pairs)
    return found


def _check_parts(function: str, first: str, second: str, x: Any, y: Any) -> tuple[Tensor, Tensor]:
    """Two real tensors of one floating-point dtype."""
    a, b = require_tensor(function, first, 1, x), require_tensor(function, second, 2, y)
    kinds = SCALAR_NAMES[a.array.dtype], SCALAR_NAMES[b.array.dtype]
    if any(t.array.dtype.kind != "f" or t.array.dtype == bfloat16 for t in (a, b)):
        raise DtypeError(
            f"Expected both inputs to be Half, Float or Double tensors but got {kinds[0]} and {kinds[1]}"
        )
    if kinds[0] != kinds[1]:
        raise DtypeError(
            f"Expected object of scalar type {kinds[0]} but got scalar type {kinds[1]} for second argument"
        )
    return a, b


@public("complex")
def complex(real: Tensor, imag: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Complex numbers from their real and imaginary parts.

    >>> import retrograd as rg
    >>> rg.complex(rg.tensor([1.0]), rg.tensor([2.0]))
    tensor([1.+2.j])
    """
    return deliver_exact(
        apply2(Complex(), *_check_parts("complex", "real", "imag", real, imag)),
        out,
        "Expected object of scalar type {wanted} but got scalar type {given} for argument 'out'",
    )


@public("polar")
def polar(abs: Tensor, angle: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Complex numbers from their absolute values and angles."""
    if autocasting():
        return in_float32(polar, abs, angle, out=out)
    return deliver_exact(
        apply2(Polar(), *_check_parts("polar", "abs", "angle", abs, angle)),
        out,
        "Expected object of scalar type {wanted} but got scalar type {given} for argument 'out'",
    )


@public("is_complex")
def is_complex(input: Tensor) -> bool:
    """Whether the dtype is complex."""
    return bool(require_tensor("is_complex", "input", 1, input).array.dtype.kind == "c")


@public("is_floating_point")
def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is float16, float32 or float64."""
    return bool(require_tensor("is_floating_point", "input", 1, input).array.dtype.kind == "f")


@public("is_conj")
def is_conj(input: Tensor) -> bool:
    """Whether `input` shows the conjugates of what lies in its memory, as `z.conj()` does."""
    return require_tensor("is_conj", "input", 1, input).is_conj()


@public("isreal", method=True)
def isreal(input: Tensor) -> Tensor:
    """Where the imaginary part is zero."""
    a = require_tensor("isreal", "input", 1, input).array
    return tensor_of(backend_of(a).isreal(a))


@public("angle", method=True)
def angle(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The argument of complex numbers, in radians, for each element."""
    return deliver(apply1(Angle(), input), out)
