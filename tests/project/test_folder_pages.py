"""A folder of several modules has a README that lists them all."""

from __future__ import annotations

import re
from fnmatch import fnmatch

import pytest

from .sources import PACKAGE, ROOT

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


# ---- beside the package -------------------------------------------------------------------------------------------

# A header or a set of loops belongs to a source of its name, which is what a page has to list.
BESIDE = [("native", "*.cpp"), ("tools", "*.py"), ("benchmarks", "*.py"), ("examples", "*.py")]


@pytest.mark.parametrize(("folder", "sources"), BESIDE)
def test_a_readme_beside_the_package_lists_its_sources(folder, sources):
    text = (ROOT / folder / "README.md").read_text(encoding="utf-8")
    rows = "".join(re.findall(r"^\| *(`[^|]*)\|", text, re.MULTILINE))
    listed = re.findall(r"`([\w.*-]+)`", rows)
    files = {path.name for path in (ROOT / folder).iterdir()}
    assert listed
    assert [name for name in listed if not any(fnmatch(file, name) for file in files)] == []
    assert [
        path.name
        for path in (ROOT / folder).glob(sources)
        if not any(fnmatch(path.name, name) for name in listed)
    ] == []
