"""A folder of several modules has a README that lists them all."""

from __future__ import annotations

import re

import pytest

from .sources import PACKAGE

FOLDERS = sorted(
    {path.parent for path in PACKAGE.rglob("*.py") if len(list(path.parent.glob("[!_]*.py"))) > 1} - {PACKAGE}
)
# Folders whose README is still to be written, or lacks files.
TO_COME = {
    *("autograd", "backends", "backends/batch", "cli", "core", "engine/nan", "func", "inspect", "optim"),
    *("optimize", "utils"),
}


def name(folder) -> str:
    return folder.relative_to(PACKAGE).as_posix()


def unlisted(folder) -> list[str]:
    """The modules that the README of a folder does not mention, or all if there is none."""
    readme = folder / "README.md"
    listed = (
        set(re.findall(r"`(\w+\.py)`", readme.read_text(encoding="utf-8"))) if readme.is_file() else set()
    )
    return sorted({path.name for path in folder.glob("[!_]*.py")} - listed)


@pytest.mark.parametrize("folder", [f for f in FOLDERS if name(f) not in TO_COME], ids=name)
def test_a_readme_lists_every_module(folder):
    assert unlisted(folder) == []
    gone = set(re.findall(r"`(\w+\.py)`", (folder / "README.md").read_text(encoding="utf-8")))
    assert {file for file in gone if not (folder / file).is_file()} == set()


def test_what_is_to_come_is_still_missing():
    assert {name(f) for f in FOLDERS if name(f) in TO_COME and not unlisted(f)} == set()
    assert {name(f) for f in FOLDERS} >= TO_COME


def test_every_room_of_the_op_library_is_listed():
    text = (PACKAGE / "ops" / "README.md").read_text(encoding="utf-8")
    rooms = {path.parent.name for path in (PACKAGE / "ops").glob("*/__init__.py")}
    assert set(re.findall(r"`(\w+)/`", text)) == rooms
