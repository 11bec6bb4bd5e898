"""The README as a package index shows it: with links to the files of this very release, not to files beside it."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_LINK = re.compile(r"\]\((?![a-z]+:|#)([^)]+)\)")  # in Markdown; neither to another place nor within the page


def for_an_index() -> str:
    """The text of README.md with absolute links."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        home = tomllib.load(file)["project"]["urls"]["Homepage"]
    return absolute((ROOT / "README.md").read_text(encoding="utf-8"), f"{home}/blob/v{_version()}")


def absolute(text: str, base: str) -> str:
    """Markdown whose relative links begin at `base`."""
    return _LINK.sub(rf"]({base}/\1)", text)


def _version() -> str:
    """Read, not imported: a build has no NumPy yet."""
    tree = ast.parse((ROOT / "src" / "retrograd" / "version.py").read_text(encoding="utf-8"))
    return str(next(ast.literal_eval(node.value) for node in tree.body if isinstance(node, ast.Assign)))
