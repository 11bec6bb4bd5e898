"""Logs of runs, as CSV and as JSON Lines, and plots of them."""

from __future__ import annotations

import math
import sys

import pytest

import retrograd as rg
from retrograd.utils.run_log import RunLog, plot_log, read_log


@pytest.mark.parametrize("name", ["run.csv", "run.jsonl", "deep/er/run.csv"])
def test_what_is_written_is_read(name, tmp_path):
    path = tmp_path / name
    with RunLog(path) as log:
        log.write(step=0, loss=rg.tensor(1.5, requires_grad=True), note="first")
        log.write(step=1, loss=math.inf, note="second")
    assert read_log(path) == {"step": [0, 1], "loss": [1.5, math.inf], "note": ["first", "second"]}


def test_lines_are_there_at_once(tmp_path):
    log = RunLog(tmp_path / "run.jsonl")
    log.write(step=0)
    assert read_log(log.path) == {"step": [0]}
    log.close()


def test_lines_of_json_may_differ_and_those_of_a_table_may_not(tmp_path):
    with RunLog(tmp_path / "run.jsonl") as log:
        log.write(step=0, loss=1.0)
        log.write(step=1, accuracy=0.5)
    assert read_log(log.path) == {"step": [0, 1], "loss": [1.0, None], "accuracy": [None, 0.5]}
    with RunLog(tmp_path / "run.csv") as log:
        log.write(step=0, loss=1.0)
        log.write(loss=2.0, step=1)
        with pytest.raises(ValueError, match=r"has the columns \['step', 'loss'\] of its first line"):
            log.write(step=1, accuracy=0.5)
    assert read_log(log.path) == {"step": [0, 1], "loss": [1.0, 2.0]}


@pytest.fixture
def log(tmp_path):
    with RunLog(tmp_path / "run.csv") as log:
        for step in range(5):
            log.write(step=step, loss=1 / (step + 1), accuracy=step / 5, note="x")
    return log.path


def test_a_plot_in_one_call(log):
    pytest.importorskip("matplotlib")
    assert plot_log(log) == log.with_suffix(".png")
    assert log.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    picture = plot_log(log, log.with_name("loss.svg"), columns=["loss"], x="nothing", logarithmic=True)
    assert "<svg" in picture.read_text(encoding="utf-8")
    with pytest.raises(
        ValueError, match=r"has no columns \['gain'\] to plot; it has \['step', 'loss', 'accuracy'"
    ):
        plot_log(log, columns=["gain"])


def test_without_matplotlib_a_plot_says_what_to_install(log, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'retrograd\[plot\]'"):
        plot_log(log)
