"""How a name is being asked for: read off the instruction that a frame is at.

`torch.x` and `hasattr(torch, "x")` both call the module's `__getattr__`. The first wants x, the second only an answer.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

BY_NAME = frozenset(dis.opmap.get(name, -1) for name in ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM"))
OF_IMPORTS = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})
OF_ATTRIBUTES = frozenset({"AttributeError", "Exception", "BaseException"})
_LOADS = frozenset({"LOAD_NAME", "LOAD_GLOBAL", "LOAD_ATTR"})
_BETWEEN = frozenset({"BUILD_TUPLE", "CACHE", "EXTENDED_ARG", "PUSH_NULL", "NOP"})


def wants_the_thing(frame: FrameType | None) -> bool:
    """Whether the source names an attribute, as `torch.x` and `from torch import x` do; `getattr` does not."""
    if frame is None:
        return False
    name = dis.opname[frame.f_code.co_code[frame.f_lasti]]
    prepared_for = OF_IMPORTS if name == "IMPORT_FROM" else OF_ATTRIBUTES
    return dis.opmap[name] in BY_NAME and not is_prepared(frame, prepared_for)


def is_prepared(frame: FrameType, errors: frozenset[str]) -> bool:
    """Whether the instruction stands in a `try` with an `except` for one of these errors, or for all."""
    code, offset = frame.f_code, frame.f_lasti
    bytecode: Any = dis.Bytecode(code)
    entries = bytecode.exception_entries
    for _ in entries:  # each handler may itself lie in the block of another
        handler = next((e.target for e in entries if e.start <= offset < e.end), None)
        if handler is None:
            return False
        if any(not clause or clause & errors for clause in _clauses(code, handler)):
            return True
        offset = handler
    return False


def _clauses(code: CodeType, handler: int) -> Iterator[set[str]]:
    """The names in each `except` of a handler; none at all for a bare one."""
    names: set[str] = set()
    instructions = [i for i in dis.get_instructions(code) if i.offset >= handler]
    if len(instructions) > 1 and instructions[1].opname == "POP_TOP":
        yield set()
    for instruction in instructions:
        if instruction.opname in _LOADS:
            names.add(str(instruction.argval))
        elif instruction.opname == "CHECK_EXC_MATCH":
            yield names
            names = set()
        elif instruction.opname == "RERAISE":
            return
        elif instruction.opname not in _BETWEEN:
            names = set()


def importer() -> tuple[FrameType | None, bool]:
    """The frame whose `import` is running, and whether Python only tries if a name of `from … import` is a module."""
    frame: FrameType | None = sys._getframe(1)
    tries = False
    while frame is not None and not _imports(frame):
        tries = tries or frame.f_code.co_name == "_handle_fromlist"
        frame = frame.f_back
    return frame, tries


def _imports(frame: FrameType) -> bool:
    """Whether a frame is neither ours nor of Python's import."""
    name = frame.f_globals.get("__name__", "")
    return name != "importlib" and not name.startswith(
        ("importlib._bootstrap", "_frozen_importlib", "retrograd.alias")
    )
