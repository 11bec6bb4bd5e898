"""The log of a run: numbers of each step in a file that other programs read too, and a plot of them."""

from __future__ import annotations

import csv
import json
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any, Self, TextIO

__all__ = ["RunLog", "plot_log", "read_log"]


class RunLog:
    """Writes a line for each step, at once, so that a run that breaks off leaves what it had.

    Args:
        path: where to. `.csv` has the columns of the first line; others are JSON Lines, which may differ.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "run.csv")
    >>> with RunLog(path) as log:
    ...     log.write(step=0, loss=1.5)
    ...     log.write(step=1, loss=0.25)
    >>> read_log(path)
    {'step': [0, 1], 'loss': [1.5, 0.25]}
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path: Path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file: TextIO = self.path.open("w", encoding="utf-8", newline="")
        self._columns: list[str] = []

    def write(self, **values: Any) -> None:
        """A line with these numbers; tensors of one element are numbers, too."""
        row = {name: v.item() if hasattr(v, "item") else v for name, v in values.items()}
        if self.path.suffix == ".csv":
            self._write_csv(row)
        else:
            self._file.write(json.dumps(row) + "\n")
        self._file.flush()

    def _write_csv(self, row: dict[str, Any]) -> None:
        if not self._columns:
            self._columns = list(row)
            csv.writer(self._file).writerow(row)
        if set(row) != set(self._columns):
            raise ValueError(
                f"{self.path} has the columns {self._columns} of its first line, and cannot take {list(row)}. Write "
                "all of them in every line, or a .jsonl file, in which lines may differ."
            )
        csv.writer(self._file).writerow([row[name] for name in self._columns])

    def close(self) -> None:
        """Ends the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def read_log(path: str | PathLike[str]) -> dict[str, list[Any]]:
    """The columns of a log, by name; None where a line does not have one."""
    file = Path(path)
    with file.open(encoding="utf-8", newline="") as lines:
        if file.suffix == ".csv":
            rows = [{name: _number(text) for name, text in row.items()} for row in csv.DictReader(lines)]
        else:
            rows = [json.loads(line) for line in lines if line.strip()]
    names = list(dict.fromkeys(name for row in rows for name in row))
    return {name: [row.get(name) for row in rows] for name in names}


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def plot_log(
    path: str | PathLike[str],
    to: str | PathLike[str] | None = None,
    columns: list[str] | None = None,
    x: str = "step",
    logarithmic: bool = False,
) -> Path:
    """Draws the columns of a log into a picture, one curve each, and says where it is.

    Args:
        path: the log.
        to: the picture, `.png`, `.pdf` or `.svg`; by default beside the log.
        columns: which ones; by default all of numbers.
        x: the column along the axis; the number of the line if there is none of that name.
        logarithmic: whether heights are logarithms.
    """
    plt = pyplot()
    found = read_log(path)
    given = [name for name, values in found.items() if name != x and _numeric(values)]
    wanted = given if columns is None else columns
    missing = [name for name in wanted if name not in found]
    if missing or not wanted:
        raise ValueError(f"{path} has no columns {missing} to plot; it has {list(found)}")
    figure, axes = plt.subplots(figsize=(7, 4))
    for name in wanted:
        points = [(i, v) for i, v in zip(_places(found, x), found[name], strict=True) if v is not None]
        axes.plot([i for i, _ in points], [v for _, v in points], label=name)
    axes.set_xlabel(x)
    if logarithmic:
        axes.set_yscale("log")
    axes.legend()
    target = Path(path).with_suffix(".png") if to is None else Path(to)
    figure.savefig(target, bbox_inches="tight")
    plt.close(figure)
    return target


def _numeric(values: list[Any]) -> bool:
    return all(v is None or isinstance(v, (int, float)) for v in values)


def _places(found: dict[str, list[Any]], x: str) -> list[Any]:
    return found[x] if x in found else list(range(len(next(iter(found.values())))))


def pyplot() -> Any:
    """The pyplot of matplotlib, which draws into files and needs no screen."""
    try:
        import_module("matplotlib").use("Agg")
    except ImportError:
        raise ModuleNotFoundError(
            "plots are drawn by matplotlib, which is not installed: pip install 'retrograd[plot]'",
            name="matplotlib",
        ) from None
    return import_module("matplotlib.pyplot")
