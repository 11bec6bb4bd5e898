"""Places in a user's program: which line made a node, wrote into a tensor, cut a graph, freed it.

Note [Places]
~~~~~~~~~~~~~
A place is a code object and an instruction offset, taken from the innermost frame that is not ours and turned into a
line of text only when an error needs it. They are always taken, so an error can name the culprit of a run that nobody
expected to fail. A frame object is made for each frame that is looked at, so `apply` jumps over those that every
operation has between itself and its caller. The native pack makes no frame objects and keeps the pairs it has seen; a
compiled build has no frames of ours.
"""

from __future__ import annotations

import linecache
import sys
import warnings
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, Final

from retrograd.backends.pack import PACK
from retrograd.core.upward import tell_pack
from retrograd.forms import COMPILED as _COMPILED

_PACKAGE = __file__.rsplit("core", 1)[0]
_OWN: Final[int] = 0 if _COMPILED else 1  # frames that a call of a function below adds
# From apply's helpers: ← apply ← the operation's function ← its caller, who may still be one of ours.
CALLER: Final[int] = 0 if _COMPILED else 3
OPERATOR: Final[int] = 0 if _COMPILED else 4  # one more: `x * y` ← Tensor.__mul__

# File names seen so far, so that whose frame one is costs a look into a set.
USERS: set[str] = set()
_ours: set[str] = set()

getframe: Callable[..., FrameType] = sys._getframe
_NOWHERE = (compile("", "<no Python file>", "exec").replace(co_name="<thread>"), 0)


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
    thing._made = spot(_OWN)


def here() -> Place:
    """The line of the user's program that is running."""
    code, lasti = spot(_OWN)
    return Place(code, lasti)


def made_at(thing: Any) -> Place | None:
    """The line that `mark` noted, if any."""
    return None if thing._made is None else Place(*thing._made)


def _spot(depth: int) -> tuple[CodeType, int]:
    """Code and offset of the innermost frame of a user's; the caller knows that the first `depth` frames are ours."""
    try:
        frame = getframe(depth + _OWN)
    except ValueError:  # called straight from C, with no Python below
        if _COMPILED:
            return _NOWHERE
        frame = getframe()
    if frame.f_code.co_filename not in USERS:
        frame = user_frame(frame)
    return frame.f_code, frame.f_lasti


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


def _is_ours(code: CodeType) -> bool:
    return code.co_filename.startswith(_PACKAGE)


tell_pack("owner_test", _is_ours)

spot: Final[Any] = _spot if PACK is None else PACK.spot


def warn(message: str, category: type[Warning] | None = None) -> None:
    """A warning that points at the line of the user's program, however deep we are and whether compiled or not."""
    frame = user_frame(getframe())
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    name = frame.f_globals.get("__name__", "<string>")
    kind = UserWarning if category is None else category
    warnings.warn_explicit(message, kind, frame.f_code.co_filename, frame.f_lineno, name, registry)


def warn_of_loop(name: str, count: int) -> None:
    """Says that a function gains nothing from being called on a batch of `count` samples."""
    warn(
        f"There is a performance drop because we have not yet implemented the batching rule for {name}. It runs once "
        f"for each of {count} samples.",
        UserWarning,
    )


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
