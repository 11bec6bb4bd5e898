"""What a hostile caller puts where something else belongs."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np

from .calls import Arguments, words

# Not in between: what fits into memory but takes long to fill is a matter of patience, not of safety.
NUMBERS = (
    0,
    1,
    -1,
    2,
    3,
    63,
    2**31,
    2**32 - 1,
    2**40,
    2**62,
    2**63 - 1,
    -(2**63),
    2**70,
    -(2**70),
    0.5,
    -1.5,
)
OTHERS = (None, True, False, "x", b"x", Ellipsis, NotImplemented, (), (1,), (2, 3), [], [1.0], {}, int, len)
DTYPES = words(
    "float16 float64 longdouble int8 int32 int64 uint64 bool complex64 complex128 O S3 U3 V8 M8[s] m8[s]"
)
SHAPES = ((), (1,), (0,), (4, 1), (1, 4), (0, 3), (3, 0, 2), (2,) * 9, (1,) * 33, (1,) * 64)
VIRTUAL = ((2**32 - 1, 2**28), (2**40,), (1, 2**50), (2**31, 1, 2**20), (2**20, 2**20, 2**18))
EMPTY = ((2**29, 2**29, 0), (0, 2**58), (2**30, 0, 2**29))
INDICES = (-1, -2, 3, 4, 5, 2**31, 2**62, 2**63 - 1, -(2**63))


Make = Callable[[], Arguments]


class Evil:
    """A number that changes arrays in place when it is asked for its value."""

    arrays: ClassVar[list[Any]] = []  # the arguments of the call that comes next

    def __index__(self) -> int:
        for array in self.arrays:
            if array.flags.c_contiguous and array.size > 0 and array.dtype.kind in "fi":
                array.shape = (array.size,)
                array.dtype = np.dtype("int8")
        return 1

    def __float__(self) -> float:
        return float(self.__index__())


def objects() -> Iterator[Any]:
    """Values of every kind, whatever the place."""
    yield from NUMBERS
    yield from OTHERS
    yield float("nan")
    yield float("inf")
    yield np.float32(1)
    yield np.int64(2)
    yield object()
    yield (i for i in range(3))
    yield Evil()
    yield np.dtype(">f4")
    yield np.dtypes.StringDType()


def arrays_in(value: Any) -> list[Any]:
    """The arrays in tuples and lists, which may hold each other: `notes_row` appends to lists."""
    found, seen, todo = [], set(), [value]
    while todo:
        value = todo.pop()
        if isinstance(value, np.ndarray):
            found.append(value)
        elif isinstance(value, tuple | list) and id(value) not in seen:
            seen.add(id(value))
            todo += value
    return found


def layouts(a: Any) -> Iterator[Any]:
    """The same numbers in other memory."""
    yield a.astype(a.dtype.newbyteorder())
    yield np.asfortranarray(a)
    yield a[..., ::-1] if a.ndim else a
    yield a.T
    yield a.swapaxes(0, -1) if a.ndim else a
    yield np.repeat(a, 2, axis=-1)[..., ::2] if a.ndim else a
    memory = np.zeros(a.nbytes + 1, "int8")
    away = memory[1:].view(a.dtype).reshape(a.shape) if a.dtype.itemsize > 1 else a
    away[...] = a
    yield away  # misaligned
    fixed = a.copy()
    fixed.flags.writeable = False
    yield fixed
    yield a.view(np.matrix) if a.ndim == 2 else np.ma.masked_array(a)
    yield np.broadcast_to(a.ravel()[:1].reshape((1,) * a.ndim) if a.size else a, a.shape)
    yield np.lib.stride_tricks.as_strided(a[None], (1, *a.shape), (2**61, *a.strides))


def shapes(a: Any) -> Iterator[Any]:
    """Other shapes: a little smaller or larger, empty, virtual."""
    for axis in range(a.ndim):
        yield a.take(range(a.shape[axis] - 1), axis)
        yield np.concatenate([a, a], axis)
        yield a.take([0], axis) if a.shape[axis] else a
        yield a.take([], axis)
    yield a[None]
    yield a.ravel()
    for shape in SHAPES:
        yield np.resize(a, shape) if 0 not in shape and a.size else np.zeros(shape, a.dtype)
    for shape in EMPTY:
        yield np.zeros(shape, a.dtype)
    one = a.ravel()[:1] if a.size else np.zeros(1, a.dtype)
    for shape in VIRTUAL:
        if np.dtype(a.dtype).itemsize * np.prod(shape, dtype=object) < 2**63:
            yield np.broadcast_to(one.reshape((1,) * len(shape)), shape)


def contents(a: Any) -> Iterator[Any]:
    """Other numbers."""
    for dtype in DTYPES:
        yield a.astype(dtype, copy=True) if dtype[0] not in "VMm" else np.zeros(a.shape, dtype)
    yield np.full(a.shape, "text that is too long to lie in an array", np.dtypes.StringDType())
    yield np.zeros(a.shape, [("x", "f4"), ("y", "i8")])
    if a.dtype == np.int64 and a.size:
        for index in INDICES:
            wrong = a.copy()
            wrong.flat[-1] = index
            yield wrong
    if a.dtype.kind == "f":
        yield np.full_like(a, np.nan)


def replacements(value: Any) -> Iterator[Any]:
    """What may stand in the place of a value."""
    yield from objects()
    if isinstance(value, np.ndarray):
        yield from layouts(value)
        yield from shapes(value)
        yield from contents(value)
    if isinstance(value, tuple | list):
        kind = type(value)
        yield kind([*value, *value])
        yield kind(value[:-1])
        for i, inner in enumerate(value):
            for other in replacements(inner):
                yield kind([*value[:i], other, *value[i + 1 :]])


def overlapping(make: Make) -> Iterator[Arguments]:
    """Calls in which one array lies in the memory of another."""
    for i, j in itertools.permutations(range(len(make())), 2):
        arguments = make()
        if isinstance(arguments[i], np.ndarray) and isinstance(arguments[j], np.ndarray):
            yield (*arguments[:i], arguments[j], *arguments[i + 1 :])
            memory = np.zeros(512, "int64")
            for k in (i, j):
                found = memory.view(arguments[k].dtype)[: arguments[k].size].reshape(arguments[k].shape)
                found[...] = arguments[k]
                arguments = (*arguments[:k], found, *arguments[k + 1 :])
            yield arguments


def one_wrong(make: Make) -> Iterator[Arguments]:
    """Calls with one argument replaced, with another number of arguments, and with memory shared."""
    good = make()
    yield good
    yield (*good, None)
    yield from (good[:n] for n in range(len(good)))
    yield from overlapping(make)
    for i, value in enumerate(good):
        for other in replacements(value):
            fresh = make()  # a call may change what it is given
            yield (*fresh[:i], other, *fresh[i + 1 :])


def several_wrong(make: Make, rng: random.Random, count: int) -> Iterator[Arguments]:
    """Calls with some arguments replaced."""
    for _ in range(count):
        arguments = make()
        yield tuple([rng.choice(list(replacements(v))) if rng.random() < 0.5 else v for v in arguments])
