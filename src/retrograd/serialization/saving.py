"""`save`: objects with tensors in them, in PyTorch's own format."""

from __future__ import annotations

import io
import os
import pickle
import sys
from collections import OrderedDict
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any, Final

import numpy as np

from retrograd.backends.base import extent_of, owner_of
from retrograd.backends.device import CPU, device
from retrograd.backends.dtype_class import bfloat16, dtype
from retrograd.backends.dtypes import as_dtype
from retrograd.backends.mirror import behind, bits_of
from retrograd.core.hooks import warn_if_has_hooks
from retrograd.core.plain import Size
from retrograd.core.tensor import Tensor
from retrograd.ops.tensor.typed_storage import TypedStorage
from retrograd.ops.tensor.untyped_storage import UntypedStorage
from retrograd.serialization.archive import ArchiveWriter
from retrograd.serialization.choices import CHOICES
from retrograd.serialization.files import check_file, is_path, to_write
from retrograd.serialization.storages import STORAGE_NAMES
from retrograd.values import Array

DEFAULT_PROTOCOL: Final = 2  # the one that PyTorch writes, and reads without warnings


def save(
    obj: Any, f: Any, pickle_module: Any = pickle, pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True, _disable_byteorder_record: bool = False,
) -> None:  # fmt: skip
    """Writes an object to a file that `load` and PyTorch's `torch.load` read.

    Tensors that share memory still do when they are loaded; the whole of that memory is written. A file given by its
    path is replaced when the new one is complete: a crash leaves the old one.

    Args:
        obj: tensors, numbers, texts, and lists, tuples, dicts, sets of them; other objects are pickled, and loaded with
            `weights_only=False` alone.
        f: the path of a file (by custom, it ends in .pt), or a file open for writing bytes.
        pickle_module: accepted for PyTorch's sake; Python's pickle is used.
        pickle_protocol: the version of the pickle inside.

    >>> import io
    >>> import retrograd as rg
    >>> file = io.BytesIO()
    >>> x = rg.arange(4.0)
    >>> rg.save({"all": x, "half": x[:2]}, file)
    >>> _ = file.seek(0)
    >>> found = rg.load(file)
    >>> found["half"][0] = 7.0
    >>> found["all"]
    tensor([7., 1., 2., 3.])
    """
    check_file(f, "write")
    # The pickle first, in memory, so that an object that cannot be pickled leaves no half of a file.
    made = io.BytesIO()
    pickler = _Pickler(made, protocol=pickle_protocol)
    pickler.dump(obj)
    with to_write(f) as file:
        archive = ArchiveWriter(file, (Path(os.fspath(f)).stem or "archive") if is_path(f) else "archive")
        archive.write("data.pkl", made.getbuffer())
        if not _disable_byteorder_record:
            archive.write("byteorder", sys.byteorder.encode())
        for key, storage in enumerate(pickler.storages.values()):
            archive.write(
                f"data/{key}", bytes(storage.memory.nbytes) if CHOICES.skip_data else storage.bytes()
            )
        archive.write("version", b"3\n")
        archive.close()


class _TorchName:
    """A name of PyTorch's that a pickle mentions. What has it need not be there."""

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.name = name

    def __call__(self) -> None:
        """The pickler asks for something that can be called; the one who unpickles will call it."""


torch_name: Final = cache(
    _TorchName
)  # the same object for the same name: a pickle mentions it once and then refers to it


_UNTYPED = "UntypedStorage"  # the kind of a storage that says nothing of its elements


class _Saved:
    """The memory of some tensors, on the way to a file."""

    def __init__(self, memory: Array, name: str, where: str, key: str) -> None:
        self.memory = memory
        self.name = name  # of the dtype
        self.where = where
        self.key = key

    def bytes(self) -> Any:
        """The bytes, in the machine's order."""
        return self.memory.reshape(-1).view(np.uint8)

    def identifier(self) -> tuple[Any, ...]:
        """What stands for the storage in a pickle."""
        kind = STORAGE_NAMES.get(self.name)
        count = self.memory.nbytes // (as_dtype(self.name).itemsize if kind else 1)
        named = torch_name("torch", kind) if kind else torch_name("torch.storage", "UntypedStorage")
        return "storage", named, self.key, self.where, count


# Python's pickler in Python: what it writes for a type can be chosen, though the type is not there.
_PurePickler: Any = pickle._Pickler


class _Pickler(_PurePickler):  # type: ignore[misc]
    """Pickles as PyTorch does: tensors by the functions that rebuild them there, their memory left out."""

    dispatch: dict[Any, Any] = dict(_PurePickler.dispatch)

    def __init__(self, file: Any, protocol: int) -> None:
        super().__init__(file, protocol)
        self.storages: dict[int, _Saved] = {}

    def persistent_id(self, obj: Any) -> Any:
        if isinstance(obj, (TypedStorage, UntypedStorage)):
            dtype, kind = (obj.dtype, None) if isinstance(obj, TypedStorage) else (np.uint8, _UNTYPED)
            obj = self._storage(Tensor(obj.untyped().elements(dtype), share=True), kind)[0]
        return obj.identifier() if isinstance(obj, _Saved) else None

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Tensor):
            return NotImplemented if _pickles_itself(type(obj)) else self._tensor(obj)
        if isinstance(obj, Size):
            return torch_name("torch", "Size"), (tuple(obj),)
        if isinstance(obj, device):
            index = () if obj.index is None else (obj.index,)
            return torch_name("torch", "device"), (obj.type, *index)
        return NotImplemented

    def save_global(self, obj: Any, name: str | None = None) -> None:
        """A class or a function, as a name. Python's pickler in C has this error for one that has none."""
        named = name or getattr(obj, "__qualname__", None) or obj.__name__
        if "<locals>" in named.split("."):
            raise AttributeError(
                f"Can't pickle local object '{named}': what is made inside of a function has no name by which a file "
                "could be read. Define it outside."
            )
        super().save_global(obj, name)

    def save_torch_name(self, obj: _TorchName) -> None:
        """A name, as an instruction that every version of pickle has."""
        self.write(b"c" + f"{obj.module}\n{obj.name}\n".encode("ascii"))
        self.memoize(obj)

    def save_dtype(self, obj: dtype) -> None:
        """A dtype, which is a name."""
        self.save(torch_name("torch", obj.name))

    dispatch[FunctionType] = save_global
    dispatch[_TorchName] = save_torch_name
    dispatch[dtype] = save_dtype

    # -- tensors -----------------------------------------------------------------------------------------------------

    def _tensor(self, tensor: Tensor) -> tuple[Any, tuple[Any, ...]]:
        """The function that makes a tensor again, and its arguments."""
        kind, state = type(tensor), tensor._user_state()
        is_parameter = _is_parameter(kind)
        if not is_parameter:
            warn_if_has_hooks(tensor)
        made = self._bare(tensor, tensor.requires_grad and not is_parameter)
        if is_parameter:
            bare = _Reduced(*made)
            args: tuple[Any, ...] = (bare, tensor.requires_grad, OrderedDict())
            if not state:
                return torch_name("torch._utils", "_rebuild_parameter"), args
            return torch_name("torch._utils", "_rebuild_parameter_with_state"), (*args, state)
        if kind is Tensor and not state:
            return made
        named = torch_name("torch", "Tensor") if kind is Tensor else kind
        return torch_name("torch._tensor", "_rebuild_from_type_v2"), (made[0], named, made[1], state)

    def _bare(self, tensor: Tensor, requires_grad: bool) -> tuple[Any, tuple[Any, ...]]:
        """The function and arguments for a tensor without its class and attributes."""
        if tensor.is_meta:
            without = torch_name("torch._utils", "_rebuild_meta_tensor_no_storage")
            return without, (tensor.dtype, tensor.size(), tensor.stride(), requires_grad)
        storage, array = self._storage(tensor)
        item = array.itemsize
        if array.size:
            offset = (extent_of(array)[0] - extent_of(storage.memory)[0]) // item
            strides = tuple(s // item for s in array.strides)
        else:  # NumPy may have any strides then; Tensor knows PyTorch's
            offset, strides = 0, Tensor(array, share=True).stride()
        args: tuple[Any, ...] = (storage, offset, array.shape, strides, requires_grad, OrderedDict())
        conj, neg = bits_of(tensor.array)
        mirror = ({name: True for name, on in (("conj", conj), ("neg", neg)) if on},) if conj or neg else ()
        if storage.name in STORAGE_NAMES:
            return torch_name("torch._utils", "_rebuild_tensor_v2"), (*args, *mirror)
        kind = torch_name("torch", storage.name)
        return torch_name("torch._utils", "_rebuild_tensor_v3"), (*args, kind, *mirror)

    def _storage(self, tensor: Tensor, kind: str | None = None) -> tuple[_Saved, Array]:
        """The memory that a tensor is a view of, and the tensor's array in it. A kind stands for that of its dtype."""
        array, where = behind(tensor.array), str(tensor.device)
        if tensor.device != CPU:
            array = behind(tensor.detach().to("cpu").array)
        name, owner = kind or array.dtype.name, owner_of(array)
        array, memory = _bits(array), _bits(owner)
        if not _is_view_of(array, memory):
            array = np.array(array, array.dtype.newbyteorder("="), order="C")
            owner = memory = array
        known = self.storages.get(id(owner))
        if known is None:
            known = _Saved(memory, name, where, str(len(self.storages)))
            self.storages[id(owner)] = known
        elif known.name != name:
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as different types: one is of "
                f"{known.name}, another of {name}. Clone one of them first."
            )
        return known, array


class _Reduced:
    """A tensor inside of a parameter: something to be pickled by a function and its arguments."""

    def __init__(self, function: Any, args: tuple[Any, ...]) -> None:
        self.reduced = function, args

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.reduced


def _is_parameter(kind: type) -> bool:
    """Whether a class is `nn.Parameter`, which is in a layer above this one."""
    return kind.__name__ == "Parameter" and kind.__module__.endswith("nn.parameter")


def _pickles_itself(kind: type) -> bool:
    """Whether a class of tensors, or one between it and ours, says itself how it is pickled."""
    own = next(base for base in kind.__mro__ if "__reduce_ex__" in vars(base) or "__reduce__" in vars(base))
    return own is not Tensor and not _is_parameter(own)


def _bits(array: Any) -> Any:
    """The bits of bfloat16, which are no elements that NumPy has; any other memory as it is."""
    return array.view(np.uint16) if array.dtype == bfloat16 else array


def _is_view_of(array: Array, owner: Any) -> bool:
    """Whether an array can be written as a view of its owner's memory: in whole elements, forwards."""
    item = array.itemsize
    return (
        type(owner) is np.ndarray
        and owner.flags.c_contiguous
        and owner.dtype.isnative
        and array.dtype.isnative
        and owner.nbytes % item == 0
        and owner.dtype.hasobject is False
        and all(s >= 0 and s % item == 0 for s in array.strides)
        and (array.size == 0 or (extent_of(array)[0] - extent_of(owner)[0]) % item == 0)
    )
