"""What is compiled is what the list says, and the list says why the rest is not."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from tools.compiling.modules import (
    COMPILED_ALONE,
    COMPILED_PACKAGES,
    INTERPRETED,
    ON_DEMAND,
    PACKAGE,
    compiled_files,
    loaded_at_once,
)

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
    | {file for file in COMPILED_ALONE if "/" not in file}
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


def name(file: str) -> str:
    return f"retrograd.{file.removesuffix('.py').replace('/', '.')}"


@pytest.fixture(scope="module")
def loaders() -> dict[str, str]:
    """Who loads each module, in a process of its own: here, pytest may have loaded sources for their doctests."""
    program = """
import importlib, json, sys
print(json.dumps({name: type(importlib.import_module(name).__loader__).__name__ for name in sys.argv[1:]}))
"""
    command = [sys.executable, "-c", program, *map(name, EVERY_FILE)]
    return dict(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))


@pytest.mark.parametrize("file", EVERY_FILE)
def test_a_compiled_build_runs_compiled_modules(file, loaders):
    interpreted = not is_compiled() or file not in COMPILED
    assert (loaders[name(file)] == "SourceFileLoader") == interpreted


def test_no_compiled_module_answers_for_its_attributes():
    """A module that has a `__getattr__` is asked while mypyc still makes it, and crashes."""
    lines = {file: (PACKAGE / file).read_text(encoding="utf-8").splitlines() for file in COMPILED}
    assert [
        file for file in COMPILED if any(line.startswith("def __getattr__") for line in lines[file])
    ] == []


def test_what_import_loads_is_known():
    assert {"retrograd.core.tensor", "retrograd.engine.engine"} <= loaded_at_once()
    rare = {name(file) for file in COMPILED if name(file).startswith(ON_DEMAND)} - loaded_at_once()
    assert len(rare) > 50
