"""`load`: what `save` or PyTorch wrote, without running anything that the file says."""

from __future__ import annotations

import io
import mmap as memory_map
import pickle
import pickletools
from collections.abc import Callable
from contextlib import suppress
from typing import Any, BinaryIO

from retrograd.backends.base import check_device
from retrograd.backends.device import device
from retrograd.serialization.archive import Archive
from retrograd.serialization.choices import CHOICES
from retrograd.serialization.files import is_path, to_read
from retrograd.serialization.legacy import OUR_MAGIC, Unpickle, load_old_torch, no_storages
from retrograd.serialization.machine import Machine
from retrograd.serialization.names import KNOWN, added, full_name
from retrograd.serialization.storages import Locations, Storages, refused

# What reading stumbles over in a file that is damaged.
_DAMAGE = (
    KeyError,
    IndexError,
    TypeError,
    ValueError,
    OverflowError,
    AttributeError,
    EOFError,
    RecursionError,
)


def load(
    f: Any, map_location: Locations = None, pickle_module: Any = None, *, weights_only: bool | None = None,
    mmap: bool | None = None, **pickle_load_args: Any,
) -> Any:  # fmt: skip
    """Reads what `save` or PyTorch's `torch.save` wrote.

    Args:
        f: the path of a file, or a file open for reading bytes.
        map_location: where tensors are loaded to: a device or its name, a dict from the names of devices to those of
            others, or a function of a storage (a tensor of one dimension) and the name of its device.
        pickle_module: what unpickles, with `weights_only=False`; Python's pickle if None.
        weights_only: True (the default) reads tensors, plain values and containers, and what `add_safe_globals` has
            added; everything else is refused by name, and nothing in the file is run. False lets the file's author run
            code.
        mmap: map the file to memory, so that numbers are read when they are used. It must be given by its path, and
            not be changed while its tensors are used; what is written to these stays in memory.

    >>> import io
    >>> import retrograd as rg
    >>> file = io.BytesIO()
    >>> rg.save({"weight": rg.ones(2), "step": 3}, file)
    >>> _ = file.seek(0)
    >>> rg.load(file)
    {'weight': tensor([1., 1.]), 'step': 3}
    """
    if weights_only is None:
        weights_only = pickle_module is None
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if mmap and not is_path(f):
        raise ValueError(
            "f must be a string or a path in order to use the mmap argument: an open file is read"
        )
    if isinstance(map_location, (str, int, device)):
        check_device(map_location)
    with to_read(f) as (file, length):
        begin = file.read(len(OUR_MAGIC))
        file.seek(0)
        if not begin:
            raise EOFError("Ran out of input: the file is empty")
        unpickle = _careful(length) if weights_only else _trusting(pickle_module or pickle, pickle_load_args)
        try:
            if begin.startswith(b"PK\x03\x04"):
                return _load_archive(file, length, map_location, unpickle, bool(mmap))
            if mmap:
                raise RuntimeError(
                    "mmap can only be used with files saved with save(), or torch.save() since 1.6"
                )
            if begin == OUR_MAGIC:
                file.seek(len(OUR_MAGIC))
                return unpickle(file, no_storages)
            return load_old_torch(file, length, map_location, unpickle)
        except _DAMAGE as error:
            if not weights_only:
                raise
            raise refused(f"{type(error).__name__}: {error}") from error


def _load_archive(file: BinaryIO, length: int, locations: Locations, unpickle: Unpickle, mapped: bool) -> Any:
    """Reads a zip archive."""
    archive = Archive(file, length)
    order = archive.text("byteorder", CHOICES.byte_order())
    if order not in ("little", "big"):
        raise refused(f"its byte order is {order!r:.20}")
    if mapped and length:
        memory = memory_map.mmap(file.fileno(), length, access=memory_map.ACCESS_COPY)
        storages = Storages(
            lambda key, size: archive.map(f"data/{key}", size, memory), locations, order == "little", length
        )
    else:
        storages = Storages(
            lambda key, size: archive.read(f"data/{key}", size), locations, order == "little", length
        )

    def from_id(key: Any) -> Any:
        if not isinstance(key, tuple) or len(key) != 5 or key[0] != "storage":
            raise refused("it has something else than storages outside of its pickle")
        return storages.public(*key[1:])

    data = bytes(archive.read("data.pkl", archive.size("data.pkl")))
    found = unpickle(io.BytesIO(data), from_id)
    file.seek(length)
    return found


def _careful(length: int) -> Unpickle:
    """An unpickler that runs nothing of the file's: Note [Pickles that run nothing]."""

    def unpickle(file: BinaryIO, from_id: Callable[[Any], Any]) -> Any:
        return Machine(file, length, from_id).load()

    return unpickle


def _trusting(pickle_module: Any, options: dict[str, Any]) -> Unpickle:
    """Python's unpickler, with our things for PyTorch's names."""

    def unpickle(file: BinaryIO, from_id: Callable[[Any], Any]) -> Any:
        class Trusting(pickle_module.Unpickler):  # type: ignore[misc]
            def find_class(self, module: str, name: str) -> Any:
                full = full_name(module, name)
                if full in KNOWN and module.partition(".")[0] in ("torch", "retrograd"):
                    return KNOWN[full]
                return super().find_class(module, name)

            def persistent_load(self, key: Any) -> Any:
                return from_id(key)

        return Trusting(file, **options).load()

    return unpickle


def load_storage(data: bytes) -> Any:
    """A storage, of the bytes that PyTorch has made of it for Python's own `pickle`."""
    return load(io.BytesIO(data), weights_only=True)


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """The names in a file that `load` would refuse, in full; the file is not loaded.

    >>> import io
    >>> import retrograd as rg
    >>> from fractions import Fraction
    >>> file = io.BytesIO()
    >>> rg.save({"rate": Fraction(1, 3), "weight": rg.ones(2)}, file)
    >>> _ = file.seek(0)
    >>> rg.serialization.get_unsafe_globals_in_checkpoint(file)
    ['fractions.Fraction']
    """
    with to_read(f) as (file, length):
        archive = Archive(file, length)
        data = bytes(archive.read("data.pkl", archive.size("data.pkl")))
    texts: list[str] = []
    names: list[str] = []
    with suppress(ValueError, TypeError):  # what is cut off has the names that are left
        for opcode, argument, _ in pickletools.genops(data):
            if isinstance(argument, str) and opcode.name.endswith("UNICODE"):
                texts.append(argument)
            elif opcode.name in ("GLOBAL", "INST") and isinstance(argument, str):
                names.append(full_name(*argument.split(" ", 1)))
            elif opcode.name == "STACK_GLOBAL":
                names.append(full_name(*texts[-2:]))
    return sorted({name for name in names if name not in KNOWN and name not in added()})
