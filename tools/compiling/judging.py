"""Public functions that ask, when they have failed, whether a wrong type is to be told first.

mypyc writes a function in C for each of Python's, which Python calls: it takes the arguments apart and calls the
compiled code. A public one is renamed, and called by another that has its name and looks whether it has failed. See
Note [Types first] in ops/refusals.py.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from mypyc.namegen import NameGenerator
from tools.compiling.public import declared_names
from tools.compiling.rewriting import Rewriting, Tally
from tools.compiling.syntax import tree_of

_ARGUMENTS = "PyObject *self, PyObject *const *args, size_t nargs, PyObject *kwnames"
WRAPPERS = Rewriting(
    "functions that tell a wrong type first",
    re.compile(rf"^ *PyObject \*CPyPy_(\w+)\({re.escape(_ARGUMENTS)}\) \{{$", re.MULTILINE),
)


def judge(module: str, source: str, names: NameGenerator, text: str, tally: Tally) -> str:
    """The C file of a module whose public functions do so."""
    public = _public(module, source, names)

    def changed(found: re.Match[str]) -> str | None:
        name = public.get(found[1])
        if name is None:
            return None
        return (
            f"static PyObject *unjudged_{found[1]}({_ARGUMENTS});\n"
            f"PyObject *CPyPy_{found[1]}({_ARGUMENTS}) {{\n"
            f"    PyObject *found = unjudged_{found[1]}(self, args, nargs, kwnames);\n"
            f'    return found != NULL ? found : tell_types_first(self, "{name}", args, nargs, kwnames);\n'
            f"}}\nstatic PyObject *unjudged_{found[1]}({_ARGUMENTS}) {{"
        )

    return WRAPPERS.apply(text, tally, changed)


def count(module: str, source: str, names: NameGenerator) -> int:
    """How many there are."""
    return len(_public(module, source, names))


def _public(module: str, source: str, names: NameGenerator) -> Mapping[str, str]:
    """The functions that a module declares, by the names in C."""
    tree = tree_of(source)
    functions = {
        node.name for node in tree.body if isinstance(node, ast.FunctionDef)
    }  # classes are public, too
    return {str(names.private_name(module, name)): name for name in declared_names(tree) if name in functions}
