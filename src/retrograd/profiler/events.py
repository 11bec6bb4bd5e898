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
# What is not noted here: tables that are to be sorted by it keep the order of the calls.
NOT_NOTED = (
    "cuda_time",
    "cuda_time_total",
    "device_time",
    "device_time_total",
    "xpu_time_total",
    "memory_usage",
)


class Interval:
    """From when to when something took, in microseconds."""

    def __init__(self, start: float, end: float) -> None:
        self.start = start
        self.end = end

    def elapsed_us(self) -> float:
        """How long it took."""
        return self.end - self.start


class Times:
    """What calls and sums of calls say of themselves."""

    count: int
    cpu_time_total: float
    device_time = device_time_total = self_device_time_total = 0.0  # nothing is measured on devices

    @property
    def cpu_time(self) -> float:
        """How long a call takes on average."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def cpu_time_str(self) -> str:
        """The same, with its unit."""
        return in_words(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        """How long all calls took, with its unit."""
        return in_words(self.cpu_time_total)


class FunctionEvent(Times):
    """One call. Times are in microseconds, since the profiler began.

    >>> outer = FunctionEvent(0, "outer", thread=1, start_us=0, end_us=10)
    >>> outer.append_cpu_child(FunctionEvent(1, "inner", thread=1, start_us=2, end_us=5))
    >>> outer.cpu_time_total, outer.self_cpu_time_total
    (10, 7)
    """

    def __init__(
        self, id: int, name: str, thread: int, start_us: float, end_us: float, *, fwd_thread: int | None = None,
        input_shapes: list[Any] | None = None, is_async: bool = False, sequence_nr: int = -1, node_id: int = -1,
        is_user_annotation: bool = False, **more: Any,
    ) -> None:  # fmt: skip
        self.id = id
        self.node_id = node_id
        self.name = self.trace_name = name
        self.thread = thread
        self.fwd_thread = fwd_thread  # of the call whose node this is, in a backward
        self.time_range = Interval(start_us, end_us)
        self.input_shapes = [] if input_shapes is None else input_shapes
        self.is_async = is_async
        self.sequence_nr = sequence_nr  # of the node that the call made, or of the node that ran
        self.is_user_annotation = is_user_annotation
        self.count = 1
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None

    def append_cpu_child(self, child: FunctionEvent) -> None:
        """A call inside of this one."""
        self.cpu_children.append(child)
        child.cpu_parent = self

    @property
    def key(self) -> str:
        """What calls are summed up by."""
        return self.name

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        """How long the call took."""
        return 0.0 if self.is_async else self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:
        """The same without the calls inside of it."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    def __repr__(self) -> str:
        return f"<FunctionEvent name={self.name} cpu_time={self.cpu_time_total:.3f}us>"


class FunctionEventAvg(Times):
    """All calls of one function.

    >>> sum_of_calls = FunctionEventAvg()
    >>> for end in (3, 5):
    ...     sum_of_calls.add(FunctionEvent(0, "f", thread=1, start_us=0, end_us=end))
    <FunctionEventAvg key=f self_cpu_time=3.000us count=1>
    <FunctionEventAvg key=f self_cpu_time=8.000us count=2>
    """

    def __init__(self) -> None:
        self.key: str | None = None
        self.node_id = 0
        self.input_shapes: list[Any] = []
        self.cpu_parent: FunctionEvent | None = None
        self.is_user_annotation = False
        self.count = 0
        self.cpu_time_total = 0.0
        self.self_cpu_time_total = 0.0

    def add(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        """One call more, or those of another sum."""
        if self.key is None:
            self.key, self.node_id, self.input_shapes = other.key, other.node_id, other.input_shapes
            self.cpu_parent, self.is_user_annotation = other.cpu_parent, other.is_user_annotation
        self.count += other.count
        self.cpu_time_total += other.cpu_time_total
        self.self_cpu_time_total += other.self_cpu_time_total
        return self

    __iadd__ = add

    def __repr__(self) -> str:
        time = in_words(self.self_cpu_time_total)
        return f"<FunctionEventAvg key={self.key} self_cpu_time={time} count={self.count}>"


class EventList(list[Any]):
    """Calls, or sums of them."""

    def __init__(self, events: Iterable[Any] = (), **more: Any) -> None:
        super().__init__(events)

    def _build_tree(self) -> None:
        """Finds by the times of calls which ones are inside of others."""
        for thread in {event.thread for event in self}:
            around: list[FunctionEvent] = []
            calls = [event for event in self if event.thread == thread and not event.is_async]
            for event in sorted(calls, key=lambda e: (e.time_range.start, -e.time_range.end)):
                when = event.time_range
                while around and (
                    when.start >= around[-1].time_range.end or when.end > around[-1].time_range.end
                ):
                    around.pop()
                if around:
                    around[-1].append_cpu_child(event)
                around.append(event)

    @property
    def self_cpu_time_total(self) -> float:
        """How long all took together, in microseconds."""
        return float(sum(event.self_cpu_time_total for event in self))

    def key_averages(self, group_by_input_shapes: bool = False, **more: Any) -> EventList:
        """The calls of each function, summed up; with `group_by_input_shapes`, apart by the shapes of arguments."""
        found: dict[Any, FunctionEventAvg] = {}
        for event in self:
            key = (event.key, str(event.input_shapes) if group_by_input_shapes else "")
            found.setdefault(key, FunctionEventAvg()).add(event)
        if not group_by_input_shapes:
            for total in found.values():
                total.input_shapes = []
        return EventList(found.values())

    def total_average(self) -> FunctionEventAvg:
        """All calls, as one sum."""
        total = FunctionEventAvg()
        for event in self:
            total.add(event)
        total.key = "Total"
        return total

    def table(
        self, sort_by: str | None = None, row_limit: int = 100, max_src_column_width: int = 75,
        max_name_column_width: int | None = 55, max_shapes_column_width: int = 80, header: str | None = None,
        top_level_events_only: bool = False, time_unit: str | None = None,
    ) -> str:  # fmt: skip
        """A table for people.

        Args:
            sort_by: "cpu_time_total", "self_cpu_time_total", "cpu_time" or "count"; the largest comes first.
            row_limit: how many rows, -1 for all.
            max_src_column_width: PyTorch's, without an effect.
            max_name_column_width: of names; longer ones are cut.
            max_shapes_column_width: of shapes, which have a column if they were noted.
            header: a line above it.
            top_level_events_only: leaves out calls inside of others.
            time_unit: PyTorch's, without an effect.
        """
        if sort_by is not None and sort_by not in SORTS and not sort_by.endswith(NOT_NOTED):
            raise AttributeError(f"cannot sort by {sort_by!r}; there are {', '.join(SORTS)}")
        events = sorted(self, key=lambda e: -getattr(e, SORTS[sort_by])) if sort_by in SORTS else list(self)
        if top_level_events_only:
            events = [event for event in events if event.cpu_parent is None]
        events = events[: row_limit if row_limit >= 0 else None]
        rows = [COLUMNS, *[self._row(event, max_name_column_width) for event in events]]
        if any(event.input_shapes for event in events):
            shapes = [_cut(str(event.input_shapes), max_shapes_column_width) for event in events]
            rows = [(*row, last) for row, last in zip(rows, ["Input Shapes", *shapes], strict=True)]
        above = "" if header is None else f"{header}\n"
        return above + _aligned(rows) + f"Self CPU time total: {in_words(self.self_cpu_time_total)}\n"

    def _row(self, event: Any, width: int | None) -> tuple[str, ...]:
        whole = self.self_cpu_time_total or 1.0
        return (
            _cut(event.key, width),
            f"{100 * event.self_cpu_time_total / whole:.2f}%",
            in_words(event.self_cpu_time_total),
            f"{100 * event.cpu_time_total / whole:.2f}%",
            in_words(event.cpu_time_total),
            in_words(event.cpu_time_total / event.count),
            str(event.count),
        )

    def export_stacks(self, path: str, metric: str) -> None:
        """Writes a line for each function with how long it took, as programs that draw flame graphs read it.

        Args:
            path: the file.
            metric: "self_cpu_time_total" or "self_cuda_time_total", which is 0 here.
        """
        if metric not in ("self_cpu_time_total", "self_cuda_time_total", "self_xpu_time_total"):
            raise ValueError(
                f"metric should be one of: self_cpu_time_total, self_cuda_time_total; got {metric}"
            )
        lines = [(event.key, int(getattr(event, metric, 0))) for event in self.key_averages()]
        text = "".join(f"{name.replace(' ', '_')} {time}\n" for name, time in lines if time)
        Path(path).write_text(text, encoding="utf-8")

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


_format_time = in_words


def _format_time_share(time_us: float, total_time_us: float) -> str:
    """A time as a part of another one.

    >>> _format_time_share(1.0, 4.0)
    '25.00%'
    """
    return f"{100 * time_us / total_time_us:.2f}%" if total_time_us else "NaN"


def _cut(text: str, width: int | None) -> str:
    """A text, or its beginning."""
    return text if width is None or len(text) <= width else text[: width - 3] + "..."


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
            "ts": event.time_range.start,
            "dur": event.cpu_time_total,
            "args": {"Input Dims": event.input_shapes},
        }
        for event in events
    ]
    Path(path).write_text(json.dumps({"schemaVersion": 1, "traceEvents": found}), encoding="utf-8")
