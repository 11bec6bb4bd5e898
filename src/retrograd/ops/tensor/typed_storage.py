"""`TypedStorage`: the memory that tensors lie in, as elements of a dtype. Old: see `UntypedStorage`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import backend_of
from retrograd.backends.casts import cast
from retrograd.backends.device import device as Device
from retrograd.backends.dtype_class import dtype as DtypeClass
from retrograd.backends.dtype_class import dtype_of
from retrograd.backends.dtypes import SCALAR_NAMES, as_dtype, bfloat16, get_default_dtype
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.ops.tensor.data import from_data
from retrograd.ops.tensor.storage_conversions import StorageConversions
from retrograd.ops.tensor.untyped_storage import (
    UntypedStorage,
    numbers_of_buffer,
    storage_of,
    text_of,
)
from retrograd.values import Array

# The dtypes that have an old class of storages, and its name.
KINDS = {
    np.dtype("float64"): "DoubleStorage", np.dtype("float32"): "FloatStorage", np.dtype("float16"): "HalfStorage",
    np.dtype("int64"): "LongStorage", np.dtype("int32"): "IntStorage", np.dtype("int16"): "ShortStorage",
    np.dtype("int8"): "CharStorage", np.dtype("uint8"): "ByteStorage", np.dtype("bool"): "BoolStorage",
    np.dtype("complex128"): "ComplexDoubleStorage", np.dtype("complex64"): "ComplexFloatStorage",
    bfloat16: "BFloat16Storage",
}  # fmt: skip
_FORMS = (
    "received an invalid combination of arguments. Expected one of: (*, device, dtype), (int size, *, device, dtype), "
    "(sequence data, *, device, dtype), (*, wrap_storage, dtype)."
)
_WARNED = [False]


def warn_of_typed_storage() -> None:
    """Says, once, that these are old."""
    if not _WARNED[0]:
        _WARNED[0] = True
        warn(
            "TypedStorage is deprecated. It will be removed in the future: use UntypedStorage, as "
            "tensor.untyped_storage() instead of tensor.storage()",
            UserWarning,
        )


def forget_the_warning() -> None:
    """Lets `warn_of_typed_storage` say it again."""
    _WARNED[0] = False


class TypedStorage(StorageConversions):
    """The memory that a tensor lies in, as elements of its dtype: `t.storage()`. Old: see `untyped_storage`."""

    is_sparse: ClassVar[bool] = False
    is_hpu: ClassVar[bool] = False
    dtype: DtypeClass

    def __init__(self, *args: Any, wrap_storage: Any = None, dtype: Any = None, device: Any = None) -> None:
        if dtype is not None and type(wrap_storage) is UntypedStorage and not args and device is None:
            self._untyped_storage, self.dtype = wrap_storage, dtype_of(_dtype("TypedStorage.__init__", dtype))
            return
        warn_of_typed_storage()
        name = "TypedStorage.__init__"
        if wrap_storage is not None and dtype is None:
            raise RuntimeError(f"{name} {_FORMS} Argument 'dtype' must be specified")
        kind = get_default_dtype() if dtype is None else _dtype(name, dtype)
        if wrap_storage is not None and device is not None:
            raise RuntimeError(
                f"{name} {_FORMS} Argument 'device' should not be specified when 'wrap_storage' is given"
            )
        self._untyped_storage = memory_for(name, args, wrap_storage, kind, device)
        self.dtype = dtype_of(kind)

    # -- what it is ------------------------------------------------------------------------------------------------

    @property
    def device(self) -> Device:
        """Where the memory is."""
        return self._untyped_storage.device

    @property
    def is_cuda(self) -> bool:
        """Whether the memory is a GPU's."""
        return self.device.type == "cuda"

    @property
    def filename(self) -> str | None:
        """The file that it shows, if processes share it."""
        return self._untyped_storage.filename

    @property
    def _cdata(self) -> int:
        return self._untyped_storage._cdata

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes."""
        return self._untyped_storage

    def data_ptr(self) -> int:
        """Its address."""
        return self._untyped_storage.data_ptr()

    def get_device(self) -> int:
        """The number of its device: -1 for the CPU."""
        return self._untyped_storage.get_device()

    def nbytes(self) -> int:
        """How many bytes it has."""
        return self._untyped_storage.nbytes()

    def element_size(self) -> int:
        """Bytes per element."""
        return self.dtype.itemsize

    def size(self) -> int:
        """How many elements it has."""
        return self.nbytes() // self.element_size()

    def is_shared(self) -> bool:
        """Whether other processes see it."""
        return self._untyped_storage.is_shared()

    def is_pinned(self, device: Any = "cuda") -> bool:
        """Whether it is memory that a GPU reads by itself: never."""
        return False

    def resizable(self) -> bool:
        """Whether `resize_` can make it longer."""
        return self._untyped_storage.resizable()

    def pickle_storage_type(self) -> str:
        """The name of its old class, which files have."""
        found = KINDS.get(as_dtype(self.dtype))
        if found is None:
            raise KeyError(f"dtype {self.dtype} is not recognized")
        return found

    # -- the elements ----------------------------------------------------------------------------------------------

    def elements(self, dtype: Any) -> Array:
        """This memory as an array, of the dtype that it has."""
        if as_dtype(dtype) != as_dtype(self.dtype):
            raise RuntimeError(
                f"Expected a Storage of type {SCALAR_NAMES[as_dtype(dtype)]} or an UntypedStorage, but got type "
                f"{SCALAR_NAMES[as_dtype(self.dtype)]} for argument 1 'storage'"
            )
        return self._untyped_storage.elements(self.dtype)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if self.device.type == "meta":
            raise NotImplementedError("Not available for 'meta' device type: there are no values")
        whole = self.elements(self.dtype)
        found: Any = backend_of(whole).numpy(whole)
        return found if dtype is None else found.astype(dtype, copy=False)

    def tolist(self) -> list[Any]:
        """The elements."""
        found: list[Any] = self.__array__().tolist()
        return found

    def __len__(self) -> int:
        return self.size()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        if self.device.type == "meta":
            raise NotImplementedError("Not available for 'meta' device type: there are no values")
        size = self.size()
        if not -size <= _number(index) < size:
            raise IndexError(f"index {index} out of range for storage of size {size}")
        return self.__array__()[index].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        if not isinstance(index, slice):
            size = self.size()
            if not -size <= _number(index) < size:
                raise IndexError(f"index {index} is out of bounds for dimension 0 with size {size}")
        elif isinstance(value, (list, tuple)):
            value = from_data(value, self.dtype)
        if self.device.type != "meta":
            self.elements(self.dtype)[index] = value

    def fill_(self, value: Any) -> TypedStorage:
        """Makes all elements `value`."""
        self[:] = value
        return self

    def copy_(self, source: Any, non_blocking: Any = None) -> TypedStorage:
        """Writes the bytes of another storage of this size here."""
        self._untyped_storage.copy_(source, non_blocking)
        return self

    def resize_(self, size: Any) -> None:
        """Makes it so many elements long, with the bytes that it has."""
        self._untyped_storage.resize_(size * self.element_size())

    # -- others like it --------------------------------------------------------------------------------------------

    def _over(self, memory: UntypedStorage) -> TypedStorage:
        return typed_storage_of(memory, self.dtype)

    def clone(self) -> TypedStorage:
        """A copy of the memory."""
        return self._over(self._untyped_storage.clone())

    def cpu(self) -> TypedStorage:
        """The memory on the CPU: itself, if it is there."""
        return self._over(self._untyped_storage.cpu())

    def cuda(self, device: Any = None, non_blocking: Any = False) -> TypedStorage:
        """A copy of the memory on a GPU."""
        return self._over(self._untyped_storage.cuda(device))

    def to(self, *, device: Any, non_blocking: Any = False) -> TypedStorage:
        """The memory on a device: itself, if it is there."""
        return self._over(self._untyped_storage.to(device=device))

    def share_memory_(self) -> TypedStorage:
        """Moves it, and the tensor that it was asked of, to memory that processes share."""
        self._untyped_storage.share_memory_()
        return self

    def type(self, dtype: Any = None, non_blocking: Any = False) -> Any:
        """The name of its old class; with `dtype`, the elements as another one's."""
        if dtype is None:
            return f"torch.{self.pickle_storage_type()}"
        name = dtype if isinstance(dtype, str) else dtype.__name__
        for kind, known in KINDS.items():
            if known == name.removeprefix("torch."):
                return self._converted(kind)
        raise ValueError(f"invalid type: {name!r}; it is one like 'torch.FloatStorage'")

    def _converted(self, dtype: Any) -> TypedStorage:
        """A copy of the elements as those of another dtype."""
        return typed_storage_of(storage_of(cast(self.elements(self.dtype), as_dtype(dtype)), None), dtype)

    def __copy__(self) -> TypedStorage:
        return self.clone()

    def __deepcopy__(self, memo: dict[Any, Any]) -> TypedStorage:
        return self._over(self._untyped_storage.__deepcopy__(memo))

    def __reduce__(self) -> Any:
        return (typed_storage_of, (self._untyped_storage, self.dtype))

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def __repr__(self) -> str:
        what = f"torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {self.size()}"
        return text_of(None if self.device.type == "meta" else self.tolist(), what)


def typed_storage_of(memory: UntypedStorage, dtype: Any) -> TypedStorage:
    """Memory as elements of a dtype."""
    return TypedStorage(wrap_storage=memory, dtype=as_dtype(dtype))


def memory_for(name: str, args: tuple[Any, ...], wrapped: Any, dtype: Any, device: Any) -> UntypedStorage:
    """The memory that the arguments of a storage's class ask for: of a size, with values, or that of a storage."""
    if wrapped is not None:
        if args:
            raise RuntimeError(
                f"{name} {_FORMS} No positional arguments should be given when using 'wrap_storage'"
            )
        if not isinstance(wrapped, UntypedStorage):
            raise TypeError(
                f"{name} {_FORMS} Argument 'wrap_storage' must be UntypedStorage, but got {type(wrapped)}"
            )
        return wrapped
    if len(args) > 1:
        raise RuntimeError(f"{name} {_FORMS} Too many positional arguments")
    given = args[0] if args else 0
    if isinstance(given, (int, np.integer)):
        return UntypedStorage(given * as_dtype(dtype).itemsize, device=device)
    if isinstance(given, Tensor) or not (hasattr(given, "__len__") and hasattr(given, "__getitem__")):
        raise TypeError(f"{name} {_FORMS} Argument type not recognized: {type(given)}")
    made = storage_of(from_data(given, dtype), None)
    return made if device is None else made.to(device=device)


def storage_of_buffer(dtype: Any, buffer: Any, *args: Any, **named: Any) -> TypedStorage:
    """What `FloatStorage.from_buffer(buffer, byte_order, count, offset)` gives: a copy of the numbers in a buffer."""
    return typed_storage_of(storage_of(numbers_of_buffer(buffer, *args, dtype=dtype, **named), None), dtype)


def _dtype(name: str, dtype: Any) -> Any:
    if type(dtype).__name__ != "dtype" and not isinstance(dtype, np.dtype):
        raise TypeError(f"{name} {_FORMS} Argument 'dtype' must be torch.dtype, not {type(dtype)}")
    return as_dtype(dtype)


def _number(index: Any) -> Any:
    if not isinstance(index, (int, np.integer)):
        raise RuntimeError(f"can't index a <class 'torch.storage.TypedStorage'> with {type(index)}")
    return index
