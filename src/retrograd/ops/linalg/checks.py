"""What functions of matrices share: checks of their arguments, verdicts, results with names, pieces of formulas."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from retrograd.backends.base import Backend, as_array, backend_of, whole
from retrograd.backends.dtypes import SCALAR_NAMES
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError, LinAlgError, ShapeError, broadcast_error, unsupported_dtype
from retrograd.ops.common import (
    as_value,
    deliver_exact,
    joint_shape,
    outputs,
    plain,
    require_tensor,
)
from retrograd.ops.linalg.matmul import adjoint
from retrograd.ops.shape.diagonals import DiagEmbed, Diagonal
from retrograd.values import Array, Shape

R = TypeVar("R")

# -- checks --------------------------------------------------------------------------------------------------------


def check_matrices(function: str, x: Tensor, name: str = "A") -> None:
    """Refuses what has fewer than two dimensions."""
    if x.array.ndim < 2:
        raise ShapeError(f"{function}: The input tensor {name} must have at least 2 dimensions.")


def check_square(function: str, x: Tensor, name: str = "A") -> None:
    """Refuses all but square matrices."""
    check_matrices(function, x, name)
    m, n = x.array.shape[-2:]
    if m != n:
        raise ShapeError(
            f"{function}: {name} must be batches of square matrices, but they are {m} by {n} matrices"
        )


def check_floating(function: str, x: Tensor, half: bool = True) -> None:
    """Refuses integers, and half precision unless told otherwise."""
    dtype = x.array.dtype
    if dtype.kind not in "fc":
        raise DtypeError(
            f"{function}: Expected a floating point or complex tensor as input. Got {SCALAR_NAMES[dtype]}. Convert "
            "it with .float() or .double()."
        )
    if dtype.itemsize == 2 and not half:
        raise DtypeError(
            f"{function}: Low precision dtypes not supported. Got {SCALAR_NAMES[dtype]}. Convert with .float()."
        )


def check_kernel(kernel: str, x: Tensor) -> None:
    """Refuses the dtypes for which PyTorch has no such kernel."""
    if x.array.dtype.char not in "fdFD":
        raise unsupported_dtype(kernel, x.array.dtype, "convert it with .float() or .double()")


def check_same_dtype(function: str, x: Tensor, y: Tensor, names: str = "A B") -> None:
    a, b = names.split()
    if x.array.dtype != y.array.dtype:
        raise DtypeError(
            f"{function}: Expected {a} and {b} to have the same dtype, but found {a} of type "
            f"{SCALAR_NAMES[x.array.dtype]} and {b} of type {SCALAR_NAMES[y.array.dtype]} instead"
        )


def check_system(function: str, a: Tensor, shape: Shape, left: bool) -> None:
    """Refuses a right side, of this shape, that does not fit the matrices of a linear system."""
    m, n = a.array.shape[-2:]
    if shape[-2 if left else -1] != n:
        raise ShapeError(
            f"{function}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} ({m}x{n} "
            f"and {shape[-2]}x{shape[-1]})"
        )
    check_batches(a.array.shape, shape)


def check_batches(a: Shape, b: Shape) -> None:
    """Refuses batches that do not broadcast."""
    try:
        joint_shape(a[:-2], b[:-2])
    except ValueError:
        raise broadcast_error(b[:-2], a[:-2]) from None


def matrix_argument(function: str, x: Any, name: str = "A", position: int = 1) -> Tensor:
    """`x`, if it is a Tensor; PyTorch's functions call themselves `linalg_det` here and `linalg.det` elsewhere."""
    return require_tensor(function.replace(".", "_"), name, position, x)


# -- verdicts ------------------------------------------------------------------------------------------------------


def check_info(function: str, info: Any, verdict: str) -> None:
    """Raises where a factorization failed; `{}` in the verdict stands for the place."""
    found = whole(as_array(plain(info)))
    failed = backend_of(found).flatnonzero(found)
    if len(failed):
        first = int(failed[0])
        element = f"(Batch element {first}): " if found.ndim else ""
        raise LinAlgError(f"{function}: {element}{verdict.format(int(found.reshape(-1)[first]))}")


SINGULAR = (
    "The diagonal element {0} is zero, the inversion could not be completed because the input matrix is singular. Try "
    "pinv(), or lstsq() for a system."
)
NOT_POSITIVE = (
    "The factorization could not be completed because the input is not positive-definite (the leading minor of order "
    "{0} is not positive-definite)."
)
UNSOLVABLE = "The solver failed because the input matrix is singular."


def deprecated(function: str, instead: str) -> None:
    """PyTorch's warning at functions that `linalg` has replaced."""
    deprecation(
        f"torch.{function} is deprecated in favor of torch.{instead} and will be removed in a future PyTorch release."
    )


def deprecation(message: str) -> None:
    warn(message, UserWarning)


def delivered(kind: Callable[..., R], results: Sequence[Any], out: Sequence[Any] | None) -> R:
    """Several results under their names, written into the tensors in `out` if they were given."""
    if out is not None:
        results = [deliver_exact(r, o) for r, o in zip(results, outputs(out, len(results)), strict=True)]
    return kind(*results)


# -- pieces of formulas: of arrays and Tensors alike ---------------------------------------------------------------


def row(v: Any) -> Any:
    """Vectors as rows, to scale columns with."""
    return v.reshape((*v.shape[:-1], 1, v.shape[-1]))


def column(v: Any) -> Any:
    """Vectors as columns, to scale rows with."""
    return v.reshape((*v.shape, 1))


def diagonal_of(v: Any) -> Any:
    """The diagonals of matrices."""
    return Diagonal(0, -2, -1).on(v)


def on_diagonal(v: Any) -> Any:
    """Diagonal matrices."""
    return DiagEmbed(0, v.ndim - 1, v.ndim).on(v)


def off_diagonal(v: Any) -> Any:
    """Matrices with zeros on the diagonal."""
    return v * as_value(1 - unit_array(v.shape[-1], plain(v), plain(v).real.dtype), v)


def identity(n: int, like: Any) -> Any:
    """The unit matrix in the dtype and kind of a value."""
    return as_value(unit_array(n, plain(like), plain(like).dtype), like)


def unit_array(n: int, like: Array, dtype: Any) -> Array:
    """The unit matrix of a dtype, where an array lives."""
    return backend_of(like).eye(n, dtype=dtype)


def skew(v: Any) -> Any:
    """A matrix less its adjoint."""
    return v - adjoint(v)


def hermitian(v: Any) -> Any:
    """The Hermitian part of matrices."""
    return (v + adjoint(v)) * 0.5


def imaginary(v: Any) -> Any:
    """The imaginary part, as an imaginary number."""
    return (v - v.conj()) * 0.5


def plus(a: Any, b: Any) -> Any:
    """A sum of which either term may be missing."""
    return b if a is None else a if b is None else a + b


def is_finite(xp: Backend, a: Array) -> bool:
    return bool(xp.isfinite(a).all())
