"""Storages: the memory of tensors, as files have it. Several tensors may be views of one."""

from __future__ import annotations

import math
import pickle
import sys
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np

from retrograd.backends.base import check_device
from retrograd.backends.casts import maker_of, reinterpreted
from retrograd.backends.device import CPU, device
from retrograd.backends.dtypes import as_dtype
from retrograd.core.tensor import Tensor, rebuild_leaf
from retrograd.ops.tensor.typed_storage import typed_storage_of
from retrograd.ops.tensor.untyped_storage import UntypedStorage, storage_of
from retrograd.serialization.choices import CHOICES
from retrograd.values import Array, DType

# The class that stands for a dtype in PyTorch's files. The other dtypes have storages of bytes, "UntypedStorage".
STORAGE_NAMES: Final = {
    "bool": "BoolStorage",
    "uint8": "ByteStorage",
    "int8": "CharStorage",
    "int16": "ShortStorage",
    "int32": "IntStorage",
    "int64": "LongStorage",
    "float16": "HalfStorage",
    "bfloat16": "BFloat16Storage",
    "float32": "FloatStorage",
    "float64": "DoubleStorage",
    "complex64": "ComplexFloatStorage",
    "complex128": "ComplexDoubleStorage",
}
LARGEST: Final = 2**62  # bytes: beyond any file, and far from where sizes overflow

# The bytes of a storage, by its key and their number; writable, and in the order of the file.
Read: TypeAlias = "Callable[[str, int], Array]"
# What `map_location` may be.
Locations: TypeAlias = "Callable[[UntypedStorage, str], Any] | device | str | dict[str, str] | None"


class StorageKind:
    """What a file's `torch.FloatStorage` stands for: the dtype of a storage's elements, None for mere bytes."""

    def __init__(self, dtype: str | None) -> None:
        self.dtype: DType = as_dtype(dtype or "uint8")
        self.typed: bool = dtype is not None


KINDS: Final = {name: StorageKind(dtype) for dtype, name in STORAGE_NAMES.items()}
UNTYPED: Final = StorageKind(None)


class Storage:
    """The memory of a storage that was read, as an array of one dimension."""

    memory: Array
    swap: bool

    def __init__(self, memory: Array, typed: bool, swap: bool, where: device) -> None:
        self.memory = memory
        self.typed = typed
        self.swap = swap  # bytes whose order is another's, to be turned when their dtype is known
        self.where = where

    def of_dtype(self, dtype: DType) -> Array:
        """The memory as elements of a dtype; mere bytes become so with their first tensor."""
        if not self.typed:
            if self.memory.dtype != dtype:
                if self.memory.dtype != np.uint8 or self.memory.size % dtype.itemsize:
                    raise refused(f"a storage of {self.memory.nbytes} bytes is no whole number of {dtype}")
                self.memory = reinterpreted(swapped(self.memory, dtype) if self.swap else self.memory, dtype)
                self.swap = False
        elif self.memory.dtype != dtype:
            raise refused(f"a tensor of {dtype} lies in a storage of {self.memory.dtype}")
        return self.memory


def swapped(memory: Array, dtype: DType) -> Array:
    """Bytes in the other order, turned in place for elements of a dtype."""
    width = dtype.itemsize // 2 if dtype.kind == "c" else dtype.itemsize
    memory.view(f"u{width}").byteswap(inplace=True)
    return memory


def refused(why: str) -> pickle.UnpicklingError:
    """The error of a file that says what cannot be."""
    return pickle.UnpicklingError(
        f"Weights only load failed: the file is damaged, or was made to do harm: {why}"
    )


def unknown_kind(name: str) -> pickle.UnpicklingError:
    """The error of a file with tensors of a dtype that there are no arrays of, or of a kind that nobody knows."""
    return pickle.UnpicklingError(
        f"Weights only load failed: Unsupported global: GLOBAL {name:.200} is of a kind that retrograd has not, "
        "such as float8. Convert these tensors with PyTorch, by .float(), and save them again."
    )


def shown(value: Any) -> str:
    """A value of a file for a message: containers may be so nested that to print one would take for ever."""
    return f"{value!r:.40}" if isinstance(value, (int, float, str, bytes)) else f"a {type(value).__name__}"


def whole(value: Any, what: str) -> int:
    """A number of elements or bytes, as a file names it."""
    if type(value) is not int or not 0 <= value <= LARGEST:
        raise refused(f"{what} is {shown(value)}, which is no size")
    return value


def whole_numbers(values: Any, what: str) -> tuple[int, ...]:
    """Sizes or strides, as a file names them."""
    if not isinstance(values, tuple) or len(values) > 64:
        raise refused(f"{what} should be a tuple of at most 64 numbers")
    return tuple(whole(value, f"a number of the {what}") for value in values)


class Storages:
    """The storages of one file. Each is read when the file first names it.

    Args:
        read: gives the bytes of a storage.
        locations: the `map_location` that the user gave.
        little: whether the file's numbers have their lowest byte first.
        total: how many bytes all storages together can have.
    """

    def __init__(self, read: Read, locations: Locations, little: bool, total: int) -> None:
        self._read = read
        self._locations = locations
        self._swap = little != (sys.byteorder == "little")
        self._left = total
        self.found: dict[str, Storage] = {}
        self._public: dict[str, Any] = {}

    def public(self, kind: Any, key: Any, location: Any, count: Any) -> Any:
        """What stands for a storage in an object that is read: the user's view of it, which knows what was read.

        It is what the object has where it has a storage itself; of most, tensors are made by `tensor_in`.
        """
        read = self.find(kind, key, location, count)
        if key not in self._public:
            memory = storage_of(read.memory, None)
            made: Any = typed_storage_of(memory, read.memory.dtype)
            made._read = read
            self._public[key] = made
        return self._public[key]

    def find(self, kind: Any, key: Any, location: Any, count: Any) -> Storage:
        """A storage by what a file says of it: kind, key, device, number of elements."""
        if not isinstance(kind, StorageKind) or type(key) is not str or type(location) is not str:
            raise refused("it names a storage in a way that load() does not know")
        nbytes = whole(count, "the size of a storage") * kind.dtype.itemsize
        known = self.found.get(key)
        if known is None:
            self._left -= nbytes
            if self._left < 0:
                raise refused(f"storage {key!r:.40} has {nbytes} bytes, more than there are in the file")
            known = self.found[key] = self._placed(kind, key, location, nbytes)
        if known.memory.nbytes != nbytes or known.typed != kind.typed:
            raise refused(f"it describes storage {key!r:.40} in two ways")
        return known

    def _placed(self, kind: StorageKind, key: str, location: str, nbytes: int) -> Storage:
        """A storage, read and brought to where it belongs."""
        memory = np.zeros(nbytes, np.uint8) if CHOICES.skip_data else self._read(key, nbytes)
        if self._swap and kind.typed:
            memory = swapped(memory, kind.dtype)
        memory = reinterpreted(memory, kind.dtype)
        where, memory = moved(memory, location, self._locations)
        return Storage(memory, kind.typed, self._swap and not kind.typed, where)


def moved(memory: Array, location: str, locations: Locations) -> tuple[device, Array]:
    """The device that `map_location` wants a storage on, and the storage, changed if it is a function that says so."""
    if callable(locations):
        result = locations(Tensor(memory, share=True).untyped_storage(), location)
        if result is None:
            return _existing(location), memory
        if not isinstance(result, UntypedStorage) or result.nbytes() != memory.nbytes:
            raise RuntimeError("load(): map_location must return the storage it got, on any device, or None")
        return result.device, result.elements(memory.dtype)
    if isinstance(locations, dict):
        return _existing(locations.get(location, location)), memory
    if locations is not None:
        return check_device(locations), memory
    return _existing(location), memory


def _existing(location: str) -> device:
    """The device a storage was on, if there is such a one here."""
    if location == "cpu":
        return CPU
    try:
        return check_device(location)
    except RuntimeError:
        raise RuntimeError(
            f"Attempting to deserialize object on device {location!r:.40}, but there is no such device here. If you "
            "are running on a CPU-only machine, use load() with map_location='cpu' to map your storages to the CPU."
        ) from None


def default_restore_location(storage: Any, location: str) -> Any:
    """The storage on the device that a file names, as `load` has it without a `map_location`.

    >>> import retrograd as rg
    >>> default_restore_location(rg.ones(2).untyped_storage(), "cpu").nbytes()
    8
    """
    where = _existing(location)
    return storage if storage.device == where else storage.to(device=where)


def location_tag(storage: Any) -> str:
    """What a file says of a storage's device."""
    return str(storage.device)


def tensor_in(
    storage: Any, offset: Any, size: Any, stride: Any, requires_grad: Any, dtype: DType | None = None
) -> Tensor:
    """A tensor over a storage, with all that the file says checked first."""
    read = getattr(storage, "_read", None)
    if not isinstance(read, Storage):
        raise refused("a tensor has no storage")
    memory = read.of_dtype(read.memory.dtype if dtype is None else dtype)
    start = whole(offset, "the offset of a tensor")
    sizes, strides = whole_numbers(size, "size"), whole_numbers(stride, "stride")
    if len(sizes) != len(strides):
        raise refused(f"a tensor has {len(sizes)} sizes and {len(strides)} strides")
    if math.prod(sizes) * memory.itemsize > LARGEST:
        raise refused(f"a tensor of size {sizes} is larger than any memory")
    last = start + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
    if 0 in sizes:
        array: Array = maker_of(memory.dtype).empty(sizes, memory.dtype)
    elif last >= memory.size:
        raise refused(f"a tensor reaches element {last} of a storage of {memory.size}")
    else:
        item = memory.itemsize
        steps = tuple(s * item for s in strides)
        array = maker_of(memory.dtype).strided(memory, memory.dtype, start * item, sizes, steps)
        if any(s == 0 and n > 1 for n, s in zip(sizes, strides, strict=True)):
            array.flags.writeable = False  # an expanded dimension: its elements share memory
    made: Tensor = rebuild_leaf(Tensor, array, False, None, {})
    if read.where != CPU:
        made = made.to(read.where)
    if requires_grad not in (True, False):
        raise refused("a tensor neither requires a gradient nor does not")
    return made.requires_grad_() if requires_grad else made
