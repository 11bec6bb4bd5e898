"""Which functions and methods users call, read from what the package offers: `__all__`, and what modules declare."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache

from tools.compiling.census import Census, Name
from tools.compiling.declarations import is_declaration

ROOT = "retrograd"
_NODE = "Node"  # the engine calls the methods of nodes, and keeps to their types


def called_by_users(trees: Mapping[str, ast.Module], census: Census) -> dict[str, set[str]]:
    """By compiled module: its public functions, and the public methods of its public classes as `Class.method`.

    `trees` are all modules of the package, compiled or not.
    """
    offered = set(_offered(trees))
    found = {module: _functions(tree) & _names_in(module, offered) for module, tree in census.trees.items()}
    for module, tree in census.trees.items():
        found[module] |= _functions(tree) & set(declared_names(tree))
    for relative in {relative for name in offered for relative in census.family(name)}:
        if relative in census.classes and not any(name == _NODE for _, name in census.family(relative)):
            module, name = relative
            methods = (f.name for f in census.classes[relative].functions())
            found[module] |= {f"{name}.{method}" for method in methods if _is_public(method)}
    return found


def _offered(trees: Mapping[str, ast.Module]) -> Iterator[Name]:
    """What the package and its public modules offer, by the modules in which it is defined."""
    waiting, seen = [ROOT], {ROOT}
    while waiting:
        module = waiting.pop()
        for name in _public_names(trees[module]):
            home, own = _home(trees, module, name)
            if own:
                yield home, own
            elif home not in seen:
                seen.add(home)
                waiting.append(home)


def _home(trees: Mapping[str, ast.Module], module: str, name: str) -> Name:
    """Where something is defined, and what it is called there; nothing if it is a module itself."""
    source, own = imports_of(trees[module]).get(name, (module, name))
    if f"{source}.{own}" in trees:
        return f"{source}.{own}", ""
    if (source, own) == (module, name) or source not in trees:
        return source, own
    return _home(trees, source, own)


@cache
def imports_of(tree: ast.Module) -> dict[str, Name]:
    """What a module imports, for type checkers too."""
    return {
        alias.asname or alias.name: (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }


def _public_names(tree: ast.Module) -> list[str]:
    """`__all__`; without it, the functions and classes whose names say so."""
    listed = _table(tree, "__all__")
    if listed:
        return listed
    own = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    return [name for name in own if _is_public(name)]


def _table(tree: ast.Module, name: str) -> list[str]:
    """The strings of a list, or the keys of a dictionary, that a module assigns to `name`."""
    for node in tree.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(target, ast.Name) and target.id == name:
            value = getattr(node, "value", None)
            parts = value.keys if isinstance(value, ast.Dict) else getattr(value, "elts", ())
            return [str(part.value) for part in parts if isinstance(part, ast.Constant)]
    return []


def declared_names(tree: ast.Module) -> Iterator[str]:
    """What a module declares public: `public("add")(add)`, see declarations.py."""
    for node in tree.body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            call, given = node.value.func, node.value.args
            if isinstance(call, ast.Call) and is_declaration(call):
                yield from (part.id for part in given if isinstance(part, ast.Name))


def _functions(tree: ast.Module) -> set[str]:
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def _names_in(module: str, offered: set[Name]) -> set[str]:
    return {name for home, name in offered if home == module}


def _is_public(name: str) -> bool:
    return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))
