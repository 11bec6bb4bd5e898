"""Objects on their way from one process to another: arrays go through shared memory, not through a pipe.

Note [Parcels]
~~~~~~~~~~~~~~
An object is pickled with its arrays left out (pickle's out-of-band buffers), and both go to one segment of shared
memory, whose name travels through the pipe. The one who receives it takes the name away and leaves the arrays where
they are: the memory goes when the last of them does. Each segment that is held so takes a file descriptor, of which a
process has some hundreds: whoever holds more batches than `MOST_MAPPED` gets copies.
Messages are short, so that a process that sends never waits for long.

A segment is removed for sure. Whoever receives its name removes it; if a worker dies, its loader removes what the
worker may have made, because names are numbers in a row; and if the loader's process dies, Python's resource tracker,
a process of its own that knows every segment, does. Systems other than POSIX remove a segment when nobody has it open:
there objects travel through the pipe.
"""

from __future__ import annotations

import mmap
import os
import pickle
import sys
import weakref
from multiprocessing.resource_tracker import unregister
from multiprocessing.shared_memory import SharedMemory
from typing import Any, NamedTuple

import numpy as np

from retrograd.values import Array

ALIGNMENT = 64
HAS_SEGMENTS = os.name == "posix"

MOST_MAPPED = 128
_MAPPED: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()  # segments whose arrays somebody holds

if sys.platform == "win32":

    def shm_open(name: str, flags: int, mode: int = 0) -> int:
        """Is not called: objects travel through the pipe."""
        raise OSError(name)

    def shm_unlink(name: str) -> None:
        """Does nothing: a segment is removed when nobody has it open."""
else:
    from _posixshmem import shm_open, shm_unlink  # type: ignore[import-not-found]


class Parcel(NamedTuple):
    """A message: a pickle with its buffers, or the segment that has them and where they lie in it."""

    segment: str | None
    sizes: list[int]
    data: list[bytes]


def pack(value: Any, name: str, inline: int) -> Parcel:
    """An object as a message; a segment of this name is made if it has more bytes than `inline`."""
    buffers: list[pickle.PickleBuffer] = []
    parts: list[Any] = [pickle.dumps(value, protocol=5, buffer_callback=buffers.append)]
    parts += [buffer.raw() for buffer in buffers]
    sizes = [memoryview(part).nbytes for part in parts]
    if sum(sizes) <= inline or not HAS_SEGMENTS:
        return Parcel(None, sizes, [bytes(part) for part in parts])
    segment = SharedMemory(name, create=True, size=sum(map(_room, sizes)))
    try:
        memory, begin = _memory(segment), 0
        for part, size in zip(parts, sizes, strict=True):
            memory[begin : begin + size] = memoryview(part).cast("B")
            begin += _room(size)
    except BaseException:
        segment.unlink()
        raise
    finally:
        segment.close()
    return Parcel(name, sizes, [])


def unpack(parcel: Parcel) -> Any:
    """The object of a message; its segment is removed."""
    if parcel.segment is None:
        pickled, *buffers = parcel.data
        return _built(pickled, [bytearray(buffer) for buffer in buffers])
    memory, begin = _taken(parcel.segment, sum(map(_room, parcel.sizes))), 0
    copies = len(_MAPPED) >= MOST_MAPPED
    parts: list[Array] = []
    for size in parcel.sizes:
        part = np.frombuffer(memory, np.uint8, size, begin)
        parts.append(part.copy() if copies else part)
        begin += _room(size)
    if not copies:
        _MAPPED.add(memory)
    return _built(parts[0].tobytes(), parts[1:])


def _taken(name: str, size: int) -> mmap.mmap:
    """The memory of a segment, which has no name any more."""
    file = shm_open(f"/{name}", os.O_RDWR)
    try:
        shm_unlink(f"/{name}")
        unregister(f"/{name}", "shared_memory")
        return mmap.mmap(file, size)
    finally:
        os.close(file)


def _built(pickled: bytes, buffers: list[Any]) -> Any:
    return pickle.loads(pickled, buffers=buffers)  # noqa: S301 - of a process of our own


def discard(parcel: Parcel) -> None:
    """Removes the segment of a message that nobody wants."""
    if parcel.segment is not None:
        remove(parcel.segment)


def remove(name: str) -> None:
    """Removes a segment, if it is there."""
    if not HAS_SEGMENTS:
        return
    try:
        segment = SharedMemory(name)
    except FileNotFoundError:
        return
    except (
        ValueError
    ):  # its maker died before it had given it a size: nobody can open it, nor has the tracker noted it
        shm_unlink(f"/{name}")
        return
    segment.close()
    segment.unlink()


def _memory(segment: SharedMemory) -> memoryview:
    """The bytes of a segment."""
    memory = segment.buf
    assert memory is not None
    return memory


def _room(size: int) -> int:
    """The bytes that a part takes up in a segment."""
    return max(ALIGNMENT, -(-size // ALIGNMENT) * ALIGNMENT)
