"""The inspector's page: the template that ships with the package, and a recording put into it."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from retrograd.inspect.questions import first_nonfinite, largest_gradient, most_memory

TEMPLATE = Path(__file__).with_name("page.html")
MARK = "/*RECORDING*/null"
"""Where in the template the recording stands."""


@lru_cache(maxsize=1)
def template() -> str:
    """The page without a recording: built from inspector/ by `make inspector`."""
    return TEMPLATE.read_text(encoding="utf-8")


def page(document: dict[str, Any]) -> str:
    """The page with a recording. Everything in it stands in one JSON text that no name can break out of."""
    before, mark, after = template().partition(MARK)
    if not mark:
        raise RuntimeError(f"{TEMPLATE} has no place for a recording: `make inspector` builds it anew")
    told = {**document, "values": [_brief(v) for v in document["values"]], "answers": _answers(document)}
    text = json.dumps(told, separators=(",", ":"), ensure_ascii=False)
    return before + harmless(text) + after


def _brief(figures: dict[str, Any] | None) -> dict[str, Any] | None:
    """A value's figures without those that say nothing: they are most of a page."""
    if figures is None:
        return None
    return {name: value for name, value in figures.items() if value not in (0, None) and name != "mean"}


def harmless(text: str) -> str:
    r"""JSON in which nothing ends a script element, or is a line of its own to a JavaScript of any age.

    >>> print(harmless('"</script>"'))
    "\u003c/script>"
    """
    for sign in ("<", "\u2028", "\u2029"):
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _answers(document: dict[str, Any]) -> dict[str, Any]:
    questions = {
        "first_nonfinite": first_nonfinite,
        "largest_gradient": largest_gradient,
        "most_memory": most_memory,
    }
    found = {name: ask(document) for name, ask in questions.items()}
    return {name: None if answer is None else answer._asdict() for name, answer in found.items()}
