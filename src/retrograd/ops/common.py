"""Small helpers that functions of every family share: `out=`, dimensions, reductions' arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from retrograd.backends.dtypes import SCALAR_NAMES, can_cast
from retrograd.core.inplace import check_writable
from retrograd.core.modes import current
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError, GradientError, dimension_error, operand_error
from retrograd.values import Axis


def deliver(result: Any, out: Any) -> Any:
    """The result, written into `out` if one was given."""
    if out is None:
        return result
    if current().grad_enabled and (result.requires_grad or out.requires_grad):
        raise GradientError(
            "functions with out=... arguments don't support automatic differentiation, but one of the arguments "
            "requires grad. Drop out=, or compute under no_grad()."
        )
    if not can_cast(result.array.dtype, out.array.dtype):
        raise DtypeError(
            f"result type {SCALAR_NAMES[result.array.dtype]} can't be cast to the desired output type "
            f"{SCALAR_NAMES[out.array.dtype]}"
        )
    check_writable(out)
    if out.array.shape == result.array.shape:
        np.copyto(out.array, result.array, casting="unsafe")
    else:
        out.array = result.array.astype(out.array.dtype)
    out.bump_version()
    return out


def wrap_dim(dim: Any, ndim: int) -> int:
    """A dimension counted from the front; a 0-dim tensor lends dimension 0."""
    try:
        d = dim.__index__()
    except AttributeError:
        raise TypeError(f"a dimension must be an int, not {type(dim).__name__}") from None
    n = max(ndim, 1)
    if not -n <= d < n:
        raise dimension_error(d, ndim)
    return int(d % n)


def wrap_dims(dim: Any, ndim: int) -> Axis:
    """One dimension or several as an axis tuple in increasing order; None (or an empty list) means all."""
    if dim is None:
        return None
    if not isinstance(dim, (tuple, list)):
        return (wrap_dim(dim, ndim),)
    dims = [wrap_dim(d, ndim) for d in dim]
    if len(set(dims)) != len(dims):
        twice = next(d for d in dims if dims.count(d) > 1)
        raise RuntimeError(f"dim {twice} appears multiple times in the list of dims")
    return tuple(sorted(dims)) if dims else None


def sizes_from(args: Sequence[Any]) -> tuple[int, ...]:
    """`f(2, 3)`, `f((2, 3))` and `f(size)` alike."""
    if len(args) == 1 and isinstance(args[0], (tuple, list)):
        args = args[0]
    return tuple(int(n.__index__()) for n in args)


def plain(v: Any) -> Any:
    """The bare array or number behind a value: for conditions and counts, which have no gradient."""
    return v.array if isinstance(v, Tensor) else v


def as_value(array: Any, like: Any) -> Any:
    """A constant array as the kind of value that `like` is."""
    return Tensor(np.asarray(array)) if isinstance(like, Tensor) else array


def zero_like(v: Any) -> Any:
    """Zeros in the shape and kind of `v`: unlike `v * 0` also where `v` is infinite."""
    return as_value(np.zeros_like(plain(v)), v)


def require_tensor(function: str, argument: str, position: int, value: Any) -> Tensor:
    """`value`, if it is a Tensor."""
    if not isinstance(value, Tensor):
        raise operand_error(function, argument, position, value)
    return value
