"""`UntypedStorage`: the memory that tensors lie in, as bytes."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import (
    backend_of,
    check_device,
    device_of,
    extent_of,
    owner_of,
    placed,
)
from retrograd.backends.device import device as Device
from retrograd.backends.dtypes import as_dtype
from retrograd.backends.shared_memory import is_shared, shared_copy
from retrograd.core.tensor import Tensor
from retrograd.errors import type_name
from retrograd.lazy import load
from retrograd.ops.tensor.attributes import share_memory_
from retrograd.ops.tensor.storage_conversions import StorageConversions
from retrograd.values import Array

_BYTE = np.dtype("uint8")
_FORMS = "(*, device=None), (int size, *, device=None) or (sequence data, *, device=None)"


class UntypedStorage(StorageConversions):
    """The memory that a tensor lies in, with all others on it: `t.untyped_storage()`.

    >>> import retrograd as rg
    >>> x = rg.zeros(4)
    >>> x[1:].untyped_storage().nbytes(), x[1:].untyped_storage().data_ptr() == x.data_ptr()
    (16, True)
    >>> x.untyped_storage().fill_(0).tolist() == UntypedStorage(16).fill_(0).tolist()
    True
    """

    is_cuda: ClassVar[bool] = False
    is_hpu: ClassVar[bool] = False
    is_sparse: ClassVar[bool] = False
    is_sparse_csr: ClassVar[bool] = False

    def __init__(self, *args: Any, device: Any = None) -> None:
        if len(args) > 1:
            given = ", ".join(type_name(arg) for arg in args)
            raise TypeError(
                "torch.UntypedStorage() received an invalid combination of arguments - got "
                f"({given}), but expected one of: {_FORMS}"
            )
        self._owner = _own_memory(args[0] if args else 0, device)
        self._tensor: Tensor | None = None  # which it is the memory of, if of any

    # -- what it is ------------------------------------------------------------------------------------------------

    @property
    def device(self) -> Device:
        """Where the memory is."""
        return device_of(self._owner)

    def get_device(self) -> int:
        """The number of its device: -1 for the CPU."""
        index = self.device.index
        return -1 if index is None else index

    @property
    def filename(self) -> str | None:
        """The file that it shows, if processes share it."""
        memory: Any = owner_of(self._owner)
        return str(memory.filename) if getattr(memory, "mode", "") == "r+" else None

    def type(self) -> str:
        """The name of its class."""
        return "torch.storage.UntypedStorage"

    def data_ptr(self) -> int:
        """Its address."""
        return 0 if self._is_meta() else int(extent_of(self._owner)[1])

    @property
    def _cdata(self) -> int:
        """What tools compare to know one storage from another."""
        return int(extent_of(self._owner)[1])

    def nbytes(self) -> int:
        """How many bytes it has."""
        _, first, last = extent_of(self._owner)
        return int(last - first) if self._owner.size else 0

    def size(self) -> int:
        """How many bytes it has."""
        return self.nbytes()

    def element_size(self) -> int:
        """Bytes per element: one."""
        return 1

    def untyped(self) -> UntypedStorage:
        """This storage."""
        return self

    def is_pinned(self, device: Any = "cuda") -> bool:
        """Whether it is memory that a GPU reads by itself: never."""
        return False

    def is_shared(self) -> bool:
        """Whether other processes see it."""
        return is_shared(self._owner)

    def resizable(self) -> bool:
        """Whether `resize_` can make it longer: the memory of a tensor stays as long as it is."""
        return self._tensor is None

    def _is_meta(self) -> bool:
        return self.device.type == "meta"

    # -- the bytes -------------------------------------------------------------------------------------------------

    def elements(self, dtype: Any) -> Array:
        """This memory as an array of numbers."""
        kind = as_dtype(dtype)
        count = self.nbytes() // kind.itemsize
        whole: Array = backend_of(self._owner).strided(self._owner, kind, 0, (count,), (kind.itemsize,))
        return whole

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if self._is_meta():
            raise NotImplementedError("Not available for 'meta' device type: there are no bytes")
        whole = self.elements(_BYTE)
        found: Any = backend_of(whole).numpy(whole)
        return found if dtype is None else found.astype(dtype, copy=False)

    def tolist(self) -> list[int]:
        """The bytes."""
        found: list[int] = self.__array__().tolist()
        return found

    def __len__(self) -> int:
        return self.nbytes()

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def __getitem__(self, index: Any) -> Any:
        if self._is_meta():
            raise NotImplementedError("Not available for 'meta' device type: there are no bytes")
        place = self._place(index)
        if not isinstance(place, slice):
            return int(self.__array__()[place])
        return storage_of(self.elements(_BYTE)[place], self._tensor)

    def __setitem__(self, index: Any, value: Any) -> None:
        if not isinstance(value, (int, np.integer)):
            raise RuntimeError(
                f"can only set storage content with a int types, but got {type_name(value)} instead"
            )
        self.elements(_BYTE)[self._place(index)] = int(value) & 255

    def _place(self, index: Any) -> Any:
        """An index that is there, or a slice of neighbours."""
        size = self.nbytes()
        if isinstance(index, slice):
            if index.step not in (None, 1):
                raise RuntimeError(
                    f"Trying to slice with a step of {index.step}, but only a step of 1 is supported"
                )
            return index
        if not isinstance(index, (int, np.integer)):
            raise TypeError(f"can't index a torch.UntypedStorage with {type_name(index)}")
        if not -size <= index < size:
            raise IndexError(f"index {index} out of range for storage of size {size}")
        return int(index)

    def fill_(self, value: Any) -> UntypedStorage:
        """Makes all bytes `value`."""
        self[:] = value
        return self

    def copy_(self, source: Any, non_blocking: Any = None) -> UntypedStorage:
        """Writes the bytes of another storage of this size here."""
        if not hasattr(source, "untyped"):
            raise TypeError(
                f"copy_(): argument 'src' (position 1) must be torch.Storage, not {type_name(source)}"
            )
        other: UntypedStorage = source.untyped()
        if other.nbytes() != self.nbytes():
            raise RuntimeError(
                f"size does not match, self was {self.nbytes()} bytes but src was {other.nbytes()} bytes"
            )
        self.elements(_BYTE)[:] = other.elements(_BYTE)
        return self

    def byteswap(self, dtype: Any) -> None:
        """Turns the bytes of each element of a dtype around; of complex ones, those of both parts."""
        kind = as_dtype(dtype)
        width = kind.itemsize // 2 if kind.kind == "c" else kind.itemsize
        if width > 1:
            self.elements(np.dtype(f"u{width}")).byteswap(inplace=True)

    def resize_(self, size: Any) -> UntypedStorage:
        """Makes it so many bytes long, with the bytes that it has."""
        if size == self.nbytes():
            return self
        if not self.resizable():
            raise RuntimeError(
                "Trying to resize storage that is not resizable: a tensor lies in it. Use the tensor's resize_()."
            )
        longer = _own_memory(size, self.device)
        if not self._is_meta():
            kept = min(size, self.nbytes())
            longer[:kept] = self.elements(_BYTE)[:kept]
        self._owner = longer
        return self

    # -- others like it --------------------------------------------------------------------------------------------

    def clone(self) -> UntypedStorage:
        """A copy of the memory."""
        return storage_of(self.elements(_BYTE).copy(), None)

    def new(self) -> UntypedStorage:
        """One of no bytes, on the same device."""
        return UntypedStorage(device=self.device)

    def cpu(self) -> UntypedStorage:
        """The memory on the CPU: itself, if it is there."""
        return self.to(device="cpu")

    def cuda(self, device: Any = None, non_blocking: Any = False) -> UntypedStorage:
        """A copy of the memory on a GPU."""
        return self.to(device="cuda" if device is None else device)

    def to(self, *, device: Any, non_blocking: Any = False) -> UntypedStorage:
        """The memory on a device: itself, if it is there."""
        where = check_device(device)
        if where == self.device:
            return self
        if self._is_meta():
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        return storage_of(placed(self.elements(_BYTE), where), None)

    def _converted(self, dtype: Any) -> Any:
        typed = load("retrograd.ops.tensor.typed_storage")
        return typed.typed_storage_of(self, "uint8")._converted(dtype)

    def share_memory_(self) -> UntypedStorage:
        """Moves it, and the tensor that it was asked of, to memory that processes share."""
        if self._tensor is not None:
            share_memory_(self._tensor)
            self._owner = memory_of(self._tensor)
        elif self.device.type == "cpu":
            self._owner = shared_copy(self._owner)
        return self

    @staticmethod
    def from_file(filename: Any, shared: Any = False, nbytes: Any = 0) -> UntypedStorage:
        """The bytes of a file as memory. If `shared`, writes to the one are writes to the other."""
        return storage_of(memory_of_file(filename, bool(shared), _BYTE, nbytes), None)

    @staticmethod
    def from_buffer(buffer: Any, *args: Any, **named: Any) -> UntypedStorage:
        """A copy of the bytes of a buffer. See `TypedStorage.from_buffer`."""
        return storage_of(numbers_of_buffer(buffer, *args, **named), None)

    def __copy__(self) -> UntypedStorage:
        return self.clone()

    def __deepcopy__(self, memo: dict[Any, Any]) -> UntypedStorage:
        if self._is_meta():
            return self.clone()
        copied = copy.deepcopy(Tensor(self.elements(_BYTE), share=True), memo)  # with tensors that lie in it
        return storage_of(copied.array, None)

    def __reduce__(self) -> Any:
        return (UntypedStorage, (self.tolist(),))

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and (
            self._cdata == other._cdata and self.nbytes() == other.nbytes()
        )

    def __hash__(self) -> int:
        return hash((self._cdata, self.nbytes()))

    def __repr__(self) -> str:
        what = f"torch.storage.UntypedStorage(device={self.device}) of size {self.nbytes()}"
        return text_of(None if self._is_meta() else self.tolist(), what)


def _own_memory(source: Any, device: Any) -> Array:
    """New memory: of a number of bytes, or with those of a sequence."""
    if isinstance(source, (int, np.integer)):
        if source < 0:
            raise RuntimeError(f"torch.UntypedStorage(): a storage cannot have {source} bytes")
        found = np.empty(int(source), _BYTE)
    else:
        found = _bytes_of(source)
    made: Array = found if device is None else placed(found, check_device(device))
    return made


def _bytes_of(source: Any) -> Any:
    """A new array of the bytes in a sequence."""
    kind = type_name(source)
    if not hasattr(source, "__len__") or not hasattr(source, "__getitem__") or isinstance(source, Tensor):
        raise RuntimeError(f"torch.UntypedStorage(): Expected a sequence type, but got {kind}")
    found = []
    for item in source:
        if not isinstance(item, (int, np.integer)):
            raise RuntimeError(
                f"torch.UntypedStorage(): tried to construct a storage from a sequence ({kind}), but one of the items "
                f"was of type {type_name(item)} instead of int"
            )
        found.append(int(item) & 255)
    return np.array(found, _BYTE)


def storage_of(array: Array, tensor: Tensor | None) -> UntypedStorage:
    """The storage of the memory of an array, in which a tensor lies."""
    made = UntypedStorage()
    made._owner = array
    made._tensor = tensor
    return made


def memory_of(x: Tensor) -> Array:
    """The array that owns the memory of a tensor."""
    array = backend_of(x.array).sample(x.array)
    if not isinstance(array, np.ndarray):
        return array
    owner: Any = np.asarray(backend_of(array).memory_of(array))
    return owner.view(type(array)) if device_of(array).type == "meta" else owner


def memory_of_file(filename: Any, shared: bool, dtype: Any, count: int) -> Any:
    """The numbers in a file as an array over its memory; a shared file is made, or made longer, if it has to be."""
    if shared:
        with open(filename, "ab") as file:  # noqa: PTH123 - whatever names a file
            if file.tell() < count * dtype.itemsize:
                file.truncate(count * dtype.itemsize)
    found: Any = np.memmap(filename, dtype, "r+" if shared else "c", shape=(count,) if count else None)
    return np.asarray(found)


def numbers_of_buffer(
    buffer: Any, byte_order: Any = None, count: int = -1, offset: int = 0, *, dtype: Any = None
) -> Any:
    """A new array of the numbers that a buffer has, written in a byte order: "big", "little" or "native"."""
    kind = _BYTE if dtype is None else as_dtype(dtype)
    if byte_order is None and kind.itemsize > 1:
        raise RuntimeError("function missing required argument 'byte_order' (pos 2)")
    if byte_order not in (None, "native", "big", "little"):
        raise ValueError(f"invalid byte_order '{byte_order}' (expected 'big', 'little', or 'native')")
    whole = memoryview(buffer).cast("B")[offset:]
    if count < 0 and len(whole) % kind.itemsize:
        raise ValueError(f"buffer size ({len(whole)}) must be a multiple of element size ({kind.itemsize})")
    numbers = np.array(np.frombuffer(whole, _BYTE, -1 if count < 0 else count * kind.itemsize))
    if kind.kind == "b":
        numbers = (numbers != 0).view(_BYTE)
    made = storage_of(numbers, None)
    if byte_order in ("big", "little") and byte_order != sys.byteorder:
        made.byteswap(kind)
    return numbers


def text_of(elements: list[Any] | None, what: str) -> str:
    """The printed form: a line for each element; three points where there are no values."""
    lines = "...\n" if elements is None else "".join(f" {e}\n" for e in elements)
    return lines + f"[{what}]"
