"""Memory that processes share: arrays over files without a name, which other processes map as well.

A process that is forked sees the same memory. To one that is spawned, or through a queue, goes the file's descriptor:
what `multiprocessing` pickles of such an array is that, not its elements.
"""

from __future__ import annotations

import mmap
import os
import tempfile
import weakref
from typing import Any

import numpy as np

from retrograd.values import Array

_FILES: weakref.WeakKeyDictionary[mmap.mmap, int] = (
    weakref.WeakKeyDictionary()
)  # what is mapped, by its descriptor


def shared_copy(array: Array) -> Array:
    """The array in memory that processes share; itself if it is there already."""
    if _mapped(array) is not None:
        return array
    block = _map(_new_file(max(array.nbytes, 1)), max(array.nbytes, 1))
    made: Array = np.ndarray(array.shape, array.dtype, block, 0, np.empty_like(array).strides)
    made[...] = array
    _teach_multiprocessing()
    return made


def is_shared(array: Any) -> bool:
    """Whether other processes see the memory of an array."""
    return _mapped(array) is not None


def _mapped(array: Any) -> mmap.mmap | None:
    """The shared memory under an array, if there is."""
    below = array
    while isinstance(below, np.ndarray):
        below = below.base
    if isinstance(below, memoryview):
        below = below.obj
    return below if isinstance(below, mmap.mmap) and below in _FILES else None


def _new_file(size: int) -> int:
    """The descriptor of a file in memory, of no name, where the system has such; in the temporary folder elsewhere."""
    if hasattr(os, "memfd_create"):
        file = os.memfd_create("retrograd")
    else:
        with tempfile.TemporaryFile() as temporary:
            file = os.dup(temporary.fileno())
    os.ftruncate(file, size)
    return file


def _map(file: int, size: int) -> mmap.mmap:
    block = mmap.mmap(file, size)
    _FILES[block] = file
    weakref.finalize(block, os.close, file)
    return block


def _teach_multiprocessing() -> None:
    from multiprocessing.reduction import ForkingPickler

    ForkingPickler.register(np.ndarray, _reduced)


def _reduced(array: Array) -> Any:
    """What is pickled of an array for another process."""
    block = _mapped(array)
    if block is None:
        return array.__reduce_ex__(4)
    from multiprocessing.reduction import DupFd

    start = np.frombuffer(block, np.uint8).__array_interface__["data"][0]
    offset = array.__array_interface__["data"][0] - start
    return _of_file, (DupFd(_FILES[block]), len(block), array.dtype, offset, array.shape, array.strides)


def _of_file(file: Any, size: int, dtype: Any, offset: int, shape: Any, strides: Any) -> Array:
    """An array of another process, over the same memory: what unpickling calls."""
    block = _map(file.detach(), size)
    _teach_multiprocessing()
    made: Array = np.ndarray(shape, dtype, block, offset, strides)
    return made
