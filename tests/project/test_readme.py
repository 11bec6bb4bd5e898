"""The README's code runs, and its commands exist."""

from __future__ import annotations

import doctest
import re
import tomllib

import pytest

from .sources import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def run_block(source: str) -> None:
    """Run a block: one with `>>>` must print what it shows, any other must run through."""
    if ">>> " not in source:
        exec(compile(source, "README.md", "exec"), {"__name__": "readme"})
        return
    example = doctest.DocTestParser().get_doctest(source, {}, "README.md", "README.md", 0)
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failures, tried = doctest.DocTestRunner(optionflags=options).run(example)
    assert tried
    assert not failures


@pytest.mark.parametrize("source", BLOCKS, ids=[f"block{i}" for i in range(len(BLOCKS))])
def test_code_runs(source):
    run_block(source)


def test_there_is_code_to_run():
    assert BLOCKS


def test_commands_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    commands = set(re.findall(r"\bmake ([a-z-]+)", README))
    assert {"demo", "test"} <= commands
    targets = set(re.findall(r"^([a-z-]+):.*## ", makefile, re.MULTILINE))
    assert commands <= targets


def test_files_that_are_linked_exist():
    links = [target for target in re.findall(r"\]\(([^)#]+)\)", README) if "://" not in target]
    assert links
    assert [target for target in links if not (ROOT / target).exists()] == []


def test_the_promise_about_dependencies_is_kept():
    with (ROOT / "pyproject.toml").open("rb") as file:
        assert [d.partition(">")[0] for d in tomllib.load(file)["project"]["dependencies"]] == ["numpy"]


def test_a_block_that_fails_is_noticed(capsys):
    with pytest.raises(ZeroDivisionError):
        run_block("1 / 0")
    with pytest.raises(AssertionError):
        run_block(">>> 1 + 1\n3\n")
