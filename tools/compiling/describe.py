"""Docstrings and signatures of compiled functions, as `help` and `inspect.signature` show them.

mypyc 2.4.1 drops docstrings, and signatures with a default that is no plain literal; it shows all arguments as
positional if one is a float with a default. Here both are taken from the source and put into the generated C.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from mypyc.codegen.cstring import c_string_initializer
from mypyc.namegen import NameGenerator

_STRING = r'PyDoc_STR\((?:NULL|"(?:[^"\\]|\\.)*")\)'
_FUNCTION = re.compile(rf'(\{{"\w+",\s+\(PyCFunction\)CPyPy_(\w+),\s+METH_[\w |]+, ){_STRING}')
_CLASS = re.compile(rf"(PyTypeObject CPyType_(\w+)_template_ = \{{\n(?:    .*\n)*?    \.tp_doc = ){_STRING}")
_PROPERTY = re.compile(r'(\{"(\w+)",\n     \(getter\)(\w+)_get_\w+, .*\n     )NULL, NULL\}')
_FILLER = re.compile(r"\w+\[\d+\]; /\* 'mypyc filler docstring' \*/")
_MODULE = "NULL, /* docstring */"

Documented = ast.Module | ast.ClassDef | ast.FunctionDef


class Descriptions:
    """What is to be said about the functions and classes of one module."""

    def __init__(self, module: str, source: str, names: NameGenerator) -> None:
        self.tree = ast.parse(source)
        self.nodes: dict[str, Documented] = {}  # by the names they have in C
        self.methods: set[str] = set()
        for name, node in _definitions(self.tree):
            c_name = names.private_name(module, name)
            self.nodes[c_name] = node
            if "." in name:
                self.methods.add(c_name)

    def put_into(self, text: str) -> str:
        """The module's C file, with them."""
        text = _FUNCTION.sub(self._function, text)
        text = _CLASS.sub(self._class, text)
        text = _PROPERTY.sub(self._property, text)
        text = self._named_tuples(text)
        return text.replace(_MODULE, f"{_c_string(_doc(self.tree))},", 1)

    def _function(self, found: re.Match[str]) -> str:
        node = self.nodes.get(found[2])
        if not isinstance(node, ast.FunctionDef):
            return found.group()
        return found[1] + _c_string(_signature(node, found[2] in self.methods) + _doc(node))

    def _class(self, found: re.Match[str]) -> str:
        node = self.nodes.get(found[2])
        if not isinstance(node, ast.ClassDef):
            return found.group()
        made_by = next(
            (f for f in node.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"), None
        )
        call = "" if made_by is None else _signature(made_by, True, node.name)
        return found[1] + _c_string(call + _doc(node))

    def _property(self, found: re.Match[str]) -> str:
        node = self.nodes.get(f"{found[3]}___{found[2]}")
        return found.group() if node is None else f"{found[1]}{_c_string(_doc(node))}, NULL}}"

    def _named_tuples(self, text: str) -> str:
        """Their classes are made by Python, in the order of the source, with a docstring of mypyc's own."""
        tuples = [n for n in self.tree.body if isinstance(n, ast.ClassDef) and _is_named_tuple(n)]
        if len(_FILLER.findall(text)) != len(tuples):
            raise RuntimeError(
                "a class that is neither native nor a named tuple: it would lose its docstring"
            )
        docs = iter(tuples)
        return _FILLER.sub(lambda _: f"PyUnicode_InternFromString({_literal(_doc(next(docs)))});", text)


def _is_named_tuple(node: ast.ClassDef) -> bool:
    return any(isinstance(base, ast.Name) and base.id == "NamedTuple" for base in node.bases)


def _definitions(tree: ast.Module) -> Iterator[tuple[str, Documented]]:
    """The functions and classes of a module and the methods of those, by their names."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            yield node.name, node
            for part in node.body:
                if isinstance(part, ast.FunctionDef) and not _is_setter(part):
                    yield f"{node.name}.{part.name}", part


def _is_setter(node: ast.FunctionDef) -> bool:
    return any(isinstance(d, ast.Attribute) and d.attr in {"setter", "deleter"} for d in node.decorator_list)


def _doc(node: Documented) -> str:
    return ast.get_docstring(node) or ""


def _signature(node: ast.FunctionDef, method: bool, name: str = "") -> str:
    """`f($self, x, dim=None, *, out=None)` and the mark that ends a signature; nothing if a default has no text."""
    parameters = list(_parameters(node.args))
    kinds = {d.id for d in node.decorator_list if isinstance(d, ast.Name)}
    if method and "staticmethod" not in kinds:
        parameters = parameters[1:] if name else [f"${parameters[0]}", *parameters[1:]]
    joined = ", ".join(parameters)
    joined = joined.removeprefix("/, ") if name else joined
    return f"{name or node.name}({joined})\n--\n\n"


def _parameters(args: ast.arguments) -> Iterator[str]:
    plain = [*args.posonlyargs, *args.args]
    required = len(plain) - len(args.defaults)
    for i, arg in enumerate(plain):
        yield arg.arg if i < required else f"{arg.arg}={_default(args.defaults[i - required])}"
        if i + 1 == len(args.posonlyargs):
            yield "/"
    if args.vararg:
        yield f"*{args.vararg.arg}"
    elif args.kwonlyargs:
        yield "*"
    for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        yield arg.arg if default is None else f"{arg.arg}={_default(default)}"
    if args.kwarg:
        yield f"**{args.kwarg.arg}"


def _default(node: ast.expr) -> str:
    """A default as `inspect` can read it: numbers that are computed, like 1 / 8, are written out."""
    if isinstance(node, ast.BinOp):
        return repr(eval(compile(ast.Expression(node), "<default>", "eval"), {"__builtins__": {}}))
    return ast.unparse(node)


def _c_string(text: str) -> str:
    return f"PyDoc_STR({_literal(text)})"


def _literal(text: str) -> str:
    return str(c_string_initializer(text.encode()))
