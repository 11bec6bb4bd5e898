"""A recording as a table: a row for each node that a backward ran."""

from __future__ import annotations

from typing import Any

from retrograd.inspect.questions import label


def table(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows, in the order in which the engine ran the nodes, backward after backward."""
    return [row for number in range(len(document["backwards"])) for row in steps_table(document, number)]


def steps_table(document: dict[str, Any], backward: int) -> list[dict[str, Any]]:
    """The rows of one backward."""
    steps = document["backwards"][backward]["steps"]
    return [_row(document, backward, order, step) for order, step in enumerate(steps)]


def _row(document: dict[str, Any], backward: int, order: int, step: dict[str, Any]) -> dict[str, Any]:
    node = document["nodes"][step["node"]]
    place = document["places"][node["place"]] if node["place"] >= 0 else None
    given = document["values"][step["given"][0]] if step["given"] and step["given"][0] >= 0 else {}
    sent = [document["values"][value] for *_, value in step["sent"] if value >= 0]
    ended = step["end"] is not None
    return {
        "backward": backward,
        "order": order,
        "node": step["node"],
        "name": node["name"],
        "variable": node["variable"],
        "label": label(node),
        "module": node["module"],
        "file": None if place is None else place["file"],
        "line": None if place is None else place["line"],
        "shape": tuple(node["inputs"][0]["shape"]),
        "dtype": node["inputs"][0]["dtype"],
        "microseconds": step["end"] - step["start"] if ended else None,
        "thread": document["threads"][step["thread"]],
        "gradient_norm": given.get("norm"),
        "gradient_min": given.get("min"),
        "gradient_max": given.get("max"),
        "gradient_zeros": given.get("zeros"),
        "not_finite": sum(v.get("nan", 0) + v.get("inf", 0) for v in [given, *sent]),
        "saved_bytes": sum(saved["bytes"] for saved in node["saved"]),
        "hooks": len(step["hooks"]),
    }
