"""What a program chooses for all the files that it reads and writes, under PyTorch's names."""

from __future__ import annotations

import mmap
import sys
import threading
from enum import Enum
from types import TracebackType
from typing import Any


class LoadEndianness(Enum):
    """Which byte of a number comes first in a file that does not say so."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


class SourceChangeWarning(Warning):
    """A class was changed since its pickle was written; programs silence it. It is never given here."""


class _Choices(threading.local):
    """The choices, and their defaults."""

    def __init__(self) -> None:
        self.endianness: LoadEndianness | None = None
        self.mmap_flags: int = getattr(mmap, "MAP_PRIVATE", 2)
        self.crc32 = True
        self.skip_data = False

    def byte_order(self) -> str:
        """The order of bytes in a file that does not say so."""
        if self.endianness is LoadEndianness.NATIVE:
            return sys.byteorder
        return "big" if self.endianness is LoadEndianness.BIG else "little"


CHOICES = _Choices()


def get_default_load_endianness() -> LoadEndianness | None:
    """The order of bytes that was chosen for files that do not say so; None means that the lowest is first."""
    return CHOICES.endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Chooses it."""
    if not isinstance(endianness, LoadEndianness) and endianness is not None:
        raise TypeError(
            "Invalid argument type in function set_default_load_endianness: LoadEndianness or None"
        )
    CHOICES.endianness = endianness


def get_crc32_options() -> bool:
    """Whether `save` is asked for checksums. It writes them in any case."""
    return CHOICES.crc32


def set_crc32_options(compute_crc32: bool) -> None:
    """Asks for checksums, or for none."""
    CHOICES.crc32 = compute_crc32


def get_default_mmap_options() -> int:
    """The flags that were chosen for `load(mmap=True)`, which maps files privately in any case."""
    return CHOICES.mmap_flags


class set_default_mmap_options:  # noqa: N801 - PyTorch's name
    """Chooses `mmap.MAP_PRIVATE` or `mmap.MAP_SHARED`; also a context in which the choice holds."""

    def __init__(self, flags: int) -> None:
        if flags not in (getattr(mmap, "MAP_PRIVATE", 2), getattr(mmap, "MAP_SHARED", 1)):
            raise ValueError(
                f"Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, "
                f"but got {flags}"
            )
        self.prev, CHOICES.mmap_flags = CHOICES.mmap_flags, flags

    def __enter__(self) -> None:
        """Nothing more: the choice holds already."""

    def __exit__(self, kind: Any = None, error: Any = None, trace: TracebackType | None = None) -> None:
        CHOICES.mmap_flags = self.prev


class skip_data:  # noqa: N801 - PyTorch's name
    """A context in which `save` writes zeros in the place of all numbers, and `load` gives zeros.

    So a file has its right form and length, and can be filled later.

    >>> import io
    >>> import retrograd as rg
    >>> file = io.BytesIO()
    >>> with rg.serialization.skip_data():
    ...     rg.save(rg.ones(3), file)
    >>> _ = file.seek(0)
    >>> rg.load(file)
    tensor([0., 0., 0.])
    """

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        self.materialize_fake_tensors = materialize_fake_tensors

    def __enter__(self) -> None:
        self._before, CHOICES.skip_data = CHOICES.skip_data, True

    def __exit__(self, kind: Any = None, error: Any = None, trace: TracebackType | None = None) -> None:
        CHOICES.skip_data = self._before
