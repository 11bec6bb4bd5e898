"""Files of older formats: PyTorch's before it wrote zip archives, and our own before we wrote PyTorch's.

PyTorch's was a row of pickles (a magic number, a version, facts about the machine, the object, the keys of its
storages), and then the bytes of each storage behind their number. Ours was a pickle behind a short header.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable
from typing import Any, BinaryIO, Final

import numpy as np

from retrograd.backends.casts import maker_of, reinterpreted
from retrograd.serialization.machine import Machine
from retrograd.serialization.storages import (
    Locations,
    StorageKind,
    Storages,
    moved,
    refused,
    swapped,
    whole,
)
from retrograd.values import Array

OUR_MAGIC: Final = b"retrograd\x00\x01"
TORCH_MAGIC: Final = 0x1950A86A20F9469CFC6C
TORCH_VERSION: Final = 1001
# Unpickles what comes next in a file; identifiers of storages go to the function.
Unpickle = Callable[[BinaryIO, Callable[[Any], Any]], Any]


def no_storages(key: Any) -> Any:
    """What stands for the storages of a pickle that has none."""
    raise refused("it names a storage where there is none")


def load_old_torch(file: BinaryIO, length: int, locations: Locations, unpickle: Unpickle) -> Any:
    """Reads a file that PyTorch wrote before version 1.6, or later when told to."""
    if _plain(file, length) != TORCH_MAGIC:
        raise pickle.UnpicklingError("load(): this is no file that save() or PyTorch wrote")
    version = _plain(file, length)
    if version != TORCH_VERSION:
        raise RuntimeError(f"load(): Invalid protocol version: {version!r:.40}")
    facts = _plain(file, length)
    little = facts.get("little_endian", True) if isinstance(facts, dict) else True
    storages = _LaterStorages(locations, bool(little), length)
    found = unpickle(file, storages.from_id)
    storages.fill(file, _plain(file, length))
    return found


def _plain(file: BinaryIO, length: int) -> Any:
    """The next pickle, of plain values."""
    return Machine(file, length, no_storages).load()


class _LaterStorages(Storages):
    """Storages whose bytes follow the pickle: memory is given to tensors first, and filled at the end."""

    def __init__(self, locations: Locations, little: bool, length: int) -> None:
        super().__init__(lambda _, size: np.empty(size, np.uint8), None, little, length)
        self._where = locations

    def from_id(self, key: Any) -> Any:
        """A storage by the identifier that the pickle has for it."""
        if not isinstance(key, tuple) or len(key) not in (5, 6) or key[0] != "storage":
            raise refused("it has something else than storages outside of its pickle")
        if len(key) == 6 and key[5] is not None:
            raise pickle.UnpicklingError(
                "load(): the file has storages that are parts of others, as PyTorch wrote before 0.4. Load it with "
                "PyTorch and save it again."
            )
        kind, name, location, count = key[1:5]
        if not isinstance(kind, StorageKind) or type(location) is not str:
            raise refused("it names a storage in a way that load() does not know")
        where, _ = moved(maker_of(kind.dtype).empty(0, kind.dtype), location, self._where)
        self.find(kind, name, "cpu", count).where = where
        return self.public(kind, name, "cpu", count)

    def fill(self, file: BinaryIO, keys: Any) -> None:
        """Reads the bytes of all storages, in the order of their keys."""
        if not isinstance(keys, list) or sorted(map(str, keys)) != sorted(self.found):
            raise refused("the storages behind its pickle are not those that it names")
        for key in keys:
            memory, typed = self.found[key].memory, self.found[key].typed
            count = struct.unpack("<q" if not self._swap else ">q", _exactly(file, 8))[0]
            expected = memory.size if typed else memory.nbytes
            if whole(count, "the size of a storage") != expected:
                raise refused(f"storage {key!r:.40} has {count} elements where {expected} should be")
            self._copy(memory, _exactly(file, memory.nbytes))

    def _copy(self, memory: Array, data: bytes) -> None:
        raw = np.frombuffer(bytearray(data), np.uint8)
        memory[...] = reinterpreted(swapped(raw, memory.dtype) if self._swap else raw, memory.dtype)


def _exactly(file: BinaryIO, size: int) -> bytes:
    data = file.read(size)
    if len(data) != size:
        raise refused("it was cut off")
    return data
