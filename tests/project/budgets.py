"""How long files and functions are. `python -m tests.project.budgets` prints those over budget."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import NamedTuple

from .sources import functions, python_files, relative, tree

# Above its budget a thing is reported; above its limit it must be cut, or explained below.
FILE_BUDGET, FILE_LIMIT = 600, 800  # a subject is not cut in two for a few lines more
FUNCTION_BUDGET, FUNCTION_LIMIT = 40, 60

# What may be longer than its limit: a file, or `file:function`, with how long it may be and why.
EXCEPTIONS: dict[str, tuple[int, str]] = {
    "__init__.py": (2200, "a generated list of public names, one a line; nobody reads it from top to bottom"),
}


class Length(NamedTuple):
    name: str
    lines: int
    budget: int
    limit: int


def file_length(path: Path) -> Length:
    return Length(relative(path), len(path.read_text(encoding="utf-8").splitlines()), FILE_BUDGET, FILE_LIMIT)


def function_lengths(file: str, module: ast.Module) -> list[Length]:
    return [
        Length(f"{file}:{name}", body_lines(function), FUNCTION_BUDGET, FUNCTION_LIMIT)
        for name, function in functions(module)
    ]


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from `def` to the end, without the docstring: text for users costs the reader of the code nothing."""
    assert function.end_lineno is not None
    lines = function.end_lineno - function.lineno + 1
    if ast.get_docstring(function, clean=False) is not None:
        docstring = function.body[0]
        assert docstring.end_lineno is not None
        lines -= docstring.end_lineno - docstring.lineno + 1
    return lines


def lengths() -> list[Length]:
    found = []
    for path in python_files():
        found.append(file_length(path))
        found.extend(function_lengths(relative(path), tree(path)))
    return found


def main() -> None:
    over = sorted(
        (length for length in lengths() if length.lines > length.budget), key=lambda x: -x.lines / x.budget
    )
    for length in over:
        print(f"over budget: {length.name} has {length.lines} lines ({length.budget})")


if __name__ == "__main__":
    main()
