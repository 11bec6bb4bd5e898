"""The commands `retrograd run` and `retrograd debug`. Where a debugger stops is tested in tests/build/test_forms.py."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import retrograd as rg
from retrograd.__config__ import is_compiled
from retrograd.cli import main
from retrograd.cli.script import NoSuchPlace, place

PACKAGE = Path(rg.__file__).parent


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(
        "import sys\nimport retrograd as rg\nprint(sys.argv[1:], rg.__config__.is_compiled())\nsys.exit(3)\n"
    )
    return path


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "retrograd", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def test_a_script_runs_as_python_runs_it(script):
    done = run("run", script, "a", "--interpreted", "-b")
    assert (done.stdout, done.returncode) == (f"['a', '--interpreted', '-b'] {is_compiled()}\n", 3)


def test_a_script_runs_on_the_sources(script):
    done = run("run", "--interpreted", script, "a")
    assert (done.stdout, done.returncode) == ("['a'] False\n", 3)


def test_a_system_that_cannot_replace_a_process_runs_another(script, monkeypatch, capfd):
    monkeypatch.setattr("os.name", "nt")
    assert main(["run", "--interpreted", str(script), "a"]) == 3
    assert capfd.readouterr().out == "['a'] False\n"


@pytest.mark.parametrize(
    ("said", "file", "begins"),
    [
        ("core/tensor.py:Tensor.requires_grad_", "core/tensor.py", "if not isinstance"),
        ("retrograd/cli/main.py:main", "cli/main.py", "if isinstance(sys.stdout"),
        (f"{PACKAGE / 'cli' / 'script.py'}:place", "cli/script.py", "name, _, where ="),
    ],
)
def test_a_breakpoint_is_where_the_work_of_a_function_begins(said, file, begins):
    path, line = place(said)
    assert path == (PACKAGE / file).resolve()
    assert path.read_text(encoding="utf-8").splitlines()[line - 1].strip().startswith(begins)


def test_a_breakpoint_may_be_a_line(tmp_path):
    mine = tmp_path / "mine.py"
    mine.write_text("x = 1\n")
    assert place("core/tensor.py:12") == ((PACKAGE / "core/tensor.py").resolve(), 12)
    assert place(f"{mine}:1") == (mine.resolve(), 1)


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        ("core/nothing.py:f", "core/nothing.py:f: no such file; say FILE:LINE or FILE:FUNCTION"),
        ("evaluate", "evaluate: no such file"),
        ("engine/evaluate.py:evaluatte", "engine/evaluate.py has no function 'evaluatte'"),
    ],
)
def test_a_breakpoint_that_is_nowhere_is_an_error(said, complaint, capsys):
    with pytest.raises(NoSuchPlace, match=complaint):
        place(said)
    assert main(["debug", "-b", said, "script.py"]) == 2
    assert capsys.readouterr().err.startswith(f"retrograd debug: {said}")


def test_the_example_in_the_help_is_a_place():
    path, line = place("engine/evaluate.py:evaluate")
    tree = ast.parse(path.read_text(encoding="utf-8"))
    function = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "evaluate")
    assert function.lineno < line <= function.end_lineno
