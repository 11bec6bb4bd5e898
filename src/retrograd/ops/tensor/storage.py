"""Old and low-level things of tensors: their storage, `new`, `volatile`."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import backend_of, device_of, extent_of
from retrograd.backends.device import device as Device
from retrograd.backends.dtype_class import dtype_of
from retrograd.backends.dtypes import as_dtype, get_default_dtype
from retrograd.core.places import warn
from retrograd.core.plain import Size
from retrograd.core.tensor import Tensor
from retrograd.errors import type_name
from retrograd.ops.register import public, public_property
from retrograd.ops.tensor.create import empty
from retrograd.ops.tensor.data import check_options, new_leaf, tensor
from retrograd.values import Array, DType


class UntypedStorage:
    """The memory that a tensor lies in, with all others on it: `t.untyped_storage()`. It is there to be looked at.

    >>> import retrograd as rg
    >>> x = rg.zeros(4)
    >>> x[1:].untyped_storage().nbytes(), x[1:].untyped_storage().data_ptr() == x.data_ptr()
    (16, True)
    """

    is_cuda: ClassVar[bool] = False

    def __init__(self, owner: Array) -> None:
        self._owner = owner

    @property
    def device(self) -> Device:
        """Where the memory is."""
        return device_of(self._owner)

    def data_ptr(self) -> int:
        """Its address."""
        return int(extent_of(self._owner)[1])

    @property
    def _cdata(self) -> int:
        """What tools compare to know one storage from another."""
        return self.data_ptr()

    def nbytes(self) -> int:
        """How many bytes it has."""
        _, first, last = extent_of(self._owner)
        return int(last - first) if self._owner.size else 0

    def untyped(self) -> UntypedStorage:
        """This storage."""
        return self

    def size(self) -> int:
        """How many bytes it has."""
        return self.nbytes()

    def __len__(self) -> int:
        return self.nbytes()

    def tolist(self) -> list[int]:
        """The bytes."""
        found: list[int] = self.__array__().tolist()
        return found

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        whole = backend_of(self._owner).strided(self._owner, np.dtype("uint8"), 0, (self.nbytes(),), (1,))
        found: Any = backend_of(whole).numpy(whole)
        return found if dtype is None else found.astype(dtype, copy=False)

    def __getitem__(self, index: Any) -> Any:
        found = self.__array__()[index]
        return UntypedStorage(found) if isinstance(index, slice) else int(found)

    @staticmethod
    def from_file(filename: Any, shared: Any = False, nbytes: Any = 0) -> UntypedStorage:
        """The bytes of a file as memory. If `shared`, writes to the one are writes to the other."""
        found = np.memmap(filename, np.uint8, "r+" if shared else "c", shape=(nbytes,) if nbytes else None)
        return UntypedStorage(np.asarray(found))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and (
            self.data_ptr() == other.data_ptr() and self.nbytes() == other.nbytes()
        )

    def __hash__(self) -> int:
        return hash((self.data_ptr(), self.nbytes()))

    def __repr__(self) -> str:
        return _text(
            self.tolist(), f"torch.storage.UntypedStorage(device={self.device}) of size {self.nbytes()}"
        )


class TypedStorage:
    """The memory that a tensor lies in, as elements of its dtype: `t.storage()`. Old: see `untyped_storage`."""

    def __init__(self, owner: Array, dtype: Any) -> None:
        self._untyped = UntypedStorage(owner)
        self._owner = owner
        self.dtype = dtype_of(dtype)

    @property
    def device(self) -> Device:
        """Where the memory is."""
        return self._untyped.device

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes."""
        return self._untyped

    def data_ptr(self) -> int:
        """Its address."""
        return self._untyped.data_ptr()

    @property
    def _cdata(self) -> int:
        return self.data_ptr()

    def nbytes(self) -> int:
        """How many bytes it has."""
        return self._untyped.nbytes()

    def element_size(self) -> int:
        """Bytes per element."""
        return self.dtype.itemsize

    def size(self) -> int:
        """How many elements it has."""
        return self.nbytes() // self.element_size()

    def __len__(self) -> int:
        return self.size()

    def tolist(self) -> list[Any]:
        """The elements."""
        kind = self.dtype.dtype
        whole = backend_of(self._owner).strided(self._owner, kind, 0, (self.size(),), (kind.itemsize,))
        found: list[Any] = backend_of(whole).numpy(whole).tolist()
        return found

    def __getitem__(self, index: Any) -> Any:
        return self.tolist()[index]

    def __repr__(self) -> str:
        what = f"torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {self.size()}"
        return _text(self.tolist(), what)


def _text(elements: list[Any], what: str) -> str:
    return "".join(f" {e}\n" for e in elements) + f"[{what}]"


def _owner(x: Tensor) -> Array:
    array = backend_of(x.array).sample(x.array)
    owner: Array = np.asarray(backend_of(array).memory_of(array)) if isinstance(array, np.ndarray) else array
    return owner


@public("Tensor.untyped_storage")
def untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory that this tensor lies in."""
    return UntypedStorage(_owner(self))


@public("Tensor._typed_storage")
def _typed_storage(self: Tensor) -> TypedStorage:
    """What `storage()` gives, without a warning."""
    return TypedStorage(_owner(self), self.array.dtype)


@public("Tensor.storage")
def storage(self: Tensor) -> TypedStorage:
    """The memory that this tensor lies in, as elements of its dtype. Old: see `untyped_storage`."""
    warn("TypedStorage is deprecated. Use tensor.untyped_storage() instead of tensor.storage()", UserWarning)
    return _typed_storage(self)


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
    array = np.asarray(
        np.memmap(filename, kind, _mode(filename, bool(shared), size * kind.itemsize), shape=(size,))
    )
    return new_leaf(array, bool(requires_grad))


def _mode(filename: Any, shared: bool, needed: int) -> Any:
    """How a file is opened: without writing to it, or long enough for what is wanted."""
    if not shared:
        return "c"
    with open(filename, "ab") as file:  # noqa: PTH123 - whatever names a file
        if file.tell() < needed:
            file.truncate(needed)
    return "r+"


@public("is_distributed")
def is_distributed(input: Tensor) -> bool:
    """Whether a tensor is spread over processes: never."""
    return False


@public("is_storage")
def is_storage(obj: object, /) -> bool:
    """Whether `obj` is the storage of a tensor."""
    return isinstance(obj, (UntypedStorage, TypedStorage))


@public("Tensor.new")
def new(self: Tensor, *args: Any, device: Device | str | int | None = None) -> Tensor:
    """A tensor of this one's dtype: `new(2, 3)` of that size, `new([1, 2])` of those values. Old: see `new_empty`."""
    return made_of("new", args, self.array.dtype, self.device if device is None else device)


def made_of(function: str, args: tuple[Any, ...], dtype: Any, device: Any) -> Tensor:
    """What PyTorch's old constructors make: a size gives memory as it is found, values give those values."""
    if not args:
        return empty(0, dtype=dtype, device=device)
    first = args[0]
    if len(args) > 1 or isinstance(first, (int, np.integer, Size)):
        return empty(*args, dtype=dtype, device=device)
    if isinstance(first, Tensor):
        if first.array.dtype != dtype:
            raise TypeError(f"expected a tensor of dtype {dtype_of(dtype)} (got {first.dtype})")
        return Tensor(first.array)
    if not isinstance(first, (list, tuple)) and not hasattr(first, "__array__"):
        raise TypeError(f"{function}(): data must be a sequence (got {type_name(first)})")
    return tensor(np.asarray(first), dtype=dtype, device=device)


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
