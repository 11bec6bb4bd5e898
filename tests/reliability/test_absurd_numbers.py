"""Numbers that make no sense are answered at once, by a result or by an error of the kinds that PyTorch raises."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.reliability import absurd_numbers

ERRORS = {"RuntimeError", "IndexError", "TypeError", "ValueError", "NotImplementedError", "AssertionError"}
WRITTEN = len(absurd_numbers.WRITTEN.strip().splitlines()) * len(absurd_numbers.ABSURD)


@pytest.mark.skipif(sys.platform != "linux", reason="how much memory is left is read from /proc")
@pytest.mark.parametrize(("start", "step"), [(0, 3), (1, 3), (WRITTEN, 40)])
def test_no_number_hangs_or_crashes_a_function(start: int, step: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.reliability.absurd_numbers", "retrograd", str(start), str(step)],
        capture_output=True, text=True, timeout=600, check=False, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    lines = done.stdout.splitlines()
    assert done.returncode == 0, f"ended with {done.returncode} at {lines[-1]}: {done.stderr[-1000:]}"
    wrong = [line for line in lines if line.split("\t")[3].split()[0] not in {"ok", *ERRORS}]
    assert not wrong, "\n".join(wrong)
    # NumPy's own words about sizes say nothing of what was asked for.
    assert not [line for line in lines if "\tValueError array is too big" in line]
