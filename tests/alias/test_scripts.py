"""Scripts as people write them: run by `retrograd run` they print what they print with PyTorch."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[1] / "scripts"
NUMBER = re.compile(r"-?\d+\.\d+")  # whole numbers count something, and are the same
NAMES = (
    *(
        "gpt",
        "mnist",
        "ode",
        "words",
        "vae",
        "dqn",
        "protocol",
        "llama",
        "generative",
        "policies",
        "functions",
    ),
    *("sequences", "bert", "images", "idioms", "packages"),
    *("diffusion", "flows", "sampling", "inference", "structures", "tricks", "agents"),
)


def printed(*before: str) -> dict[str, str]:
    """What each script prints, all of them run in one process."""
    command = [sys.executable, "-W", "ignore", *before, str(SCRIPTS / "everything.py"), *NAMES]
    settings = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=settings)
    assert done.returncode == 0, done.stderr
    parts = (part.partition("\n") for part in done.stdout.split("== ")[1:])
    return {name: text for name, _, text in parts}


@pytest.fixture(scope="module")
def by_retrograd() -> dict[str, str]:
    return printed("-m", "retrograd", "run")


@pytest.fixture(scope="module")
def by_torch(torch) -> dict[str, str]:
    return printed()


@pytest.mark.parametrize("name", NAMES)
def test_a_script_prints_the_same(name, by_retrograd, by_torch):
    ours, theirs = by_retrograd[name].splitlines(), by_torch[name].splitlines()
    assert len(ours) == len(theirs)
    assert [(a, b) for a, b in zip(ours, theirs, strict=True) if not is_same(a, b)] == []


def is_same(ours: str, theirs: str) -> bool:
    """Whether two lines say the same: their numbers may differ by two in the last digit, since kernels round."""
    if NUMBER.sub("#", ours) != NUMBER.sub("#", theirs):
        return False
    pairs = zip(NUMBER.findall(ours), NUMBER.findall(theirs), strict=True)
    return all(abs(float(a) - float(b)) <= 2.01 * 10.0 ** -len(b.partition(".")[2]) for a, b in pairs)


def test_the_last_digit_may_differ():
    assert is_same("loss 1.2831, 3 steps", "loss 1.2832, 3 steps")
    assert not is_same("loss 1.2831, 3 steps", "loss 1.2835, 3 steps")
    assert not is_same("loss 1.2831, 3 steps", "loss 1.2831, 4 steps")


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_workers_of_a_loader_have_the_alias_too(start):
    command = [sys.executable, "-m", "retrograd", "run", str(SCRIPTS / "mnist.py"), "--epochs", "1"]
    workers = ["--workers", "2", "--start", start]
    found = [
        subprocess.run([*command, *more], capture_output=True, text=True, check=True, timeout=300).stdout
        for more in ([], workers)
    ]
    assert found[0] == found[1] != ""


def test_processes_train_one_model_in_shared_memory(torch):
    """Not with the others: the processes that it starts import the program again."""
    settings = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    found = [
        subprocess.run(
            [sys.executable, *before, str(SCRIPTS / "hogwild.py")],
            capture_output=True, text=True, check=True, timeout=300, env=settings,
        ).stdout
        for before in ([], ["-m", "retrograd", "run"])
    ]  # fmt: skip
    assert found[0] == found[1] != ""


def test_options_of_python_go_to_the_script(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import sys, torch; print(sys.flags.optimize, sys.warnoptions, sys._xoptions)")
    command = [sys.executable, "-O", "-Wignore", "-Xdev", "-m", "retrograd", "run", str(script)]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONWARNINGS"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300, env=environment)
    assert done.stdout.split()[0] == "1"
    assert "'ignore'" in done.stdout
    assert "'dev': True" in done.stdout
