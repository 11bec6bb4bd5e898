"""What is compiled is what the list says, and the list says why the rest is not."""

from __future__ import annotations

import importlib

import pytest
from tools.compiling.modules import COMPILED_ALONE, COMPILED_PACKAGES, INTERPRETED, PACKAGE, compiled_files

from retrograd.__config__ import is_compiled

IN_PART = ("backends", "func")  # packages of which some modules are compiled
EVERY_FILE = sorted(
    {
        *COMPILED_ALONE,
    }
    | {
        path.relative_to(PACKAGE).as_posix()
        for package in (*COMPILED_PACKAGES, *IN_PART)
        for path in (PACKAGE / package).rglob("*.py")
        if path.name != "__init__.py"
    }
)
COMPILED = {path.relative_to(PACKAGE).as_posix() for path in compiled_files()}


@pytest.mark.parametrize("file", INTERPRETED)
def test_a_module_that_stays_interpreted_is_there_and_has_a_reason(file):
    assert file in EVERY_FILE
    assert file.startswith(tuple(f"{package}/" for package in COMPILED_PACKAGES))
    assert len(INTERPRETED[file].split()) >= 2


def test_every_module_of_the_compiled_packages_is_compiled_or_listed():
    listed = set(INTERPRETED) | {file for file in EVERY_FILE if file.partition("/")[0] in IN_PART}
    assert COMPILED | listed == set(EVERY_FILE)
    assert not COMPILED & set(INTERPRETED)
    assert set(COMPILED_ALONE) <= COMPILED


@pytest.mark.parametrize("file", EVERY_FILE)
def test_a_compiled_build_runs_compiled_modules(file):
    module = importlib.import_module(f"retrograd.{file.removesuffix('.py').replace('/', '.')}")
    assert module.__file__ is not None
    assert module.__file__.endswith(".py") == (not is_compiled() or file not in COMPILED)
