"""What compilers and linkers are told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tools.compiling.hardening import hardened_library
from tools.compiling.modules import ON_DEMAND, loaded_at_once

# Passes that take a third of the time when code is made small and a fifth when it is made quick, and bring small code
# 2 % at most, quick code 1 % of the instructions of an operation. They are GCC's.
_WITHOUT_PASSES = (
    *("-fno-gcse", "-fno-tree-pre", "-fno-code-hoisting", "-fno-tree-vrp", "-fno-tree-dominator-opts"),
    *(
        "-fno-expensive-optimizations",
        "-fno-schedule-insns2",
        "-fno-rerun-cse-after-loop",
        "-fno-cse-follow-jumps",
    ),
)


# Files of what every operation passes through, for which all passes are worth it: they bring a chain of them 2 %.
_EVERYWHERE = ("__native_retrograd___core___", "__native_retrograd___engine___")


def debugged() -> bool:
    """Whether RETROGRAD_DEBUG_SYMBOLS asks for a build that debuggers and profilers can look into."""
    return os.environ.get("RETROGRAD_DEBUG_SYMBOLS") == "1"


def _symbols() -> list[str]:
    """Python is often built with -g, and tells the compiler so."""
    return ["-g", "-fno-omit-frame-pointer"] if debugged() else ["-g0"]


def python_flags(kind: str, source: Path, level: str = "") -> list[str]:
    """For C that mypyc wrote; `kind` is the compiler's. It declares more than it uses, and nobody need say so."""
    small = is_small(source)
    if kind == "msvc":
        quiet = ["/GL-", "/wd4102", "/wd4101", "/wd4146", "/utf-8"]
        return ["/O1" if small else "/O2", *quiet, *(["/Z7"] if debugged() else [])]
    flags = [
        f"-O{level or ('s' if small else '2')}",
        *_symbols(),
        "-fvisibility=hidden",
        "-w",
        *_WITHOUT_VECTORS,
        *_WITHOUT_TABLES,
    ]
    # The run-time library is compiled quickly as it is.
    cold = source.name.startswith("__native") and not source.name.startswith(_EVERYWHERE)
    return [*flags, *_WITHOUT_PASSES] if kind == "gcc" and cold else flags


def is_small(source: Path) -> bool:
    """Whether a C file is of a module that is loaded on demand: those pass arguments on, and small code will do."""
    module = source.stem.removeprefix("__native_").replace("___", ".")
    return module.startswith(ON_DEMAND) and module not in loaded_at_once()


def compiler_kind(compiler: Any) -> str:
    """`msvc`, `gcc`, or `unix` for all others that take its options."""
    program = getattr(compiler, "compiler_so", None)
    if compiler.compiler_type != "unix" or not program:
        return str(compiler.compiler_type)
    said = subprocess.run([program[0], "--version"], capture_output=True, text=True, check=False).stdout
    return "gcc" if "Free Software Foundation" in said else "unix"


# There are no loops over numbers in it, and looking for them takes a tenth of the time.
_WITHOUT_VECTORS = ("-fno-tree-loop-vectorize", "-fno-tree-slp-vectorize")
# Nothing unwinds the stack of C code.
_WITHOUT_TABLES = ("-fno-unwind-tables", "-fno-asynchronous-unwind-tables")


def native_flags(compiler_type: str, kind: str = "fast") -> list[str]:
    """For the kernel pack, of a kind in `KINDS`."""
    if compiler_type == "msvc":
        return ["/std:c++17", "/O2", "/EHsc", "/permissive-", "/utf-8", *(["/Z7"] if debugged() else [])]
    # What is rounded must not be the compiler's choice: a * b + c is fused only where a kernel says so.
    flags = [
        "-std=c++17",
        "-fvisibility=hidden",
        "-fno-math-errno",
        "-fno-trapping-math",
        "-ffp-contract=off",
        "-pthread",
        *_symbols(),
        *KINDS[kind],
    ]
    return [*flags, "-mmacosx-version-min=11.0"] if sys.platform == "darwin" else flags


# Python's own flags let numbers wrap around; here that is a fault.
_SANITIZERS = (
    "-fsanitize=address,undefined",
    "-fsanitize=float-cast-overflow",
    "-fno-sanitize-recover=all",
    "-fno-wrapv",
)

# How the pack is built: as people get it, with sanitizers that stop the program at a fault or tell of threads that
# race, or without anything that only some processors and systems have.
KINDS = {
    "fast": ("-O3",),
    "sanitized": ("-O1", "-g", *_SANITIZERS),
    "threads": ("-O1", "-g", "-fsanitize=thread", "-DRETROGRAD_PORTABLE"),  # one instruction set is enough
    "portable": ("-O2", "-DRETROGRAD_PORTABLE"),
}


def link_flags(compiler: Any) -> list[str]:
    """For both."""
    if compiler.compiler_type == "msvc":
        return ["/DEBUG"] if debugged() else []
    stripped = [] if debugged() or sys.platform == "darwin" else ["-s"]
    return ["-pthread", *stripped, *hardened_library(compiler)]
