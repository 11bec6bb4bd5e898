"""The table, on a terminal and as a page."""

from __future__ import annotations

import sys
from typing import NamedTuple

RED, YELLOW, PLAIN = "\033[31m", "\033[33m", "\033[0m"
NAME = 62


class Line(NamedTuple):
    """A measured row: values as text, the ratio to PyTorch (above 1: we are better), and what was asked for."""

    name: str
    ours: str
    theirs: str
    ratio: float | None
    must: str
    met: bool | None  # None where nothing was asked for
    peers: tuple[str, ...] = ()


def duration(seconds: float) -> str:
    """A time with three digits and the unit that suits it."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def megabytes(size: float) -> str:
    """A size with three digits."""
    return f"{size / 1e6:.3g} MB"


def asked(must: float | None, aim: float | None) -> str:
    """The columns of the goal: what must be, and what we aim at."""
    if must is None:
        return ""
    return f"≥ {must:g}×" if aim is None else f"≥ {must:g}× ({aim:g})"


class Report:
    """Prints lines as they come, and remembers them for the page."""

    def __init__(self, header: list[str], peers: tuple[str, ...] = ()) -> None:
        self.header = header
        self.peers = peers
        self.sections: list[tuple[str, list[Line]]] = []
        self.notes: list[str] = []
        print("\n".join(header))

    def section(self, title: str) -> None:
        """Starts a section."""
        self.sections.append((title, []))
        columns = "".join(f"{peer:>12}" for peer in self.peers)
        print(f"\n{title:{NAME}}{'retrograd':>11}{'PyTorch':>11}{'ratio':>9}  {'must (aim)':12}{columns}")

    def add(self, line: Line) -> None:
        """Prints one line: in red where we lose, in yellow where we win by less than was asked."""
        self.sections[-1][1].append(line)
        ratio = "" if line.ratio is None else f"{line.ratio:.2f}×"
        peers = "".join(f"{peer:>12}" for peer in line.peers)
        text = f"  {line.name:{NAME - 2}}{line.ours:>11}{line.theirs:>11}{ratio:>9}{mark(line)} {line.must:12}{peers}"
        colour = {"<": RED, "-": YELLOW}.get(mark(line), "") if sys.stdout.isatty() else ""
        print(f"{colour}{text.rstrip()}{PLAIN if colour else ''}", flush=True)

    def note(self, text: str) -> None:
        """A sentence below the rows."""
        self.notes.append(text)
        print(f"  {text}")

    def close(self) -> None:
        """Says how to read the table."""
        lines = [line for _, lines in self.sections for line in lines]
        lost, missed = (sum(mark(line) == sign for line in lines) for sign in "<-")
        print(f"\n{EXPLANATION}\n{lost} lost, {missed} below the goal, of {len(lines)} rows")

    def page(self) -> str:
        """The table in Markdown."""
        parts = ["# Results", "", "Written by `make bench ARGS=--write`.", ""]
        parts += [*(f"- {line}" for line in self.header), "", EXPLANATION]
        for title, lines in self.sections:
            names = ("retrograd", "PyTorch", "ratio", "must (aim)", *self.peers)
            parts += ["", f"## {title}", "", f"| | {' | '.join(names)} |", "|---|" + "---:|" * len(names)]
            parts += [_markdown(line, len(self.peers)) for line in lines]
        parts += ["", *(f"- {note}" for note in self.notes)] if self.notes else []
        return "\n".join(parts) + "\n"


EXPLANATION = (
    "Best of many, in turns in one process. Ratio: PyTorch's figure over retrograd's, so above 1 retrograd is better; "
    "`<` marks rows it loses, `-` rows it wins by less than the goal."
)


def mark(line: Line) -> str:
    """`<` for a lost row, `-` for one below its goal, a blank for the rest."""
    if line.ratio is not None and line.ratio < 1:
        return "<"
    return "-" if line.met is False else " "


def _markdown(line: Line, peers: int) -> str:
    ratio = "" if line.ratio is None else f"{line.ratio:.2f}× {mark(line)}".strip()
    if mark(line) == "<":
        ratio = f"**{ratio}**"
    columns = (line.ours, line.theirs, ratio.replace("<", "&lt;"), line.must, *line.peers)
    columns += ("",) * (4 + peers - len(columns))
    return f"| {line.name} | {' | '.join(columns)} |"
