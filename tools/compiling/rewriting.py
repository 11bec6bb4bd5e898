"""Changes to the C that mypyc writes, each of which says how often it must happen.

A pattern that finds nothing changes nothing and says nothing: after an update of mypyc, a build would be wrong in
silence. So every rewriting of a build is counted, over all files, and the counts are compared with what is expected.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

# What stands instead of what was found; None leaves it as it is, and does not count.
Instead = Callable[[re.Match[str]], str | None]


@dataclass(frozen=True, eq=False)
class Rewriting:
    """What is looked for, and what takes its place."""

    name: str
    pattern: re.Pattern[str]
    instead: str | Instead = ""

    def apply(self, text: str, tally: Tally, instead: Instead | None = None) -> str:
        """`text` with this change, which is counted in `tally`; `instead` is for what only the caller knows."""
        change = instead or self.instead

        def changed(found: re.Match[str]) -> str:
            new = found.expand(change) if isinstance(change, str) else change(found)
            if new is None:
                return found[0]
            tally.counts[self] += 1
            return new

        tally.counts[self] += 0
        return self.pattern.sub(changed, text)


class Times(NamedTuple):
    """How often a rewriting must happen."""

    least: int
    most: int | None

    def __str__(self) -> str:
        return f"{self.least} times" if self.most == self.least else f"at least {self.least} times"


def exactly(count: int) -> Times:
    """Where the number follows from the sources or from the one version of mypyc."""
    return Times(count, count)


def at_least(count: int) -> Times:
    """Where it does not."""
    return Times(count, None)


class Tally:
    """How often each rewriting of a build has happened."""

    def __init__(self) -> None:
        self.counts: Counter[Rewriting] = Counter()

    def check(self, expected: Mapping[Rewriting, Times]) -> None:
        """Stops the build if a count is another than `expected`, or if nobody said what to expect."""
        wrong = [
            f"{rewriting.name}: {count} times, expected {expected.get(rewriting, 'nothing of the kind')}"
            for rewriting, count in self.counts.items()
            if not _fits(count, expected.get(rewriting))
        ]
        wrong += [f"{rewriting.name}: never tried" for rewriting in expected if rewriting not in self.counts]
        if wrong:
            raise RuntimeError(
                "mypyc writes C that tools/compiling does not know, or the sources changed in a way that it does not "
                "count. What was rewritten:\n  " + "\n  ".join(wrong)
            )


def _fits(count: int, times: Times | None) -> bool:
    return times is not None and times.least <= count and (times.most is None or count <= times.most)
