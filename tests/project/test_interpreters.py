"""`.ci/python VERSION` finds an interpreter that works, or says why there is none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .sources import ROOT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="continuous integration runs on Linux")


def program(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def search(folder: Path) -> subprocess.CompletedProcess[str]:
    """Look for Python 9.9 where there is nothing but the system's commands and the programs in `folder`."""
    return subprocess.run(
        ["/bin/bash", ROOT / ".ci" / "python", "9.9"],
        env={"PATH": f"{folder}:/usr/bin:/bin", "PYTHONS": str(folder / "own")},
        capture_output=True,
        text=True,
        check=False,
    )


def test_one_of_the_search_path(tmp_path):
    path = program(tmp_path / "python9.9", "exit 0")
    assert search(tmp_path).stdout == f"{path}\n"


def test_one_of_pyenv_comes_first_the_newest_of_them(tmp_path):
    program(tmp_path / "python9.9", "exit 0")
    program(
        tmp_path / "pyenv",
        f'test "$1" = prefix && echo {tmp_path}/$2 || printf "9.9.8\\n9.9.10\\n9.9.9\\n9.90.1\\n"',
    )
    program(tmp_path / "9.9.10" / "bin" / "python9.9", "exit 1")
    path = program(tmp_path / "9.9.9" / "bin" / "python9.9", "exit 0")
    program(tmp_path / "9.9.8" / "bin" / "python9.9", "exit 0")
    assert search(tmp_path).stdout == f"{path}\n"


def test_one_that_was_unpacked_before(tmp_path):
    path = program(tmp_path / "own" / "9.9" / "bin" / "python9.9", "exit 0")
    assert search(tmp_path).stdout == f"{path}\n"


def test_one_that_cannot_be_had_is_told(tmp_path):
    program(tmp_path / "python9.9", "exit 1")
    program(tmp_path / "apt-get", "exit 1")
    done = search(tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("Python 9.9: not found, and ")
