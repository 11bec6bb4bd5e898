"""The native kernel pack as an extension: every C++ file of `native/`."""

from __future__ import annotations

from pathlib import Path

from setuptools import Extension
from tools.compiling.flags import native_flags
from tools.compiling.modules import SOURCE
from tools.compiling.objects import Objects
from tools.fuse import generate

FOLDER = SOURCE.parent / "native"
GENERATED = SOURCE.parent / "build" / "native"  # fused kernels, written from the ops' formulas
NAME = "retrograd._native"


def native_extension(compiler_type: str = "unix", kind: str = "fast") -> Extension:
    """What setuptools builds; `compiler_type` is "unix" or "msvc", `kind` one of `flags.KINDS`."""
    import numpy as np

    generate(GENERATED)
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


def native_objects(pack: Extension, objects: Objects) -> list[str]:
    """The object files of the pack."""
    headers = "".join(Path(path).read_text(encoding="utf-8") for path in pack.depends)
    sources = [Path(source) for source in pack.sources]
    return objects.of(sources, pack.include_dirs, lambda _: pack.extra_compile_args, lambda _: headers)
