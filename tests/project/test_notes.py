"""Every `Note [Name]` that is cited is defined, once.

A note is defined by its title alone on a line of a comment, underlined with `~~~`; any other mention cites it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from .sources import ROOT, relative

FOLDERS = ("src", "native", "tools", "docs", "tests", "benchmarks", "examples")
SUFFIXES = {".py", ".pyi", ".md", ".c", ".cpp", ".h", ".hpp"}
HERE = Path(__file__).parent

MENTION = re.compile(r"Note \[([^\]\n]+)\]")
MARGIN = r"[ \t]*(?:#|//|\*)?[ \t]*"
DEFINITION = re.compile(rf"^{MARGIN}Note \[([^\]\n]+)\][ \t]*\n{MARGIN}~{{3,}}[ \t]*$", re.MULTILINE)


def defined(text: str) -> list[str]:
    return DEFINITION.findall(text)


def cited(text: str) -> list[str]:
    return MENTION.findall(DEFINITION.sub("", text))


def note_files() -> Iterable[Path]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            # This folder speaks of notes that do not exist.
            if path.suffix in SUFFIXES and HERE not in path.parents:
                yield path


def complaints(texts: dict[str, str]) -> list[str]:
    definitions = Counter(name for text in texts.values() for name in defined(text))
    twice = [f"Note [{name}] is defined {count} times" for name, count in definitions.items() if count > 1]
    missing = [
        f"{path} cites Note [{name}], which is defined nowhere"
        for path, text in texts.items()
        for name in cited(text)
        if name not in definitions
    ]
    return twice + missing


def test_cited_notes_are_defined_once():
    wrong = complaints({relative(path): path.read_text(encoding="utf-8") for path in note_files()})
    assert not wrong, "\n".join(wrong)


# ---- the check itself ---------------------------------------------------------------------------------------------

NOTE = """
    # Note [Order of hooks]
    # ~~~~~~~~~~~~~~~~~~~~~
    # Pre-hooks run first.
"""


def test_a_defined_note_may_be_cited():
    assert defined(NOTE) == ["Order of hooks"]
    assert cited(NOTE) == []
    assert complaints({"a.py": NOTE, "b.py": "run()  # see Note [Order of hooks]"}) == []


def test_a_title_without_underline_only_cites():
    assert complaints({"a.py": "# Note [Order of hooks]\n# Pre-hooks run first."})


def test_a_misspelt_citation_is_noticed():
    assert complaints({"a.py": NOTE, "b.py": "# Note [Order of Hooks]"})


def test_a_second_definition_is_noticed():
    assert complaints({"a.py": NOTE, "b.cpp": NOTE.replace("#", "//")})
