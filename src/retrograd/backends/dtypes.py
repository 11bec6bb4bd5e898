"""NumPy's dtypes under PyTorch's names, as arrays have them, and PyTorch's promotion rules.

PyTorch promotes by category first (bool < integer < floating < complex). A tensor of dimensions decides over a
0-dim tensor, and a 0-dim tensor over a Python number, unless the weaker one has the higher category.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.backends.dtype_class import bfloat16 as _bfloat16
from retrograd.backends.dtype_class import dtype, no_arrays_of
from retrograd.errors import DTYPE_NAMES, OperandError
from retrograd.values import Array, DType

bool_: DType = np.dtype("bool")
uint8: DType = np.dtype("uint8")
uint16: DType = np.dtype("uint16")
uint32: DType = np.dtype("uint32")
uint64: DType = np.dtype("uint64")
int8: DType = np.dtype("int8")
int16: DType = np.dtype("int16")
int32: DType = np.dtype("int32")
int64: DType = np.dtype("int64")
float16: DType = np.dtype("float16")
bfloat16: DType = _bfloat16  # the object itself: NumPy has none
float32: DType = np.dtype("float32")
float64: DType = np.dtype("float64")
complex64: DType = np.dtype("complex64")
complex128: DType = np.dtype("complex128")

# How PyTorch's messages spell a dtype.
SCALAR_NAMES: dict[Any, str] = {
    bfloat16 if name == "bfloat16" else np.dtype(name): spelled for name, spelled in DTYPE_NAMES.items()
}

# What PyTorch's messages call some of them by their names in C++.
_IN_C = {
    "bool": "bool", "uint8": "unsigned char", "uint16": "uint16_t", "uint32": "uint32_t", "uint64": "uint64_t",
    "int8": "signed char", "int16": "short int", "int32": "int", "int64": "long int", "float16": "c10::Half",
    "bfloat16": "c10::BFloat16", "float32": "float", "float64": "double", "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}  # fmt: skip
C_NAMES: dict[Any, str] = {
    bfloat16 if name == "bfloat16" else np.dtype(name): spelled for name, spelled in _IN_C.items()
}

_CANONICAL = {dtype: dtype for dtype in SCALAR_NAMES}  # the one instance of each, so that `is` compares them
_CATEGORY = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}
_COMPLEX_OF = {float16: complex64, bfloat16: complex64, float32: complex64, float64: complex128}
_REAL_OF = {complex64: float32, complex128: float64}


def _limits(dtype: DType) -> tuple[Any, Any]:
    if dtype is bfloat16:  # float32's without 16 bits of the fraction
        largest = (2 - 2.0**-7) * 2.0**127
        return -largest, largest
    info = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
    number = float if dtype.kind == "f" else int
    return number(info.min), number(info.max)


# The smallest and the largest finite number of each real dtype.
LIMITS: dict[Any, tuple[Any, Any]] = {dtype: _limits(dtype) for dtype in SCALAR_NAMES if dtype.kind in "iuf"}


class _Default:
    """The process-wide default dtype of floating-point creation."""

    def __init__(self) -> None:
        self.dtype: DType = float32


_DEFAULT = _Default()


def get_default_dtype() -> DType:
    """The dtype that Python floats become; float32 unless `set_default_dtype` changed it."""
    return _DEFAULT.dtype


def set_default_dtype(d: Any) -> None:
    """Sets the dtype that Python floats become: `float16`, `bfloat16`, `float32` or `float64`.

    >>> import retrograd as rg
    >>> rg.set_default_dtype(rg.float64); rg.tensor(1.0).dtype
    torch.float64
    >>> rg.set_default_dtype(rg.float32)
    """
    try:
        wanted = as_dtype(d)
    except (TypeError, NotImplementedError):
        raise TypeError(
            "invalid dtype object: only floating-point types are supported as the default type: float16, bfloat16, "
            f"float32 and float64, got {d!r}"
        ) from None
    if wanted.kind != "f":
        raise TypeError(f"only floating-point types are supported as the default type, got {wanted}")
    _DEFAULT.dtype = wanted


def default_complex() -> DType:
    """The complex dtype that goes with the default dtype."""
    if _DEFAULT.dtype is bfloat16:
        raise RuntimeError(
            "invalid default scalar type for complex: there are no complex numbers of bfloat16"
        )
    return _COMPLEX_OF[_DEFAULT.dtype]


def as_dtype(spec: Any) -> DType:
    """A NumPy dtype from whatever a person writes: `rg.float32`, `np.float32`, `float`, `"float32"`."""
    if type(spec) is dtype:
        held = spec.held
        if held is None:
            raise no_arrays_of(spec)
        return held
    if isinstance(spec, np.dtype):
        found = spec
    elif type(spec) is str and spec == "bfloat16":
        return bfloat16
    elif spec is float:
        return float64
    elif spec is int:
        return int64
    elif spec is bool:
        return bool_
    elif spec is complex:
        return complex128
    else:
        try:
            found = np.dtype(spec)
        except (TypeError, ValueError):
            raise TypeError(
                f"dtype must be a retrograd dtype such as retrograd.float32, not {spec!r}"
            ) from None
    known = _CANONICAL.get(found)
    if known is None and found.name == "bfloat16":  # of ml_dtypes; NumPy takes its time to say a name
        return bfloat16
    if known is None:
        raise TypeError(
            f"can't use dtype {found}: the supported dtypes are bool, (u)int8 to (u)int64, float16, bfloat16, float32, "
            "float64, complex64 and complex128"
        )
    return known


def is_differentiable(dtype: DType) -> bool:
    """Whether tensors of this dtype can require a gradient: floating point and complex ones can."""
    return dtype.kind in "fc"


def real_of(dtype: DType) -> DType:
    """The dtype of the real part."""
    return _REAL_OF.get(dtype, dtype)


def complex_of(dtype: DType) -> DType:
    """The complex dtype of the same precision."""
    return _COMPLEX_OF.get(dtype, dtype)


def element_size(dtype: Any) -> int:
    """Bytes of an element of a dtype."""
    return int(as_dtype(dtype).itemsize)


def is_number(value: np.generic) -> bool:
    """Whether what NumPy takes out of an array is a number: words, dates and records are none."""
    return value.dtype.kind in "biufc" or value.dtype.name == "bfloat16"


def python_number(value: Any) -> Any:
    """A number of NumPy's, or of a class like IntEnum, as Python's own: only these have a dtype that gives way to a
    tensor's. Anything else stays as it is.
    """
    kind = type(value)
    if kind is float or kind is int or kind is bool or kind is complex:
        return value
    if not isinstance(value, np.generic):
        return _of_its_base(value)
    if not is_number(value):
        raise OperandError(f"expected a number, but got {type(value).__name__}")
    number = value.item()
    if isinstance(number, np.generic):  # of 80 bits, which Python has not
        return complex(number) if number.dtype.kind == "c" else float(number)
    return number


def _of_its_base(value: Any) -> Any:
    """A number of a subclass of int, float or complex as one of that class."""
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    return complex(value) if isinstance(value, complex) else value


def scalar_dtype(number: Any) -> DType:
    """The dtype a number stands for when no tensor decides."""
    number = python_number(number)
    if isinstance(number, bool):
        return bool_
    if isinstance(number, int):
        return int64
    if isinstance(number, float):
        return _DEFAULT.dtype
    return default_complex()


def check_element(dtype: DType) -> None:
    """Refuses arrays of what no tensor holds: objects, strings, dates, records, numbers of 80 bits."""
    if dtype not in SCALAR_NAMES and dtype.name != "bfloat16" and dtype.newbyteorder("=") not in SCALAR_NAMES:
        raise TypeError(f"can't convert np.ndarray of dtype {dtype}: no tensor holds such elements")


def _two(a: DType, b: DType) -> DType:
    """PyTorch's table for two dtypes of equal standing."""
    if a is b or a == b:
        return a
    if a not in SCALAR_NAMES or b not in SCALAR_NAMES:
        check_element(a)
        check_element(b)
    ca, cb = _CATEGORY[a.kind], _CATEGORY[b.kind]
    low, high = (a, b) if ca <= cb else (b, a)
    if (_lonely(low) and high.kind != "f") or _lonely(high):
        raise RuntimeError(
            f"Promotion for uint16, uint32, uint64 types is not supported, attempted to promote {SCALAR_NAMES[a]} and "
            f"{SCALAR_NAMES[b]}. Convert one of them with .to(dtype)."
        )
    if ca == cb:
        # Within a category the wider one, uint8 beside a signed type the next wider signed one. Of the two of half
        # precision neither holds the other.
        if a is bfloat16 or b is bfloat16:
            wide = b if a is bfloat16 else a
            return float32 if wide is float16 else wide
        return _CANONICAL[np.promote_types(a, b)]
    if high.kind == "c" and low.kind == "f":
        return _CANONICAL[np.promote_types(high, complex_of(low))]
    return high


def _lonely(dtype: DType) -> bool:
    """The wider unsigned integers, which PyTorch mixes with floating-point types only."""
    return bool(dtype.kind == "u" and dtype.itemsize > 1)


def promote_types(type1: Any, type2: Any) -> DType:
    """The dtype of a result of operands of these two dtypes."""
    return _two(as_dtype(type1), as_dtype(type2))


def can_cast(from_: Any, to: Any) -> bool:
    """Whether a value of dtype `from_` may be written into one of dtype `to`: the category may not fall."""
    for position, (name, given) in enumerate((("from_", from_), ("to", to)), 1):
        if given is None:
            raise TypeError(
                f"can_cast(): argument '{name}' (position {position}) must be torch.dtype, not NoneType"
            )
    return keeps_category(as_dtype(from_), as_dtype(to))


def keeps_category(a: DType, b: DType) -> bool:
    """`can_cast` of two dtypes of arrays."""
    return a is b or _CATEGORY[a.kind] <= _CATEGORY[b.kind]


def result_type(tensor1: Any, tensor2: Any) -> DType:
    """The dtype of a result of these two operands, each a tensor or a number."""
    arrays = [getattr(t, "array", None) for t in (tensor1, tensor2)]
    if arrays[0] is None and arrays[1] is None:
        return _two(scalar_dtype(tensor1), scalar_dtype(tensor2))
    if arrays[0] is None:
        return result_with_scalar(arrays[1].dtype, tensor1)  # type: ignore[union-attr]
    if arrays[1] is None:
        return result_with_scalar(arrays[0].dtype, tensor2)
    return result_of_arrays(arrays[0], arrays[1])


def result_of_arrays(a: Array, b: Array) -> DType:
    """The promoted dtype of two arrays, 0-dim ones counting less."""
    da, db = a.dtype, b.dtype
    if da is db:
        return da
    if (a.ndim == 0) != (b.ndim == 0):
        strong, weak = (da, db) if b.ndim == 0 else (db, da)
        return weak_result(strong, weak)
    return _two(da, db)


def weak_result(strong: DType, weak: DType) -> DType:
    """`strong` unless `weak` (of a 0-dim tensor) has the higher category."""
    if _CATEGORY[weak.kind] <= _CATEGORY[strong.kind]:
        return strong
    if weak.kind == "c" and strong.kind == "f":
        return complex_of(strong)
    return _two(strong, weak) if strong.kind == "b" else weak


def result_with_scalar(dtype: DType, number: Any) -> DType:
    """The dtype of a tensor of `dtype` met by a number."""
    number = python_number(number)
    if isinstance(number, bool):
        return dtype
    if isinstance(number, int):
        return int64 if dtype.kind == "b" else dtype
    if isinstance(number, float):
        return dtype if dtype.kind in "fc" else _DEFAULT.dtype
    return dtype if dtype.kind == "c" else complex_of(dtype) if dtype.kind == "f" else default_complex()
