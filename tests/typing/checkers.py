"""The type checkers, as the tests start them."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.project.sources import ROOT

needs_mypy = pytest.mark.skipif(
    importlib.util.find_spec("mypy") is None, reason="mypy is not installed: pip install '.[dev]'"
)
needs_pyright = pytest.mark.skipif(
    importlib.util.find_spec("pyright") is None or shutil.which("node") is None,
    reason="pyright is not installed (pip install '.[dev]'), or there is no Node.js, which it runs on",
)


def mypy(*arguments: str) -> subprocess.CompletedProcess[str]:
    """What mypy prints."""
    return _run("mypy", *arguments)


def pyright(*arguments: str) -> Any:
    """What pyright finds, as it gives it to programs."""
    done = _run("pyright", "--outputjson", *arguments)
    return json.loads(done.stdout[done.stdout.index("{") :])


def _run(module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a checker on the sources of this checkout."""
    folders = [str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(folders),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
    }
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT, env=environment)
