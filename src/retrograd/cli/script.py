"""`retrograd run` and `retrograd debug`: a script of the user's, with this package as `torch`.

What Python finds first on its path is a package `torch` that makes way for ours: see `alias/path`.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from retrograd.alias.install import FOLDER
from retrograd.forms import VARIABLE

PACKAGE = Path(__file__).resolve().parents[1]


class NoSuchPlace(Exception):
    """A breakpoint that is in no file, or in none of its functions."""


def run(script: str, arguments: Sequence[str], interpreted: bool, module: bool = False) -> int:
    """Run a script, or a `module`, as Python does, but with this package as `torch`.

    `interpreted` has the sources of this package run even where it is compiled.
    """
    return become([*(["-m"] if module else []), script, *arguments], interpreted)


def debug(script: str, arguments: Sequence[str], breakpoints: Sequence[str]) -> int:
    """Run a script under pdb with the sources of this package; if there are `breakpoints`, up to the first of them."""
    commands = [f"break {path}:{line}" for path, line in map(place, breakpoints)]
    commands += ["continue"] if commands else []
    options = [option for command in commands for option in ("-c", command)]
    return become(["-m", "pdb", *options, script, *arguments], interpreted=True)


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
