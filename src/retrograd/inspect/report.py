"""A recording as text for a terminal: tables and trees, with colours from `rich` where that is installed."""

from __future__ import annotations

import shutil
import sys
from importlib import import_module
from io import StringIO
from typing import Any

from retrograd.inspect.questions import (
    amount,
    counted,
    first_nonfinite,
    label,
    largest_gradient,
    makers,
    most_memory,
    peak,
    where,
    without_gradient,
)
from retrograd.inspect.table import steps_table
from retrograd.inspect.text import graph_text, printable

BACKWARDS = 8
"""How many backwards are told of, each with a table."""
COLUMNS = ("step", "node", "shape", "line", "µs", "|gradient|", "saved")


def report(document: dict[str, Any], rows: int, color: bool | None = None) -> str:
    """What was found, what each backward did, what memory was for; tables end after so many rows, and say so."""
    parts = [printable(part) for part in (_head(document), _findings(document), _tree(document, rows))]
    count = len(document["backwards"])
    for number in range(min(count, BACKWARDS)):
        parts.append(_backward(document, number, rows, _wants_color(color)))
    if count > BACKWARDS:
        parts.append(
            f"… {counted(count - BACKWARDS, 'more backward')}; table() has a row for each of their steps"
        )
    parts.append(printable(_memory(document, rows)))
    return "\n\n".join(part for part in parts if part)


def _wants_color(color: bool | None) -> bool:
    return sys.stdout.isatty() if color is None else color


def _head(document: dict[str, Any]) -> str:
    text = f"{document['title']}: {counted(len(document['ops']), 'operation')}, "
    text += f"{counted(len(document['backwards']), 'backward')}, {document['duration'] / 1000:.1f} ms"
    limits = document["limits"]
    for name, left in limits.items():
        what = name.removesuffix("_left_out")
        if what != name and left:
            text += f"\n{left:,} {what} are left out: record(limit=…) is {limits['limit']:,}"
    return text


def _findings(document: dict[str, Any]) -> str:
    lines = []
    bad = first_nonfinite(document)
    if bad is not None:
        lines.append(f"first non-finite    {bad.text}")
    for what, answer in (
        ("largest gradient", largest_gradient(document)),
        ("most memory kept", most_memory(document)),
    ):
        if answer is not None:
            lines.append(f"{what:<20}{answer.text}")
    lines += [f"no gradient         {answer.text}" for answer in without_gradient(document)]
    return "\n".join(lines)


class _TreeNode:
    """A node of a document, as `graph_text` asks for one."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.next_functions: list[tuple[_TreeNode | None, int]] = []

    def name(self) -> str:
        return self.label


def _tree(document: dict[str, Any], rows: int) -> str:
    """The graph of the first backward, from its root down."""
    if not document["backwards"]:
        return ""
    nodes = document["nodes"]
    drawn = [_TreeNode(label(node)) for node in nodes]
    for node, made in zip(nodes, drawn, strict=True):
        made.next_functions = [(drawn[to], nr) for to, nr in node["edges"] if to >= 0]
    return graph_text(drawn[document["backwards"][0]["root"]], max_nodes=rows)


def _backward(document: dict[str, Any], number: int, rows: int, color: bool) -> str:
    backward = document["backwards"][number]
    title = printable(f"backward {number + 1}: {where(document, backward['place'])}")
    if backward["outer"] >= 0:
        title += f" (inside backward {backward['outer'] + 1})"
    cells = [_cells(document, row) for row in steps_table(document, number)]
    left = len(cells) - rows
    text = _drawn(title, cells[:rows], color)
    if left > 0:
        text += f"\n… {left:,} more steps; text(rows={len(cells)}) shows them all"
    if backward["error"]:
        failing = backward["failing"]
        at = f" at step {failing + 1}" if failing >= 0 else ""
        text += f"\nfailed{at}: {printable(backward['error'].splitlines()[0])}"
    return text


def _cells(document: dict[str, Any], row: dict[str, Any]) -> list[str]:
    norm = row["gradient_norm"]
    time = row["microseconds"]
    return [
        str(row["order"] + 1),
        printable(label(document["nodes"][row["node"]])) + (" !" if row["not_finite"] else ""),
        "×".join(map(str, row["shape"])) or "()",
        "" if row["line"] is None else f"{row['file'].rpartition('/')[2]}:{row['line']}",
        "" if time is None else f"{time:.0f}",
        "" if norm is None else f"{norm:.3g}" if isinstance(norm, float) else str(norm),
        amount(row["saved_bytes"]) if row["saved_bytes"] else "",
    ]


def _drawn(title: str, cells: list[list[str]], color: bool) -> str:
    """A table: by rich if it is there and colours are wanted, else in plain columns."""
    if color:
        try:
            return _rich(title, cells)
        except ImportError:
            pass
    widths = [max([len(COLUMNS[i]), *(len(row[i]) for row in cells)]) for i in range(len(COLUMNS))]
    right = {0, 4, 5, 6}
    lines = [title]
    for row in [list(COLUMNS), *cells]:
        parts = [text.rjust(widths[i]) if i in right else text.ljust(widths[i]) for i, text in enumerate(row)]
        lines.append("  " + "  ".join(parts).rstrip())
    return "\n".join(lines)


def _rich(title: str, cells: list[list[str]]) -> str:
    text, console = import_module("rich.text").Text, import_module("rich.console").Console
    made = import_module("rich.table").Table(title=text(title), title_justify="left", box=None)
    for i, column in enumerate(COLUMNS):
        made.add_column(column, justify="right" if i in {0, 4, 5, 6} else "left")
    for row in cells:
        style = (
            "bold red" if row[1].endswith(" !") else "green" if row[1].startswith("AccumulateGrad") else ""
        )
        made.add_row(*[text(cell) for cell in row], style=style)
    page = StringIO()
    console(file=page, force_terminal=True, width=shutil.get_terminal_size((120, 40)).columns).print(made)
    return page.getvalue().rstrip("\n")


def _memory(document: dict[str, Any], rows: int) -> str:
    most = peak(document)
    if most is None:
        return ""
    lines = [f"memory: at most {amount(most.bytes)}, {most.time / 1000:.2f} ms after the start; by line"]
    made = makers(document, most.blocks)
    for who, place, size in made[:rows]:
        lines.append(f"  {amount(size):>10}  {who}" + (f" {where(document, place)}" if place >= 0 else ""))
    if len(made) > rows:
        lines.append(f"  … {len(made) - rows:,} more lines")
    return "\n".join(lines)
