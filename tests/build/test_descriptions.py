"""`help` and `inspect.signature` show of a compiled function what they show of its source."""

from __future__ import annotations

import ast
import importlib
import inspect
from typing import Any

import pytest
from tools.compiling.declarations import is_declaration
from tools.compiling.modules import PACKAGE, compiled_files

from tests.project.sources import tree

FILES = {path.relative_to(PACKAGE).as_posix(): path for path in compiled_files()}
each_file = pytest.mark.parametrize("file", FILES)


def functions(file: str) -> list[tuple[Any, ast.FunctionDef]]:
    """The functions of a module and what its source says of them; most decorated ones are something else."""
    module = importlib.import_module(f"retrograd.{file.removesuffix('.py').replace('/', '.')}")
    found = [n for n in tree(FILES[file]).body if isinstance(n, ast.FunctionDef) and as_written(n)]
    return [(getattr(module, node.name), node) for node in found]


def as_written(node: ast.FunctionDef) -> bool:
    """Whether a function is the one that its source defines, whatever is declared about it."""
    return all(isinstance(d, ast.Call) and is_declaration(d) for d in node.decorator_list)


def parameters(args: ast.arguments) -> list[tuple[str, str, bool]]:
    """Name, kind and whether there is a default."""
    plain = [*args.posonlyargs, *args.args]
    required = len(plain) - len(args.defaults)
    kinds = ["positional-only"] * len(args.posonlyargs) + ["positional or keyword"] * len(args.args)
    rows = [(a.arg, kind, i >= required) for i, (a, kind) in enumerate(zip(plain, kinds, strict=True))]
    rows += [(args.vararg.arg, "variadic positional", False)] if args.vararg else []
    rows += [
        (a.arg, "keyword-only", default is not None)
        for a, default in zip(args.kwonlyargs, args.kw_defaults, strict=True)
    ]
    return rows + ([(args.kwarg.arg, "variadic keyword", False)] if args.kwarg else [])


@each_file
def test_signatures_are_those_of_the_source(file):
    for function, node in functions(file):
        shown = [
            (p.name, p.kind.description, p.default is not p.empty)
            for p in inspect.signature(function).parameters.values()
        ]
        assert shown == parameters(node.args), function.__name__


@each_file
def test_docstrings_are_those_of_the_source(file):
    for function, node in functions(file):
        assert inspect.getdoc(function) == ast.get_docstring(node), function.__name__


@each_file
def test_classes_and_modules_have_their_docstrings(file):
    module = importlib.import_module(f"retrograd.{file.removesuffix('.py').replace('/', '.')}")
    assert inspect.cleandoc(module.__doc__ or "") == (ast.get_docstring(tree(FILES[file])) or "")
    for node in tree(FILES[file]).body:
        said = ast.get_docstring(node) if isinstance(node, ast.ClassDef) else None
        if said:
            assert inspect.cleandoc(getattr(module, node.name).__doc__) == said


@pytest.mark.parametrize(
    ("function", "name", "default"),
    [
        ("layer_norm", "eps", 1e-5),
        ("rrelu", "lower", 0.125),
        ("dropout", "p", 0.5),
        ("softplus", "threshold", 20.0),
    ],
)
def test_defaults_are_shown(function, name, default):
    from retrograd.nn import functional

    assert inspect.signature(getattr(functional, function)).parameters[name].default == default
