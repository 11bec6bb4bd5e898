"""The inspector's page: the template that ships with the package, and a recording put into it."""

from __future__ import annotations

import base64
import json
import zlib
from functools import lru_cache
from pathlib import Path
from typing import Any

from retrograd.inspect.questions import first_nonfinite, largest_gradient, most_memory

TEMPLATE = Path(__file__).with_name("page.html")
MARK = "/*RECORDING*/null"
"""Where in the template the recording stands."""
LARGE = 1 << 19
"""Characters of JSON from which on it is deflated: a page of 20,000 nodes has 3 MB then, and 24 without."""


@lru_cache(maxsize=1)
def template() -> str:
    """The page without a recording: built from inspector/ by `make inspector`."""
    return TEMPLATE.read_text(encoding="utf-8")


def page(document: dict[str, Any]) -> str:
    """The page with a recording. Everything in it stands in one JSON text that no name can break out of."""
    before, mark, after = template().partition(MARK)
    if not mark:
        raise RuntimeError(f"{TEMPLATE} has no place for a recording: `make inspector` builds it anew")
    told = {
        **document,
        "values": columns([_brief(v) for v in document["values"]]),
        "nodes": columns(document["nodes"]),
        "ops": columns(document["ops"]),
        "backwards": [{**b, "steps": columns(b["steps"])} for b in document["backwards"]],
        "answers": _answers(document),
    }
    text = json.dumps(told, separators=(",", ":"), ensure_ascii=False)
    return before + (harmless(text) if len(text) < LARGE else deflated(text)) + after


def columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Rows with the same names as one list for each name, which is half as long and quicker to read; None for what a
    row has not.

    >>> columns([{"a": 1, "b": 2}, {"a": 3}])
    {'a': [1, 3], 'b': [2, None]}
    """
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def _brief(figures: dict[str, Any]) -> dict[str, Any]:
    """A value's figures without those that say nothing: they are most of a page."""
    left = {"mean", "bars"} if "values" in figures else {"mean"}
    left |= {name for name in ("nan", "inf", "zeros") if not figures.get(name)}
    return {name: value for name, value in figures.items() if name not in left}


def harmless(text: str) -> str:
    r"""JSON in which nothing ends a script element, or is a line of its own to a JavaScript of any age.

    >>> print(harmless('"</script>"'))
    "\u003c/script>"
    """
    for sign in ("<", "\u2028", "\u2029"):
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def deflated(text: str) -> str:
    """Text as a JSON string of base64, which the page inflates."""
    return f'"{base64.b64encode(zlib.compress(text.encode(errors="backslashreplace"), 6)).decode()}"'


def _answers(document: dict[str, Any]) -> dict[str, Any]:
    questions = {
        "first_nonfinite": first_nonfinite,
        "largest_gradient": largest_gradient,
        "most_memory": most_memory,
    }
    found = {name: ask(document) for name, ask in questions.items()}
    return {name: None if answer is None else answer._asdict() for name, answer in found.items()}
