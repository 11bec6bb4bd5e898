"""What compilers and linkers are told."""

from __future__ import annotations

import sys


def python_flags(compiler_type: str, level: str = "2") -> list[str]:
    """For the C that mypyc wrote. It declares more than it uses, and compilers need not say so."""
    if compiler_type == "msvc":
        return ["/O2", "/GL-", "/wd4102", "/wd4101", "/wd4146", "/utf-8"]
    return [f"-O{level}", "-g0", "-fvisibility=hidden", "-w"]


def native_flags(compiler_type: str) -> list[str]:
    """For the kernel pack."""
    if compiler_type == "msvc":
        return ["/std:c++17", "/O2", "/EHsc", "/permissive-", "/utf-8"]
    # Results must not depend on the instruction set, so a * b + c is fused only where a kernel says so.
    flags = [
        "-std=c++17",
        "-O3",
        "-g0",
        "-fvisibility=hidden",
        "-fno-math-errno",
        "-fno-trapping-math",
        "-ffp-contract=off",
        "-pthread",
    ]
    return [*flags, "-mmacosx-version-min=11.0"] if sys.platform == "darwin" else flags


def link_flags(compiler_type: str) -> list[str]:
    """For both."""
    if compiler_type == "msvc":
        return []
    return ["-pthread"] if sys.platform == "darwin" else ["-pthread", "-s", "-Wl,-z,noseparate-code"]
