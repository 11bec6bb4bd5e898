"""Parameters that take what a user passes.

A compiled function refuses an argument that is not of the declared type before a line of it runs: a NumPy integer is
no `int`, and the error is mypyc's own. The interpreted one takes what works and raises PyTorch's error for the rest.
So the functions that users call are compiled with parameters of any type, and judge for themselves; where they hand on
to others, which keep their types and their speed, what stands for a number becomes Python's: `retrograd.arguments`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from tools.compiling.census import Census, Name
from tools.compiling.rewriting import Rewriting, Tally

IMPORTS = Rewriting(
    "imports of what loose parameters need",
    re.compile(r"^from __future__ import annotations$", re.MULTILINE),
    r"\g<0>; from typing import Any; from retrograd.arguments import as_bool, as_float, as_int",
)
_NUMBERS = {"bool": "as_bool", "float": "as_float", "int": "as_int"}


class Edits:
    """Changes to a text that leave its lines where they are, because tracebacks name them."""

    def __init__(self, text: str) -> None:
        self.lines = text.encode().splitlines(keepends=True)
        # By line and column: where it ends, and what is to stand there.
        self.made: dict[tuple[int, int], tuple[int, bytes]] = {}

    def replace(self, node: ast.expr, text: str) -> None:
        """Has another text stand for an expression on one line."""
        assert node.end_col_offset is not None
        if node.lineno != node.end_lineno:
            raise RuntimeError(f"line {node.lineno}: what stands on several lines cannot be replaced")
        self.made[node.lineno, node.col_offset] = node.end_col_offset, text.encode()

    def wrap(self, node: ast.expr, function: str) -> None:
        """Calls a function on an expression; of those that begin together, the outer one comes first."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        begin, end = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
        self.made[begin] = begin[1], self.made.get(begin, (0, b""))[1] + f"{function}(".encode()
        self.made[end] = end[1], b")" + self.made.get(end, (0, b""))[1]

    def text(self) -> str:
        """What comes of it."""
        lines = list(self.lines)
        for (line, first), (last, text) in sorted(self.made.items(), reverse=True):
            lines[line - 1] = lines[line - 1][:first] + text + lines[line - 1][last:]
        return b"".join(lines).decode()


def loosened(module: str, census: Census, public: Mapping[str, set[str]], source: str, tally: Tally) -> str:
    """The source of a module with the parameters of its `public` functions (`f`, `Class.method`) declared `Any`."""
    edits = Edits(source)
    for function in _named(census.trees[module], public[module]):
        for arg in (*_arguments(function), function.args.vararg, function.args.kwarg):
            if arg is not None and arg.annotation is not None and ast.unparse(arg.annotation) != "Any":
                edits.replace(arg.annotation, "Any")
        for value, kind in _handed_on(module, function, census, public):
            edits.wrap(value, _NUMBERS[kind])
    return IMPORTS.apply(edits.text(), tally) if edits.made else source


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


def _arguments(function: ast.FunctionDef) -> tuple[ast.arg, ...]:
    return (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)


def _kind(hint: ast.expr | None) -> str:
    """`int`, `bool`, `float` or nothing, for an annotation."""
    kind = "" if hint is None else ast.unparse(hint).removesuffix(" | None")
    return kind if kind in _NUMBERS else ""


# ---- where users' numbers go ----------------------------------------------------------------------------------------


def _handed_on(
    module: str, function: ast.FunctionDef, census: Census, public: Mapping[str, set[str]]
) -> Iterator[tuple[ast.expr, str]]:
    """What depends on arguments and goes where a number is declared: to functions, into fields, to typed variables."""
    loose = _loose_names(function)
    own = {
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in own | loose.keys():  # some function: nobody knows what it declares
                yield from ((value, _kind_of(value, loose)) for value in node.args if _kind_of(value, loose))
                continue
            declared = _declared(census, public, census.home(module, node.func.id))
            yield from (
                (value, kind) for value, kind in _matched(node, declared) if _names(value) & loose.keys()
            )
        elif isinstance(node, ast.BinOp):  # of two integers, for all that mypy knows
            yield from (
                (part, "int") for part in (node.left, node.right) if loose.get(ast.unparse(part)) == "int"
            )
        elif isinstance(node, ast.Assign):
            to_field = isinstance(node.targets[0], ast.Attribute) and isinstance(node.value, ast.Name)
            if (to_field or isinstance(node.value, ast.IfExp)) and _kind_of(node.value, loose):
                yield node.value, _kind_of(node.value, loose)


def _loose_names(function: ast.FunctionDef) -> dict[str, str]:
    """The arguments of a function and the variables that depend on them, with the kinds of numbers they are."""
    found = {arg.arg: _kind(arg.annotation) for arg in _arguments(function)}
    for node in ast.walk(function):
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and _names(node.value) & found.keys()
        ):
            found.setdefault(node.targets[0].id, _kind_of(node.value, found))
    return found


def _kind_of(value: ast.expr, loose: Mapping[str, str]) -> str:
    """The kind of number of an expression: that of the arguments in it."""
    kinds = {loose[name] for name in _names(value) & loose.keys()}
    return kinds.pop() if len(kinds) == 1 else ""


def _names(node: ast.AST) -> set[str]:
    """The names whose values an expression computes with; what it calls, or looks up, may be anything else."""
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, ast.IfExp):
        return _names(node.body) | _names(node.orelse)
    if isinstance(node, ast.BinOp | ast.UnaryOp | ast.BoolOp | ast.Compare | ast.NamedExpr):
        return set().union(*(_names(part) for part in ast.iter_child_nodes(node)))
    return set()


def _declared(census: Census, public: Mapping[str, set[str]], name: Name) -> list[tuple[str, str]]:
    """The parameters of a compiled function, or of a class's `__init__`, with the kinds of numbers they are.

    Public functions are loose themselves.
    """
    if {name[1], f"{name[1]}.__init__"} & public.get(name[0], set()):
        return []
    if name in census.functions:
        return [(arg.arg, _kind(arg.annotation)) for arg in _arguments(census.functions[name])]
    for found in [census.classes[relative] for relative in census.family(name) if relative in census.classes]:
        if found.is_named_tuple():
            return [
                (ast.unparse(f.target), _kind(f.annotation))
                for f in found.node.body
                if isinstance(f, ast.AnnAssign)
            ]
        for method in found.functions():
            if method.name == "__init__":
                return [(arg.arg, _kind(arg.annotation)) for arg in _arguments(method)[1:]]
    return []


def _matched(call: ast.Call, declared: list[tuple[str, str]]) -> Iterator[tuple[ast.expr, str]]:
    """The arguments of a call that are declared to be numbers, with their kinds."""
    for value, (_, kind) in zip(call.args, declared, strict=False):
        if isinstance(value, ast.Starred):
            return
        if kind:
            yield value, kind
    kinds = dict(declared)
    for keyword in call.keywords:
        if kinds.get(keyword.arg or ""):
            yield keyword.value, kinds[keyword.arg or ""]
