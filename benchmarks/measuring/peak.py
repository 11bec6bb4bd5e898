"""Peak memory of a training step: what the process holds at most during steps, beyond what it held before the first.

A process of its own per library and step. On Linux the kernel's high-water mark (`VmHWM`) is reset before the first
step and read after the last; elsewhere `ru_maxrss` is read twice, which misses peaks below that of the import.

    python benchmarks/measuring/peak.py retrograd "gelu 2M"
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import NamedTuple

from measuring.footprint import output_of

STEPS = 4
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
METHOD = "the kernel's VmHWM" if STATUS.exists() else "ru_maxrss"


class Peak(NamedTuple):
    """Bytes that steps need at their peak, and bytes of the whole process at that time."""

    steps: int
    whole: int


def peak_of(library: str, row: str, threads: int) -> Peak:
    """The peak of a row's steps, measured in a process of its own."""
    here = Path(__file__).resolve()
    printed = output_of([str(here), library, row, str(threads)], path=str(here.parents[1]))
    return Peak(*map(int, printed.split()))


def field(name: str) -> int:
    """A figure that the kernel keeps about this process, in bytes."""
    line = next(line for line in STATUS.read_text(encoding="utf-8").splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024


def reset_peak() -> int:
    """Forgets the peak so far; the bytes held now."""
    if not CLEAR.exists():
        return read_peak()
    CLEAR.write_text("5", encoding="utf-8")
    return field("VmRSS")


def read_peak() -> int:
    """The peak since the last reset."""
    if STATUS.exists():
        return field("VmHWM")
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def main() -> None:
    """Runs the steps of one row in this process."""
    from rows import SECTIONS

    name, wanted, threads = sys.argv[1:]
    lib = importlib.import_module(name)
    lib.set_num_threads(int(threads))
    # What a library sets up once (threads, scratch memory) is no part of a step.
    x = lib.ones(64, 64).requires_grad_()
    (x @ x).sum().backward()
    (row,) = (row for section in SECTIONS for row in section.rows if row.name == wanted)
    program = row.make(lib)
    before = reset_peak()
    for _ in range(STEPS):
        program()
    peak = read_peak()
    print(max(peak - before, 0), peak)


if __name__ == "__main__":
    main()
