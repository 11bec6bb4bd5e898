"""Places in a user's program: which line made a node, wrote into a tensor, cut a graph, freed it.

Note [Places]
~~~~~~~~~~~~~
A place is a code object and an instruction offset: two words taken from the innermost frame that is not ours, and
turned into a line of text only when an error needs it. They are always taken, so an error can name the culprit of a run
that nobody expected to fail. A frame object is made for each frame that is looked at, so `mark` jumps over the frames
that every operation has between itself and its caller; a compiled build has no such frames.
"""

from __future__ import annotations

import linecache
import sys
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from retrograd.core.node import Node

_PACKAGE = __file__.rsplit("core", 1)[0]
_COMPILED = not __file__.endswith(".py")
# mark() ← _link() ← apply() ← the operation's function ← its caller, who may still be one of ours: an operator.
_DEPTH = 0 if _COMPILED else 4

# File names seen so far, so that whose frame one is costs a look into a set.
_users: set[str] = set()
_ours: set[str] = set()

getframe = sys._getframe


class Place:
    """A line of a user's program."""

    def __init__(self, code: CodeType, lasti: int) -> None:
        self.code = code
        self.lasti = lasti

    def line(self) -> int:
        """The number of the line."""
        return _line(self.code, self.lasti)

    def __str__(self) -> str:
        return describe(self.code, self.lasti)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Place) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


def mark(node: Node) -> None:
    """Notes on a new node which line made it. See Note [Places]."""
    try:
        frame = getframe(_DEPTH)
    except ValueError:  # called straight from C, with no Python below
        return
    code = frame.f_code
    if code.co_filename not in _users:
        found = _user_frame(frame)
        if found is None:
            return
        frame = found
        code = frame.f_code
    node.made_code = code
    node.made_lasti = frame.f_lasti


def mark_caller(thing: Any) -> None:
    """`mark` for what is made at any depth: a custom Function's node, a version counter that has seen a write."""
    frame = _user_frame(getframe(0 if _COMPILED else 2))
    if frame is not None:
        thing.made_code = frame.f_code
        thing.made_lasti = frame.f_lasti


def here() -> Place | None:
    """The line of the user's program that is running; None where there is none."""
    frame = _user_frame(getframe())
    return None if frame is None else Place(frame.f_code, frame.f_lasti)


def made_at(thing: Any) -> Place | None:
    """The line that `mark` or `mark_caller` noted, if any."""
    return None if thing.made_code is None else Place(thing.made_code, thing.made_lasti)


def _user_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame that is not ours, from `frame` outwards."""
    while frame is not None:
        name = frame.f_code.co_filename
        if name in _users:
            return frame
        if name not in _ours:
            if not name.startswith(_PACKAGE):
                _users.add(name)
                return frame
            _ours.add(name)
        frame = frame.f_back
    return None


def _line(code: CodeType, lasti: int) -> int:
    for start, end, line in code.co_lines():
        if start <= lasti < end and line is not None:
            return line
    return code.co_firstlineno


def describe(code: CodeType, lasti: int) -> str:
    """`File "a.py", line 3, in f: y = x.exp()`."""
    line = _line(code, lasti)
    text = linecache.getline(code.co_filename, line).strip()
    where = f'File "{code.co_filename}", line {line}, in {code.co_name}'
    return f"{where}: {text}" if text else where
