"""Places in a user's program: which line made a node, wrote into a tensor, cut a graph, freed it.

Note [Places]
~~~~~~~~~~~~~
A place is a code object and an instruction offset: two words taken from the innermost frame that is not ours, and
turned into a line of text only when an error needs it. They are always taken, so an error can name the culprit of a run
that nobody expected to fail. A frame object is made for each frame that is looked at, so `apply` jumps over those
that every operation has between itself and its caller, and takes the rest inline; a compiled build has no such frames.
"""

from __future__ import annotations

import linecache
import sys
from types import CodeType, FrameType
from typing import Any

_PACKAGE = __file__.rsplit("core", 1)[0]
_COMPILED = not __file__.endswith(".py")
# From _link1 or _link2: ← apply ← the operation's function ← its caller, who may still be one of ours.
CALLER = 0 if _COMPILED else 3
OPERATOR = 0 if _COMPILED else 4  # one more: `x * y` ← Tensor.__mul__

# File names seen so far, so that whose frame one is costs a look into a set.
USERS: set[str] = set()
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


def mark(thing: Any) -> None:
    """Notes on a node or a version counter which line made it, or wrote. See Note [Places]."""
    frame = user_frame(getframe())
    thing.made_code = frame.f_code
    thing.made_lasti = frame.f_lasti


def here() -> Place:
    """The line of the user's program that is running."""
    frame = user_frame(getframe())
    return Place(frame.f_code, frame.f_lasti)


def made_at(thing: Any) -> Place | None:
    """The line that `mark` noted, if any."""
    return None if thing.made_code is None else Place(thing.made_code, thing.made_lasti)


def user_frame(frame: FrameType) -> FrameType:
    """The innermost frame that is not ours, from `frame` outwards; the outermost if all are."""
    while frame.f_code.co_filename not in USERS:
        name = frame.f_code.co_filename
        if name not in _ours:
            if not name.startswith(_PACKAGE):
                USERS.add(name)
                break
            _ours.add(name)
        outer = frame.f_back
        if outer is None:
            break
        frame = outer
    return frame


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
