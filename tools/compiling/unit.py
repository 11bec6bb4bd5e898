"""How the C files of the library that mypyc makes are compiled."""

from __future__ import annotations

from pathlib import Path

from setuptools import Extension
from tools.compiling.flags import compiler_kind, python_flags
from tools.compiling.hardening import hardened_code
from tools.compiling.objects import First, Objects
from tools.compiling.stable import Header

HEADER = "all.h"  # what every module includes: two megabytes of declarations
FREEING = "freeing.h"  # and what it does not declare, but uses


def unit_objects(unit: Extension, folder: Path, objects: Objects, level: str = "") -> list[str]:
    """The object files of the `unit`, whose C files and headers are in `folder`."""
    kind = compiler_kind(objects.compiler)
    sources = [Path(source) for source in unit.sources]
    headers = sorted(folder.glob("__native*.h"))
    hardened = hardened_code(objects.compiler)

    def flags(source: Path) -> list[str]:
        return [*python_flags(kind, source, level), *hardened]

    header, freeing = Header(headers), (folder / FREEING).read_text(encoding="utf-8")

    def seen_by(text: str) -> str:
        return header.seen_by(text) + freeing

    first = _first(sources, folder, headers) if kind == "gcc" else None
    return objects.of(sources, unit.include_dirs, flags, seen_by, first)


def _first(sources: list[Path], folder: Path, headers: list[Path]) -> First:
    """One header of them all, for the modules; the run-time library has its own."""
    header = folder / HEADER
    header.write_text("".join(f'#include "{path.name}"\n' for path in headers), encoding="utf-8")
    return First(header, {path for path in sources if path.name.startswith("__native")})
