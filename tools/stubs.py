"""How type checkers are told of a function of the op library: its signature as it is written, for another place.

The place may give names another meaning: in a class that has a method `float`, a parameter is a `builtins.float`.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

WHERE_RESULTS_GO = ("out", "inplace")  # what an in-place form does not take


class Source(NamedTuple):
    """What a module says: its functions, each with its overloads, and where its other names come from."""

    functions: dict[str, list[ast.FunctionDef]]
    homes: dict[str, str]


@cache
def source_of(module: str) -> Source:
    """The text of a module, as far as signatures need it."""
    functions: dict[str, list[ast.FunctionDef]] = {}
    homes: dict[str, str] = {}
    statements = ast.parse(Path(str(sys.modules[module].__file__)).read_text(encoding="utf-8")).body
    for node in statements:
        if isinstance(node, ast.If):  # what is imported for type checkers alone
            statements.extend(node.body)
        elif isinstance(node, ast.FunctionDef):
            functions.setdefault(node.name, []).append(node)
        elif isinstance(node, ast.ImportFrom):
            homes |= {a.asname or a.name: f"from {node.module} import {a.name}" for a in node.names}
        elif isinstance(node, ast.Import):
            homes |= {a.asname or a.name: f"import {a.name}" for a in node.names}
        else:
            homes |= {name: f"from {module} import {name}" for name in _assigned(node)}
    return Source(functions, homes)


def _assigned(node: ast.stmt) -> Iterator[str]:
    """The names that a class or an assignment defines."""
    if isinstance(node, ast.ClassDef):
        yield node.name
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    yield from (target.id for target in targets if isinstance(target, ast.Name))


class Place:
    """Where declarations stand: which names mean something else there, and what has to be imported."""

    def __init__(self, taken: set[str], prefix: str = "") -> None:
        self.taken = taken
        self.prefix = prefix  # of everything that is imported, where it is not to be seen
        self.imports: dict[str, str] = {}

    def name(self, name: str, source: Source) -> str:
        """What the place calls a name of a module."""
        if name not in source.homes:
            if not hasattr(builtins, name):
                raise NameError(f"{name} is used in an annotation and defined nowhere")
            return f"{self._bind('builtins', 'import builtins')}.{name}" if name in self.taken else name
        return self._bind(name, source.homes[name])

    def _bind(self, name: str, clause: str) -> str:
        local = f"_{name}" if self.prefix or name in self.taken else name
        if self.imports.setdefault(local, clause) != clause:
            raise NameError(f"{local} would be two things: {self.imports[local]}, {clause}")
        return local

    def import_lines(self) -> list[str]:
        """The imports that bind the names in use."""
        return [
            clause if clause.endswith(f" {local}") else f"{clause} as {local}"
            for local, clause in sorted(self.imports.items())
        ]

    def annotation(self, node: ast.expr | None, source: Source) -> str:
        """An annotation as it reads there."""
        if node is None:
            return self.name("Any", ANYTHING)
        return ast.unparse(_Renamed(self, source).visit(ast.parse(ast.unparse(node), mode="eval").body))


ANYTHING = Source({}, {"Any": "from typing import Any"})
TENSOR = Source({}, {"Tensor": "from retrograd.core.tensor import Tensor"})


class _Renamed(ast.NodeTransformer):
    """An annotation in which names are those of a place."""

    def __init__(self, place: Place, source: Source) -> None:
        self.place, self.source = place, source

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.parse(self.place.name(node.id, self.source), mode="eval").body

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id == "Literal":  # its strings are no names
            return ast.Subscript(self.visit(node.value), node.slice)
        self.generic_visit(node)
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if isinstance(node.value, str):
            parsed: ast.expr = self.visit(ast.parse(node.value, mode="eval").body)
            return parsed
        return node


# -- one declaration -----------------------------------------------------------------------------------------------


def declaration(name: str, form: Any, place: Place, first: str = "self") -> list[str]:
    """A method, property or in-place form as a stub declares it; `first` is the tensor that it is called on."""
    if isinstance(form, property):
        return _property(name, form, place)
    in_place = hasattr(form, "function")
    function = form.function if in_place else form
    source = source_of(function.__module__)
    *overloads, implementation = source.functions[function.__name__]
    texts = []
    for signature in overloads or [implementation]:
        parameters = _parameters(signature.args, place, source, first, WHERE_RESULTS_GO if in_place else ())
        result = place.annotation(signature.returns, source)
        if in_place:
            result = place.name("Tensor", TENSOR)
        texts.append(f"def {name}({', '.join(parameters)}) -> {result}: ...")
    texts = list(dict.fromkeys(texts))
    if len(texts) == 1:
        return texts
    decorator = place.name("overload", Source({}, {"overload": "from typing import overload"}))
    return [line for text in texts for line in (f"@{decorator}", text)]


def _property(name: str, form: property, place: Place) -> list[str]:
    getter: Any = form.fget
    source = source_of(getter.__module__)
    result = place.annotation(source.functions[getter.__name__][-1].returns, source)
    lines = ["@property", f"def {name}(self) -> {result}: ..."]
    if form.fset is not None:
        setter: Any = form.fset
        source = source_of(setter.__module__)
        given = source.functions[setter.__name__][-1].args.args[1].annotation
        value = place.annotation(given, source)
        lines += [f"@{name}.setter", f"def {name}(self, value: {value}) -> None: ..."]
    return lines


def _parameters(
    args: ast.arguments, place: Place, source: Source, first: str, dropped: tuple[str, ...]
) -> list[str]:
    """The parameters, of which the first is the tensor."""
    positional = [*args.posonlyargs, *args.args]
    defaults = [None] * (len(positional) - len(args.defaults)) + [*args.defaults]
    given = {arg.arg: default for arg, default in zip(positional, defaults, strict=True)}
    given |= {arg.arg: default for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True)}

    def text(arg: ast.arg) -> str:
        default = given[arg.arg]
        ending = "" if default is None else f" = {_default(default)}"
        return f"{arg.arg}: {place.annotation(arg.annotation, source)}{ending}"

    found = [first]
    for i, arg in enumerate(positional):
        if i and arg.arg not in dropped:
            found.append(text(arg))
        if i + 1 == len(args.posonlyargs):
            found.append("/")
    if args.vararg is not None and positional:
        found.append(f"*{args.vararg.arg}: {place.annotation(args.vararg.annotation, source)}")
    named = [text(arg) for arg in args.kwonlyargs if arg.arg not in dropped]
    if named and not (args.vararg is not None and positional):
        found.append("*")
    found += named
    if args.kwarg is not None:
        found.append(f"**{args.kwarg.arg}: {place.annotation(args.kwarg.annotation, source)}")
    return found


def _default(node: ast.expr) -> str:
    """A default that is a number, a string or a name like None; others are left open."""
    value = node.operand if isinstance(node, ast.UnaryOp) else node
    return ast.unparse(node) if isinstance(value, ast.Constant) else "..."
