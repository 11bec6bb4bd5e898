"""A recording's graph in Graphviz's language, and the picture that Graphviz makes of such text."""

from __future__ import annotations

import shutil
import subprocess
from typing import Any

from retrograd.inspect.questions import not_finite_nodes, used_nodes
from retrograd.inspect.text import printable

_HEAD = [
    "digraph {",
    '  graph [rankdir=TB, fontname="Helvetica", fontsize=11]',
    '  node [shape=box, style="rounded,filled", fillcolor="#f2f2ef", color="#8a8a84"]',
    '  node [fontname="Helvetica", fontsize=11]',
    '  edge [color="#8a8a84", fontname="Helvetica", fontsize=9]',
]
_LEAF = 'fillcolor="#cfe3f5", color="#3b75af"'
_BAD = 'fillcolor="#f9d9c7", color="#c4531b", penwidth=2'
_ROOT = 'fillcolor="#d9ead0", color="#5a8f3c"'


def quoted(text: str) -> str:
    r"""A string as Graphviz reads it: entities in it too.

    >>> print(quoted('a "b"\\c &lt;'))
    "a \"b\"\\c &amp;lt;"
    """
    text = printable(text)
    for sign, written in (("&", "&amp;"), ("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n")):
        text = text.replace(sign, written)
    return f'"{text}"'


def dot(document: dict[str, Any]) -> str:
    """The graph of a recording: nodes by module, gradients flow along the arrows."""
    nodes = document["nodes"]
    used = used_nodes(document)
    bad = not_finite_nodes(document)
    roots = {backward["root"] for backward in document["backwards"]}
    lines = list(_HEAD)
    modules: dict[str, list[int]] = {}
    for i in used:
        modules.setdefault(nodes[i]["module"], []).append(i)
    for number, (module, members) in enumerate(modules.items()):
        if module:
            lines.append(
                f'  subgraph cluster_{number} {{ label={quoted(module)}; color="#c9c9c4"; style=rounded'
            )
        for i in members:
            style = _BAD if i in bad else _LEAF if nodes[i]["leaf"] else _ROOT if i in roots else ""
            lines.append(
                f"    n{i} [label={quoted(_text(document, nodes[i]))}{', ' + style if style else ''}]"
            )
        if module:
            lines.append("  }")
    for i in used:
        lines += [f"  n{i} -> n{to}" for to, _ in nodes[i]["edges"] if to >= 0]
    return "\n".join([*lines, "}"]) + "\n"


def _text(document: dict[str, Any], node: dict[str, Any]) -> str:
    shape = tuple(node["inputs"][0]["shape"])
    if node["leaf"]:
        return f"{node['variable'] or 'leaf'}\n{shape}"
    name = f"{node['variable']} = {node['name']}" if node["variable"] else node["name"]
    if node["place"] < 0:
        return f"{name}\n{shape}"
    place = document["places"][node["place"]]
    return f"{name}\n{shape}  {place['file'].rpartition('/')[2]}:{place['line']}"


def drawn(source: str, kind: str = "svg") -> bytes:
    """A graph in Graphviz's language as a picture of some kind: svg, png, pdf."""
    program = shutil.which("dot")
    if program is None:
        raise RuntimeError(
            "Graphviz's program `dot` draws the picture, and it is not on the path. Install Graphviz "
            "(apt install graphviz, brew install graphviz), or take dot() or html()."
        )
    done = subprocess.run(  # noqa: S603 - the program of the user's own path, on text
        [program, f"-T{kind}"], input=source.encode(), capture_output=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"Graphviz's dot failed: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout
