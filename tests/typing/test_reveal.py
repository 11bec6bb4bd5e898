"""What editors and type checkers say of users' programs, and what the programs do.

A line `reveal_type(x.exp())  # reveals: Tensor` says which type the expression has.
"""

from __future__ import annotations

import re
import runpy
import sys
import typing
from functools import cache
from pathlib import Path

import pytest

from .checkers import mypy, needs_mypy, needs_pyright, pyright

FOLDER = Path(__file__).parent / "snippets"
SNIPPETS = {path.name: path for path in sorted(FOLDER.glob("*.py"))}
Revealed = dict[tuple[str, int], str]  # by file and line


def expected(name: str) -> Revealed:
    """The types that a snippet's comments say."""
    lines = SNIPPETS[name].read_text().splitlines()
    return {
        (name, number): line.partition("# reveals: ")[2]
        for number, line in enumerate(lines, start=1)
        if "reveal_type(" in line
    }


def without_modules(text: str) -> str:
    """`tuple[Tensor, int]` of mypy's `tuple[retrograd.core.tensor.Tensor, builtins.int]`."""
    return re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", text)


@cache
def told_by_mypy() -> tuple[Revealed, list[str]]:
    """The types, and the errors."""
    done = mypy("--strict", "--no-error-summary", *map(str, SNIPPETS.values()))
    assert not done.stderr
    types, errors = {}, []
    for line in done.stdout.splitlines():
        note = re.fullmatch(r'(.*):(\d+): note: Revealed type is "(.*)"', line)
        if note is not None:
            types[Path(note[1]).name, int(note[2])] = without_modules(note[3])
        else:
            errors.append(line)
    return types, errors


@cache
def told_by_pyright() -> tuple[Revealed, list[str]]:
    """The types, and the errors."""
    types, errors = {}, []
    for told in pyright(*map(str, SNIPPETS.values()))["generalDiagnostics"]:
        name, number = Path(told["file"]).name, told["range"]["start"]["line"] + 1
        note = re.fullmatch(r'Type of ".*" is "(.*)"', told["message"], re.DOTALL)
        if told["severity"] == "information" and note is not None:
            types[name, number] = note[1]
        else:
            errors.append(f"{name}:{number}: {told['message']}")
    return types, errors


def test_there_are_twenty_snippets_and_every_line_says_its_type():
    assert len(SNIPPETS) >= 20
    for name in SNIPPETS:
        assert expected(name), name
        assert all(expected(name).values()), name


@needs_mypy
@pytest.mark.parametrize("name", SNIPPETS)
def test_mypy_reveals(name):
    types, errors = told_by_mypy()
    assert [line for line in errors if name in line] == []
    assert {place: text for place, text in types.items() if place[0] == name} == expected(name)


@needs_pyright
@pytest.mark.parametrize("name", SNIPPETS)
def test_pyright_reveals(name):
    types, errors = told_by_pyright()
    assert [line for line in errors if line.startswith(name)] == []
    assert {place: text for place, text in types.items() if place[0] == name} == expected(name)


@pytest.mark.parametrize("name", SNIPPETS)
def test_the_programs_do_as_they_say(name, monkeypatch):
    found: dict[tuple[str, int], set[str]] = {}

    def note(value):
        line = sys._getframe(1).f_lineno
        found[name, line] = {cls.__name__ for cls in type(value).__mro__} | {"Any"}
        if value is None:
            found[name, line].add("None")

    monkeypatch.setattr(typing, "reveal_type", note)
    runpy.run_path(str(SNIPPETS[name]))
    for place, text in expected(name).items():
        kinds = set(re.sub(r"\[.*\]", "", text).split(" | "))
        assert kinds & found[place], place
