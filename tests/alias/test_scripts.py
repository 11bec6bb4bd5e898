"""Scripts as people write them: run by `retrograd run` they print what they print with PyTorch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[1] / "scripts"
NAMES = ("gpt", "mnist", "ode", "words", "vae", "dqn", "protocol")


def printed(*before: str) -> dict[str, str]:
    """What each script prints, all of them run in one process."""
    command = [sys.executable, "-W", "ignore", *before, str(SCRIPTS / "everything.py"), *NAMES]
    settings = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=settings)
    assert done.returncode == 0, done.stderr
    parts = (part.partition("\n") for part in done.stdout.split("== ")[1:])
    return {name: text for name, _, text in parts}


@pytest.fixture(scope="module")
def by_retrograd() -> dict[str, str]:
    return printed("-m", "retrograd", "run")


@pytest.fixture(scope="module")
def by_torch(torch) -> dict[str, str]:
    return printed()


@pytest.mark.parametrize("name", NAMES)
def test_a_script_prints_the_same(name, by_retrograd, by_torch):
    assert by_retrograd[name].splitlines() == by_torch[name].splitlines()


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_workers_of_a_loader_have_the_alias_too(start):
    command = [sys.executable, "-m", "retrograd", "run", str(SCRIPTS / "mnist.py"), "--epochs", "1"]
    workers = ["--workers", "2", "--start", start]
    found = [
        subprocess.run([*command, *more], capture_output=True, text=True, check=True, timeout=300).stdout
        for more in ([], workers)
    ]
    assert found[0] == found[1] != ""
