"""What compilers and linkers are told."""

from __future__ import annotations

import sys
from pathlib import Path

# Modules of operations that are worth quick code. The others are compiled to be small: they pass arguments on.
_QUICK = (
    "elementwise___arithmetic",
    "elementwise___exponential",
    "elementwise___sign",
    "linalg___addmm",
    "linalg___matmul",
    "linalg___product_arguments",
    "nn___activation",
    "operators",
    "reduce___sums",
    "shape___join",
    "shape___reshape",
    "shape___transpose",
)


def python_flags(compiler_type: str, source: Path, level: str = "") -> list[str]:
    """For C that mypyc wrote. It declares more than it uses, and compilers need not say so."""
    _, is_op, name = source.stem.partition("___ops___")
    small = bool(is_op) and name not in _QUICK
    if compiler_type == "msvc":
        return ["/O1" if small else "/O2", "/GL-", "/wd4102", "/wd4101", "/wd4146", "/utf-8"]
    return [f"-O{level or ('s' if small else '2')}", "-g0", "-fvisibility=hidden", "-w", *_WITHOUT_TABLES]


# Nothing unwinds the stack of C code.
_WITHOUT_TABLES = ("-fno-unwind-tables", "-fno-asynchronous-unwind-tables")


def native_flags(compiler_type: str, kind: str = "fast") -> list[str]:
    """For the kernel pack, of a kind in `KINDS`."""
    if compiler_type == "msvc":
        return ["/std:c++17", "/O2", "/EHsc", "/permissive-", "/utf-8"]
    # What is rounded must not be the compiler's choice: a * b + c is fused only where a kernel says so.
    flags = [
        "-std=c++17",
        "-fvisibility=hidden",
        "-fno-math-errno",
        "-fno-trapping-math",
        "-ffp-contract=off",
        "-pthread",
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

# How the pack is built: as people get it, with sanitizers that stop the program at a fault, or without anything that
# only some processors and systems have.
KINDS = {
    "fast": ("-O3", "-g0"),
    "sanitized": ("-O1", "-g", *_SANITIZERS),
    "portable": ("-O2", "-g0", "-DRETROGRAD_PORTABLE"),
}


def link_flags(compiler_type: str) -> list[str]:
    """For both."""
    if compiler_type == "msvc":
        return []
    return ["-pthread"] if sys.platform == "darwin" else ["-pthread", "-s", "-Wl,-z,noseparate-code"]
