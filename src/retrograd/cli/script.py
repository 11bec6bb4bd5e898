"""`retrograd run` and `retrograd debug`: a script of the user's, with this package as `torch`.

What Python finds first on its path is a package `torch` that makes way for ours: see `alias/path`.
"""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from retrograd.alias.install import FOLDER
from retrograd.forms import VARIABLE

PACKAGE = Path(__file__).resolve().parents[1]

_RUN = """\
Runs a script, or with -m a module, in which `torch` and everything below it mean retrograd, whether PyTorch is
installed or not. Ends with the script's exit status.

  retrograd run train.py --epochs 3
  retrograd run -m package.train --epochs 3
  retrograd run --interpreted train.py      on the library's sources, where it is compiled
"""

_DEBUG = """\
Runs a script under pdb, on the library's sources: step into loss.backward() and on into the engine.

  retrograd debug train.py
  retrograd debug -b engine/evaluate.py:evaluate train.py      stops before the engine's first node
"""


class NoSuchPlace(Exception):
    """A breakpoint that is in no file, or in none of its functions."""


def add(commands: Any) -> None:
    """Adds the commands to the parser."""
    run = commands.add_parser(
        "run",
        help="run a script as it is, with retrograd as its `torch`",
        description=_RUN,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    run.add_argument("-m", dest="module", action="store_true", help="run a module or package, by its name")
    run.add_argument(
        "--interpreted", action="store_true", help="run the library's sources even where it is compiled"
    )
    takes_script(run)
    run.set_defaults(call=_run)
    debug = commands.add_parser(
        "debug",
        help="run a script under pdb, with the library's sources to step through",
        description=_DEBUG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    debug.add_argument(
        *("-b", "--break"),
        dest="breakpoints",
        action="append",
        default=[],
        metavar="FILE:PLACE",
        help="run to a line or a function of the library or of a script, such as engine/evaluate.py:evaluate",
    )
    takes_script(debug)
    debug.set_defaults(call=_debug)


def takes_script(command: argparse.ArgumentParser, told: str = "a Python file") -> None:
    """Gives a command its script, and behind it what is the script's own."""
    command.add_argument("script", help=told)
    rest = command.add_argument(
        "arguments", nargs=argparse.REMAINDER, help="what the script is to see in sys.argv"
    )
    rest.required = False  # that there may be none is not said where the script is missing


def _run(arguments: argparse.Namespace) -> int:
    """Run a script, or a module, as Python does, but with this package as `torch`."""
    module = ["-m"] if arguments.module else []
    return become([*module, arguments.script, *arguments.arguments], arguments.interpreted)


def _debug(arguments: argparse.Namespace) -> int:
    """Run a script under pdb with the sources of this package; if there are breakpoints, up to the first of them."""
    try:
        commands = [f"break {path}:{line}" for path, line in map(place, arguments.breakpoints)]
    except NoSuchPlace as error:
        print(f"retrograd debug: {error}", file=sys.stderr)
        return 2
    if not Path(arguments.script).exists():  # pdb would begin, and end with status 1
        print(f"retrograd debug: there is no file {arguments.script}", file=sys.stderr)
        return 2
    commands += ["continue"] if commands else []
    options = [option for command in commands for option in ("-c", command)]
    return become(["-m", "pdb", *options, arguments.script, *arguments.arguments], interpreted=True)


def place(breakpoint_: str) -> tuple[Path, int]:
    """The file and line of `core/tensor.py:120` or `engine/evaluate.py:evaluate`; the package's files come first.

    >>> path, line = place("cli/script.py:place")
    >>> path.name, path.read_text().splitlines()[line - 1].strip()[:22]
    ('script.py', 'name, _, where = break')
    """
    name, _, where = breakpoint_.rpartition(":")
    path = next(
        (p for p in (PACKAGE / name, PACKAGE.parent / name, Path(name)) if name and p.is_file()), None
    )
    if path is None:
        raise NoSuchPlace(
            f"{breakpoint_}: no such file; say FILE:LINE or FILE:FUNCTION, as engine/evaluate.py:evaluate"
        )
    if where.isdigit():
        return path.resolve(), int(where)
    functions = dict(_functions(ast.parse(path.read_text(encoding="utf-8")), ""))
    if where not in functions:
        raise NoSuchPlace(f"{breakpoint_}: {name} has no function {where!r}; a method is called Class.method")
    return path.resolve(), _first_line(functions[where])


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    """The functions in a file, methods by `Class.method`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef):
            yield prefix + child.name, child
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")


def _first_line(function: ast.FunctionDef) -> int:
    """Where the work begins: a debugger would stop at `def` when the function is made."""
    documented = ast.get_docstring(function, clean=False) is not None and len(function.body) > 1
    return function.body[1 if documented else 0].lineno


def interpreter_options() -> list[str]:
    """What this Python was started with that a script notices: `-W`, `-X`, `-O`."""
    options = [f"-W{option}" for option in sys.warnoptions]
    options += [
        f"-X{name}" if value is True else f"-X{name}={value}" for name, value in sys._xoptions.items()
    ]
    return options + ["-O"] * sys.flags.optimize


def become(arguments: Sequence[str], interpreted: bool) -> int:
    """Run Python in this process's place, or beside it where a process cannot be replaced."""
    command = [sys.executable, *interpreter_options(), *arguments]
    path = [FOLDER, *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
    if interpreted:
        environment[VARIABLE] = "1"
    sys.stdout.flush()
    if os.name == "posix":
        os.execve(sys.executable, command, environment)  # noqa: S606 - the user's own script
    return subprocess.call(command, env=environment)  # noqa: S603
