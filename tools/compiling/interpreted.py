"""The package as its sources are, for steps of the build that import it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run_interpreted(program: str) -> str:
    """Runs a program in a process of its own, which imports retrograd from the sources; what it prints."""
    # Not by PYTHONPATH: an isolated build takes out of it what an editable install has put into the environment.
    path = [str(ROOT / "src"), str(ROOT), *sys.path]
    settings = {"RETROGRAD_INTERPRETED": "1", "RETROGRAD_NO_NATIVE": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:] = {path}; {program}"],
        env={**os.environ, **settings},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout
