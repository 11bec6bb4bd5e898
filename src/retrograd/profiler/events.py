"""What was called and for how long: sums, a table, a trace for Chrome."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

COLUMNS = ("Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls")
SORTS = {
    "cpu_time": "cpu_time",
    "cpu_time_total": "cpu_time_total",
    "self_cpu_time_total": "self_cpu_time_total",
    "count": "count",
}


class FunctionEvent:
    """One call. Times are in microseconds, since the profiler began."""

    def __init__(
        self, name: str, thread: int, start: float, shapes: list[Any], is_user_annotation: bool
    ) -> None:
        self.name = self.key = name
        self.thread = thread
        self.start = start
        self.end = start
        self.children_time = 0.0
        self.input_shapes = shapes
        self.is_user_annotation = is_user_annotation
        self.count = 1

    @property
    def cpu_time_total(self) -> float:
        """How long the call took."""
        return self.end - self.start

    cpu_time = cpu_time_total

    @property
    def self_cpu_time_total(self) -> float:
        """The same without the calls inside of it."""
        return self.cpu_time_total - self.children_time

    def __repr__(self) -> str:
        return f"<FunctionEvent name={self.name} cpu_time={self.cpu_time_total:.3f}us>"


class FunctionEventAvg:
    """All calls of one function."""

    def __init__(self, key: str, shapes: list[Any]) -> None:
        self.key = key
        self.input_shapes = shapes
        self.count = 0
        self.cpu_time_total = 0.0
        self.self_cpu_time_total = 0.0

    def add(self, event: FunctionEvent) -> None:
        """One call more."""
        self.count += 1
        self.cpu_time_total += event.cpu_time_total
        self.self_cpu_time_total += event.self_cpu_time_total

    @property
    def cpu_time(self) -> float:
        """How long a call takes on average."""
        return self.cpu_time_total / self.count if self.count else 0.0

    def __repr__(self) -> str:
        time = in_words(self.self_cpu_time_total)
        return f"<FunctionEventAvg key={self.key} self_cpu_time={time} count={self.count}>"


class EventList(list[Any]):
    """Calls, or sums of them."""

    @property
    def self_cpu_time_total(self) -> float:
        """How long all took together, in microseconds."""
        return float(sum(event.self_cpu_time_total for event in self))

    def key_averages(self, group_by_input_shape: bool = False) -> EventList:
        """The calls of each function, summed up; with `group_by_input_shape`, apart by the shapes of arguments."""
        found: dict[Any, FunctionEventAvg] = {}
        for event in self:
            shapes = event.input_shapes if group_by_input_shape else []
            key = (event.key, str(shapes))
            found.setdefault(key, FunctionEventAvg(event.key, shapes)).add(event)
        return EventList(found.values())

    def total_average(self) -> FunctionEventAvg:
        """All calls, as one sum."""
        total = FunctionEventAvg("Total", [])
        for event in self:
            total.add(event)
        return total

    def table(
        self, sort_by: str | None = None, row_limit: int = 100, max_name_column_width: int = 55, **more: Any
    ) -> str:
        """A table for people.

        Args:
            sort_by: "cpu_time_total", "self_cpu_time_total", "cpu_time" or "count"; the largest comes first.
            row_limit: how many rows, -1 for all.
            max_name_column_width: of names; longer ones are cut.
            more: PyTorch's, without an effect.
        """
        if (
            sort_by is not None
            and sort_by not in SORTS
            and not sort_by.endswith(("cuda_time_total", "device_time_total"))
        ):
            raise AttributeError(f"cannot sort by {sort_by!r}; there are {', '.join(SORTS)}")
        events = sorted(self, key=lambda e: -getattr(e, SORTS[sort_by])) if sort_by in SORTS else list(self)
        rows = [
            self._row(event, max_name_column_width)
            for event in events[: row_limit if row_limit >= 0 else None]
        ]
        return _aligned([COLUMNS, *rows]) + f"Self CPU time total: {in_words(self.self_cpu_time_total)}\n"

    def _row(self, event: Any, width: int) -> tuple[str, ...]:
        whole = self.self_cpu_time_total or 1.0
        name = event.key if len(event.key) <= width else event.key[: width - 3] + "..."
        return (
            name,
            f"{100 * event.self_cpu_time_total / whole:.2f}%",
            in_words(event.self_cpu_time_total),
            f"{100 * event.cpu_time_total / whole:.2f}%",
            in_words(event.cpu_time_total),
            in_words(event.cpu_time_total / event.count),
            str(event.count),
        )

    def export_chrome_trace(self, path: str) -> None:
        """Writes the calls as Chrome (chrome://tracing) and Perfetto show them."""
        write_trace(self, path)

    def __str__(self) -> str:
        return self.table()


def in_words(microseconds: float) -> str:
    """A time with its unit.

    >>> in_words(12.3456), in_words(4_200), in_words(3_000_000)
    ('12.346us', '4.200ms', '3.000s')
    """
    if microseconds >= 1e6:
        return f"{microseconds / 1e6:.3f}s"
    return f"{microseconds / 1e3:.3f}ms" if microseconds >= 1e3 else f"{microseconds:.3f}us"


def _aligned(rows: list[tuple[str, ...]]) -> str:
    """Rows under each other, the first between rules."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rule = "  ".join("-" * width for width in widths)
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    return "\n".join([rule, lines[0], rule, *lines[1:], rule]) + "\n"


def write_trace(events: Iterable[FunctionEvent], path: str) -> None:
    """Writes calls in the form of Chrome's traces."""
    found = [
        {
            "ph": "X",
            "cat": "user_annotation" if event.is_user_annotation else "cpu_op",
            "name": event.name,
            "pid": 0,
            "tid": event.thread,
            "ts": event.start,
            "dur": event.cpu_time_total,
            "args": {"Input Dims": event.input_shapes},
        }
        for event in events
    ]
    Path(path).write_text(json.dumps({"schemaVersion": 1, "traceEvents": found}), encoding="utf-8")
