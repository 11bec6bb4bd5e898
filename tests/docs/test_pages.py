"""The code on every page of the documentation runs, and its sessions print what they show."""

from __future__ import annotations

import pytest

from .assumed import BY_PAGE, EVERYWHERE
from .pages import DOCS, ROOT, Block, blocks_of, run_block, run_page

PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in [ROOT / "README.md", *sorted(DOCS.glob("guide/*.md")), *sorted(DOCS.glob("inside/*.md"))]
}
WITH_CODE = [page for page, text in PAGES.items() if blocks_of(text)]


@pytest.mark.parametrize("page", WITH_CODE)
def test_the_code_runs(page):
    names = {"__name__": "page"}
    exec(EVERYWHERE + BY_PAGE.get(page, ""), names)
    run_page(PAGES[page], page, names)


def test_nothing_is_assumed_for_a_page_that_is_not_there():
    assert set(BY_PAGE) <= set(WITH_CODE)


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "docs/guide/getting-started.md",
        "docs/guide/optim.md",
        "docs/guide/files.md",
        "docs/guide/data.md",
    ],
)
def test_pages_for_beginners_have_code_and_assume_nothing(page):
    assert page in WITH_CODE
    assert page not in BY_PAGE
    run_page(PAGES[page], page, {"__name__": "page"})


# ---- the check itself ---------------------------------------------------------------------------------------------

PAGE = """Text.

```python
x = 1
```

```sh
not python
```

```python
>>> x + 1
2
```
"""


def test_blocks_share_their_names():
    assert blocks_of(PAGE) == [Block("x = 1\n", 3), Block(">>> x + 1\n2\n", 11)]
    names = {}
    run_page(PAGE, "page.md", names)
    assert names["x"] == 1


def test_what_a_session_defines_is_there_in_the_next():
    run_page("```python\n>>> y = 1\n```\n```python\n>>> y\n1\n```\n", "page.md", {})


def test_a_block_that_fails_is_noticed():
    with pytest.raises(ZeroDivisionError) as raised:
        run_block(Block("x = 1\n1 / 0\n", 7), "page.md", {})
    assert raised.traceback[-1].lineno == 8  # counted from 0
    with pytest.raises(AssertionError, match="page.md"):
        run_block(Block(">>> 1 + 1\n3\n", 0), "page.md", {})
