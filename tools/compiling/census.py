"""What the compiled sources hold, counted: the rewritings of the C that is made of them must find as much."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tools.compiling.syntax import tree_of

Name = tuple[str, str]  # a module, and what is called so in it

_TYPING = {"NamedTuple", "Protocol", "Generic"}  # bases that are none when the program runs


@dataclass
class Class:
    """A class statement, and what its bases are called where they are at home."""

    node: ast.ClassDef
    bases: list[Name]

    def functions(self) -> list[ast.FunctionDef]:
        """Its methods, and the functions of its properties."""
        return [part for part in self.node.body if isinstance(part, ast.FunctionDef)]

    def is_named_tuple(self) -> bool:
        """Such a class is made by Python."""
        return any(name == "NamedTuple" for _, name in self.bases)

    def is_serializable(self) -> bool:
        """Whether it says so itself."""
        return any(
            keyword.arg == "serializable" and ast.unparse(keyword.value) == "True"
            for decorator in self.node.decorator_list
            if isinstance(decorator, ast.Call)
            for keyword in decorator.keywords
        )


class Census:
    """The classes and functions of the modules that are compiled, given by their names and texts."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self.trees = {module: tree_of(text) for module, text in sources.items()}
        self.classes: dict[Name, Class] = {}
        self.functions: dict[Name, ast.FunctionDef] = {}
        self._known: dict[str, dict[str, Name]] = {}  # by module: what its names stand for
        for module, tree in self.trees.items():
            known = self._known[module] = dict(_imported(tree))
            for node in tree.body:
                if isinstance(node, ast.FunctionDef):
                    known[node.name] = (module, node.name)
                    self.functions[module, node.name] = node
                elif isinstance(node, ast.ClassDef):
                    known[node.name] = (module, node.name)
                    bases = [self.home(module, base.id) for base in node.bases if isinstance(base, ast.Name)]
                    self.classes[module, node.name] = Class(node, bases)

    def home(self, module: str, name: str) -> Name:
        """What a name stands for in a module."""
        return self._known[module].get(name, ("builtins", name))

    def family(self, name: Name) -> Iterator[Name]:
        """A class and all that it derives from."""
        yield name
        for base in self.classes[name].bases if name in self.classes else ():
            yield from self.family(base)

    def native(self) -> list[Name]:
        """The classes that become C structures."""
        return [name for name, found in self.classes.items() if not found.is_named_tuple()]

    def with_ordinary_base(self) -> list[Name]:
        """Those that derive from a class which is not compiled, and have weak references and attributes from it."""
        return [n for n in self.native() if any(self._is_ordinary(relative) for relative in self.family(n))]

    def exceptions(self) -> list[Name]:
        """Those that derive from a builtin exception."""
        return [n for n in self.native() if any(_is_exception(relative) for relative in self.family(n))]

    def initialised_late(self) -> list[Name]:
        """Those with an `__init__` of their own that `__new__` does not call, because they are serializable."""
        return [
            name
            for name in self.native()
            if any(f.name == "__init__" for f in self.classes[name].functions())
            and any(n in self.classes and self.classes[n].is_serializable() for n in self.family(name))
        ]

    def properties(self, decorator: str) -> int:
        """How many functions wear `@property`, or `@name.setter`."""
        return sum(
            ast.unparse(d).rpartition(".")[2] == decorator
            for name in self.native()
            for function in self.classes[name].functions()
            for d in function.decorator_list
        )

    def nested_functions(self) -> int:
        """How many lambdas there are, and functions within functions: each becomes a class of its own."""
        inner = [
            node
            for tree in self.trees.values()
            for outer in _outermost(tree)
            for node in ast.walk(outer)
            if isinstance(node, ast.FunctionDef) and node is not outer
        ]
        lambdas = [
            node for tree in self.trees.values() for node in ast.walk(tree) if isinstance(node, ast.Lambda)
        ]
        return len(inner) + len(lambdas)

    def _is_ordinary(self, name: Name) -> bool:
        return name not in self.classes and name[1] not in {*_TYPING, "object"}


def _imported(tree: ast.Module) -> Iterator[tuple[str, Name]]:
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                yield alias.asname or alias.name, (node.module, alias.name)


def _outermost(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield from (part for part in node.body if isinstance(part, ast.FunctionDef))
        elif isinstance(node, ast.FunctionDef):
            yield node


def _is_exception(name: Name) -> bool:
    found = getattr(builtins, name[1], None) if name[0] == "builtins" else None
    return isinstance(found, type) and issubclass(found, BaseException)
