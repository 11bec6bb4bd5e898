"""A bar that shows how far something is: drawn by rich where that is installed, in plain text otherwise."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sized
from importlib import import_module
from time import monotonic
from typing import Any, Protocol, Self, TextIO, TypeVar

__all__ = ["PlainProgress", "Progress", "RichProgress", "progress", "track"]

T = TypeVar("T")
WIDTH = 28
SECONDS_BETWEEN_DRAWINGS = 0.05
LINES_WITHOUT_TERMINAL = 4


class Progress(Protocol):
    """What counts steps: each `advance` is one more, with a note behind the bar. It may be a `with` block."""

    total: int
    done: int

    def advance(self, note: str = "") -> None:
        """One step more."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...


def progress(total: int, title: str = "", stream: TextIO | None = None) -> Progress:
    """A bar for so many steps. A terminal gets rich's, if it is there: `pip install 'retrograd[cli]'`.

    Args:
        total: how many steps there are.
        title: what stands before the bar.
        stream: where it is drawn, by default standard output. A file or a pipe gets a few whole lines.

    >>> with progress(4, "training", sys.stdout) as bar:
    ...     for step in range(4):
    ...         bar.advance(f"loss {1 / (step + 1):.2f}")
    training [#######.....................]  25 %  loss 1.00
    training [##############..............]  50 %  loss 0.50
    training [#####################.......]  75 %  loss 0.33
    training [############################] 100 %  loss 0.25
    """
    where: TextIO = sys.stdout if stream is None else stream
    if where.isatty():
        try:
            return RichProgress(total, title, where)
        except ImportError:
            pass
    return PlainProgress(total, title, where)


def track(
    items: Iterable[T], title: str = "", total: int | None = None, stream: TextIO | None = None
) -> Iterator[T]:
    """The items of a loop, with a bar that moves as they are taken: `for batch in track(loader, "training"): ...`"""
    if total is None:
        if not isinstance(items, Sized):
            raise TypeError(
                f"track() needs total= for a {type(items).__name__}, which does not say how long it is"
            )
        total = len(items)
    with progress(total, title, stream) as bar:
        for item in items:
            yield item
            bar.advance()


class PlainProgress:
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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self.moving and 0 < self.done < self.total:
            self._write("\n")  # what comes next begins on a line of its own

    def advance(self, note: str = "") -> None:
        """One step more, with `note` behind the bar."""
        self.done += 1
        if self.moving:
            self._move(note)
        elif self.done * LINES_WITHOUT_TERMINAL >= self.total * (self.lines + 1):
            self.lines = self.done * LINES_WITHOUT_TERMINAL // self.total
            self._write(f"{self._bar()}  {note}".rstrip() + "\n")

    def _move(self, note: str) -> None:
        now = self.clock()
        finished = self.done == self.total
        if finished or now - self.last_drawn >= SECONDS_BETWEEN_DRAWINGS:
            self.last_drawn = now
            # The escape clears what a longer note has left on the line.
            self._write(f"\r{self._bar()}  {note}\x1b[K" + ("\n" if finished else ""))

    def _bar(self) -> str:
        filled = WIDTH * self.done // self.total
        bar = f"[{'#' * filled}{'.' * (WIDTH - filled)}] {100 * self.done // self.total:3d} %"
        return f"{self.title} {bar}" if self.title else bar

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()


class RichProgress:
    """rich's bar, with the time that is left."""

    def __init__(self, total: int, title: str, stream: TextIO) -> None:
        rich, console = import_module("rich.progress"), import_module("rich.console")
        self.total = total
        self.done: int = 0
        note = rich.TextColumn("{task.fields[note]}")
        columns = [rich.TextColumn("{task.description}"), rich.BarColumn(), rich.TaskProgressColumn()]
        self._bar: Any = rich.Progress(
            *columns, rich.TimeRemainingColumn(), note, console=console.Console(file=stream)
        )
        self._task: Any = self._bar.add_task(title, total=total, note="")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def advance(self, note: str = "") -> None:
        """One step more, with `note` behind the bar."""
        self.done += 1
        if not self._bar.live.is_started:
            self._bar.start()
        self._bar.update(self._task, advance=1, note=note)
        if self.done == self.total:
            self._bar.stop()
