"""TensorBoard's files: a record for each event, an event for each thing that is logged.

A record is the length of its data, the data, and a checksum of each; the data is a message in the form of protocol
buffers. Of those only what is needed here is written: fields of numbers, of bytes, and of messages inside.
"""

from __future__ import annotations

import struct
import time
from pathlib import Path
from typing import BinaryIO


def _table() -> list[int]:
    """What one byte does to a checksum (CRC-32C)."""
    found = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        found.append(byte)
    return found


_STEPS = _table()


def checksum(data: bytes) -> bytes:
    """The checksum of data, as records have it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _STEPS[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


# -- messages: each function gives one field, by its number ---------------------------------------------------------


def varint(value: int) -> bytes:
    """A whole number, seven bits in a byte, the lowest first.

    >>> list(varint(300))
    [172, 2]
    """
    value &= 2**64 - 1
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def whole(field: int, value: int) -> bytes:
    """A whole number."""
    return varint(field << 3) + varint(value)


def double(field: int, value: float) -> bytes:
    """A number of 64 bits."""
    return varint(field << 3 | 1) + struct.pack("<d", value)


def single(field: int, value: float) -> bytes:
    """A number of 32 bits."""
    return varint(field << 3 | 5) + struct.pack("<f", value)


def inside(field: int, data: bytes | str) -> bytes:
    """A text, bytes or a message."""
    content = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(content)) + content


def doubles(field: int, values: list[float]) -> bytes:
    """Numbers of 64 bits, in a row."""
    return inside(field, struct.pack(f"<{len(values)}d", *values))


# -- the file -------------------------------------------------------------------------------------------------------


class EventFile:
    """A file of events, open for writing. What was written is on its way to the disk at once."""

    def __init__(self, folder: Path, name: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file: BinaryIO = (folder / name).open("ab")
        self._write(double(1, time.time()) + inside(3, "brain.Event:2"))

    def add(self, values: list[bytes], step: int | None, walltime: float | None) -> None:
        """An event with these values of a summary."""
        summary = b"".join(inside(1, value) for value in values)
        when = double(1, time.time() if walltime is None else walltime)
        self._write(when + (b"" if step is None else whole(2, step)) + inside(5, summary))

    def _write(self, event: bytes) -> None:
        length = struct.pack("<Q", len(event))
        self._file.write(length + checksum(length) + event + checksum(event))
        self._file.flush()

    def close(self) -> None:
        """Ends the file."""
        self._file.close()
