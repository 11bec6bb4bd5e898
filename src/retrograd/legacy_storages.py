"""PyTorch's old classes of storages: `FloatStorage`, `LongStorage` and kin. Each makes a TypedStorage of one dtype."""

from __future__ import annotations

from typing import Any, Final

from retrograd.backends.dtype_class import dtype_of
from retrograd.backends.dtypes import as_dtype
from retrograd.ops.tensor.typed_storage import (
    KINDS,
    TypedStorage,
    memory_for,
    storage_of_buffer,
    typed_storage_of,
    warn_of_typed_storage,
)
from retrograd.ops.tensor.untyped_storage import memory_of_file, storage_of


class storagetype(type):  # noqa: N801 - like tensortype
    """The class of the old classes: `FloatStorage([1, 2])` is a TypedStorage, and an instance of FloatStorage."""

    dtype: Any

    def __call__(
        cls, *args: Any, wrap_storage: Any = None, dtype: Any = None, device: Any = None
    ) -> TypedStorage:
        if cls is _LegacyStorage:
            raise RuntimeError("Only child classes of _LegacyStorage can be instantiated")
        warn_of_typed_storage()
        name = f"<class 'torch.{cls.__name__}'>.__new__"
        for keyword, value in (("dtype", dtype), ("device", device)):
            if value is not None:
                raise RuntimeError(
                    f"{name} received an invalid combination of arguments. Expected one of: (), (int size), (sequence "
                    f"data), (*, wrap_storage). Keyword argument '{keyword}' cannot be specified"
                )
        return typed_storage_of(memory_for(name, args, wrap_storage, cls.dtype, None), cls.dtype)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, TypedStorage) and (
            cls is _LegacyStorage or bool(instance.dtype == cls.dtype)
        )

    def from_buffer(cls, *args: Any, **named: Any) -> TypedStorage:
        """A copy of the numbers in a buffer, written in a byte order: `from_buffer(data, "big")`."""
        return storage_of_buffer(cls.dtype, *args, **named)

    def from_file(cls, filename: Any, shared: Any = False, size: Any = 0) -> TypedStorage:
        """The numbers in a file as memory; if `shared`, writes to the one are writes to the other."""
        numbers = memory_of_file(filename, bool(shared), as_dtype(cls.dtype), size)
        return typed_storage_of(storage_of(numbers, None), cls.dtype)


class _LegacyStorage(metaclass=storagetype):
    """What the old classes have in common."""


def _of(name: str, dtype: Any) -> storagetype:
    """The class of the storages of a dtype."""
    fields = {
        "__module__": "torch",
        "__doc__": f"The old name of storages of {dtype}: `{name}(2)` has that size, `{name}([1, 2])` those values.",
        "dtype": dtype_of(dtype),
    }
    return storagetype(name, (_LegacyStorage,), fields)


_BY_NAME = {name: _of(name, dtype) for dtype, name in KINDS.items()}
BFloat16Storage: Final = _BY_NAME["BFloat16Storage"]
BoolStorage: Final = _BY_NAME["BoolStorage"]
ByteStorage: Final = _BY_NAME["ByteStorage"]
CharStorage: Final = _BY_NAME["CharStorage"]
ComplexDoubleStorage: Final = _BY_NAME["ComplexDoubleStorage"]
ComplexFloatStorage: Final = _BY_NAME["ComplexFloatStorage"]
DoubleStorage: Final = _BY_NAME["DoubleStorage"]
FloatStorage: Final = _BY_NAME["FloatStorage"]
HalfStorage: Final = _BY_NAME["HalfStorage"]
IntStorage: Final = _BY_NAME["IntStorage"]
LongStorage: Final = _BY_NAME["LongStorage"]
ShortStorage: Final = _BY_NAME["ShortStorage"]

_storage_classes = {TypedStorage, *_BY_NAME.values()}


def _dtype_to_storage_type_map() -> dict[Any, str]:
    """The names of the old classes by dtype."""
    return {dtype_of(dtype): name for dtype, name in KINDS.items()}
