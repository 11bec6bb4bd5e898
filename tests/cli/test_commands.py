"""The commands inspect, replay, doctor, ops, bench and completion."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import types

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


def test_inspect_compares_with_an_earlier_recording(script, capsys, tmp_path):
    main(["inspect", script, "2", "-o", "before.json"])
    capsys.readouterr()
    assert main(["inspect", script, "3", "--against", "before.json"]) == 0
    printed = capsys.readouterr().out
    assert "3 nodes match, 0 only here, 0 only there" in printed
    assert "×1.5" in printed
    assert "here / there" in (tmp_path / "train.html").read_text(encoding="utf-8")
    assert main(["inspect", "--against", "before.json", script, "3", "-o", "diff.txt"]) == 0
    assert "AccumulateGrad w (2,)" in (tmp_path / "diff.txt").read_text(encoding="utf-8")
    assert main(["inspect", "before.json", "--against", "before.json", "-o", "-"]) == 0


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
        (["inspect", "{script}", "1", "--against", "plain.json"], "no recording of the kind"),
        (["inspect", "{script}", "1", "--against", "none.json"], "No such file"),
        (
            ["inspect", "{script}", "1", "--against", "plain.json", "-o", "a.dot"],
            "a comparison is .html or .txt",
        ),
        (["inspect", "broken.json"], "this is no JSON"),
        (["replay", "nothing.npz"], "there is no file nothing.npz"),
        (["debug", "nothing.py"], "retrograd debug: there is no file nothing.py"),
        (["launch", "-n", "2", "nothing.py"], "there is no file nothing.py"),
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


WAYS = {
    "annotations are values": "class A:\n    x: int\nassert A.__annotations__ == {'x': int}",
    "its file is found from another folder": "import os\nos.chdir('/')\nassert os.path.isfile(__file__)",
    "a hook of its own tells of its error": "import sys\nsys.excepthook = lambda *e: print('mine')\n1 / 0",
    "threads are waited for": """
import threading, time
def late():
    time.sleep(0.2)
    (w * w).sum().backward()
threading.Thread(target=late).start()
""",
    "a pool that nobody ends is not waited for": """
from concurrent.futures import ThreadPoolExecutor
ThreadPoolExecutor(1).submit(lambda: (w * w).sum().backward()).result()
""",
}


@pytest.mark.parametrize("way", WAYS)
def test_inspect_runs_a_script_as_python_does(way, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    text = WAYS[way]
    (tmp_path / "way.py").write_text(f"import retrograd as rg\nw = rg.ones(2, requires_grad=True)\n{text}\n")
    assert main(["inspect", "way.py", "-o", "way.json"]) == ("1 / 0" in text)
    document = json.loads((tmp_path / "way.json").read_text(encoding="utf-8"))
    assert len(document["backwards"]) == ("backward" in text)
    assert ("mine" in capsys.readouterr().out) == ("mine" in text)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks a process")
def test_a_process_that_the_script_forks_writes_no_page(tmp_path):
    text = "import os, retrograd as rg\nchild = os.fork()\nif child:\n    os.waitpid(child, 0)\n"
    text += "w = rg.ones(2, requires_grad=True)\nw.sum().backward() if child else None\n"
    (tmp_path / "forks.py").write_text(text)
    with start("inspect", "forks.py", cwd=tmp_path, stdout=subprocess.PIPE) as running:
        printed = running.communicate(timeout=60)[0]
    assert printed.count("written to") == 1
    assert "1 backward" in printed


def test_a_page_that_cannot_be_written_is_told(script, tmp_path, capsys, monkeypatch):
    (tmp_path / "folder.html").mkdir()
    assert main(["inspect", script, "1", "-o", "folder.html"]) == 2
    assert "folder.html: this is a folder" in capsys.readouterr().err
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert main(["inspect", script, "1"]) == 2
    assert "it may not be written" in capsys.readouterr().err
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sweeps.py").write_text("import shutil\nshutil.rmtree('out')\n")
    (tmp_path / "out").mkdir()
    assert main(["inspect", "sweeps.py", "-o", "out/page.html"]) == 1
    assert "nothing was written: [Errno 2]" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["inspect", "--limit", "0", "train.py"], "0 is less than 1"),
        (["inspect", "--limit", "few", "train.py"], "'few' is no whole number"),
        (["bench", "--seconds", "-1"], "-1 is no time"),
        (["bench", "--seconds", "nan"], "nan is no time"),
        (["bench", "--seconds", "long"], "'long' is no number"),
        (["inspect"], "the following arguments are required: script\n"),
        (["launch"], "the following arguments are required: -n/--ranks, script\n"),
    ],
)
def test_a_wrong_call_is_refused(arguments, says, capsys):
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 2
    assert says in capsys.readouterr().err


def test_a_script_that_fails_is_told_as_python_tells_it(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fails.py").write_text("def f():\n    raise RuntimeError('boom')\nf()\n")
    assert main(["inspect", "fails.py"]) == 1
    told = capsys.readouterr().err
    assert told.count("File ") == 2  # the script's two lines, and none of the command's
    assert told.endswith("RuntimeError: boom\n")
    (tmp_path / "leaves.py").write_text("import sys\nsys.exit('no data')\n")
    assert main(["inspect", "leaves.py"]) == 1
    assert capsys.readouterr().err == "no data\n"


def test_a_script_that_does_nothing_is_told_so(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "idle.py").write_text("print(1)\n")
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert main(["inspect", "idle.py"]) == 0
    assert "nothing was recorded: no operation ran on a tensor" in capsys.readouterr().out
    monkeypatch.setitem(sys.modules, "torch", types.ModuleType("torch"))
    assert main(["inspect", "idle.py"]) == 0
    assert "the script uses PyTorch itself; --torch has it use retrograd" in capsys.readouterr().out


def test_a_script_of_pytorchs_is_recorded(tmp_path):
    (tmp_path / "step.py").write_text(
        "import torch\nx = torch.ones(2, requires_grad=True)\nx.exp().sum().backward()\n"
    )
    with start("inspect", "--torch", "step.py", cwd=tmp_path, stdout=subprocess.PIPE) as running:
        out, _ = running.communicate()
    assert running.returncode == 0
    assert "<Recording of step.py: 2 operations, 1 backward, 3 steps>" in out


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


def heard():
    """In a child: Ctrl-C is heard, even if whoever runs the tests does so in the background, where it is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's")
def test_ctrl_c_ends_a_recording_and_writes_it(tmp_path):
    script = tmp_path / "slow.py"
    script.write_text(
        SCRIPT.replace("sys.exit", "print('ready', flush=True)\nimport time\ntime.sleep(60)\nsys.exit")
    )
    with start(
        "inspect",
        str(script),
        "2",
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=heard,
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
    listed = capsys.readouterr().out.splitlines()
    assert len(listed) > 200
    # Those that others derive from compute nothing by themselves.
    assert {line.split()[0] for line in listed} & {"ActivationBackward0", "FloatUnaryBackward0"} == set()


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
    text += 'COMP_WORDS=(retrograd completion z); COMP_CWORD=2; _retrograd; echo "${COMPREPLY[@]}"\n'
    done = subprocess.run(["bash"], input=text, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["inspect", "--limit", "zsh"]
