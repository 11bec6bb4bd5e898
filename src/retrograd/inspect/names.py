"""Names for what a recording has seen: variables of the program, parameters of its modules, expressions in its code."""

from __future__ import annotations

import ast
import dis
import linecache
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

from retrograd.backends.base import is_array
from retrograd.core.tensor import Tensor
from retrograd.nn.module import Module

DEEPEST = 3  # how far into lists, dictionaries and objects a look for tensors goes


class Spot(NamedTuple):
    """A line of a program, and the part of it that an operation is."""

    file: str
    line: int
    function: str
    text: str
    start: int
    """The columns of the expression; -1 where they are not known."""
    end: int


@lru_cache(maxsize=1 << 14)
def spot_of(code: CodeType, lasti: int) -> Spot:
    """The place of an instruction."""
    positions = list(code.co_positions())
    line, last, start, end = (
        positions[lasti // 2] if lasti // 2 < len(positions) else (code.co_firstlineno, None, None, None)
    )
    number = code.co_firstlineno if line is None else line
    text = linecache.getline(code.co_filename, number).rstrip("\n")
    known = last == line and start is not None and end is not None
    return Spot(
        code.co_filename,
        number,
        code.co_qualname,
        text,
        _characters(text, start) if known else -1,
        _characters(text, end) if known else -1,
    )


def _characters(text: str, column: int | None) -> int:
    """Python counts columns in bytes."""
    return len(text.encode()[:column].decode(errors="ignore"))


@lru_cache(maxsize=1 << 14)
def _instructions(code: CodeType) -> dict[int, Any]:
    """Each instruction of a function, by the offset of the one before it."""
    found: dict[int, Any] = {}
    before = None
    for instruction in dis.get_instructions(code):
        if before is not None:
            found[before.offset] = instruction
        before = instruction
    return found


@lru_cache(maxsize=1 << 14)
def stored_name(code: CodeType, lasti: int) -> str:
    """The variable that an instruction's result is stored in right away, as `y` in `y = x.exp()`; empty if none is.

    >>> code = compile("y = x.exp()", "<test>", "exec")
    >>> call = [i.offset for i in dis.get_instructions(code) if i.opname == "CALL"][0]
    >>> stored_name(code, call)
    'y'
    """
    following = _instructions(code).get(lasti)
    if following is None or not following.opname.startswith("STORE_"):
        return ""
    name = following.argval
    if isinstance(name, tuple):
        name = name[0]
    if following.opname == "STORE_ATTR":
        return f".{name}"
    return name if isinstance(name, str) else ""


@lru_cache(maxsize=1 << 14)
def operand_texts(spot: Spot) -> tuple[str, ...]:
    """What the operands of an expression are called in the code, where they have plain names: `x`, `self.w`, `p["w"]`.

    >>> operand_texts(Spot("f.py", 1, "f", "y = x @ self.w", 4, 14))
    ('x', 'self.w')
    """
    try:
        tree = ast.parse(
            spot.text[max(spot.start, 0) : spot.end if spot.end > 0 else None].strip(), mode="eval"
        ).body
    except (SyntaxError, ValueError):
        return ()
    if isinstance(tree, ast.BinOp):
        parts: list[ast.expr] = [tree.left, tree.right]
    elif isinstance(tree, ast.Call):
        parts = list(tree.args)
        if isinstance(tree.func, ast.Attribute) and not _is_module(tree.func.value):
            parts = [tree.func.value, *parts]
    elif isinstance(tree, ast.UnaryOp):
        parts = [tree.operand]
    else:
        return ()
    return tuple(ast.unparse(part) if _is_plain(part) else "" for part in parts)


def _is_module(node: ast.expr) -> bool:
    """Whether this is likely a module: `rg` in `rg.exp(x)`."""
    return ast.unparse(node) in {
        "rg",
        "torch",
        "retrograd",
        "F",
        "nn",
        "nn.functional",
        "torch.nn.functional",
    }


def _is_plain(node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute):
        return _is_plain(node.value)
    if isinstance(node, ast.Subscript):
        return _is_plain(node.value) and isinstance(node.slice, ast.Constant)
    return isinstance(node, ast.Name)


def variables(frame: FrameType | None, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The variables that a frame sees, those that a user has named first: tensors, modules and what may hold some."""
    found: dict[str, Any] = dict(given or {})
    if frame is not None:
        for scope in (frame.f_locals, frame.f_globals):
            for name, value in list(scope.items()):
                if not name.startswith("__"):
                    found.setdefault(name, value)
    return found


def tensors_in(found: Mapping[str, Any]) -> dict[str, Tensor]:
    """The tensors among variables, in modules, lists, dictionaries and plain objects too, by how they are reached.

    >>> import retrograd as rg
    >>> list(tensors_in({"p": {"w": rg.ones(2)}, "xs": [rg.ones(1)]}))
    ["p['w']", 'xs[0]']
    """
    named: dict[str, Tensor] = {}
    seen: set[int] = set()
    todo: list[tuple[str, Any, int]] = [(name, value, 0) for name, value in found.items()][::-1]
    while todo:
        name, value, depth = todo.pop()
        if id(value) in seen:
            continue
        if is_a(value, Tensor):
            seen.add(id(value))
            if is_array(value.array):  # a parameter of a lazy module has none yet
                named[name] = value
        elif depth < DEEPEST:
            inside = _inside(name, value, depth)
            if inside:
                seen.add(id(value))
                todo += [(path, part, depth + 1) for path, part in inside[::-1]]
    return named


def is_a(value: Any, cls: type[Any]) -> bool:
    """`isinstance` without a question to the value: what stands for something else, as weakref.proxy, may raise then.

    >>> is_a(True, int), is_a(1, str)
    (True, False)
    """
    return issubclass(type(value), cls)


def _inside(name: str, value: Any, depth: int) -> list[tuple[str, Any]]:
    """What a variable holds, with names; nothing where it does not let itself be looked into."""
    with suppress(Exception):
        return _parts(name, value, depth)
    return []


def _parts(name: str, value: Any, depth: int) -> list[tuple[str, Any]]:
    if is_a(value, Module):
        state = [
            *value.named_parameters(remove_duplicate=False),
            *value.named_buffers(remove_duplicate=False),
        ]
        return [(f"{name}.{path}", part) for path, part in state]
    if is_a(value, dict) and len(value) <= 1000:
        return [
            (f"{name}[{key!r}]", part) for key, part in list(value.items()) if isinstance(key, (str, int))
        ]
    if (is_a(value, list) or is_a(value, tuple)) and len(value) <= 1000:
        return [(f"{name}[{i}]", part) for i, part in enumerate(list(value))]
    module = sys.modules.get(type(value).__module__)
    if depth or module is None or not _of_a_user(type(value)) or not hasattr(value, "__dict__"):
        return []
    return [(f"{name}.{key}", part) for key, part in list(vars(value).items())]


def _of_a_user(cls: type[Any]) -> bool:
    """Whether a class is the program's own, whose instances may be looked into."""
    top = cls.__module__.partition(".")[0]
    return top not in sys.stdlib_module_names or top == "__main__"


def modules_in(found: Mapping[str, Any]) -> dict[int, str]:
    """The names of the modules among variables, by id: by the whole that one is part of, if a variable has that."""
    named: dict[int, str] = {}
    held = [(name, value) for name, value in found.items() if is_a(value, Module)]
    for name, value in held:
        for path, part in value.named_modules():
            if path:
                named.setdefault(id(part), f"{name}.{path}")
    for name, value in held:
        named.setdefault(id(value), name)
    return named


def short(file: str) -> str:
    """A file as people call it: from the working directory if it is below that."""
    try:
        return str(Path(file).resolve().relative_to(Path.cwd()))
    except (ValueError, OSError):
        return file
