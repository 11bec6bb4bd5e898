"""Tensors from data: numbers, nested sequences, NumPy arrays, other tensors.

`new_leaf` is the one place where a tensor without history is made: it knows about inference mode and about
`requires_grad=`.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from math import isfinite
from typing import Any, TypeAlias

import numpy as np

from retrograd.backends.base import backend_of, check_device, is_array, placed, plain, stands_for_many
from retrograd.backends.casts import cast, of_bfloat16
from retrograd.backends.device import CPU
from retrograd.backends.device import device as Device
from retrograd.backends.dtypes import (
    LIMITS,
    SCALAR_NAMES,
    as_dtype,
    bfloat16,
    get_default_dtype,
    is_differentiable,
    promote_types,
    python_number,
    real_of,
    scalar_dtype,
)
from retrograd.backends.pack import PACK
from retrograd.backends.quiet import QUIET, hush, unhush
from retrograd.core.lost import DETACHED, born, cut
from retrograd.core.modes import INFERENCE, current
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.core.upward import UPWARD
from retrograd.core.version import UNTRACKED
from retrograd.errors import DtypeError, GradientError, type_name
from retrograd.ops.register import public
from retrograd.ops.tensor.convert import DeviceLike, convert, to
from retrograd.values import Array, DType, Number

# What a tensor is made of.
Data: TypeAlias = Tensor | np.ndarray[Any, Any] | np.generic | Number | Sequence[Any]

_NUMBERS = frozenset((bool, int, float, complex))
_LISTS = frozenset((list, tuple))
DEEPEST = 128  # as many dimensions as PyTorch reads sequences for


def new_leaf(array: Array, requires_grad: bool = False) -> Tensor:
    """A tensor without history over `array`."""
    if requires_grad and not is_differentiable(array.dtype):
        raise GradientError(
            f"Only Tensors of floating point and complex dtype can require gradients, and this one is {array.dtype}. "
            "Give a floating-point dtype=, or floating-point values."
        )
    made = Tensor(array, share=True)
    if current().special & INFERENCE:
        made._counter = UNTRACKED
    if requires_grad:
        made._requires = True
    elif array.dtype.kind in "fc":
        born(made)
    return made


def check_options(device: Any, layout: Any, pin_memory: Any) -> Device:
    """The device to make a tensor on; layouts that there are not are refused."""
    where = check_device(device)
    if layout is not None and not str(layout).endswith("strided"):
        raise RuntimeError(f"layout {layout} is not supported: every tensor here is dense (strided)")
    if pin_memory:
        raise RuntimeError(
            "pin_memory=True requires a CUDA or other accelerator backend; no pinned tensor is made at once here: make "
            "it without, and call .pin_memory() on it where there is a GPU"
        )
    return where


def from_data(data: Any, dtype: Any) -> Array:
    """A new array of the numbers in `data`: a number, an array, or nested sequences of them."""
    target = None if dtype is None else as_dtype(dtype)
    quick: Array | None = None if PACK is None else PACK.numbers(data, target, get_default_dtype())
    if quick is not None:
        return quick
    if is_array(data) and not stands_for_many(data):
        known = supported(plain(data))
        return cast(known, known.dtype if target is None else target)
    if hasattr(data, "untyped"):  # a storage
        whole: Array = data.elements(getattr(data, "dtype", np.dtype("int64")) if target is None else target)
        return whole.copy()
    if isinstance(data, (str, bytes)):
        raise TypeError(
            f"new(): invalid data type '{type_name(data)}'. Give numbers, or sequences of numbers."
        )
    kinds: set[Any] = set()
    if not _plain_kinds(data, kinds):
        kinds = set()
        _check_no_text(data)
        data = _plain_data(data, kinds, target)
    found = _dtype_of(kinds)
    return narrowed(_wide(data, found, target), found if target is None else target)


UPWARD.array_from = from_data


def _plain_kinds(data: Any, kinds: set[Any], depth: int = 0) -> bool:
    """Collects the types of the numbers; false if there is anything but Python numbers in lists and tuples."""
    if type(data) not in _LISTS:
        kinds.add(type(data))
        return type(data) in _NUMBERS
    here = set(map(type, data))
    if here <= _NUMBERS:
        kinds |= here
        return True
    return here <= _LISTS and all(_plain_kinds(item, kinds, _deeper(depth, data)) for item in data)


def _check_no_text(data: Any) -> None:
    """Text as the first of all items is made of text without end."""
    while isinstance(data, (list, tuple)) and data:
        data = data[0]
    if isinstance(data, str):
        raise ValueError("too many dimensions 'str'. Give numbers, or sequences of numbers.")


def _plain_data(data: Any, kinds: set[Any], target: DType | None, depth: int = 0) -> Any:
    """The same numbers as Python numbers in lists; collects types of Python numbers and dtypes of the rest."""
    if type(data) in _NUMBERS:
        kinds.add(type(data))
        return data
    if isinstance(data, Tensor):
        whole = (data.array.dtype if target is None else target).kind in "biu"
        if whole and (data.array.size != 1 or (target is not None and data.array.dtype.kind in "fc")):
            raise TypeError(
                "only integer tensors of a single element can be converted to an index; join larger ones with stack() "
                "or cat()"
            )
        if data.array.size != 1:
            raise ValueError(
                "only one element tensors can be converted to Python scalars; join larger ones with stack() or cat()"
            )
        kinds.add(data.array.dtype)
        return data._real_number()
    if hasattr(data, "__array__"):
        array = supported(np.asarray(data))
        kinds.add(array.dtype)
        return array.tolist()
    if isinstance(data, (str, bytes)):
        raise TypeError(
            f"new(): invalid data type '{type_name(data)}'. Give numbers, or sequences of numbers."
        )
    if hasattr(data, "__getitem__") and hasattr(data, "__len__") and not isinstance(data, dict):
        inner = _deeper(depth, data)
        return [_plain_data(item, kinds, target, inner) for item in _items(data)]
    numbers: tuple[Any, ...] = (int, float, complex)
    for number in numbers:
        if isinstance(data, number):
            kinds.add(number)
            return number(data)
    if target is None:
        raise RuntimeError(
            f"Could not infer dtype of {type_name(data)}. Give numbers, or sequences of numbers."
        )
    return _converted(data, target)


def _converted(data: Any, target: DType) -> Any:
    """What only converts to a number, such as a fraction, as an element of a dtype that was asked for."""
    if target.kind in "fc":
        if not hasattr(data, "__float__") and not hasattr(data, "__index__"):
            raise TypeError(f"must be real number, not {type_name(data)}")
        return float(data)
    if not hasattr(data, "__index__"):
        raise TypeError(f"'{type_name(data)}' object cannot be interpreted as an integer")
    return operator.index(data)


def _items(data: Any) -> list[Any]:
    """What is in a sequence of a user's own class."""
    try:
        return [data[i] for i in range(len(data))]
    except Exception as error:
        raise ValueError(f"could not determine the shape of object type '{type(data).__name__}'") from error


def _deeper(depth: int, data: Any) -> int:
    """How deep the items of a sequence are nested. One that is inside of itself has no end."""
    if depth == DEEPEST:
        raise ValueError(
            f"too many dimensions '{type_name(data)}': sequences nested more than {DEEPEST} deep"
        )
    return depth + 1


def _dtype_of(kinds: set[Any]) -> DType:
    """The dtype that all the numbers promote to."""
    if not kinds:
        return get_default_dtype()
    dtypes = [scalar_dtype(kind()) if isinstance(kind, type) else kind for kind in kinds]
    found = dtypes[0]
    for other in dtypes[1:]:
        found = promote_types(found, other)
    return found


def _wide(data: Any, found: DType, target: DType | None) -> Array:
    """The numbers in the widest dtype of their kind (or of the target's, if that is floating), none changed yet."""
    kind = found.kind if target is None or target.kind not in "fc" or found.kind == "c" else target.kind
    if target is not None and kind == "c" and target.kind not in "bc":
        raise TypeError(f"must be real number, not complex: the values are complex and dtype is {target}")
    width = {"b": "bool", "f": "float64", "c": "complex128"}.get(
        kind, "uint64" if target == "uint64" else "int64"
    )
    try:
        return np.array(data, dtype=width)
    except OverflowError:
        raise ValueError(
            "Overflow when unpacking long long: an integer does not fit into 64 bits. Give a floating-point dtype=."
        ) from None
    except (ValueError, TypeError):
        _check_regular(data, _first_shape(data), 0)
        raise


def _first_shape(data: Any) -> list[int]:
    shape = []
    while isinstance(data, (list, tuple)):
        shape.append(len(data))
        if not data:
            break
        data = data[0]
    return shape


def _check_regular(data: Any, shape: list[int], dim: int) -> None:
    """Raises where nested sequences do not have the shape that their first elements promise."""
    if dim == len(shape):
        if isinstance(data, (list, tuple)):
            raise TypeError(
                f"'{type_name(data)}' object cannot be interpreted as a number: its neighbours are numbers"
            )
        return
    if not isinstance(data, (list, tuple)):
        raise TypeError(f"not a sequence: found {data!r} at dim {dim}, where its neighbours are sequences")
    if len(data) != shape[dim]:
        raise ValueError(
            f"expected sequence of length {shape[dim]} at dim {dim} (got {len(data)}). All rows must be equally long."
        )
    for item in data:
        _check_regular(item, shape, dim + 1)


def narrowed(wide: Array, target: DType) -> Array:
    """The numbers in the target dtype, if they fit. Small negative ones wrap around in unsigned dtypes."""
    if target.kind in "iu" and wide.dtype != target and wide.size:
        low, high = LIMITS[target]
        # As Python's numbers: NumPy's may not reach as far. NaN is neither larger nor smaller.
        if not (wide.min().item() >= (low or -high) and wide.max().item() <= high):
            raise RuntimeError(
                f"value cannot be converted to type {target} without overflow. Give a wider dtype=."
            )
    token = hush(QUIET)
    try:
        return cast(wide, target)
    finally:
        unhush(token)


def number_for(value: Any, dtype: Any) -> Array:
    """A number as an array of a dtype that can hold it."""
    number = held_number(value, dtype)
    return of_bfloat16().asarray(float(number), dtype) if dtype is bfloat16 else np.array(number, dtype)


def held_number(value: Any, dtype: Any) -> Any:
    """A number as Python's, if a dtype can hold it; not yet rounded to it."""
    kind = dtype.kind
    number: Any = value if type(value) is float or type(value) is int else _number_in(value, dtype)
    if kind == "f":
        if not _fits(number, LIMITS[dtype][1]):
            raise _overflow(number, dtype)
        return float(number)
    if kind == "b":
        return bool(number)
    if kind == "c":
        largest = LIMITS[real_of(dtype)][1]
        if not (_fits(number.real, largest) and _fits(number.imag, largest)):
            raise _overflow(number, dtype)
        return complex(number)
    low, high = LIMITS[dtype]
    # Of unsigned ones, whole numbers wrap around below zero; others do not.
    if not (low if isinstance(number, float) else low or -high) <= number <= high:
        raise _overflow(number, dtype)
    return int(number) if low else int(number) % (high + 1)


def _number_in(value: Any, dtype: Any) -> Any:
    """A number of any kind as Python's, without an imaginary part that the dtype has no room for."""
    number = python_number(value)
    if not isinstance(number, (bool, int, float, complex)):
        raise TypeError(f"can't assign a {type_name(value)} to a torch.{SCALAR_NAMES[dtype]}Tensor")
    if isinstance(number, complex) and dtype.kind not in "bc":
        if number.imag:
            raise _overflow(number, dtype)
        return number.real
    return number


def check_fits(value: Tensor, dtype: Any) -> None:
    """Complains if the number of a tensor without dimensions is too large for a dtype."""
    if value.array.dtype != dtype and backend_of(value.array).is_plain:
        held_number(value.array.item(), dtype)


def _fits(number: Any, largest: Any) -> bool:
    """Whether a number, if it is finite, does not exceed the largest one."""
    return abs(number) <= largest or not isfinite(number)


def _overflow(number: Any, dtype: Any) -> DtypeError:
    name = _C_NAMES.get(dtype.name, f"{dtype.name}_t")
    return DtypeError(
        f"value cannot be converted to type {name} without overflow: {number}. Use a wider dtype."
    )


_C_NAMES = {
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "float32": "float",
    "float64": "double",
    "int32": "int",
}
_C_NAMES |= {"complex64": "c10::complex<float>", "complex128": "c10::complex<double>"}


def supported(array: Array) -> Array:
    """An array of NumPy's as tensors hold it, if its dtype is one of theirs."""
    if array.dtype in SCALAR_NAMES:
        return array
    if array.dtype.name == "bfloat16":
        return of_bfloat16().seen(array)
    if array.dtype.newbyteorder("=") not in SCALAR_NAMES:
        kind = "numpy." + array.dtype.type.__name__
        raise TypeError(
            f"can't convert np.ndarray of type {kind}. The only supported types are: float64, float32, float16, "
            "bfloat16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, uint8, and bool."
        )
    raise ValueError(
        "given numpy array has byte order different from the native byte order. Convert it first: "
        "a.astype(a.dtype.newbyteorder('='))."
    )


def _of_whole_steps(array: Array) -> Array:
    """An array whose steps are whole elements, as those of a tensor are: a field of records may have others."""
    if isinstance(array, np.ndarray) and any(step % array.itemsize for step in array.strides):
        raise ValueError(
            "given numpy array strides not a multiple of the element byte size. Copy it: from_numpy(a.copy())."
        )
    return array


@public("tensor")
def tensor(
    data: Data,
    *,
    dtype: DType | None = None,
    device: DeviceLike = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A new leaf tensor with a copy of `data`: a number, nested sequences of numbers, or an array.

    >>> import retrograd as rg
    >>> rg.tensor([[1, 2], [3, 4.5]])
    tensor([[1.0000, 2.0000],
            [3.0000, 4.5000]])
    """
    where = check_options(device, None, pin_memory)
    if isinstance(data, Tensor):
        warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than tensor(sourceTensor).",
            UserWarning,
        )
    array = from_data(data.array if isinstance(data, Tensor) else data, dtype)
    made = new_leaf(_at(array, device, where), requires_grad)
    tracked = _tracked(data)
    if tracked is not None:
        made._lost = cut(tracked, DETACHED, "tensor()")
    return made


def _tracked(data: Any) -> Tensor | None:
    """The tensor that `tensor(data)` copies without its history: `data`, or the first of a list of them."""
    if type(data) in _LISTS and data and isinstance(data[0], Tensor):
        data = data[0]
    return data if isinstance(data, Tensor) and data.requires_grad else None


@public("from_numpy")
def from_numpy(ndarray: np.ndarray[Any, Any]) -> Tensor:
    """A tensor that shares its memory with a NumPy array: a write to one is seen in the other."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(
            f"expected np.ndarray (got {type_name(ndarray)}). Other values: tensor(...) or as_tensor(...)."
        )
    return new_leaf(_of_whole_steps(supported(ndarray)))


@public("as_tensor")
def as_tensor(data: Data, *, dtype: DType | None = None, device: DeviceLike = None) -> Tensor:
    """`data` as a tensor, without a copy if it is a tensor or a NumPy array of the right dtype already.

    >>> import retrograd as rg
    >>> t = rg.tensor([1.0, 2.0])
    >>> rg.as_tensor(t) is t, rg.as_tensor([1, 2])
    (True, tensor([1, 2]))
    """
    where = check_device(device)
    if isinstance(data, Tensor):
        made = data if dtype is None else convert(data, dtype)
        return made if device is None and where is CPU else to(made, where)
    if is_array(data):
        array = _of_whole_steps(supported(data))
        array = array if dtype is None else cast(array, as_dtype(dtype), copy=False)
    else:
        array = from_data(data, dtype)
    return new_leaf(_at(array, device, where))


def _at(array: Array, device: Any, where: Device) -> Array:
    """Data stays where it is, unless somebody asks for a device."""
    return array if device is None and where is CPU else placed(array, where)
