"""Measuring how long a statement takes, as `torch.utils.benchmark`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from statistics import mean, median, quantiles
from time import perf_counter
from timeit import Timer as Statement
from typing import Any

from retrograd.engine.threads import get_num_threads, set_num_threads

__all__ = ["Compare", "Measurement", "Timer"]

timer = perf_counter
_UNITS = ((1e-9, "ns"), (1e-6, "us"), (1e-3, "ms"), (1.0, "s"))


class Measurement:
    """How long runs of a statement took, each of `number_per_run` repetitions."""

    def __init__(self, number_per_run: int, raw_times: list[float], task_spec: dict[str, Any]) -> None:
        self.number_per_run = number_per_run
        self.raw_times = raw_times
        self.task_spec = task_spec

    @property
    def times(self) -> list[float]:
        """Seconds for one repetition, of each run."""
        return [time / self.number_per_run for time in self.raw_times]

    @property
    def median(self) -> float:
        """The median of the times."""
        return median(self.times)

    @property
    def mean(self) -> float:
        """The mean of the times."""
        return mean(self.times)

    @property
    def iqr(self) -> float:
        """How far apart the quarters of the times are."""
        if len(self.times) < 2:
            return 0.0
        low, _, high = quantiles(self.times, n=4, method="inclusive")
        return high - low

    @property
    def title(self) -> str:
        """What was measured."""
        spec = self.task_spec
        return ": ".join(t for t in (spec["label"] or spec["stmt"], spec["sub_label"]) if t)

    def __repr__(self) -> str:
        runs, threads = len(self.times), self.task_spec["num_threads"]
        found = in_words(self.median)
        if runs > 1:
            found = f"Median: {found}\n  IQR:    {in_words(self.iqr)}"
        return (
            f"{type(self).__name__}\n{self.title}\n  {found}\n"
            f"  {runs} measurement{'s' if runs > 1 else ''}, {self.number_per_run} runs per measurement, "
            f"{threads} thread{'s' if threads > 1 else ''}"
        )


def in_words(seconds: float) -> str:
    """A time with its unit.

    >>> in_words(1.5e-6), in_words(2.0)
    ('1.50 us', '2.00 s')
    """
    scale, unit = next(((s, u) for s, u in reversed(_UNITS) if seconds >= s), _UNITS[0])
    return f"{seconds / scale:.2f} {unit}"


class Timer:
    """Measures a statement.

    Args:
        stmt: the statement, as text.
        setup: what runs before, once.
        global_setup: PyTorch's, for statements of C++; it must be empty.
        timer: the clock.
        globals: the names that the statement may use.
        label, sub_label, description, env: what tables say about it.
        num_threads: how many threads the library uses meanwhile.

    >>> import retrograd as rg
    >>> m = Timer("x + x", globals={"x": rg.ones(3)}).timeit(10)
    >>> m.number_per_run, m.median > 0
    (10, True)
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Any = None,
    ) -> None:
        if global_setup or str(language).lower().endswith(("c++", "cpp")):
            raise ValueError("Timer(): statements are of Python; nothing here compiles C++")
        self._timer = Statement(stmt, setup, timer, {} if globals is None else dict(globals))
        self._threads = num_threads
        self._spec = {
            "stmt": stmt,
            "setup": setup,
            "label": label,
            "sub_label": sub_label,
            "description": description,
            "env": env,
            "num_threads": num_threads,
        }

    def _timed(self, number: int) -> float:
        before = get_num_threads()
        set_num_threads(self._threads)
        try:
            return max(self._timer.timeit(number), 1e-9)
        finally:
            set_num_threads(before)

    def _measured(self, number: int, times: list[float]) -> Measurement:
        return Measurement(number, times, self._spec)

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """One run of so many repetitions."""
        self._timed(max(number // 100, 2))
        return self._measured(number, [self._timed(number)])

    def repeat(self, repeat: int = 5, number: int = 1_000_000) -> list[Measurement]:
        """Several runs of so many repetitions, a measurement each."""
        return [self._measured(number, [self._timed(number)]) for _ in range(repeat)]

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Runs of as many repetitions as outweigh the clock, until `min_run_time` seconds are over."""
        times: list[float] = []
        number, spent = self._block(min_run_time), 0.0
        while not times or spent < min_run_time:
            times.append(self._timed(number))
            spent += times[-1]
            if callback is not None:
                callback(number, times[-1])
        return self._measured(number, times)

    def _block(self, min_run_time: float) -> int:
        """How many repetitions a run should have: a thousandth of the whole time, at least."""
        number = 1
        while self._timed(number) < min_run_time / 1000 and number < 1_000_000_000:
            number *= 10
        return number

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:
        """Runs until the quarters of the times lie within `threshold` of the median, or `max_run_time` is over."""
        times: list[float] = []
        number, spent = self._block(min_run_time), 0.0
        while spent < max_run_time:
            times.append(self._timed(number))
            spent += times[-1]
            if callback is not None:
                callback(number, times[-1])
            found = self._measured(number, times)
            if spent >= min_run_time and len(times) > 3 and found.iqr < threshold * found.median:
                break
        return self._measured(number, times)


class Compare:
    """A table of measurements: a row for each `sub_label`, a column for each `description`."""

    def __init__(self, results: Iterable[Measurement]) -> None:
        self._results = list(results)

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """More measurements."""
        self._results.extend(results)

    def trim_significant_figures(self) -> None:
        """Nothing: times have three digits."""

    def colorize(self, rowwise: bool = False) -> None:
        """Nothing: the table is plain text."""

    def print(self) -> None:
        """Prints the table."""
        print(str(self))  # noqa: T201 - what it is for

    def __str__(self) -> str:
        columns = list(dict.fromkeys(r.task_spec["description"] or "" for r in self._results))
        rows: dict[str, dict[str, str]] = {}
        for result in self._results:
            name = result.task_spec["sub_label"] or result.task_spec["stmt"]
            rows.setdefault(name, {})[result.task_spec["description"] or ""] = in_words(result.median)
        table = [
            ["", *columns],
            *([name, *(cells.get(c, "") for c in columns)] for name, cells in rows.items()),
        ]
        widths = [max(len(row[i]) for row in table) for i in range(len(columns) + 1)]
        lines = [
            "  |  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in table
        ]
        title = next((r.task_spec["label"] for r in self._results if r.task_spec["label"]), "")
        return "\n".join([f"[{title} ]".center(len(lines[0]), "-"), *lines]) + "\n"
