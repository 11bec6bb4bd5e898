"""Flags that make a fault in C harder to exploit, each where the compiler and the linker know it."""

from __future__ import annotations

import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

# Copies into buffers of known length are checked, and so is the stack where a function returns.
_COMPILING = (("-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2"), ("-fstack-protector-strong",))
# Addresses of functions are looked up at once, and the tables of them, like code and constants, are written by nobody
# after that. Nothing on the stack is executed.
_LINKING = (("-Wl,-z,relro",), ("-Wl,-z,now",), ("-Wl,-z,separate-code",), ("-Wl,-z,noexecstack",))


def hardened_code(compiler: Any) -> list[str]:
    """What the compiler is told."""
    return _known(compiler, _COMPILING)


def hardened_library(compiler: Any) -> list[str]:
    """What the linker is told."""
    return _known(compiler, _LINKING)


def _known(compiler: Any, wanted: tuple[tuple[str, ...], ...]) -> list[str]:
    program = getattr(compiler, "compiler_so", None)
    if compiler.compiler_type != "unix" or not program:
        return []
    return [flag for flags in wanted if _takes(str(program[0]), flags) for flag in flags]


@cache
def _takes(program: str, flags: tuple[str, ...]) -> bool:
    """Whether a library can be made with these flags, and without a warning."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "probe.c")
        source.write_text("int probe;\n")
        made = ["-O1", "-Werror", "-fPIC", "-shared", str(source), "-o", str(Path(folder, "probe.so"))]
        return subprocess.run([program, *flags, *made], capture_output=True, check=False).returncode == 0
