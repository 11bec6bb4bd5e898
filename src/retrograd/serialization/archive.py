"""PyTorch's zip archives, whose records are not compressed: reading them with every size checked, and writing.

Inside are `data.pkl`, the pickle with everything but the numbers; `data/0`, `data/1`, …, the bytes of the storages;
`byteorder`; and `version`. All names begin with the archive's own.
"""

from __future__ import annotations

import mmap
import struct
import zipfile
import zlib
from typing import Any, BinaryIO, Final, NamedTuple

import numpy as np

from retrograd.serialization.storages import refused
from retrograd.values import Array

ALIGNMENT: Final = (
    64  # of the bytes of storages in a file: numbers in memory that is mapped lie as kernels like them
)
_HEADER: Final = 30  # bytes of a record's header before its name
_PADDING: Final = 0x4246  # the tag of the extra field that PyTorch pads with
_MANY: Final = 1 << 24  # bytes that are checked at a time
BAD_ZIP: Final = (
    zipfile.BadZipFile,
    struct.error,
    UnicodeDecodeError,
    NotImplementedError,
    ValueError,
    OverflowError,
    EOFError,
    OSError,
)


class FileRecord(NamedTuple):
    """Where in the file the bytes of a record lie."""

    start: int
    size: int
    crc: int


class Archive:
    """The records of a file, found and checked when it is opened.

    Args:
        file: open for reading, and able to seek.
        length: how many bytes it has.
    """

    def __init__(self, file: BinaryIO, length: int) -> None:
        self._file = file
        self._length = length
        try:
            with zipfile.ZipFile(file) as found:
                records = _located(file, found.infolist(), length)
        except BAD_ZIP as error:
            raise RuntimeError(
                f"load(): failed reading zip archive: {error}. The file may have been cut off, or be none of save()'s."
            ) from error
        roots = [name.removesuffix("/data.pkl") for name in records if name.endswith("/data.pkl")]
        if len(roots) != 1 or "/" in roots[0]:
            raise RuntimeError("load(): this zip archive has no data.pkl, so it is no file of tensors")
        self.records: dict[str, FileRecord] = {
            name.removeprefix(f"{roots[0]}/"): record
            for name, record in records.items()
            if name.startswith(f"{roots[0]}/")
        }
        if "constants.pkl" in self.records:
            raise RuntimeError(
                "load(): this is a TorchScript archive, a program and not a checkpoint. Save the state_dict() of its "
                "module with torch.save() instead."
            )
        self._check_version()

    def _check_version(self) -> None:
        version = self.text("version", "3")
        if not version.isdigit() or not 1 <= int(version) <= 10:
            raise RuntimeError(f"load(): the file has version {version!r:.20}; versions 1 to 10 are known")

    def text(self, name: str, default: str) -> str:
        """A short record as text."""
        record = self.records.get(name)
        if record is None:
            return default
        if record.size > 100:
            raise refused(f"its record {name!r} is too long")
        return bytes(self.read(name, record.size)).decode("ascii", "replace").strip()

    def size(self, name: str) -> int:
        """How many bytes a record has."""
        if name not in self.records:
            raise RuntimeError(f"load(): the file has no record {name!r:.60}, which it speaks of")
        return self.records[name].size

    def read(self, name: str, size: int) -> Array:
        """The bytes of a record, in memory of their own."""
        record = self._expected(name, size)
        memory: Array = np.empty(size, np.uint8)
        view = memoryview(memory)
        self._file.seek(record.start)
        crc = 0
        for i in range(0, size, _MANY):
            part = view[i : i + _MANY]
            if self._file.readinto(part) != len(part):  # type: ignore[attr-defined]
                raise refused("it was cut off while it was read")
            crc = zlib.crc32(part, crc)
        if record.crc and crc != record.crc:  # 0 where PyTorch was told to leave the checksums out
            raise RuntimeError(
                f"load(): the bytes of record {name!r:.60} have changed since they were written"
            )
        return memory

    def map(self, name: str, size: int, mapped: mmap.mmap) -> Array:
        """The bytes of a record where they lie in a file that is mapped to memory; they are read when used."""
        record = self._expected(name, size)
        if record.start % 16:
            return self.read(name, size)
        found: Array = np.frombuffer(mapped, np.uint8, size, record.start)
        return found

    def _expected(self, name: str, size: int) -> FileRecord:
        if self.size(name) != size:
            raise refused(f"record {name!r:.60} has {self.size(name)} bytes where {size} should be")
        return self.records[name]


def _located(file: BinaryIO, infos: list[zipfile.ZipInfo], length: int) -> dict[str, FileRecord]:
    """Where the records lie: within the file, apart from each other, and as long as they say."""
    found: dict[str, FileRecord] = {}
    end = 0
    for info in sorted(infos, key=lambda info: info.header_offset):
        if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
            raise refused(f"record {info.filename!r:.60} is compressed, and could be of any size")
        if info.flag_bits & 0x1:
            raise refused(f"record {info.filename!r:.60} is encrypted")
        file.seek(max(0, info.header_offset))
        header = file.read(_HEADER)
        if len(header) != _HEADER or not header.startswith(b"PK\x03\x04"):
            raise refused(f"record {info.filename!r:.60} is not where it should be")
        start = info.header_offset + _HEADER + sum(struct.unpack("<HH", header[26:30]))
        if info.header_offset < end or start + info.file_size > length:
            raise refused(f"record {info.filename!r:.60} lies over another, or outside of the file")
        if info.filename in found:
            raise refused(f"record {info.filename!r:.60} is there twice")
        end = start + info.file_size
        found[info.filename] = FileRecord(start, info.file_size, info.CRC)
    return found


class ArchiveWriter:
    """Writes records to an archive in an open file."""

    def __init__(self, file: Any, name: str) -> None:
        self._zip = zipfile.ZipFile(file, "w")
        self._name = name

    def write(self, name: str, data: Any) -> None:
        """Adds a record, whose bytes begin at a multiple of ALIGNMENT."""
        info = zipfile.ZipInfo(f"{self._name}/{name}")
        view = memoryview(data).cast("B")
        info.file_size = view.nbytes
        large = info.file_size * 1.05 > zipfile.ZIP64_LIMIT  # then zipfile adds a field of 20 bytes
        assert self._zip.fp is not None
        begin = self._zip.fp.tell() + _HEADER + len(info.filename.encode()) + (20 if large else 0) + 4
        padding = -begin % ALIGNMENT
        info.extra = struct.pack("<HH", _PADDING, padding) + b"Z" * padding
        with self._zip.open(info, "w") as record:
            for i in range(0, view.nbytes, _MANY):
                record.write(view[i : i + _MANY])

    def close(self) -> None:
        """Writes the list of records."""
        self._zip.close()
