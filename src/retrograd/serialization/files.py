"""Files for reading and writing: by path or open, and written so that a crash leaves the old file."""

from __future__ import annotations

import io
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO


def is_path(f: Any) -> bool:
    """Whether a file is given by its path."""
    return isinstance(f, (str, os.PathLike))


def check_file(f: Any, wanted: str) -> None:
    """Refuses what is neither a path nor a file that can `read` or `write`."""
    if not is_path(f) and not hasattr(f, wanted):
        raise AttributeError(
            f"expected 'f' to be string, path, or a file-like object with a '{wanted}' attribute, not "
            f"{type(f).__name__}"
        )


@contextmanager
def to_read(f: Any) -> Iterator[tuple[BinaryIO, int]]:
    """A file open for reading at its beginning, and how many bytes it has.

    An open file is read from where it stands, and stands behind what was read afterwards, if it can seek.
    """
    check_file(f, "read")
    if is_path(f):
        with Path(f).open("rb") as file:
            yield file, os.fstat(file.fileno()).st_size
        return
    begin = f.tell() if hasattr(f, "tell") and hasattr(f, "seek") else None
    if begin == 0 and isinstance(f, (io.BytesIO, io.BufferedReader)) and f.seekable():
        length = f.seek(0, io.SEEK_END)
        f.seek(0)
        yield f, length
        return
    data = f.read()
    memory = io.BytesIO(data)
    yield memory, len(data)
    if begin is not None:
        f.seek(begin + memory.tell())


@contextmanager
def to_write(f: Any) -> Iterator[Any]:
    """A file open for writing. One that is given by its path appears under it when it is complete, never before."""
    check_file(f, "write")
    if not is_path(f):
        if all(hasattr(f, name) for name in ("tell", "seek", "flush", "seekable")):
            yield f
        else:
            memory = io.BytesIO()
            yield memory
            f.write(memory.getbuffer())
        return
    path = Path(os.path.realpath(f))  # of a link, the file it leads to
    if path.exists() and not path.is_file():  # a device or a pipe cannot be replaced
        with path.open("wb") as file:
            yield file
        return
    if not path.parent.is_dir():
        raise RuntimeError(f"Parent directory {path.parent} does not exist.")
    with _replacing(path) as file:
        yield file


@contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    """A new file beside `path`, which takes its place when all is written and on the disk."""
    beside = path.with_name(f".{path.name[:100]}.{secrets.token_hex(6)}.part")
    try:
        with beside.open("xb") as file:
            if path.exists():
                with suppress(OSError):
                    beside.chmod(path.stat().st_mode & 0o7777)
            yield file
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    with suppress(OSError):  # the new name, too; not every system can
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
