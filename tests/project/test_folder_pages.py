"""A folder of several modules has a README that lists them all."""

from __future__ import annotations

import re

import pytest

from .sources import PACKAGE

FOLDERS = sorted(
    {path.parent for path in PACKAGE.rglob("*.py") if len(list(path.parent.glob("[!_]*.py"))) > 1}
)


def name(folder) -> str:
    return folder.relative_to(PACKAGE.parent).as_posix()


def unlisted(folder) -> list[str]:
    """The modules that the README of a folder does not mention, or all if there is none."""
    readme = folder / "README.md"
    listed = (
        set(re.findall(r"`(\w+\.py)`", readme.read_text(encoding="utf-8"))) if readme.is_file() else set()
    )
    return sorted({path.name for path in folder.glob("[!_]*.py")} - listed)


@pytest.mark.parametrize("folder", FOLDERS, ids=name)
def test_a_readme_lists_every_module(folder):
    assert unlisted(folder) == []
    gone = set(re.findall(r"`(\w+\.py)`", (folder / "README.md").read_text(encoding="utf-8")))
    assert {file for file in gone if not (folder / file).is_file()} == set()


@pytest.mark.parametrize("folder", FOLDERS, ids=name)
def test_no_module_is_listed_twice(folder):
    listed = re.findall(
        r"^\| *`(\w+\.py)` *\|", (folder / "README.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert len(listed) == len(set(listed))


@pytest.mark.parametrize("folder", [PACKAGE, PACKAGE / "ops"], ids=name)
def test_every_folder_in_it_is_listed(folder):
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`(\w+)/`", text)) == {path.parent.name for path in folder.glob("*/__init__.py")}
