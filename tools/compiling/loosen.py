"""Parameters that take what a user passes.

A compiled function refuses an argument that is not of the declared type before a line of it runs: a NumPy integer is
no `int`, and the error is mypyc's own. The interpreted one takes what works and raises PyTorch's error for the rest.
So the functions that users call are compiled with parameters of any type; those that only our modules call keep
theirs, and with them their speed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tools.compiling.declarations import is_declaration

_FUTURE = "from __future__ import annotations"

# Classes whose methods users call. Those of nodes and ops are called by the engine, which keeps to the types.
_CLASSES = {
    *("Tensor", "TensorFacts", "TensorConversions", "Generator", "device"),
    *("saved_tensors_hooks", "save_on_cpu", "detect_anomaly", "set_detect_anomaly", "set_fwd_grad_enabled"),
}


def loosened(source: str, imported: set[str]) -> str:
    """A module with the parameters of its public functions declared `Any`; lines stay where they are.

    Public are those that the module declares (`public("add")(add)`) and those of the names `imported`, which a
    package offers.
    """
    tree = ast.parse(source)
    hints = [hint for function in _public(tree, imported) for hint in _hints(function.args)]
    lines = source.encode().splitlines(keepends=True)
    for hint in sorted(hints, key=_position, reverse=True):
        line = lines[hint.lineno - 1]
        lines[hint.lineno - 1] = line[: hint.col_offset] + b"Any" + line[hint.end_col_offset :]
    text = b"".join(lines).decode()
    return text.replace(_FUTURE, f"{_FUTURE}; from typing import Any", 1) if hints else text


def _public(tree: ast.Module, imported: set[str]) -> Iterator[ast.FunctionDef]:
    """The functions and methods that users call; properties are no calls."""
    offered = imported | set(_declared(tree))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name in offered:
            yield node
        elif isinstance(node, ast.ClassDef) and node.name in _CLASSES:
            yield from (f for f in node.body if isinstance(f, ast.FunctionDef) and not f.decorator_list)


def _declared(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            call, given = node.value.func, node.value.args
            if isinstance(call, ast.Call) and is_declaration(call):
                yield from (part.id for part in given if isinstance(part, ast.Name))


def _hints(args: ast.arguments) -> Iterator[ast.expr]:
    """The annotations that say more than Any and stand on one line."""
    for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs):
        hint = arg.annotation
        if hint is not None and ast.unparse(hint) != "Any" and hint.lineno == hint.end_lineno:
            yield hint


def _position(hint: ast.expr) -> tuple[int, int]:
    return hint.lineno, hint.col_offset


def offered_by_packages(inits: list[str]) -> set[str]:
    """The names that `__init__` files import from modules."""
    return {
        alias.name
        for text in inits
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
