"""`.ci/browser` prepares the tests in a browser, or says what cannot be had."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .sources import ROOT
from .test_interpreters import program

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="continuous integration runs on Linux")


def prepare(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run it where there are a few of the system's commands and the programs in `folder`."""
    for name in ("dirname", "id"):
        program(folder / name, f'exec /usr/bin/{name} "$@"')
    command = ["/bin/bash", ROOT / ".ci" / "browser"]
    return subprocess.run(command, env={"PATH": str(folder)}, capture_output=True, text=True, check=False)


def test_node_is_needed(tmp_path):
    done = prepare(tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    assert "Node.js and npm are not on the path" in done.stderr


def test_packages_are_needed(tmp_path):
    program(tmp_path / "node", "exit 0")
    program(tmp_path / "npm", "exit 1")
    done = prepare(tmp_path)
    assert done.returncode == 3
    assert "npm could not install the packages" in done.stderr


def test_a_browser_is_needed(tmp_path):
    program(tmp_path / "node", "exit 0")
    program(tmp_path / "npm", "exit 0")
    assert "this is no Debian to get it from" in prepare(tmp_path).stderr
    program(tmp_path / "apt-get", "exit 1")
    assert prepare(tmp_path).returncode == 3
    path = program(tmp_path / "chromium", "exit 0")
    assert prepare(tmp_path).stdout == f"{path}\n"
