"""retrograd beside PyTorch, in one process: small operations, whole programs, large arrays, imports, sizes, memory.

Every row runs the same code on both libraries, in turns, and the best time of each counts. Losing rows are printed like
the others, in red on a terminal.

    python benchmarks/run.py [--only WORD] [--seconds S] [--threads N] [--cpu] [--peers] [--write]
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from pathlib import Path
from typing import Any

from measuring import clock, footprint, machine, peak
from measuring.compare import disagreement
from measuring.report import Line, Report, asked, duration, megabytes
from peers import Peer, installed_peers
from rows import SECTIONS, Row

RESULTS = Path(__file__).parent / "RESULTS.md"
FEWEST_BLOCKS = 4


def measured(row: Row, libraries: tuple[Any, Any], peers: list[Peer], seconds: float) -> tuple[Line, float]:
    """One row: the line, and our time per operation."""
    programs = [row.make(lib) for lib in libraries]
    wrong = disagreement(*(program() for program in programs))
    others = [peer.program(row.peer) for peer in peers]
    for peer, other in zip(peers, others, strict=True):
        assert other is None or not disagreement(other(), row.make(libraries[1])()), f"{peer.name} differs"
    times = clock.best_times([*programs, *(p for p in others if p is not None)], seconds, FEWEST_BLOCKS)
    ours, theirs, *rest = (time / row.operations for time in times)
    columns = tuple("" if p is None else duration(rest.pop(0)) for p in others)
    ratio = theirs / ours
    met = None if row.must is None else ratio >= row.must
    name = f"{row.name} ({wrong})" if wrong else row.name
    return Line(name, duration(ours), duration(theirs), ratio, asked(row.must, row.aim), met, columns), ours


def time_rows(
    report: Report, libraries: tuple[Any, Any], peers: list[Peer], args: argparse.Namespace
) -> None:
    """All rows that are timed."""
    per_node = {}
    for section in SECTIONS:
        rows = [row for row in section.rows if args.only in row.name]
        if rows:
            report.section(section.title)
        for row in rows:
            line, per_node[row.name] = measured(row, libraries, peers, args.seconds)
            report.add(line)
            gc.collect()
    short, long = per_node.get("chain of 1,000 nodes"), per_node.get("chain of 100,000 nodes")
    if short and long:
        report.note(
            f"A node in a chain of 100,000 takes retrograd {long / short:.2f} times as long as one of 1,000."
        )


def footprint_rows(report: Report) -> None:
    """Import time and size."""
    report.section("Before anything is computed")
    times = footprint.import_times(("retrograd", "torch"), 7)
    ours, theirs = times["retrograd"], times["torch"]
    met = ours <= 60e-3
    report.add(
        Line("import, beyond NumPy's", duration(ours), duration(theirs), theirs / ours, "≤ 60 ms (40)", met)
    )
    ours, theirs = footprint.installed_size("retrograd"), footprint.installed_size("torch")
    report.add(Line("installed size", megabytes(ours), megabytes(theirs), theirs / ours, "", None))
    packed = footprint.wheel_size("retrograd")
    report.add(Line("size as a wheel", megabytes(packed), "", None, "≤ 8 MB (3)", packed <= 8e6))


def memory_rows(report: Report, threads: int, only: str) -> None:
    """Peak memory of the large training steps."""
    steps = [row for section in SECTIONS for row in section.rows if row.step and only in row.name]
    if not steps:
        return
    report.section("Peak memory of a step, beyond what was held before")
    most = [0, 0]
    for row in steps:
        peaks = [peak.peak_of(lib, row.name, threads) for lib in ("retrograd", "torch")]
        most = [max(m, p.whole) for m, p in zip(most, peaks, strict=True)]
        ours, theirs = (p.steps for p in peaks)
        ratio = theirs / max(ours, 1)
        report.add(Line(row.name, megabytes(ours), megabytes(theirs), ratio, "≥ 1× (1.25)", ratio >= 1))
    ours, theirs = most
    report.add(
        Line("largest whole process of these", megabytes(ours), megabytes(theirs), theirs / ours, "", None)
    )
    report.note(f"Memory: a process for each step and library, {peak.METHOD} over {peak.STEPS} steps.")


def arguments() -> argparse.Namespace:
    """What was asked for on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument(
        "--only", default="", help="only rows whose name contains this; no imports and sizes then"
    )
    parser.add_argument("--seconds", type=float, default=2.0, help="how long a row is measured")
    parser.add_argument("--threads", type=int, default=2, help="threads of each library")
    parser.add_argument(
        "--cpu",
        action="store_true",
        help="count processor time of one thread: for machines busy with other things",
    )
    parser.add_argument(
        "--peers", action="store_true", help="also HIPS autograd, MyGrad, JAX, tinygrad, if installed"
    )
    parser.add_argument(
        "--no-memory", action="store_true", help="leave out what runs in processes of its own"
    )
    parser.add_argument("--write", action="store_true", help="put the results into benchmarks/RESULTS.md")
    return parser.parse_args()


def main() -> None:
    """Prints the table."""
    args = arguments()
    if args.cpu:
        args.threads, clock.now = 1, time.thread_time
    try:
        import torch
    except ImportError:
        sys.exit("PyTorch is what we measure against, and it is not installed: pip install torch==2.13.0")

    import retrograd

    torch.set_num_threads(args.threads)
    retrograd.set_num_threads(args.threads)
    peers = installed_peers() if args.peers else []
    report = Report(machine.description(torch, args.threads), tuple(peer.name for peer in peers))
    time_rows(report, (retrograd, torch), peers, args)
    if not args.only:
        footprint_rows(report)
    if not args.no_memory:
        memory_rows(report, args.threads, args.only)
    report.close()
    if args.write:
        RESULTS.write_text(report.page(), encoding="utf-8")
        print(
            f"written to {RESULTS.relative_to(Path.cwd()) if RESULTS.is_relative_to(Path.cwd()) else RESULTS}"
        )


if __name__ == "__main__":
    main()
