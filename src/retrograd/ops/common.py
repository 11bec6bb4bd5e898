"""Small helpers that functions of every family share: `out=`, dimensions, reductions' arguments."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

import numpy as np

from retrograd.backends.base import Backend, as_array, backend_of, common_backend, stands_for_many
from retrograd.backends.casts import cast, maker_of, of_bfloat16
from retrograd.backends.dtypes import C_NAMES, SCALAR_NAMES, keeps_category, python_number, scalar_dtype
from retrograd.core.inplace import check_writable
from retrograd.core.modes import FORWARD, INFERENCE, current
from retrograd.core.places import warn
from retrograd.core.tangent import tangent_of
from retrograd.core.tensor import Tensor
from retrograd.core.version import UNTRACKED
from retrograd.errors import (
    DtypeError,
    GradientError,
    OperandError,
    dimension_error,
    operand_error,
    type_name,
    unsupported_dtype,
)
from retrograd.values import Array, Axis, Shape

ndarray: Final[Any] = np.ndarray


_EXPECTED = "Expected out tensor to have dtype {c_wanted}, but got {c_given} instead"


def deliver(result: Any, out: Any, told: bool = True) -> Tensor:
    """The result, written into `out` if one was given. Another shape of `out` is warned of if `told`."""
    found: Tensor = result
    if out is None:
        return found
    if current().grad_enabled and (result.requires_grad or out.requires_grad):
        raise GradientError(
            "functions with out=... arguments don't support automatic differentiation, but one of the arguments "
            "requires grad. Drop out=, or compute under no_grad()."
        )
    state = current()
    if state.special & FORWARD and any(tangent_of(t, state) is not None for t in (result, out)):
        raise NotImplementedError(
            "Trying to use forward AD with a function that does not support it because it is an out= function. Drop "
            "out=, or copy_() the result."
        )
    if not keeps_category(result.array.dtype, out.array.dtype):
        raise no_cast(result.array.dtype, out.array.dtype)
    check_writable(out)
    if out.array.shape == result.array.shape:
        common_backend((out.array, result.array)).copyto(out.array, result.array, casting="unsafe")
    else:
        if out.array.size and told:
            warn(
                f"An output with one or more elements was resized since it had shape {list(out.array.shape)}, which "
                f"does not match the required output shape {list(result.array.shape)}. Give one of that shape, or of "
                "no elements: out.resize_(0).",
                UserWarning,
            )
        out.array = cast(result.array, out.array.dtype)
    out._bump_version()
    found = out
    return found


def deliver_exact(result: Any, out: Any, complaint: str = _EXPECTED) -> Tensor:
    """`deliver` for functions that write only into the dtype that their result has."""
    if out is not None and out.array.dtype != result.array.dtype:
        raise DtypeError(_about_dtypes(complaint, result, out))
    return deliver(result, out)


def deliver_castable(function: str, result: Any, out: Any, what: str = "result") -> Tensor:
    """`deliver` for functions of matrices that say in their own words what they cannot write into."""
    if out is not None and not keeps_category(result.array.dtype, out.array.dtype):
        words = f"{function}: Expected {what} to be safely castable from {{wanted}} dtype, but got {what} "
        words += "with dtype {given}"
        raise DtypeError(_about_dtypes(words, result, out))
    return deliver(result, out)


def _about_dtypes(complaint: str, result: Any, out: Any) -> str:
    """A complaint about the dtype of `out`, by the names of dtypes or by those of their numbers in C++."""
    wanted, given = result.array.dtype, out.array.dtype
    return complaint.format(
        wanted=SCALAR_NAMES[wanted],
        given=SCALAR_NAMES[given],
        c_wanted=C_NAMES[wanted],
        c_given=C_NAMES[given],
    )


def outputs(out: Any, count: int) -> Sequence[Tensor]:
    """The tensors that several results are to be written into: as many as those."""
    if len(out) != count:
        raise TypeError(f"expected tuple of {count} elements but got {len(out)}")
    for i, given in enumerate(out):
        if not isinstance(given, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 'out', but got {type_name(given)}")
    found: Sequence[Tensor] = out
    return found


def no_cast(dtype: Any, target: Any) -> DtypeError:
    """The error for a result that does not fit the dtype it has to have."""
    return DtypeError(
        f"result type {SCALAR_NAMES[dtype]} can't be cast to the desired output type {SCALAR_NAMES[target]}"
    )


def wrap_dim(dim: Any, ndim: int) -> int:
    """A dimension counted from the front; a 0-dim tensor lends dimension 0."""
    if type(dim) is int:
        d: int = dim
    elif hasattr(dim, "__index__"):
        d = dim.__index__()
    else:
        raise TypeError(f"a dimension must be an int, not {type(dim).__name__}")
    n = ndim or 1
    if not -n <= d < n:
        raise dimension_error(d, ndim)
    return d + n if d < 0 else d


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


def plain(v: Any) -> Any:
    """The bare array or number behind a value: for conditions and counts, which have no gradient."""
    return v.array if isinstance(v, Tensor) else v


def as_value(array: Any, like: Any) -> Any:
    """A constant array as the kind of value that `like` is."""
    if not isinstance(like, Tensor):
        return array
    made = as_array(array)
    # NumPy's `astype` to bfloat16 gives its own kind of array, not ours.
    return Tensor(of_bfloat16().seen(made) if made.dtype.kind == "V" else made, share=True)


def memory_order(xp: Backend, x: Array) -> Any:
    """How a copy of an array lies in memory: as the array does, or in rows where dimensions share memory."""
    return "K" if xp.is_writable(x) or x.flags.c_contiguous else "C"


def tensor_of(found: Any) -> Tensor:
    """What an array library returned, as a Tensor: an array, or its own kind of number in the place of one."""
    made = Tensor(np.asarray(found) if isinstance(found, np.generic) else found, share=True)
    if current().special & INFERENCE:
        made._counter = UNTRACKED
    return made


def zero_like(v: Any) -> Any:
    """Zeros in the shape and kind of `v`: unlike `v * 0` also where `v` is infinite."""
    array = plain(v)
    return as_value(backend_of(array).zeros_like(array), v)


def zeros_beside(v: Any, shape: Any, dtype: Any = None) -> Any:
    """Zeros of a shape, of the kind and in the memory that `v` is of."""
    array = plain(v)
    return as_value(backend_of(array).zeros(tuple(shape), array.dtype if dtype is None else dtype), v)


def beside(array: Any, other: Any) -> Any:
    """An array of the host (indices, a mask, a number) in the memory of another one; any other as it is."""
    return array if type(array) is not ndarray or type(other) is ndarray else backend_of(other).asarray(array)


def joint_shape(a: Shape, b: Shape) -> Shape:
    """The shape to which both broadcast; a ValueError where there is none."""
    return a if a == b else np.broadcast_shapes(a, b)


def wrapped(x: Any, y: Any) -> tuple[Any, Any]:
    """Two operands; a Python int that the other's integer dtype cannot hold goes round, as in C."""
    if type(y) is int and x.dtype.kind in "iu":
        return x, _turned(y, x.dtype)
    if type(x) is int and y.dtype.kind in "iu":
        return _turned(x, y.dtype), y
    return x, y


def _turned(number: int, dtype: Any) -> int:
    """A number modulo the size of an integer dtype, in its range."""
    if not -(2**63) <= number < 2**64:
        raise OverflowError(f"int too big to convert: {number} needs more than 64 bits")
    bits = 8 * int(dtype.itemsize)
    found = number & ((1 << bits) - 1)
    return found - (1 << bits) if dtype.kind == "i" and found >> (bits - 1) else found


def number_pair(x: Any, y: Any) -> Any:
    """The first operand, as a tensor if both are numbers."""
    if type(x) is Tensor or not all(isinstance(v, (bool, int, float, complex, np.number)) for v in (x, y)):
        return x
    if isinstance(x, np.number):
        x = x.item()
    dtype = scalar_dtype(x)
    return Tensor(maker_of(dtype).asarray(x, dtype), share=True)


def check_division(kernel: str, x: Any, y: Any) -> None:
    """Refuses to divide with a rest in booleans or complex numbers, and integers by zero."""
    dtype = y.dtype if isinstance(x, (int, float, complex)) else x.dtype
    if dtype.kind in "bc":
        raise unsupported_dtype(kernel, dtype)
    if dtype.kind in "iu" and getattr(x, "size", None) != 0 and _has_zero(y):
        raise DtypeError("ZeroDivisionError: integers cannot be divided by zero. Convert to floats first.")


def _has_zero(y: Any) -> Any:
    zero = y == 0
    return zero if isinstance(zero, bool) else backend_of(zero).any(zero)


def _numbers_of_tensors(given: Sequence[Any], names: int) -> list[Any]:
    """The arguments of an old order, with tensors of one number as numbers where these come.

    One number comes in second place. The first of two comes before the first tensor, or behind it where that is the
    object of a method, and the second one in third place.
    """
    found = list(given)
    more = sum([isinstance(v, Tensor) for v in found]) - 3
    for i in (1,) if names == 1 else (0, 1, 2)[: len(found) - 2]:
        v = found[i]
        taken = (i == 0 and not isinstance(found[1], Tensor)) or (i == 1 and not isinstance(found[0], Tensor))
        if more > 0 and not taken and isinstance(v, Tensor) and not v.array.ndim and not v.requires_grad:
            found[i] = v.array.item()
            more -= 1
    return found


def old_order(function: str, given: Sequence[Any], names: Sequence[str]) -> tuple[list[Any], dict[str, Any]]:
    """Arguments as PyTorch once took them, numbers before the tensors they belong to: tensors, and numbers by name."""
    given = _numbers_of_tensors(given, len(names))
    tensors = [v for v in given if isinstance(v, Tensor)]
    numbers = [v for v in given if not isinstance(v, Tensor)]
    fits = len(tensors) == 3 and 0 < len(numbers) <= len(names) and isinstance(given[-1], Tensor)
    if not (fits and all(isinstance(n, (int, float, complex, np.number)) for n in numbers)):
        kinds = ", ".join(type(v).__name__ for v in given)
        raise TypeError(
            f"{function}() received an invalid combination of arguments - got ({kinds}): it takes three tensors, and "
            f"{' and '.join(names)} by name."
        )
    warn_of_order(function, names)
    return tensors, dict(zip(names, numbers, strict=False))


def warn_of_order(function: str, names: Sequence[str]) -> None:
    """Says that an order of arguments is deprecated."""
    warn(
        f"This overload of {function} is deprecated: numbers come before tensors. Give them by name: "
        f"{function}(..., {', '.join(f'{n}=...' for n in names)}).",
        UserWarning,
    )


def require_tensor(function: str, argument: str, position: int, value: Any) -> Tensor:
    """`value`, if it is a Tensor."""
    if not isinstance(value, Tensor):
        raise operand_error(function, argument, position, value)
    return value


def optional_tensor(function: str, argument: str, position: int, value: Any) -> Tensor | None:
    """`value`, if it is a Tensor or None."""
    return None if value is None else require_tensor(function, argument, position, value)


def require_sequence(function: str, argument: str, position: int, value: Any) -> Sequence[Any]:
    """`value`, if it is a tuple or a list: of ints, as those who ask for it find out."""
    if not isinstance(value, (tuple, list)):
        raise TypeError(
            f"{function}(): argument '{argument}' (position {position}) must be tuple of ints, not {type_name(value)}"
        )
    return value


def require_word(function: str, argument: str, value: Any, position: int = 0) -> str:
    """`value`, if it is a string; `position` counts from 1, where PyTorch tells it."""
    if not isinstance(value, str):
        where = f"'{argument}' (position {position})" if position else f"'{argument}'"
        raise TypeError(f"{function}(): argument {where} must be str, not {type_name(value)}")
    return value


def differ(*arguments: Any) -> bool:
    """Whether samples of a `vmap` have another of these tensors than their neighbours."""
    return any(isinstance(a, Tensor) and stands_for_many(a.array) for a in arguments)


def c_name(a: Array) -> str:
    """The dtype of an array as it is called in C."""
    return C_NAMES[a.dtype]


def number_from(function: str, argument: str, position: int, value: Any) -> Any:
    """What stands for a number as Python's: NumPy's would decide dtypes, and a tensor would be recorded.

    A 0-dim tensor is one unless it requires a gradient, which would be lost.
    """
    if type(value) is int or type(value) is float:
        return value
    if isinstance(value, (bool, int, float, complex)) and not isinstance(value, np.generic):
        return python_number(value)
    if isinstance(value, np.generic) and value.dtype.kind in "biufc":
        return value.item()
    if isinstance(value, Tensor) and value.array.ndim == 0 and not value.requires_grad:
        return value.array.item()
    raise OperandError(
        f"{function}(): argument '{argument}' (position {position}) must be Number, not {type_name(value)}"
    )


def real_from(function: str, argument: str, position: int, value: Any) -> Any:
    """The same for a number that can be compared with others: not a complex one."""
    if type(value) is float:
        return value
    number = number_from(function, argument, position, value)
    if isinstance(number, complex):
        raise OperandError(
            f"{function}(): argument '{argument}' (position {position}) must be float, not complex"
        )
    return number


def scalar_from(function: str, argument: str, position: int, value: Any) -> Any:
    """The same where PyTorch takes any number, and finds that it is not real when it uses it."""
    number = number_from(function, argument, position, value)
    if isinstance(number, complex):
        raise DtypeError(
            f"value cannot be converted to type double without overflow: '{argument}' of {function}() is {number}"
        )
    return number


def int_from(function: str, argument: str, position: int, value: Any) -> int:
    """A whole number, of whichever type."""
    if type(value) is int:
        return value
    if hasattr(value, "__index__") and not isinstance(value, bool):
        with suppress(TypeError):  # an array of several, or of other numbers
            return int(value.__index__())
    raise OperandError(
        f"{function}(): argument '{argument}' (position {position}) must be int, not {type_name(value)}"
    )
