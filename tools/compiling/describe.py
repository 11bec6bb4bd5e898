"""Docstrings and signatures of compiled functions, as `help` and `inspect.signature` show them.

mypyc 2.4.1 drops docstrings, and signatures with a default that is no plain literal; it shows all arguments as
positional if one is a float with a default; a function within a function has neither. Here they are taken from the
source and put into the generated C.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from mypyc.codegen.cstring import c_string_initializer
from mypyc.namegen import NameGenerator
from tools.compiling.rewriting import Rewriting, Tally
from tools.compiling.syntax import tree_of

_STRING = r'PyDoc_STR\((?:NULL|"(?:[^"\\]|\\.)*")\)'
FUNCTIONS = Rewriting(
    "descriptions of functions",
    re.compile(rf'(\{{"\w+",\s+\(PyCFunction\)CPyPy_(\w+),\s+METH_[\w |]+, ){_STRING}'),
)
CLASSES = Rewriting(
    "descriptions of classes",
    re.compile(rf"(PyTypeObject CPyType_(\w+)_template_ = \{{\n(?:    .*\n)*?    \.tp_doc = ){_STRING}"),
)
PROPERTIES = Rewriting(
    "descriptions of properties",
    re.compile(r'(\{"(\w+)",\n +\(getter\)(\w+)_get_\w+,\n +(?:\(setter\)\w+,\n +|NULL, ))NULL, NULL\}'),
)
INNER_FUNCTIONS = Rewriting(
    "signatures of functions within functions",
    re.compile(r"^static PyGetSetDef (\w+_obj)_getseters\[\] = \{\n", re.MULTILINE),
)
NAMED_TUPLES = Rewriting(
    "descriptions of named tuples",
    re.compile(r"CPyStatics\[\d+\]; /\* 'mypyc filler docstring' \*/"),
)
MODULES = Rewriting("descriptions of modules", re.compile(r"NULL, /\* docstring \*/"))

Documented = ast.Module | ast.ClassDef | ast.FunctionDef


class Descriptions:
    """What is to be said about the functions and classes of one module."""

    def __init__(self, module: str, source: str, names: NameGenerator) -> None:
        self.tree = tree_of(source)
        # By the names they have in C.
        self.functions: dict[str, ast.FunctionDef] = {}
        self.methods: set[str] = set()
        self.properties: dict[str, ast.FunctionDef] = {}
        self.classes: dict[str, ast.ClassDef] = {}
        self.inner: dict[str, ast.FunctionDef] = {}
        # In the order of the source.
        self.tuples = [n for n in self.tree.body if isinstance(n, ast.ClassDef) and _is_named_tuple(n)]

        def c_name(name: str) -> str:
            return str(names.private_name(module, name))

        for node in self.tree.body:
            if isinstance(node, ast.FunctionDef):
                self.functions[c_name(node.name)] = node
            elif isinstance(node, ast.ClassDef) and node not in self.tuples:
                self.classes[c_name(node.name)] = node
                for part in _functions(node):
                    place = self.properties if _is_property(part) else self.functions
                    place[c_name(f"{node.name}.{part.name}")] = part
                    self.methods.add(c_name(f"{node.name}.{part.name}"))
        for name, node in _inner_functions(self.tree):
            self.inner[c_name(f"{name}_obj")] = node

    def put_into(self, text: str, tally: Tally) -> str:
        """The module's C file, with them."""
        text = FUNCTIONS.apply(text, tally, self._function)
        text = CLASSES.apply(text, tally, self._class)
        text = PROPERTIES.apply(text, tally, self._property)
        text = INNER_FUNCTIONS.apply(text, tally, self._inner_function)
        tuples = iter(self.tuples)
        text = NAMED_TUPLES.apply(text, tally, lambda _: _python_string(_doc(next(tuples))))
        return MODULES.apply(text, tally, lambda _: f"{_c_string(_doc(self.tree))},")

    def expected(self) -> dict[Rewriting, int]:
        """How often that happens in the module."""
        return {
            FUNCTIONS: len(self.functions),
            CLASSES: len(self.classes),
            PROPERTIES: len(self.properties),
            INNER_FUNCTIONS: len(self.inner),
            NAMED_TUPLES: len(self.tuples),
            MODULES: 1,
        }

    def _function(self, found: re.Match[str]) -> str | None:
        node = self.functions.get(found[2])
        if node is None:
            return None
        return found[1] + _c_string(_signature(node, found[2] in self.methods) + _doc(node))

    def _class(self, found: re.Match[str]) -> str | None:
        node = self.classes.get(found[2])
        if node is None:
            return None
        made_by = next((f for f in _functions(node) if f.name == "__init__"), None)
        call = "" if made_by is None else _signature(made_by, True, node.name)
        return found[1] + _c_string(call + _doc(node))

    def _property(self, found: re.Match[str]) -> str | None:
        node = self.properties.get(f"{found[3]}___{found[2]}")
        return None if node is None else f"{found[1]}{_c_string(_doc(node))}, NULL}}"

    def _inner_function(self, found: re.Match[str]) -> str | None:
        """The class of such a function gets the attribute that `inspect` reads; the source gives it a docstring."""
        node = self.inner.get(found[1])
        if node is None:
            return None
        signature = f"({', '.join(_parameters(node.args))})"
        return (
            f"static PyObject *{found[1]}_signature(PyObject *self, void *closure)\n"
            f"{{\n    return {_python_string(signature)}\n}}\n"
            f'{found[0]}    {{"__text_signature__", {found[1]}_signature, NULL, NULL, NULL}},\n'
        )


def _is_named_tuple(node: ast.ClassDef) -> bool:
    """Such classes are made by Python, with a docstring of mypyc's own."""
    return any(isinstance(base, ast.Name) and base.id == "NamedTuple" for base in node.bases)


def _functions(node: ast.ClassDef) -> Iterator[ast.FunctionDef]:
    """The methods and properties of a class, without setters."""
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and not _has_decorator(part, "setter"):
            yield part


def _inner_functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """The functions within functions, by the names that mypyc makes: `inner_outer` and `inner_method_Class`."""
    outer = [(f.name, f) for f in tree.body if isinstance(f, ast.FunctionDef)]
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            outer += [(f"{f.name}_{node.name}", f) for f in node.body if isinstance(f, ast.FunctionDef)]
    for name, function in outer:
        for node in ast.walk(function):
            if isinstance(node, ast.FunctionDef) and node is not function:
                yield f"{node.name}_{name}", node


def _is_property(node: ast.FunctionDef) -> bool:
    return _has_decorator(node, "property")


def _has_decorator(node: ast.FunctionDef, name: str) -> bool:
    return any(ast.unparse(decorator).rpartition(".")[2] == name for decorator in node.decorator_list)


def _doc(node: Documented) -> str:
    return ast.get_docstring(node) or ""


def _signature(node: ast.FunctionDef, method: bool, name: str = "") -> str:
    """`f($self, x, dim=None, *, out=None)` and the mark that ends a signature."""
    parameters = list(_parameters(node.args))
    if method and not _has_decorator(node, "staticmethod"):
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


def _python_string(text: str) -> str:
    return f"PyUnicode_InternFromString({_literal(text)});"


def _literal(text: str) -> str:
    return str(c_string_initializer(text.encode()))
