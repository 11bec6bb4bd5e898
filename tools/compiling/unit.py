"""How the C files of the library that mypyc makes are compiled."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tools.compiling.flags import compiler_kind, python_flags
from tools.compiling.objects import Objects

HEADER = "all.h"  # what every module includes: two megabytes of declarations


def flags_of(unit: Any, folder: Path, objects: Objects, level: str = "") -> Callable[[Path], list[str]]:
    """What the compiler is told about each file of the `unit`, whose headers are in `folder`. GCC reads those once."""
    kind = compiler_kind(objects.compiler)
    modules = [path for path in map(Path, unit.sources) if path.name.startswith("__native")]
    headers = sorted(folder.glob("__native*.h"))
    included: list[str] = []
    if kind == "gcc":
        header = folder / HEADER
        header.write_text("".join(f'#include "{path.name}"\n' for path in headers), encoding="utf-8")
        objects.precompile(header, unit.include_dirs, [python_flags(kind, path, level) for path in modules])
        included = ["-include", str(header)]

    def flags(source: Path) -> list[str]:
        return python_flags(kind, source, level) + (included if source in modules else [])

    return flags
