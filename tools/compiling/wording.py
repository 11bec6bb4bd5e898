"""Errors of wrong arguments in Python's own words.

Compiled functions read their arguments by two files of mypyc's run-time library, whose messages are those of functions
written in C. Nobody should be able to tell that ours are: `f() got an unexpected keyword argument 'x'`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

_FILES = ("getargs.c", "getargsfast.c")

# Formats in the C files, and what stands instead. `\s*` is where the text is broken into lines.
_FORMATS = (
    (
        r'''missing required "\s*"keyword-only argument '%(\w)'"''',
        r'''missing 1 required " "keyword-only argument: '%\1'"''',
    ),
    (
        r"""missing required "\s*"argument '%(\w)' \(pos %d\)"(.*?),\s*i\+1\);""",
        r"""missing 1 required " "positional argument: '%\1'"\2);""",
    ),
    (
        r'''takes %s %d positional argument%s("\s*"|) \(%zd given\)"''',
        r'''takes %s%d positional argument%s\1 but %zd were given"''',
    ),
    (r'''\? "(at most|at least)" : "exactly"''', r'''? "\1 " : ""'''),
    (r'''takes at most %d %sargument%s \(%zd given\)"''', r'''takes %d %sargument%s but %zd were given"'''),
    (r'''"keyword " : ""''', r'''"keyword " : "positional "'''),
    (
        r"""argument for %\.200s%s given by name \('%(\w)'\) "\s*"and position \(%d\)"(.*?),\s*i\+1\);""",
        r"""%.200s%s got multiple values " "for argument '%\1'"\2);""",
    ),
    (
        r""""'%(\w)' is an invalid keyword "\s*"argument for %\.200s%s",\s*(\w+),(.*?)\);\s*goto""",
        r""""%.200s%s got an unexpected keyword argument '%\1'",\3, \2); goto""",
    ),
)


def reword(unit: Any, target: Path) -> None:
    """Has the unit compile copies of those two files, in `target`, with other messages."""
    for i, source in enumerate(unit.sources):
        path = Path(source)
        if path.name in _FILES:
            copy = target / path.name
            copy.write_text(reworded(path.read_text(encoding="utf-8")), encoding="utf-8")
            unit.sources[i] = str(copy)


def reworded(text: str) -> str:
    """One C file with other messages."""
    for found, instead in _FORMATS:
        text, count = re.subn(found, instead, text, flags=re.DOTALL)
        if not count:
            raise RuntimeError(f"mypyc's run-time library has no such message any more: {found}")
    return text
