"""Parameters that take what a user passes.

A compiled function refuses an argument that is not of the declared type before a line of it runs: a NumPy integer is
no `int`, and the error is mypyc's own. The interpreted one takes what works and raises PyTorch's error for the rest.
So the functions that users call are compiled with parameters of any type, and begin by taking what stands for a number
as Python's: see `retrograd.arguments`. Those that only our modules call keep their types, and with them their speed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tools.compiling.rewriting import Rewriting, Tally
from tools.compiling.syntax import tree_of

IMPORTS = Rewriting(
    "imports of what loose parameters need",
    re.compile(r"^from __future__ import annotations$", re.MULTILINE),
    r"\g<0>; from typing import Any; from retrograd.arguments import as_bool, as_float, as_int",
)
_NUMBERS = {"bool": "as_bool", "float": "as_float", "int": "as_int"}
_COMPOUND = (ast.For, ast.While, ast.With, ast.Try, ast.Match, ast.FunctionDef, ast.ClassDef)
Edit = tuple[int, int, int, str]  # line, first and last column, and what is to stand there


def loosened(source: str, public: set[str], tally: Tally) -> str:
    """A module with the parameters of its `public` functions (`f`, `Class.method`) declared `Any`.

    Lines stay where they are, because tracebacks name them.
    """
    edits = [edit for function in _named(tree_of(source), public) for edit in _edits(function)]
    if not edits:
        return source
    lines = source.encode().splitlines(keepends=True)
    for line, first, last, text in sorted(edits, reverse=True):
        old = lines[line - 1]
        lines[line - 1] = old[:first] + text.encode() + old[last:]
    return IMPORTS.apply(b"".join(lines).decode(), tally)


def _named(tree: ast.Module, names: set[str]) -> Iterator[ast.FunctionDef]:
    """The functions of those names; properties are no calls."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name in names and not _is_overload(node):
            yield node
        elif isinstance(node, ast.ClassDef):
            methods = [part for part in node.body if isinstance(part, ast.FunctionDef) and _is_method(part)]
            yield from (method for method in methods if f"{node.name}.{method.name}" in names)


def _is_overload(function: ast.FunctionDef) -> bool:
    """Whether a definition is for type checkers alone."""
    return any(ast.unparse(d).rpartition(".")[2] == "overload" for d in function.decorator_list)


def _is_method(function: ast.FunctionDef) -> bool:
    return {ast.unparse(d) for d in function.decorator_list} <= {"staticmethod", "classmethod"}


def _edits(function: ast.FunctionDef) -> Iterator[Edit]:
    """What is written otherwise: annotations that say more than Any, and the beginning."""
    taken = []
    for arg in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs):
        hint = arg.annotation
        if hint is not None and ast.unparse(hint) != "Any":
            if hint.lineno != hint.end_lineno or hint.end_col_offset is None:
                raise RuntimeError(f"line {hint.lineno}: an annotation over several lines cannot be loosened")
            yield hint.lineno, hint.col_offset, hint.end_col_offset, "Any"
            number = _NUMBERS.get(ast.unparse(hint).removesuffix(" | None"))
            if number is not None and not _judges(function, arg.arg):
                taken.append(f"{arg.arg} = {number}({arg.arg})")
    if taken:
        yield from _beginning(function, taken)
    for rest in (function.args.vararg, function.args.kwarg):
        if rest is not None and rest.annotation is not None and rest.annotation.end_col_offset is not None:
            yield rest.annotation.lineno, rest.annotation.col_offset, rest.annotation.end_col_offset, "Any"


def _judges(function: ast.FunctionDef, name: str) -> bool:
    """Whether a function looks itself at what its argument is."""
    return any(
        isinstance(node, ast.Call)
        and ast.unparse(node.func) == "isinstance"
        and ast.unparse(node.args[0]) == name
        for node in ast.walk(function)
    )


def _beginning(function: ast.FunctionDef, taken: list[str]) -> Iterator[Edit]:
    """Assignments at the beginning of a function, on a line that it has."""
    first = function.body[0]
    if ast.get_docstring(function, clean=False) is not None:
        yield _insertion(*_end(first), f"; {'; '.join(taken)}")
    elif isinstance(first, ast.If):  # in its condition
        yield _insertion(
            first.test.lineno, first.test.col_offset, f"[{', '.join(taken).replace('=', ':=')}] and ("
        )
        yield _insertion(*_end(first.test), ")")
    elif isinstance(first, _COMPOUND):
        raise RuntimeError(
            f"line {function.lineno}: {function.name} takes numbers from users, so it needs a docstring or another "
            "beginning: nothing can be put before this statement"
        )
    else:
        yield _insertion(first.lineno, first.col_offset, f"{'; '.join(taken)}; ")


def _insertion(line: int, column: int, text: str) -> Edit:
    return line, column, column, text


def _end(node: ast.stmt | ast.expr) -> tuple[int, int]:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return node.end_lineno, node.end_col_offset
