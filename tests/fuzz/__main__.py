"""The long form: python -m tests.fuzz [PART …] [--count N] [--seed S]. See docs/inside/reliability.md."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

from . import arrays, files, interrupts, loads, programs, samples, signatures, storms


class Part(NamedTuple):
    """A part of the fuzzing: what it does, how much of it by default, and what share of findings of a kind will do."""

    explore: Callable[[int, int], Iterable[Any]]
    count: int
    allowed: dict[str, float]


PARTS: dict[str, Part] = {
    "programs": Part(programs.explore, 20_000, {"known": 0.02}),
    "signatures": Part(
        signatures.explore, 30_000,
        {"values": 0.0005, "raises only here": 0.003, "raises only there": 0.003, "error type": 0.01},
    ),
    "samples": Part(samples.explore, 40_000, {"known": 0.05}),
    "arrays": Part(arrays.explore, 500, {}),
    "interrupts": Part(interrupts.explore, 10_000, {}),
    "loads": Part(loads.explore, 200, {}),
    "files": Part(files.explore, 20_000, {}),
    "threads": Part(partial(storms.explore, "threads"), 2_000, {}),
    "forks": Part(partial(storms.explore, "forks"), 1_000, {}),
    "ends": Part(partial(storms.explore, "ends"), 1_000, {}),
}  # fmt: skip


def kind_of(finding: Any) -> str:
    if "# known: " in str(finding):
        return "known"
    return str(getattr(finding, "kind", "failures"))


def run(name: str, count: int | None, seed: int, show: Callable[[str], None] = print) -> bool:
    """One part; whether it found no more than it may."""
    part = PARTS[name]
    count, found, begin = part.count if count is None else count, Counter[str](), time.monotonic()
    for finding in part.explore(count, seed):
        found[kind_of(finding)] += 1
        show(str(finding))
    good = all(number <= part.allowed.get(kind, 0) * count for kind, number in found.items())
    said = ", ".join(f"{number} {kind}" for kind, number in found.items()) or "nothing found"
    show(f"{name}: {count:,} with seed {seed}: {said} ({time.monotonic() - begin:.0f} s)")
    return good


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--count", type=int, help="how many programs, calls, interrupts, files, turns")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(words)
    results = [run(name, asked.count, asked.seed) for name in asked.parts or PARTS]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
