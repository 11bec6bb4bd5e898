"""The arguments that products share: two tensors of one dtype whose sizes fit."""

from __future__ import annotations

from typing import Any

from retrograd.backends.dtypes import SCALAR_NAMES
from retrograd.backends.native import quick_layout
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError, ShapeError, operand_error, sizes
from retrograd.ops.common import c_name
from retrograd.values import Shape


def tensor_pair(function: str, input: Any, other: Any, name: str) -> tuple[Any, Any]:
    if not isinstance(input, Tensor):
        raise operand_error(function, "input", 1, input)
    if not isinstance(other, Tensor):
        raise operand_error(function, name, 2, other)
    return input, other


def refuse_bool(kernel: str, x: Tensor) -> None:
    if x.array.dtype.kind == "b":
        raise NotImplementedError(
            f"\"{kernel}\" not implemented for 'Bool'. Convert the operands first: t.float()."
        )


def by(shape: Shape) -> str:
    return "x".join(str(n) for n in shape)


def check_mm(x: Tensor, y: Tensor) -> int:
    """Refuses matrices that do not fit; returns how they lie (see kernels/products.py), 0 if it is not known yet."""
    a, b = x.array, y.array
    layout: int = quick_layout(a, b)
    if layout:
        return layout
    if a.ndim != 2:
        raise ShapeError(f"self must be a matrix, but it has {a.ndim} dimensions; matmul() takes any number")
    if b.ndim != 2:
        raise ShapeError(f"mat2 must be a matrix, but it has {b.ndim} dimensions; matmul() takes any number")
    if a.shape[1] != b.shape[0]:
        raise ShapeError(
            f"mat1 and mat2 shapes cannot be multiplied ({by(a.shape)} and {by(b.shape)}): the columns of the first "
            "must be as many as the rows of the second"
        )
    if a.dtype != b.dtype:
        raise DtypeError(
            f"expected m1 and m2 to have the same dtype, but got: {c_name(a)} != "
            f"{c_name(b)}. Convert one of them with .to(dtype)."
        )
    refuse_bool("addmm_impl_cpu_", x)
    return 0


def check_mv(x: Tensor, y: Tensor, rows: int) -> None:
    a, b = x.array, y.array
    if a.ndim != 2 or b.ndim != 1:
        raise ShapeError(f"vector + matrix @ vector expected, got 1, {a.ndim}, {b.ndim}")
    if a.shape[1] != b.shape[0] or rows not in (1, a.shape[0]):
        raise ShapeError(f"size mismatch, got input ({rows}), mat ({by(a.shape)}), vec ({b.shape[0]})")
    if a.dtype != b.dtype:
        names = SCALAR_NAMES[b.dtype], SCALAR_NAMES[a.dtype], SCALAR_NAMES[b.dtype]
        raise DtypeError(
            f"addmv input tensors must have the same dtype, but got {names[0]}, {names[1]}, and {names[2]}. "
            "Convert one of them with .to(dtype)."
        )
    refuse_bool("addmv_impl_cpu", x)


def check_dot(x: Tensor, y: Tensor) -> None:
    a, b = x.array, y.array
    if a.ndim != 1 or b.ndim != 1:
        raise ShapeError(f"1D tensors expected, but got {a.ndim}D and {b.ndim}D tensors")
    if a.dtype != b.dtype:
        raise DtypeError(
            f"dot : expected both vectors to have same dtype, but found {SCALAR_NAMES[a.dtype]} and "
            f"{SCALAR_NAMES[b.dtype]}. Convert one of them with .to(dtype)."
        )
    if a.shape != b.shape:
        raise ShapeError(
            f"inconsistent tensor size, expected tensor [{a.shape[0]}] and src [{b.shape[0]}] to have the same number "
            f"of elements, but got {a.shape[0]} and {b.shape[0]} elements respectively"
        )
    refuse_bool("dot", x)


def check_bmm(x: Tensor, y: Tensor) -> None:
    a, b = x.array, y.array
    for name, v in (("batch1", a), ("batch2", b)):
        if v.ndim != 3:
            raise ShapeError(f"{name} must be a 3D tensor, but it has {v.ndim} dimensions")
    wanted = (a.shape[0], a.shape[2])
    if b.shape[:2] != wanted:
        raise ShapeError(
            f"Expected size for first two dimensions of batch2 tensor to be: {sizes(wanted)} but got: "
            f"{sizes(b.shape[:2])}."
        )
    if a.dtype != b.dtype:
        raise DtypeError(f"expected scalar type {SCALAR_NAMES[a.dtype]} but found {SCALAR_NAMES[b.dtype]}")
    refuse_bool("bmm", x)


def element_count(shape: Shape) -> int:
    n = 1
    for size in shape:
        n *= size
    return n
