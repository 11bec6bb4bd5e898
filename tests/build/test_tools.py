"""The tools that a Makefile calls can at least be asked what they do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"
COMMANDS = [
    path.name for path in sorted(TOOLS.glob("*.py")) if "argparse" in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_tool_says_what_it_does(name):
    if name == "compiled.py":
        pytest.importorskip("mypyc", reason="mypy is only there where the package is developed")
    done = subprocess.run(
        [sys.executable, TOOLS / name, "--help"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "usage" in done.stdout
