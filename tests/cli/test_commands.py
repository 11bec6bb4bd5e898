"""The commands inspect, replay, doctor, ops, bench and completion."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import pytest

import retrograd as rg
from retrograd.cli import main

SCRIPT = """\
import sys
import retrograd as rg
w = rg.tensor([1.0, 2.0], requires_grad=True)
loss = (w * float(sys.argv[1])).sum()
loss.backward()
print("grad", w.grad.tolist(), __name__)
sys.exit(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
"""


@pytest.fixture
def script(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "train.py"
    file.write_text(SCRIPT)
    return str(file)


def test_inspect_writes_a_page(script, capsys, tmp_path):
    assert main(["inspect", script, "3"]) == 0
    printed = capsys.readouterr().out
    assert "grad [3.0, 3.0] __main__" in printed
    assert f"written to {tmp_path}/train.html" in printed
    assert (tmp_path / "train.html").stat().st_size > 100_000


@pytest.mark.parametrize(
    ("ending", "start"),
    [
        ("json", '{"schema"'),
        ("dot", "digraph"),
        ("mmd", "flowchart"),
        ("trace", '{"displayTimeUnit"'),
        ("txt", "train.py"),
    ],
)
def test_the_ending_says_the_form(script, ending, start, tmp_path):
    assert main(["inspect", script, "2", "-o", f"out.{ending}"]) == 0
    assert (tmp_path / f"out.{ending}").read_text(encoding="utf-8").startswith(start)


def test_inspect_takes_a_recording_and_prints_text(script, capsys):
    main(["inspect", "-o", "step.json", script, "2"])
    capsys.readouterr()
    assert main(["inspect", "step.json", "-o", "-"]) == 0
    assert "AccumulateGrad w (2,)" in capsys.readouterr().out


def test_the_exit_status_is_the_scripts(script, capsys):
    assert main(["inspect", script, "-o", "a.json", "--", "2", "7"]) == 7
    assert main(["inspect", script, "-o", "a.json", "x"]) == 1
    assert "ValueError" in capsys.readouterr().err
    assert json.loads(pathlib.Path("a.json").read_text(encoding="utf-8"))["ops"] == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["inspect", "nothing.py"], "there is no file"),
        (["inspect", "{script}", "-o", "out.pdf", "1"], "the ending says the form"),
        (["inspect", "{script}", "-o", "nowhere/out.html", "1"], "there is no folder"),
        (["inspect", "plain.json"], "no recording of the kind"),
        (["inspect", "broken.json"], "this is no JSON"),
        (["replay", "nothing.npz"], "no archive"),
        (["replay", "plain.json"], "no archive of a failed node: inspect.on_failure"),
        (["ops", "expp"], "Did you mean exp"),
    ],
)
def test_what_is_wrong_is_said(script, arguments, says, capsys):
    pathlib.Path("plain.json").write_text("{}")
    pathlib.Path("broken.json").write_text("x")
    assert main([a.format(script=script) for a in arguments]) == 2
    assert says in capsys.readouterr().err


def test_a_script_with_a_mistake_in_its_text(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.py").write_text("x = (\n")
    assert main(["inspect", "bad.py"]) == 1
    assert "SyntaxError" in capsys.readouterr().err


def test_a_limit_of_nothing_is_refused(script, capsys):
    with pytest.raises(SystemExit) as left:
        main(["inspect", "--limit", "0", script])
    assert left.value.code == 2
    assert "0 is less than 1" in capsys.readouterr().err


def test_without_a_command_there_is_help(capsys):
    with pytest.raises(SystemExit):
        main([])
    printed = capsys.readouterr().err
    assert "to begin with:" in printed
    assert "retrograd inspect train.py" in printed


def start(*arguments, **options):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(
        [sys.executable, "-m", "retrograd", *arguments], text=True, env=environment, **options
    )


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's")
def test_ctrl_c_ends_a_recording_and_writes_it(tmp_path):
    script = tmp_path / "slow.py"
    script.write_text(
        SCRIPT.replace("sys.exit", "print('ready', flush=True)\nimport time\ntime.sleep(60)\nsys.exit")
    )
    with start(
        "inspect", str(script), "2", cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        while "ready" not in running.stdout.readline():
            pass
        running.send_signal(signal.SIGINT)
        out, err = running.communicate()
    assert running.returncode == 130
    assert "stopped: the recording ends here" in err
    assert "Traceback" not in err
    assert "written to" in out
    assert (tmp_path / "slow.html").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="pipes are POSIX's")
def test_a_reader_that_has_had_enough(tmp_path):
    with start("ops", stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        running.stdout.readline()
        running.stdout.close()
        err = running.stderr.read()
    assert err == ""


def test_replay_runs_a_failed_node(script, capsys, tmp_path):
    x = rg.tensor([0.0, 1.0], requires_grad=True)
    with rg.inspect.on_failure(tmp_path / "crash.html"):
        x.sqrt().sum().backward()
    assert main(["replay", "crash.npz"]) == 0
    printed = capsys.readouterr().out
    assert "SqrtBackward0 made an infinity" in printed
    assert "gradient 0 out   (2,) float32" in printed


def test_replay_stops_in_the_debugger(tmp_path):
    x = rg.tensor([0.0], requires_grad=True)
    with rg.inspect.on_failure(tmp_path / "crash.html") as watch:
        x.sqrt().sum().backward()
    done = subprocess.run(
        [sys.executable, "-m", "retrograd", "replay", str(watch.archive), "--pdb"],
        input="p self.told['name']\nc\n",
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert "'SqrtBackward0'" in done.stdout
    assert "inf" in done.stdout


def test_ops_shows_a_derivative(capsys):
    assert main(["ops", "tanh"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("TanhBackward0: the hyperbolic tangent")
    assert "def slope" in printed
    assert main(["ops"]) == 0
    assert len(capsys.readouterr().out.splitlines()) > 200


def test_doctor_says_that_all_is_well(capsys):
    assert main(["doctor"]) == 0
    printed = capsys.readouterr().out
    assert "self-check  passed" in printed
    assert "numpy" in printed


def test_bench_measures(capsys):
    assert main(["bench", "--seconds", "0.001"]) == 0
    assert capsys.readouterr().out.count("µs") == 5


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion_is_for_the_shell(shell, capsys):
    assert main(["completion", shell]) == 0
    text = capsys.readouterr().out
    assert "inspect" in text
    assert "--limit" in text
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=text, text=True, check=True)


def test_bash_completes_commands_and_options(capsys):
    if shutil.which("bash") is None:
        pytest.skip("there is no bash here")
    main(["completion", "bash"])
    text = capsys.readouterr().out
    text += 'COMP_WORDS=(retrograd insp); COMP_CWORD=1; _retrograd; echo "${COMPREPLY[@]}"\n'
    text += 'COMP_WORDS=(retrograd inspect --l); COMP_CWORD=2; _retrograd; echo "${COMPREPLY[@]}"\n'
    done = subprocess.run(["bash"], input=text, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["inspect", "--limit"]
