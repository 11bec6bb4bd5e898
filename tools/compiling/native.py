"""The native kernel pack as an extension: every C++ file of `native/`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from setuptools import Extension
from tools.compiling.flags import compiler_kind, native_flags
from tools.compiling.hardening import hardened_code
from tools.compiling.kept import Note, digest_of
from tools.compiling.modules import PACKAGE, SOURCE
from tools.compiling.objects import First, Objects
from tools.fuse import FILES, generate

FOLDER = SOURCE.parent / "native"
GENERATED = SOURCE.parent / "build" / "native"  # fused kernels, written from the ops' formulas
NAME = "retrograd._native"
# What most of its sources begin with, and what takes longest to read.
_COMMON = (
    *(
        "<algorithm>",
        "<cmath>",
        "<cstdint>",
        "<cstring>",
        "<limits>",
        "<type_traits>",
        "<utility>",
        "<vector>",
    ),
    '"array.h"',
)
_MENTIONED = re.compile(r'"(\w+\.(?:h|inc))"')


def native_extension(compiler_type: str = "unix", kind: str = "fast") -> Extension:
    """What setuptools builds; `compiler_type` is "unix" or "msvc", `kind` one of `flags.KINDS`."""
    import numpy as np

    _generate()
    return Extension(
        NAME,
        sources=[str(path) for path in sorted(FOLDER.glob("*.cpp"))],
        include_dirs=[str(FOLDER), str(GENERATED), np.get_include()],
        depends=[
            str(path)
            for folder in (FOLDER, GENERATED)
            for path in sorted(folder.iterdir())
            if path.suffix in {".h", ".inc"}
        ],
        language="c++",
        extra_compile_args=native_flags(compiler_type, kind),
    )


def _generate() -> None:
    """Writes the fused kernels, if formulas or what reads them have changed."""
    tools = Path(__file__).parents[1]
    files = [*PACKAGE.rglob("*.py"), tools / "fuse.py", *(tools / "fusing").glob("*.py")]
    note = Note(GENERATED / "made.json", digest_of(files))
    if note.read() is None or not all((GENERATED / name).exists() for name in FILES):
        note.drop()
        generate(GENERATED)
        note.write(FILES)


def native_objects(pack: Extension, objects: Objects) -> list[str]:
    """The object files of the pack."""
    sources = [Path(source) for source in pack.sources]
    flags = list(pack.extra_compile_args)
    if not any(flag.startswith("-fsanitize") for flag in flags):  # sanitizers look at the same themselves
        flags += hardened_code(objects.compiler)
    first = _first(sources) if compiler_kind(objects.compiler) == "gcc" else None
    return objects.of(sources, pack.include_dirs, lambda _: flags, Headers(pack.depends).seen_by, first)


def _first(sources: Sequence[Path]) -> First:
    """What the sources have in common, for those that do not tell Python or NumPy something before."""
    header = GENERATED / "first.hpp"
    header.write_text("".join(f"#include {name}\n" for name in _COMMON), encoding="utf-8")
    return First(header, {source for source in sources if not _defines_first(source)})


def _defines_first(source: Path) -> bool:
    text = source.read_text(encoding="utf-8")
    return "#define" in text.partition("#include")[0]


class Headers:
    """Header files, by name."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.texts = {Path(path).name: Path(path).read_text(encoding="utf-8") for path in paths}

    def seen_by(self, text: str) -> str:
        """Those that `text` names, and those which these name: a macro may stand between a name and `#include`."""
        seen: dict[str, str] = {}
        waiting = [text]
        while waiting:
            for name in _MENTIONED.findall(waiting.pop()):
                if name in self.texts and name not in seen:
                    seen[name] = self.texts[name]
                    waiting.append(seen[name])
        return "".join(seen[name] for name in sorted(seen))
