"""A run of the tests that leaves some out says which, and how to run them."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from .sources import ROOT


def summary(*arguments: str) -> tuple[int, list[str]]:
    """How many tests a run without the pack skipped, and what it says about the pack."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        cwd=ROOT,
        env={**os.environ, "RETROGRAD_NO_NATIVE": "1", "RETROGRAD_INTERPRETED": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    skipped = re.search(r"(\d+) skipped", done.stdout)
    said = [line for line in done.stdout.splitlines() if "want of the native pack" in line]
    return int(skipped[1]) if skipped else 0, said


@pytest.mark.parametrize("workers", ["0", "2"])
def test_tests_that_need_the_pack_are_counted(workers):
    count, said = summary(
        "tests/native/test_picks.py", "tests/build/test_config.py", "-n", workers, "-k", "not torch"
    )
    assert count > 10
    assert len(said) == 1
    assert said[0].startswith(f"Skipped for want of the native pack: {count:,}. ")
    assert "make test-compiled" in said[0]


def test_other_skips_are_not_the_packs():
    assert summary("tests/build/test_forms.py", "-k", "another_install") == (1, [])
