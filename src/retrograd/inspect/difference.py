"""Difference: two recordings, node by node.

Nodes match if they were made by the same line of code, by its text, and have the same name; those that a line makes
several of match in order. So a line may move, and a run may be longer than the other.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from retrograd.inspect.overlay import with_overlay
from retrograd.inspect.page import page
from retrograd.inspect.questions import amount, label, where
from retrograd.inspect.text import printable

Document = dict[str, Any]

FACTS = ("gradient_norm", "microseconds", "saved_bytes")
TITLES = {"gradient_norm": "|gradient|", "microseconds": "time", "saved_bytes": "saved bytes"}


class Difference:
    """What differs between a recording, here, and another, there: `recording.diff(other)`.

    >>> import retrograd as rg
    >>> def step(factor):
    ...     x = rg.ones(3, requires_grad=True)
    ...     with rg.inspect.record(title=f"factor {factor}") as recording:
    ...         (x * factor).sum().backward()
    ...     return recording
    >>> difference = step(4.0).diff(step(2.0))
    >>> [row["gradient_norm"] for row in difference.table() if row["name"] == "AccumulateGrad"]
    [(6.928..., 3.464...)]
    """

    def __init__(self, here: Document, there: Document) -> None:
        self.here = here
        self.there = there
        other = _keys(there)
        self.pairs: list[tuple[int, int]] = []  # numbers of a node here and of the same there
        self.only_here: list[int] = []
        for key, node in _keys(here).items():
            match = other.pop(key, None)
            if match is None:
                self.only_here.append(node)
            else:
                self.pairs.append((node, match))
        self.only_there: list[int] = list(other.values())
        self._facts = _facts(here), _facts(there)

    def table(self) -> list[dict[str, Any]]:
        """A row for each node that both have; what can be counted is a pair, here and there (None: it did not run)."""
        rows = []
        for node, match in self.pairs:
            told = self.here["nodes"][node]
            place = self.here["places"][told["place"]] if told["place"] >= 0 else None
            row = {
                "node": node,
                "other": match,
                "name": told["name"],
                "label": label(told),
                "file": None if place is None else place["file"],
                "line": None if place is None else place["line"],
            }
            here, there = self._facts[0].get(node, {}), self._facts[1].get(match, {})
            rows.append({**row, **{fact: (here.get(fact), there.get(fact)) for fact in FACTS}})
        return rows

    def ratios(self, fact: str) -> dict[int, float]:
        """By nodes: how many times as large a fact is here, where it is a number other than 0 in both."""
        pairs = {row["node"]: row[fact] for row in self.table()}
        return {
            node: here / there for node, (here, there) in pairs.items() if _number(here) and _number(there)
        }

    def text(self, rows: int = 20) -> str:
        """For a terminal: what both are alike in, sums, the nodes that differ most, and those that one has alone."""
        alone = f"{len(self.only_here):,} only here, {len(self.only_there):,} only there"
        counts = f"{len(self.pairs):,} nodes match, {alone}"
        parts = [f"here: {self.here['title']}   there: {self.there['title']}", counts, self._sums()]
        for fact in FACTS:
            parts.append(self._largest(fact, rows))
        parts += [
            _alone("only here", self.here, self.only_here, rows),
            _alone("only there", self.there, self.only_there, rows),
        ]
        return printable("\n\n".join(part for part in parts if part))

    def html(self, file: str | Path | None = None) -> str:
        """The page of the recording here, its nodes coloured by how many times as much there is as there."""
        document = {**self.here, "title": f"{self.here['title']} against {self.there['title']}"}
        for fact in FACTS:
            ratios = self.ratios(fact)
            if ratios:
                document = with_overlay(document, f"{TITLES[fact]}, here / there", ratios, "×", ratio=True)
        alone = dict.fromkeys(self.only_here, 1.0)
        if alone:
            document = with_overlay(document, "only here", alone)
        made = page(document)
        if file is not None:
            Path(file).write_text(made, encoding="utf-8")
        return made

    def _repr_html_(self) -> str:
        from retrograd.inspect.notebook import framed

        return framed(self.html())

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return (
            f"<Difference of {self.here['title']} and {self.there['title']}: {len(self.pairs):,} nodes match>"
        )

    def _sums(self) -> str:
        lines = []
        for fact in ("microseconds", "saved_bytes"):
            here, there = (sum(f[fact] or 0 for f in facts.values()) for facts in self._facts)
            ratio = f"  ×{here / there:.2f}" if there else ""
            lines.append(
                f"  {TITLES[fact]:<12}{_shown(fact, here):>12} here {_shown(fact, there):>12} there{ratio}"
            )
        return "\n".join(lines)

    def _largest(self, fact: str, rows: int) -> str:
        """The nodes in which a fact differs, the largest ratios first."""
        found = {node: ratio for node, ratio in self.ratios(fact).items() if abs(ratio - 1) > 1e-6}
        if not found:
            return ""
        pairs = {row["node"]: row for row in self.table()}
        order = sorted(found, key=lambda node: -max(found[node], 1 / found[node]))
        lines = [f"{TITLES[fact]} differs in {len(found):,} of {len(pairs):,} nodes"]
        for node in order[:rows]:
            here, there = pairs[node][fact]
            numbers = f"{_shown(fact, there):>11} → {_shown(fact, here):<11} ×{found[node]:<9.3g}"
            lines.append(f"  {numbers}{_named(self.here, node)}")
        if len(order) > rows:
            lines.append(f"  … {len(order) - rows:,} more")
        return "\n".join(lines)


def _keys(document: Document) -> dict[tuple[Any, ...], int]:
    """The nodes of a document by what a node of another run matches by."""
    seen: Counter[tuple[Any, ...]] = Counter()
    found = {}
    for i, node in enumerate(document["nodes"]):
        place = document["places"][node["place"]] if node["place"] >= 0 else {"text": "", "function": ""}
        key = (
            place["function"],
            place["text"].strip(),
            node["name"],
            node["variable"] if node["leaf"] else "",
        )
        found[(*key, seen[key])] = i
        seen[key] += 1
    return found


def _facts(document: Document) -> dict[int, dict[str, Any]]:
    """Of each node that ran: the norm of what arrived at it last, its time in all, the bytes it kept."""
    found: dict[int, dict[str, Any]] = {}
    for backward in document["backwards"]:
        for step in backward["steps"]:
            node = step["node"]
            saved = sum(kept["bytes"] for kept in document["nodes"][node]["saved"])
            facts = found.setdefault(node, {"gradient_norm": None, "microseconds": 0.0, "saved_bytes": saved})
            if step["end"] is not None:
                facts["microseconds"] += step["end"] - step["start"]
            for value in step["given"][:1]:
                facts["gradient_norm"] = document["values"][value].get("norm") if value >= 0 else None
    return found


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and value > 0


def _shown(fact: str, value: Any) -> str:
    if fact == "saved_bytes":
        return amount(value)
    return f"{value:,.1f} µs" if fact == "microseconds" else f"{value:.4g}"


def _named(document: Document, node: int) -> str:
    """A node as people call it, and its line."""
    told = document["nodes"][node]
    return label(told) if told["place"] < 0 else f"{label(told)}  {where(document, told['place'])}"


def _alone(title: str, document: Document, nodes: list[int], rows: int) -> str:
    if not nodes:
        return ""
    lines = [f"  {_named(document, i)}" for i in nodes[:rows]]
    more = [f"  … {len(nodes) - rows:,} more"] if len(nodes) > rows else []
    return "\n".join([title, *lines, *more])
