"""Calls all functions of a pack with arrays that lie at the edge of memory: one element too far ends the process.

python -m tests.native.hostile.edges PATH

An array ends where a page begins that nobody may touch, or begins where one ends; an empty one lies in such a page.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import program, values

PAGE = mmap.PAGESIZE
LIBC = ctypes.CDLL(None, use_errno=True)
KEPT: list[Any] = []  # memory that arrays lie in, for as long as the process lives


def region(size: int) -> tuple[int, int]:
    """Where a stretch of memory of at least this size begins and ends, between two pages that nobody may touch."""
    inner = -(-max(size, 1) // PAGE) * PAGE
    memory = mmap.mmap(-1, inner + 2 * PAGE)
    KEPT.append(memory)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for page in (start, start + PAGE + inner):
        if LIBC.mprotect(ctypes.c_void_p(page), PAGE, 0) != 0:
            raise OSError(ctypes.get_errno(), "mprotect")
    return start + PAGE, start + PAGE + inner


def at(address: int, like: Any) -> Any:
    """An array of this dtype and shape at an address."""
    interface = {"data": (address, False), "typestr": like.dtype.str, "shape": like.shape, "version": 3}
    return np.asarray(type("Memory", (), {"__array_interface__": interface})())


def before_edge(array: Any) -> Any:
    """A copy that ends where memory ends; nothing, of an empty one."""
    _, end = region(array.nbytes)
    found = at(end - array.nbytes, array)
    found[...] = array
    return found


def after_edge(array: Any) -> Any:
    """A copy that begins where memory begins; of an empty one, in the page before."""
    start, _ = region(array.nbytes)
    found = at(start if array.size else start - PAGE, array)
    found[...] = array
    return found


def backwards(array: Any) -> Any:
    """The same elements from the last to the first in memory."""
    return before_edge(array[(slice(None, None, -1),) * array.ndim])[(slice(None, None, -1),) * array.ndim]


def turned(array: Any) -> Any:
    """The same elements by columns."""
    return before_edge(array.T).T


def moved(value: Any, place: Callable[[Any], Any]) -> Any:
    """Arguments with all their arrays elsewhere."""
    if isinstance(value, np.ndarray):
        return place(value)
    return type(value)(moved(v, place) for v in value) if isinstance(value, (tuple, list)) else value


def without(axis: int) -> Callable[[Any], Any]:
    """Makes arrays empty along one of their axes."""

    def empty(array: Any) -> Any:
        if axis >= array.ndim:
            return before_edge(array)
        return before_edge(array[(slice(None),) * axis + (slice(0, 0),)])

    return empty


def arguments_of(make: values.Make) -> Iterator[Any]:
    for place in (before_edge, after_edge, backwards, turned, *map(without, range(4))):
        yield moved(make(), place)
    for i, one in enumerate(make()):  # and one array that is empty among others that are not
        for axis in range(one.ndim if isinstance(one, np.ndarray) else 0):
            arguments = [moved(value, before_edge) for value in make()]
            arguments[i] = without(axis)(make()[i])
            yield tuple(arguments)


def main(path: str) -> None:
    pack = program.load(path)
    for name in program.names(pack):
        print(name, flush=True)
        function = program.function(pack, name)
        for arguments in arguments_of(program.make(pack, name)):
            try:
                function(*arguments)
            except Exception:
                continue
        del KEPT[:-64]  # results may be views of the last ones


if __name__ == "__main__":
    main(sys.argv[1])
