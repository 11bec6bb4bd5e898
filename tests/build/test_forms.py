"""One install runs compiled or from its sources, and a debugger, a tracer and a traceback see the sources of both."""

from __future__ import annotations

import ast
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import retrograd as rg
from retrograd.__config__ import is_compiled

PROGRAM = """
import sys
import retrograd as rg

x = rg.ones(3, requires_grad=True)
y = (x * x).sum()
y.backward()
print(sys.argv[1:], x.grad.tolist(), rg.__config__.is_compiled(), "retrograd__mypyc" in sys.modules)
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(PROGRAM)
    return path


def output(*command: object, typed: str = "", **environment: str) -> str:
    """What Python prints, given arguments and what is typed."""
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        input=typed,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def source_of(module: str) -> str:
    return str(Path(rg.__file__).parent / module)


# ---- which form runs ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", ["", "0", "1"])
def test_the_environment_asks_for_the_sources(script, asked):
    compiled = is_compiled() and asked != "1"
    expected = f"['a'] [2.0, 2.0, 2.0] {compiled} {compiled}\n"
    assert output(script, "a", RETROGRAD_INTERPRETED=asked) == expected


def test_show_says_which_form_runs():
    show = "import retrograd as rg; print(rg.__config__.show())"
    assert "RETROGRAD_INTERPRETED asks for" in output("-c", show, RETROGRAD_INTERPRETED="1")
    said = "Compiled by mypyc" if is_compiled() else "Pure Python: nothing is compiled"
    assert said in output("-c", show, RETROGRAD_INTERPRETED="0")


@pytest.mark.skipif(not is_compiled(), reason="there is nothing to take from a library")
def test_another_install_is_not_taken_for_this_ones_library(tmp_path):
    """The library is looked for beside the package, not on Python's path."""
    package = tmp_path / "retrograd"
    package.symlink_to(Path(rg.__file__).parent)
    program = "import retrograd.forms as f; print(f.COMPILED, f.__file__)"
    forms = Path(sys.modules["retrograd.forms"].__file__)
    copy = tmp_path / "other" / "retrograd"
    copy.mkdir(parents=True)
    (copy / "forms.py").write_text(forms.read_text())
    (copy / "__init__.py").write_text("")
    assert output("-c", program, PYTHONPATH=str(copy.parent)) == f"False {copy / 'forms.py'}\n"


# ---- sources --------------------------------------------------------------------------------------------------------


def test_modules_name_their_sources():
    from retrograd.core import tensor
    from retrograd.ops import common

    for module in (tensor, common):
        assert module.__file__ == source_of(
            f"{module.__name__.removeprefix('retrograd.').replace('.', '/')}.py"
        )
        assert ast.parse(Path(module.__file__).read_text(encoding="utf-8"))


def test_a_traceback_shows_the_lines_of_the_library():
    program = "import retrograd as rg\nrg.ones(3, requires_grad=True).backward()\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    lines = done.stderr.splitlines()
    place = next(i for i, line in enumerate(lines) if "in make_grads" in line)
    file, line = lines[place].split('"')[1], int(lines[place].split("line ")[1].split(",")[0])
    assert Path(file).is_absolute()
    assert file.startswith(source_of("autograd"))
    assert lines[place + 1].strip() == Path(file).read_text(encoding="utf-8").splitlines()[line - 1].strip()


def test_the_source_of_a_node_can_be_shown():
    x = rg.ones(3, requires_grad=True)
    for y, name in ((x * x, "class Mul("), (x.exp(), "class Exp("), (rg.erfinv(x / 2), "class Erfinv(")):
        cls = type(y.grad_fn)
        assert inspect.getsource(cls).startswith(name)
        assert Path(inspect.getsourcefile(cls)).is_file()
        assert cls.__name__ == y.grad_fn.name()


# ---- debuggers ------------------------------------------------------------------------------------------------------


def test_a_tracer_sees_the_engine_at_work():
    program = """
import sys
import retrograd as rg
x = rg.ones(3, requires_grad=True)
y = (x * x).sum()
seen = set()
sys.settrace(lambda frame, event, arg: seen.add((frame.f_code.co_filename, frame.f_code.co_name)))
y.backward()
sys.settrace(None)
print(*sorted(f"{file}:{name}" for file, name in seen), sep="\\n")
"""
    seen = output("-c", program, RETROGRAD_INTERPRETED="1").splitlines()
    for place in ("core/tensor.py:backward", "engine/evaluate.py:evaluate"):
        assert source_of(place) in seen


@pytest.mark.parametrize(
    "arguments",
    [
        ("debug", "-b", "engine/evaluate.py:evaluate"),
        ("debug", "-b", "retrograd/engine/evaluate.py:evaluate"),
    ],
)
def test_a_breakpoint_stops_in_the_engine(script, arguments):
    printed = output(
        "-m", "retrograd", *arguments, script, "a", typed="where\nprint(node.name())\nclear 1\ncontinue\n"
    )
    assert f"> {source_of('engine/evaluate.py')}(" in printed
    assert "SumBackward0" in printed
    assert "['a'] [2.0, 2.0, 2.0] False False" in printed


def test_pdb_finds_the_files_of_the_library_by_itself(script):
    text = Path(source_of("engine/evaluate.py")).read_text(encoding="utf-8")
    node = next(n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef) and n.name == "evaluate")
    line = node.body[-1].lineno
    typed = f"break retrograd/engine/evaluate.py:{line}\ncontinue\n"
    assert f"> {source_of('engine/evaluate.py')}({line})evaluate()" in output(
        "-m", "retrograd", "debug", script, typed=typed
    )


def test_pdb_steps_from_backward_into_the_library(script):
    typed = f"break {script}:7\ncontinue\nstep\nwhere\n"
    assert f"{source_of('core/tensor.py')}(" in output("-m", "retrograd", "debug", script, typed=typed)
