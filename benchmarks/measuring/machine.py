"""What was measured on what: the machine, the versions, and which build of retrograd this is."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

from retrograd import __config__


def processor() -> str:
    """The processor's name, and how many of its cores this process may use."""
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = info.read_text(encoding="utf-8").splitlines()
        name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), name)
    return f"{name}, {usable_cores()} cores"


def usable_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory() -> str:
    """How much memory the machine has."""
    if not hasattr(os, "sysconf") or "SC_PHYS_PAGES" not in os.sysconf_names:
        return "unknown memory"
    return f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GiB"


def build() -> list[str]:
    """What retrograd says about itself: compiled or not, with which kernels and which BLAS."""
    _, *lines = __config__.show().strip().splitlines()
    return [line.removeprefix("  - ") for line in lines if "Threads:" not in line]


def description(torch: Any, threads: int) -> list[str]:
    """The lines that stand above every table."""
    count = "one thread" if threads == 1 else f"{threads} threads"
    return [
        *build(),
        f"Beside PyTorch {torch.__version__}, {count} each",
        f"{processor()}, {memory()}, {platform.system()}",
    ]
