"""The pages of the documentation, and how the code in them is run.

A page's blocks of Python are run from top to bottom in one namespace. A block with `>>>` must print what it shows; any
other must run through.
"""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

FENCE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Block(NamedTuple):
    """A block of Python and the line of the page, counted from 0, that it begins at."""

    source: str
    line: int

    @property
    def is_session(self) -> bool:
        return ">>> " in self.source


def blocks_of(text: str) -> list[Block]:
    """The blocks of Python in a page."""
    return [Block(found[1], text.count("\n", 0, found.start(1))) for found in FENCE.finditer(text)]


def run_block(block: Block, page: str, names: dict[str, Any]) -> None:
    """Runs one block; errors and failures carry the page's name and line."""
    if not block.is_session:
        exec(compile("\n" * block.line + block.source, page, "exec"), names)
        return
    name = f"{page}:{block.line}"  # each its own: doctest finds the lines of a session by its name
    session = doctest.DocTestParser().get_doctest(block.source, names, name, page, block.line)
    session.globs = names  # it has made a copy
    said: list[str] = []
    failed, tried = doctest.DocTestRunner(optionflags=OPTIONS).run(
        session, out=said.append, clear_globs=False
    )
    assert tried
    assert not failed, "".join(said)


def run_page(text: str, page: str, names: dict[str, Any]) -> None:
    """Runs all blocks of a page."""
    for block in blocks_of(text):
        run_block(block, page, names)
