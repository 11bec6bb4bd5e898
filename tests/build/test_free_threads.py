"""A Python without the global interpreter lock is refused, with a word on what to do. It is simulated here."""

from __future__ import annotations

import subprocess
import sys

import pytest


def imported(gil: bool) -> subprocess.CompletedProcess[str]:
    program = f"import sys; sys._is_gil_enabled = lambda: {gil}; import retrograd"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)


def test_without_the_lock_it_is_not_imported():
    done = imported(gil=False)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: retrograd needs Python's global interpreter lock")
    assert "python -X gil=1" in last


def test_with_the_lock_it_is():
    assert imported(gil=True).returncode == 0


@pytest.mark.parametrize("asked", ["", "0"])
def test_without_the_lock_nothing_is_compiled(monkeypatch, asked):
    command = build_command(monkeypatch, asked, free_threaded=1)
    with pytest.raises(SystemExit, match=r"free-threaded Python.*RETROGRAD_PURE=1"):
        command.what_to_build()


def test_without_the_lock_the_pure_package_can_be_built(monkeypatch):
    assert build_command(monkeypatch, "1", free_threaded=1).what_to_build() == {}


def test_with_the_lock_it_is_compiled(monkeypatch):
    assert "ext_modules" in build_command(monkeypatch, "0", free_threaded=0).what_to_build()


def build_command(monkeypatch, asked: str, free_threaded: int):
    pytest.importorskip("mypyc", reason="mypy is only there where the package is developed")
    pytest.importorskip("setuptools", reason="only a build needs setuptools")
    from tools.compiling import command

    monkeypatch.setattr(command, "_ASKED", asked)
    monkeypatch.setattr(command.sysconfig, "get_config_var", {"Py_GIL_DISABLED": free_threaded}.get)
    return command
