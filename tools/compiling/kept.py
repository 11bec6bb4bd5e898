"""What a step of a build has made, kept until what it is made of changes."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any


def digest(parts: Iterable[str]) -> str:
    """One short word for many texts."""
    found = hashlib.sha256()
    for part in parts:
        found.update(part.encode())
        found.update(b"\0")
    return found.hexdigest()[:32]


def digest_of(files: Iterable[Path]) -> str:
    """One for the names and contents of files, and for what they are read by."""
    texts = (part for path in sorted(files) for part in (path.as_posix(), path.read_text(encoding="utf-8")))
    return digest((*versions(), *texts))


def versions() -> tuple[str, ...]:
    """What a build is made with, and whose headers and types it reads, besides the compiler."""
    return (sys.version, *(f"{name} {_version(name)}" for name in ("mypy", "numpy", "setuptools")))


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


class Note:
    """A file that says what a step has made, and of what: the step need not run again while that is the same."""

    def __init__(self, path: Path, made_of: str) -> None:
        self.path = path
        self.made_of = made_of

    def read(self) -> Any:
        """What was made of the very same; None if nothing was."""
        try:
            note = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return note["made"] if note.get("of") == self.made_of else None

    def write(self, made: Any) -> None:
        """Says so when all is made."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps({"of": self.made_of, "made": made}), encoding="utf-8")

    def drop(self) -> None:
        """Before it is made again: a step that is interrupted leaves no note."""
        self.path.unlink(missing_ok=True)
