"""Overlays: numbers that the page colours a recording's nodes by."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

Numbers = Mapping[Any, float] | Callable[[dict[str, Any]], float | None]


def with_overlay(
    document: dict[str, Any], title: str, numbers: Numbers, unit: str = "", ratio: bool = False
) -> dict[str, Any]:
    """The document with one more overlay."""
    made = {"title": title, "unit": unit, "ratio": ratio, "numbers": _by_node(document["nodes"], numbers)}
    return {**document, "overlays": [*document.get("overlays", ()), made]}


def _by_node(nodes: list[dict[str, Any]], numbers: Numbers) -> list[float | None]:
    """A number for each node, None where there is none, or none that can be drawn."""
    if callable(numbers):
        return [_drawable(numbers(node)) for node in nodes]
    found: list[float | None] = [None] * len(nodes)
    for key, number in numbers.items():
        meant = _meant(nodes, key)
        if not meant:
            raise KeyError(
                f"overlay(): no node is called {key!r}. Keys are numbers of nodes (`node` in table()), names of "
                "variables and paths of modules."
            )
        for i in meant:
            found[i] = _drawable(number)
    return found


def _meant(nodes: list[dict[str, Any]], key: Any) -> list[int]:
    """The nodes that a number, a variable's name or a module's path stands for."""
    if isinstance(key, int):
        return [key] if 0 <= key < len(nodes) else []
    named = [i for i, node in enumerate(nodes) if node["variable"] == key]
    return named or [i for i, node in enumerate(nodes) if f"{node['module']}.".startswith(f"{key}.")]


def _drawable(number: Any) -> float | None:
    value = math.nan if number is None else float(number)
    return value if math.isfinite(value) else None
