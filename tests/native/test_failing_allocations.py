"""A program for which there is no memory at some moment raises an error, and nothing of it stays behind."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from retrograd.backends.pack import PACK
from tests.reliability.failing_allocations import PROGRAMS

# NumPy and Python lose some of these errors themselves, and raise others in their place.
ALLOWED = {"ok", "MemoryError", "OutOfMemoryError", "SystemError", "TypeError", "ValueError"}

pytestmark = [
    pytest.mark.skipif(PACK is None, reason="the native pack is not built; without it NumPy itself crashes"),
    pytest.mark.skipif(importlib.util.find_spec("_testcapi") is None, reason="Python has no _testcapi"),
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_one_failed_allocation_is_an_error_and_no_more(program: str) -> None:
    last = 1500 if program == "training" else 600
    done = subprocess.run(
        [sys.executable, "-m", "tests.reliability.failing_allocations", program, "0", str(last), "13"],
        capture_output=True, text=True, timeout=300, check=False, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.returncode == 0, f"ended with {done.returncode} at {done.stdout[-20:]}: {done.stderr[-2000:]}"
    told = [line.split("\t")[1] for line in done.stdout.splitlines()]
    assert len(told) == len(range(0, last, 13))
    assert set(told) <= ALLOWED, done.stderr[-2000:]
    assert told.count("MemoryError") + told.count("OutOfMemoryError") > 3  # some did fail
