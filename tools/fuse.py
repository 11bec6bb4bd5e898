"""Writes fused elementwise kernels, from the formulas of the op library.

    python tools/fuse.py DIRECTORY    write FILES there, those that would change
    python tools/fuse.py --gpu        write what GPUs get: src/retrograd/backends/gpu/formulas.json
    python tools/fuse.py --report     say what is fused, and why the rest is not

The build calls `generate(directory)`; the file for GPUs belongs to the sources. Nothing is typed twice: each op's own
`forward` and `vjp` run on symbols.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILES = ("fused_loops.inc", "fused_table.inc", "special_tables.inc")
FOR_GPUS = ROOT / "src" / "retrograd" / "backends" / "gpu" / "formulas.json"


def generate(directory: str | Path) -> list[Path]:
    """Writes the generated sources in a process of its own, which imports retrograd from the source tree."""
    from tools.compiling.interpreted import run_interpreted

    run_interpreted(
        f"from pathlib import Path; from tools.fuse import write; write(Path({str(directory)!r}))"
    )
    return [Path(directory) / name for name in FILES]


def write(directory: Path) -> None:
    """Writes what has changed: a compiler need not read the rest again."""
    from tools.fusing.tables import tables
    from tools.fusing.trace import kernels
    from tools.fusing.write import written

    found, reasons = kernels()
    if not found:
        sys.exit(f"no formula could be traced: {next(iter(reasons.items()))}")
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in zip(FILES, (*written(found), tables()), strict=True):
        path = directory / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def write_for_gpus() -> None:
    """Writes the formulas from which kernels are made on a GPU, at first use."""
    FOR_GPUS.write_text(for_gpus(), encoding="utf-8")


def for_gpus() -> str:
    """What `formulas.json` must say."""
    from tools.fusing.gpu import written
    from tools.fusing.trace import kernels

    return written(kernels()[0])


def report() -> None:
    """Prints every method of an elementwise op: fused, or why not."""
    from tools.fusing.trace import kernels

    found, reasons = kernels()
    for kernel in found:
        print(f"fused      {kernel.key}")
    for key, reason in sorted(reasons.items()):
        print(f"not fused  {key}: {reason}")
    print(f"{len(found)} fused, {len(reasons)} not")


def main() -> None:
    """The command."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    os.environ["RETROGRAD_NO_NATIVE"] = "1"
    sys.path[:0] = [str(ROOT / "src"), str(ROOT)]
    if sys.argv[1] == "--report":
        report()
    elif sys.argv[1] == "--gpu":
        write_for_gpus()
    else:
        write(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
