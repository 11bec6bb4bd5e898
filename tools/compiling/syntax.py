"""The syntax trees of sources: several steps of a build look at the same ones."""

from __future__ import annotations

import ast
from functools import cache


@cache
def tree_of(source: str) -> ast.Module:
    """The tree of a module, which nobody changes."""
    return ast.parse(source)
