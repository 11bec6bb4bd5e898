"""What notebooks show: HTML in which all text is escaped."""

from __future__ import annotations

import html


def preformatted(text: str) -> str:
    """Text as it is.

    >>> preformatted("a < b")
    '<pre style="line-height:1.25">a &lt; b</pre>'
    """
    return f'<pre style="line-height:1.25">{html.escape(text)}</pre>'


def framed(page: str, height: int = 640) -> str:
    """A whole page inside a notebook's own, apart from it: its scripts see nothing of the notebook."""
    return (
        f'<iframe sandbox="allow-scripts" style="width:100%;height:{height}px;border:1px solid #ccc;border-radius:6px" '
        f'srcdoc="{html.escape(page, quote=True)}"></iframe>'
    )
