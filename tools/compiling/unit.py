"""How the C files of the library that mypyc makes are compiled.

Several modules of one folder make one file for the compiler, which spends a fifth of a second on the headers of each.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from setuptools import Extension
from tools.compiling.flags import compiler_kind, is_small, python_flags
from tools.compiling.hardening import hardened_code
from tools.compiling.objects import First, Objects
from tools.compiling.stable import Header

HEADER = "all.h"  # what every module includes: two megabytes of declarations
OWN = ("freeing.h", "boxing.h", "judging.h", "loading.h")  # and what it does not declare, but uses
TOGETHER = 6  # modules in one file at most: more, and a change of one has many compiled again


def unit_objects(unit: Extension, folder: Path, objects: Objects, level: str = "") -> list[str]:
    """The object files of the `unit`, whose C files and headers are in `folder`."""
    kind = compiler_kind(objects.compiler)
    sources = list(_joined([Path(source) for source in unit.sources], folder / "joined"))
    headers = sorted(folder.glob("__native*.h"))
    hardened = hardened_code(objects.compiler)

    def flags(source: Path) -> list[str]:
        return [*python_flags(kind, source, level), *hardened]

    header, own = Header(headers), "".join((folder / name).read_text(encoding="utf-8") for name in OWN)

    def seen_by(text: str) -> str:
        return header.seen_by(text) + own

    first = _first(sources, folder, headers) if kind == "gcc" else None
    return objects.of(sources, unit.include_dirs, flags, seen_by, first)


def _joined(sources: list[Path], folder: Path) -> Iterator[Path]:
    """The sources, with modules of the same folder and the same flags joined."""
    folder.mkdir(exist_ok=True)
    modules = sorted(source for source in sources if "___" in source.name)
    yield from (source for source in sources if "___" not in source.name)
    for _, members in groupby(sorted(modules, key=_kind), _kind):
        group = list(members)
        for i in range(0, len(group), TOGETHER):
            part = group[i : i + TOGETHER]
            path = folder / part[0].name
            path.write_text("".join(source.read_text(encoding="utf-8") for source in part), encoding="utf-8")
            yield path


def _kind(source: Path) -> tuple[bool, str]:
    return is_small(source), source.name.rpartition("___")[0]


def _first(sources: list[Path], folder: Path, headers: list[Path]) -> First:
    """One header of them all, for the modules; the run-time library has its own.

    What the headers declare is in the library itself, and needs no detour by a table of addresses; Python's is not.
    """
    header = folder / HEADER
    lines = [
        *("#include <Python.h>", "#include <CPy.h>", "#pragma GCC visibility push(hidden)"),
        *(f'#include "{path.name}"' for path in headers),
        "#pragma GCC visibility pop\n",
    ]
    header.write_text("\n".join(lines), encoding="utf-8")
    return First(header, {path for path in sources if path.name.startswith("__native")})
