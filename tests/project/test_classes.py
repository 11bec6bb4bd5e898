"""A class has a name of its own: who searches for it finds one definition.

The modules of `nn` have PyTorch's names, which are those of the ops that they call, too: there are two `Softmax`, the
module and its calculus. So it is with `distributions`: there are two `Poisson`, and with the methods of
`nn.utils.prune`: there are two `Identity`; and with the functions of
`autograd._functions`: there are two `Resize`. Each world by itself has a name once.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from .sources import python_files, relative, tree


def defined(module: ast.Module) -> Iterator[str]:
    """The classes that a module defines, variants of ops among them."""
    for node in ast.walk(module):
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            made_by = node.value.func
            if isinstance(made_by, ast.Name) and made_by.id == "variant":
                yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def test_each_class_name_is_defined_once():
    places = defaultdict(list)
    for path in python_files():
        for name in defined(tree(path)):
            room = relative(path).partition("/")[0]
            world = room if room in ("cpu", "cuda", "nn", "distributions", "distributed") else "the rest"
            world = path.stem if path.stem in ("prune", "_functions") else world
            places[name, world].append(relative(path))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_variants_count_as_classes():
    text = "class A: ...\nB = variant(A, 'N', 'does')\nC = other(A)\n"
    assert list(defined(ast.parse(text))) == ["A", "B"]
