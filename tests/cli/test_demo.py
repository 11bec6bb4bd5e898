"""The command `retrograd demo`."""

from __future__ import annotations

import subprocess
import sys

import pytest

import retrograd as rg
from retrograd.cli import demo, main
from retrograd.datasets import load_digits, split_digits


def test_the_network_learns_to_read(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == 0
    printed = capsys.readouterr().out
    page = tmp_path / "retrograd-demo.html"
    assert f"to open in a browser: {page}" in printed
    assert "The last step of the demo" in page.read_text(encoding="utf-8")
    words = next(line for line in printed.splitlines() if line.startswith("held-out accuracy")).split()
    assert float(words[-1].rstrip("%")) >= 95
    assert "ms a step" in printed
    assert printed.count("100 %") == 1
    # The graph: from the loss down to all six parameters.
    assert "\nloss = NllLossBackward0\nLogSoftmaxBackward0\n" in printed
    for leaf in ("w1 (64, 64)", "b1 (64,)", "w2 (64, 32)", "b2 (32,)", "w3 (32, 10)", "b3 (10,)"):
        assert printed.count(f"AccumulateGrad {leaf}") == 1


def test_a_seed_gives_one_result(capsys):
    train, held_out = split_digits(load_digits())

    def trained(seed):
        rg.manual_seed(123 + seed)  # whatever was drawn before must not matter
        return demo.fit(train, held_out, epochs=1, seed=seed).accuracy

    assert trained(3) == trained(3)


def test_training_is_needed():
    _, held_out = split_digits(load_digits())
    rg.manual_seed(0)
    assert demo.accuracy(demo.Network(), held_out) < 0.5


def test_a_gradient_step_follows_the_gradient_and_forgets_it():
    rg.manual_seed(0)
    network = demo.Network()
    digits = split_digits(load_digits()).held_out
    images = rg.from_numpy(digits.images.astype("float32") / 16)
    labels = rg.from_numpy(digits.labels.astype("int64"))
    before = network.loss(images, labels)
    before.backward()
    demo.MomentumDescent(network).step(0.01)
    assert network.loss(images, labels).item() < before.item()
    for parameter in network.parameters.values():
        assert parameter.grad is not None
        assert not parameter.grad.numpy().any()


def test_ctrl_c_ends_quietly(monkeypatch, capsys):
    def interrupted(**arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "run", interrupted)
    assert main(["demo"]) == 130
    assert capsys.readouterr().err == "\nstopped\n"


def test_the_version_can_be_asked_for(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"retrograd {rg.__version__}\n"


@pytest.mark.parametrize(
    "arguments", [[], ["unknown"], ["demo", "--epochs", "0"], ["demo", "--epochs", "many"]]
)
def test_a_wrong_command_line_explains_itself(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert "usage: retrograd" in capsys.readouterr().err


def test_the_module_is_the_command_even_on_a_plain_terminal(tmp_path):
    run = subprocess.run(
        [sys.executable, "-m", "retrograd", "demo", "--epochs", "1"],
        env={"PYTHONIOENCODING": "ascii", "PYTHONPATH": ":".join(filter(None, sys.path))},
        capture_output=True,
        check=True,
        cwd=tmp_path,
    )
    assert b"held-out accuracy" in run.stdout
    assert b"AccumulateGrad w1 (64, 64)" in run.stdout
