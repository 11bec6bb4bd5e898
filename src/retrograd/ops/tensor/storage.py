"""Old and low-level things of tensors: their storage, `new`, `volatile`."""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.backends.device import device as Device
from retrograd.backends.dtype_class import dtype_of
from retrograd.backends.dtypes import as_dtype, get_default_dtype
from retrograd.core.places import warn
from retrograd.core.plain import Size
from retrograd.core.tensor import Tensor
from retrograd.errors import type_name
from retrograd.lazy import load
from retrograd.ops.register import public, public_property
from retrograd.ops.tensor.create import empty
from retrograd.ops.tensor.data import check_options, new_leaf, tensor
from retrograd.ops.tensor.typed_storage import KINDS, TypedStorage, typed_storage_of, warn_of_typed_storage
from retrograd.ops.tensor.untyped_storage import UntypedStorage, memory_of, memory_of_file, storage_of
from retrograd.values import DType


@public("Tensor.untyped_storage")
def untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory that this tensor lies in."""
    return storage_of(memory_of(self), self)


@public("Tensor._typed_storage")
def _typed_storage(self: Tensor) -> TypedStorage:
    """What `storage()` gives, without a warning."""
    return typed_storage_of(untyped_storage(self), self.array.dtype)


@public("Tensor.storage")
def storage(self: Tensor) -> TypedStorage:
    """The memory that this tensor lies in, as elements of its dtype. Old: see `untyped_storage`."""
    warn_of_typed_storage()
    return _typed_storage(self)


@public("Tensor.storage_type")
def storage_type(self: Tensor) -> type:
    """The old class of this tensor's storage: `FloatStorage` for float32."""
    found: type = getattr(load("retrograd.legacy_storages"), KINDS[self.array.dtype])
    return found


@public("from_file")
def from_file(
    filename: Any, shared: Any = None, size: Any = 0, *, dtype: DType | None = None, layout: Any = None,
    device: Any = None, requires_grad: Any = False, pin_memory: Any = False,
) -> Tensor:  # fmt: skip
    """The numbers in a file as a tensor over its memory; if `shared`, writes to the one are writes to the other.

    Args:
        filename: of the file. A shared one is made, or made longer, if it has to be.
        shared: whether writes go to the file.
        size: how many elements are read.
        dtype: of the elements, by default the default dtype.
        layout, device, requires_grad, pin_memory: as those of `zeros`.
    """
    check_options(device, layout, pin_memory)
    kind = get_default_dtype() if dtype is None else as_dtype(dtype)
    return new_leaf(memory_of_file(filename, bool(shared), kind, size), bool(requires_grad))


@public("is_distributed")
def is_distributed(input: Tensor) -> bool:
    """Whether a tensor is spread over processes: never."""
    return False


@public("is_storage")
def is_storage(obj: object, /) -> bool:
    """Whether `obj` is the storage of a tensor."""
    return isinstance(obj, (UntypedStorage, TypedStorage))


@public("Tensor.new")
def new(self: Tensor, *args: Any, size: Any = None, device: Device | str | int | None = None) -> Tensor:
    """A tensor of this one's dtype: `new(2, 3)` of that size, `new([1, 2])` of those values. Old: see `new_empty`."""
    return made_of(
        "new",
        args if size is None else (Size(size),),
        self.array.dtype,
        self.device if device is None else device,
    )


def made_of(function: str, args: tuple[Any, ...], dtype: Any, device: Any) -> Tensor:
    """What PyTorch's old constructors make: a size gives memory as it is found, values give those values."""
    if not args:
        return empty(0, dtype=dtype, device=device)
    first = args[0]
    if len(args) > 1 and isinstance(first, (tuple, list, Tensor)):
        given = ", ".join(type_name(arg) for arg in args)
        raise TypeError(
            f"new() received an invalid combination of arguments - got ({given}): it takes sizes, or one sequence of "
            "values"
        )
    if len(args) > 1 or isinstance(first, (int, np.integer, Size)):
        return empty(*args, dtype=dtype, device=device)
    if isinstance(first, Tensor):
        if first.array.dtype != dtype:
            raise TypeError(f"expected a tensor of dtype {dtype_of(dtype)} (got {first.dtype})")
        return Tensor(first) if first.requires_grad else Tensor(first.array, share=True)
    if isinstance(first, (TypedStorage, UntypedStorage)):
        return Tensor(first.elements(dtype), share=True)
    sequence = (
        hasattr(first, "__getitem__") and hasattr(first, "__len__") and not isinstance(first, (dict, str))
    )
    if not sequence or isinstance(first, np.generic):
        kind = (
            f"invalid data type '{type_name(first)}'" if isinstance(first, str) else "data must be a sequence"
        )
        raise TypeError(f"new(): {kind} (got {type_name(first)}); tensor() takes single numbers")
    return tensor(first, dtype=dtype, device=device)


def _set_volatile(x: Tensor, value: Any) -> None:
    warn(
        "volatile was removed and now has no effect. Use `with torch.no_grad():` instead.",
        UserWarning,
    )


@public_property("Tensor.volatile", setter=_set_volatile)
def volatile(self: Tensor) -> bool:
    """Always false: it was removed. Use `no_grad`."""
    warn("volatile was removed (Variable.volatile is always False)", UserWarning)
    return False
