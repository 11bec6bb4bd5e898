"""What an op computes, in a line, and where its derivative is written."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from retrograd.core.op import Op
from retrograd.core.traits import name_class

_KNOWN: dict[Any, str] = {}


def formula(cls: Any) -> str:
    """What an op computes: the first line of its docstring, or of the class whose formulas it has.

    >>> import retrograd as rg
    >>> formula(type(rg.ones(2, requires_grad=True).exp().grad_fn))
    'e ** x'
    """
    if cls not in _KNOWN:
        texts = [
            base.__dict__.get("__doc__")
            for base in cls.__mro__
            if base.__module__.startswith("retrograd.ops")
        ]
        text = next(filter(None, texts), "")
        _KNOWN[cls] = str(text).strip().split("\n")[0].rstrip(".")
    return _KNOWN[cls]


def source(cls: type[Any]) -> tuple[Path, int, str] | None:
    """The file, line and text of a class, read from the source that ships with the package."""
    cls = getattr(cls, "same_as", None) or cls
    module = sys.modules.get(cls.__module__)
    file = None if module is None else getattr(module, "__file__", None)
    path = Path(file or "").with_suffix("").with_suffix(".py") if file else None
    if path is None or not path.is_file():
        return None
    text = path.read_text(encoding="utf-8")
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef) and node.name == cls.__qualname__:
            return path, node.lineno, ast.get_source_segment(text, node) or ""
    return None


def all_ops() -> Iterator[type[Op]]:
    """Every op class there is."""
    import retrograd.ops as package

    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(info.name)
    todo: list[type[Op]] = [Op]
    while todo:
        cls = todo.pop()
        todo += cls.__subclasses__()
        if cls.__module__.startswith("retrograd.ops."):
            yield cls


def is_family(cls: type[Op]) -> bool:
    """Whether a class is there for others to derive from: it says what they are, and an op says what it computes.

    >>> from retrograd.ops.elementwise.exponential import Exp, FloatUnary
    >>> is_family(FloatUnary), is_family(Exp)
    (True, False)
    """
    derived = any(each.same_as is None for each in cls.__subclasses__())
    return derived and formula(cls).startswith(("A ", "An ", "The ", "What ", "Owes "))


def node_name(cls: type[Op]) -> str:
    """The name of the nodes that an op makes, as PyTorch calls them."""
    name_class(cls)
    return cls.__name__
