"""The libraries of a build are linked so that a fault is harder to exploit, and debug symbols are there on request."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from retrograd.__config__ import is_compiled
from retrograd.backends import native

pytest.importorskip("setuptools", reason="only a build needs setuptools")

from tools.compiling import hardening
from tools.compiling.flags import link_flags, native_flags, python_flags

LIBRARIES = [
    *([sys.modules["retrograd__mypyc"].__file__] if is_compiled() else []),
    *([native.PACK.__file__] if native.PACK is not None else []),
]


def read(library: str, what: str) -> str:
    """What `readelf` says."""
    program = shutil.which("readelf")
    if program is None or sys.platform != "linux":
        pytest.skip("needs readelf")
    return subprocess.run([program, what, library], capture_output=True, text=True, check=True).stdout


@pytest.mark.skipif(not LIBRARIES, reason="nothing is compiled here")
@pytest.mark.parametrize("library", LIBRARIES, ids=lambda path: Path(path).name.partition(".")[0])
class TestLibraries:
    def test_addresses_are_looked_up_at_once(self, library):
        assert "BIND_NOW" in read(library, "-dW")

    def test_tables_of_addresses_are_not_written(self, library):
        assert "GNU_RELRO" in read(library, "-lW")

    def test_the_stack_is_not_executed(self, library):
        (stack,) = re.findall(r"GNU_STACK .* ([R ][W ][E ]) ", read(library, "-lW"))
        assert stack == "RW "

    def test_code_is_mapped_by_itself(self, library):
        loaded = re.findall(r"LOAD +(0x\w+) .* ([R ][W ][E ]) ", read(library, "-lW"))
        executed = [(int(offset, 16), rights) for offset, rights in loaded if "E" in rights]
        assert [rights for _, rights in executed] == ["R E"]
        assert executed[0][0] > 0  # the headers of the file are not among it


def a_compiler(tmp_path: Path, *unknown: str) -> SimpleNamespace:
    """A program that fails if it is told something that is `unknown`."""
    program = tmp_path / "cc"
    refuses = "".join(f'[ "$flag" = "{flag}" ] && exit 1\n' for flag in unknown)
    program.write_text(f'#!/bin/sh\nfor flag in "$@"; do\n:\n{refuses}done\nexit 0\n')
    program.chmod(0o755)
    return SimpleNamespace(compiler_type="unix", compiler_so=[str(program)])


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script stands for a compiler")
def test_a_compiler_is_told_what_it_knows(tmp_path):
    compiler = a_compiler(tmp_path, "-Wl,-z,now", "-fstack-protector-strong")
    assert hardening.hardened_code(compiler) == ["-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2"]
    told = hardening.hardened_library(compiler)
    assert "-Wl,-z,now" not in told
    assert {"-Wl,-z,relro", "-Wl,-z,separate-code", "-Wl,-z,noexecstack"} <= set(told)
    assert hardening.hardened_code(SimpleNamespace(compiler_type="msvc")) == []


@pytest.mark.parametrize("asked", ["", "1"])
def test_debug_symbols_are_there_on_request(monkeypatch, asked):
    monkeypatch.setenv("RETROGRAD_DEBUG_SYMBOLS", asked)
    for flags in (python_flags("gcc", Path("getargs.c")), native_flags("unix")):
        assert ("-g" in flags, "-g0" in flags) == (asked == "1", asked != "1")
        assert ("-fno-omit-frame-pointer" in flags) == (asked == "1")
    if sys.platform == "linux":
        linked = link_flags(SimpleNamespace(compiler_type="unix", compiler_so=[]))
        assert ("-s" in linked) == (asked != "1")
