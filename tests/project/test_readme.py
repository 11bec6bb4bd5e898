"""What the README says of the project is true; its code is run by tests/docs/test_pages.py."""

from __future__ import annotations

import re
import tomllib

from .sources import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


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
