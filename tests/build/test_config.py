"""`retrograd.__config__` says what this build is."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import retrograd as rg
from retrograd import __config__ as config
from retrograd.backends import native


def test_show_is_text_that_begins_as_pytorchs_does(torch):
    assert config.show().splitlines()[0] == torch.__config__.show().splitlines()[0].replace(
        "PyTorch", "retrograd"
    )
    assert config.show().endswith("\n")
    assert config.parallel_info().endswith("\n")


def test_show_says_whether_modules_are_compiled():
    said = {"Compiled by mypyc": config.is_compiled(), "Pure Python": not config.is_compiled()}
    assert {words: words in config.show() for words in said} == said


@pytest.mark.skipif(native.PACK is None, reason="this build has no native pack, or it is switched off")
def test_show_names_the_instruction_set():
    assert f"Native kernel pack: {native.PACK.instruction_set()} is used of " in config.show()
    assert native.PACK.instruction_set() in native.PACK.instruction_sets()


def test_a_pack_that_is_switched_off_is_not_there():
    shown = subprocess.run(
        [sys.executable, "-c", "import retrograd.__config__ as c; print(c.show())"],
        env={**os.environ, "RETROGRAD_NO_NATIVE": "1"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "Native kernel pack: switched off by RETROGRAD_NO_NATIVE" in shown


def test_parallel_info_follows_the_settings(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    before = rg.get_num_threads()
    rg.set_num_threads(5)
    try:
        shown = config.parallel_info()
    finally:
        rg.set_num_threads(before)
    assert "\tget_num_threads() : 5\n" in shown
    assert "\tOMP_NUM_THREADS : 3\n" in shown
