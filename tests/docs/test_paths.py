"""Files, functions and pages that the documentation names are there.

In docs/inside a file is named as `core/apply.py`, and something in it as `core/apply.py: apply1` or
`engine/task.py: GraphTask.arrive`. Paths begin at the package, at the checkout, or at the page's own folder.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.project.sources import PACKAGE, tree

from .pages import DOCS, ROOT

INSIDE = sorted(DOCS.glob("inside/*.md"))
EVERYWHERE = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]

CITED = re.compile(r"`([\w.-]+(?:/[\w.-]+)+\.(?:py|pyi|md|cpp|hpp|h))(?:: ([\w.]+))?`")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
BROKEN_NOTE = re.compile(r"Note \[[^\]]*\n|Note\n *\[")


def found(name: str, page: Path) -> Path | None:
    """The file that a page means."""
    return next((folder / name for folder in (PACKAGE, ROOT, page.parent) if (folder / name).is_file()), None)


def has(module: ast.AST, name: str) -> bool:
    """Whether a module, or a class, defines a name; a dotted one is looked for step by step."""
    first, _, rest = name.partition(".")
    for child in ast.iter_child_nodes(module):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and child.name == first:
            return has(child, rest) if rest else True
        targets = child.targets if isinstance(child, ast.Assign) else [getattr(child, "target", None)]
        if not rest and any(isinstance(target, ast.Name) and target.id == first for target in targets):
            return True
    return False


def complaints(text: str, page: Path) -> list[str]:
    """What a page names that is not there."""
    wrong = []
    for path, name in CITED.findall(text):
        file = found(path, page)
        if file is None:
            wrong.append(f"{page.name} names {path}, which is not there")
        elif name and not has(tree(file), name):
            wrong.append(f"{page.name} names {name} in {path}, which is not there")
    wrong += [f"{page.name}: the title of a note is broken over two lines" for _ in BROKEN_NOTE.findall(text)]
    return wrong


def dead_links(text: str, page: Path) -> list[str]:
    """Files that a page links to and that are not there."""
    links = [target for target in LINK.findall(text) if "://" not in target]
    return [f"{page.name} links to {link}" for link in links if not (page.parent / link).exists()]


@pytest.mark.parametrize("page", INSIDE, ids=[page.name for page in INSIDE])
def test_what_a_page_names_is_there(page):
    wrong = complaints(page.read_text(encoding="utf-8"), page)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("page", EVERYWHERE, ids=[page.relative_to(ROOT).as_posix() for page in EVERYWHERE])
def test_links_lead_somewhere(page):
    wrong = dead_links(page.read_text(encoding="utf-8"), page)
    assert not wrong, "\n".join(wrong)


def test_every_page_inside_is_in_the_index():
    index = (DOCS / "inside" / "README.md").read_text(encoding="utf-8")
    missing = [page.name for page in INSIDE if page.name != "README.md" and f"]({page.name})" not in index]
    assert not missing


# ---- the check itself ---------------------------------------------------------------------------------------------

PAGE = DOCS / "inside" / "page.md"
BROKEN_INSIDE = """see Note [Hook
order]"""


def test_what_is_there_may_be_named():
    text = "`core/apply.py`, `core/apply.py: apply1`, `engine/task.py: GraphTask.arrive`, `engine/engine.py: ENGINE`"
    assert len(CITED.findall(text)) == 4
    assert complaints(text, PAGE) == []


@pytest.mark.parametrize(
    "text",
    [
        "`core/nothing.py`",
        "`core/apply.py: apply17`",
        "`engine/task.py: GraphTask.nothing`",
        "`engine/task.py: Nothing.arrive`",
        BROKEN_INSIDE,
        "see Note\n[Hook order]",
    ],
)
def test_what_is_not_there_is_noticed(text):
    assert len(complaints(text, PAGE)) == 1


def test_a_dead_link_is_noticed():
    assert dead_links("[a](README.md) [b](https://example.org/x.md) [c](../ops.md#d)", PAGE) == []
    assert len(dead_links("[a](nothing.md) [b](../nothing.md#part)", PAGE)) == 2
