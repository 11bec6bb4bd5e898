"""Declarations as mypyc can make the most of them.

Of public functions: mypyc calls a function of its own module straight in C, but not a decorated one. `public` gives
the function itself back, so it can as well be called on it when all is defined: `@public("exp")` above `def exp`
becomes `public("exp")(exp)` below everything, and what is compiled has no decorator.

Of variants: `EluInPlace = variant(Elu, "EluBackward1", "…")` becomes a class statement, and that a native class.

Of classes: Python 3.13 and newer note the line where a class begins in the class itself, and `inspect.getsource` looks
there; mypyc does not, so the module does at its end.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

from tools.compiling.syntax import tree_of

DECORATORS = {"public", "public_property"}


def declared(source: str) -> str:
    """A module with its public names and lines declared at its end, and variants as classes; no line moves."""
    tree = tree_of(source)
    lines = source.splitlines(keepends=True)
    calls = []
    for function, decorator in _decorated(tree):
        calls.append(f"{ast.unparse(decorator)}({function.name})\n")
        _replace(lines, decorator, "")
    for name, assignment, call in _variants(tree):
        _replace(lines, assignment, _class(name, call))
    if sys.version_info >= (3, 13):
        calls += [
            f'setattr({node.name}, "__firstlineno__", {_first_line(node)})\n' for node in _classes(tree)
        ]
    return "".join([*lines, *calls])


def _classes(tree: ast.Module) -> Iterator[ast.ClassDef]:
    return (node for node in tree.body if isinstance(node, ast.ClassDef))


def _first_line(node: ast.ClassDef) -> int:
    """Where its text begins: with decorators, as Python counts."""
    return min(part.lineno for part in (node, *node.decorator_list))


def _replace(lines: list[str], node: ast.expr | ast.stmt, text: str) -> None:
    """Puts a line in place of those of a node."""
    first, last = node.lineno - 1, node.end_lineno or node.lineno
    lines[first:last] = [f"{text}\n", *["\n"] * (last - first - 1)]


def _variants(tree: ast.Module) -> Iterator[tuple[str, ast.Assign, ast.Call]]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            target, made_by = node.targets[0], node.value.func
            if isinstance(target, ast.Name) and isinstance(made_by, ast.Name) and made_by.id == "variant":
                yield target.id, node, node.value


def _class(name: str, call: ast.Call) -> str:
    """The class that a call of `variant` makes, on one line."""
    base, node_name, what = map(ast.unparse, call.args)
    more = "".join(f"; {k.arg} = {ast.unparse(k.value)}" for k in call.keywords)
    return f"class {name}({base}): {what}; node_name = {node_name}; same_as = {base}{more}"


def _decorated(tree: ast.Module) -> Iterator[tuple[ast.FunctionDef, ast.Call]]:
    """Functions and their declarations, the innermost of each function first, as Python applies them."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            for decorator in reversed(node.decorator_list):
                if isinstance(decorator, ast.Call) and is_declaration(decorator):
                    yield node, decorator


def is_declaration(call: ast.Call) -> bool:
    """Whether it is a call of `public` or `public_property`."""
    return isinstance(call.func, ast.Name) and call.func.id in DECORATORS
