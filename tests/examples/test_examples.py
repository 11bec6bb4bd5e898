"""The examples run and find what they look for."""

from __future__ import annotations

import importlib.util
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import retrograd as rg
from retrograd.utils.run_log import read_log
from tests.distributed import ranks

FOLDER = Path(__file__).resolve().parents[2] / "examples"


def printed(name, capsys):
    """What an example prints when a person runs it."""
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    return capsys.readouterr().out


def test_first_steps(capsys):
    lines = printed("first_steps", capsys).splitlines()
    # 2x sin x + x² cos x; 12x²; a half and a quarter of each value reach the places after it.
    assert [line.partition(":")[2].strip() for line in lines] == ["1.9726", "108.0", "[1.75, 1.5, 1.0]"]


@pytest.mark.parametrize("name", ["fit_curve", "pendulum"])
def test_what_is_learned_is_the_truth(name, capsys):
    learned = re.findall(r"(\S+) +(\S+) +\(truth (\S+)\)", printed(name, capsys))
    assert len(learned) >= 2
    for _, value, truth in learned:
        assert float(value) == pytest.approx(float(truth), abs=0.03)


def test_fit_with_scipy(capsys):
    pytest.importorskip("scipy")
    text = printed("fit_with_scipy", capsys)
    fitted = re.findall(r"(\S+) +(\S+) ± (\S+) +\(known (\S+)\)", text)
    assert len(fitted) == 2
    for _, value, error, known in fitted:
        assert abs(float(value) - float(known)) < float(error) / 10
    assert "by Newton's method: highest 212.68" in text
    (highest, half) = re.search(r"through a point: +highest (\S+), half (\S+)", text).groups()
    assert float(highest) * 0.2 / (float(half) + 0.2) == pytest.approx(150, abs=0.01)


def test_wrong_labels(capsys):
    pytest.importorskip("scipy")
    found = re.match(r"(\d+) of the 20 wrong labels", printed("wrong_labels", capsys))
    assert int(found[1]) >= 15


# What trains, and ends with 0 if it has learned. What each prints of it: before and after.
TRAINING = (
    "char_gpt", "conv_digits", "dqn_catch", "gaussian_process", "heat_equation", "lstm_series", "meta_learning",
    "neural_ode", "vae_digits",
)  # fmt: skip


def ended(name, monkeypatch, tmp_path):
    """How a short run of an example ends: 0, or 1 if it has not learned."""
    monkeypatch.chdir(tmp_path)  # where its log goes
    monkeypatch.setattr(sys, "argv", [f"{name}.py", "--quick"])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    return end.value.code


@pytest.mark.parametrize("name", TRAINING)
def test_what_trains_learns(name, capsys, monkeypatch, tmp_path):
    assert ended(name, monkeypatch, tmp_path) == 0
    text = capsys.readouterr().out
    assert re.search(r"before -?[\d.]+, after -?[\d.]+", text)
    assert "100 %" in text
    (log,) = (tmp_path / "build" / "examples").glob(f"{name}.[cj]s*")
    assert len(next(iter(read_log(log).values()))) >= 1
    if importlib.util.find_spec("matplotlib"):
        assert log.with_suffix(".png").exists()


def test_a_program_of_several_ranks_runs_as_one(capsys, monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(FOLDER)
    assert ended("char_gpt_ranks", monkeypatch, tmp_path) == 0
    assert re.search(r"1 ranks: loss before [\d.]+, after [\d.]+", capsys.readouterr().out)


@pytest.mark.skipif(bool(ranks.absent()), reason=ranks.absent())
def test_a_program_of_several_ranks_goes_on_with_fewer(tmp_path):
    said = []
    for count, more in ((2, []), (1, ["--resume"])):
        script = FOLDER / "char_gpt_ranks.py"
        command = [str(ranks.mpirun()), "-n", str(count), sys.executable, str(script), "--quick"]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OPENBLAS_NUM_THREADS": "1"}
        done = subprocess.run(
            [*command, *more], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        said += re.findall(r"(\d) ranks: loss before ([\d.]+), after ([\d.]+)", done.stdout)
    (two, before, middle), (one, again, after) = said
    assert (two, one) == ("2", "1")
    assert float(before) > float(middle) > float(after)
    assert float(again) < 0.8 * float(before)


def test_what_does_not_learn_says_so(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(rg.optim.LBFGS, "step", lambda self, closure: closure())
    assert ended("gaussian_process", monkeypatch, tmp_path) == 1


def test_every_example_is_described_and_tested():
    names = {path.stem for path in FOLDER.glob("*.py")}
    assert names == {
        "first_steps",
        "fit_curve",
        "fit_with_scipy",
        "pendulum",
        "wrong_labels",
        "char_gpt_ranks",
        *TRAINING,
    }
    assert names == set(re.findall(r"\| `(\w+)\.py`", (FOLDER / "README.md").read_text(encoding="utf-8")))
