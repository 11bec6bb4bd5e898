"""Declarations of public functions, moved to the end of their module.

mypyc calls a function of its own module straight in C, but not a decorated one. `public` gives the function itself
back, so it can as well be called on it when all is defined: `@public("exp")` above `def exp` becomes
`public("exp")(exp)` below everything, and what is compiled has no decorator.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

DECORATORS = {"public", "public_property"}


def declared_below(source: str) -> str:
    """A module with its declarations at the end; lines stay where they are."""
    lines = source.splitlines(keepends=True)
    calls = []
    for function, decorator in _decorated(ast.parse(source)):
        calls.append(f"{ast.unparse(decorator)}({function.name})\n")
        for number in range(decorator.lineno - 1, decorator.end_lineno or decorator.lineno):
            lines[number] = "\n"
    return "".join([*lines, *calls])


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
