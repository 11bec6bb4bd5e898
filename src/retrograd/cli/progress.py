"""A progress bar in plain text."""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import monotonic
from typing import TextIO

WIDTH = 28
SECONDS_BETWEEN_DRAWINGS = 0.05
LINES_WITHOUT_TERMINAL = 4


class Progress:
    """Counts steps up to `total`. A terminal gets one moving bar; a file or a pipe gets a few whole lines."""

    def __init__(
        self,
        total: int,
        title: str,
        stream: TextIO | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.total = total
        self.title = title
        self.stream: TextIO = sys.stdout if stream is None else stream
        self.clock = clock
        self.moving: bool = self.stream.isatty()
        self.done: int = 0
        self.lines: int = 0
        self.last_drawn: float = clock()

    def advance(self, note: str) -> None:
        """One step more, with `note` behind the bar."""
        self.done += 1
        if self.moving:
            self._move(note)
        elif self.done * LINES_WITHOUT_TERMINAL >= self.total * (self.lines + 1):
            self.lines = self.done * LINES_WITHOUT_TERMINAL // self.total
            self._write(f"{self._bar()}  {note}\n")

    def _move(self, note: str) -> None:
        now = self.clock()
        finished = self.done == self.total
        if finished or now - self.last_drawn >= SECONDS_BETWEEN_DRAWINGS:
            self.last_drawn = now
            # The escape clears what a longer note has left on the line.
            self._write(f"\r{self._bar()}  {note}\x1b[K" + ("\n" if finished else ""))

    def _bar(self) -> str:
        filled = WIDTH * self.done // self.total
        return f"{self.title} [{'#' * filled}{'.' * (WIDTH - filled)}] {100 * self.done // self.total:3d} %"

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()
