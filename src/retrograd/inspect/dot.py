"""Graphs in Graphviz's language, and `make_dot`, which scripts know from torchviz."""

from __future__ import annotations

import html
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from retrograd.core.accumulate import AccumulateGrad
from retrograd.core.node import Node
from retrograd.core.tensor import Tensor
from retrograd.inspect.questions import not_finite_nodes, used_nodes
from retrograd.inspect.recorder import saved_arrays

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
    r"""A string as Graphviz reads it.

    >>> print(quoted('a "b"\\c'))
    "a \"b\"\\c"
    """
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


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


def drawn(source: str) -> str:
    """A graph in Graphviz's language as SVG."""
    program = shutil.which("dot")
    if program is None:
        raise RuntimeError(
            "svg(): Graphviz's program `dot` draws the picture, and it is not on the path. Install Graphviz "
            "(apt install graphviz, brew install graphviz), or take dot() or html()."
        )
    done = subprocess.run(  # noqa: S603 - the program of the user's own path, on text
        [program, "-Tsvg"], input=source, capture_output=True, text=True, encoding="utf-8", check=False
    )
    if done.returncode:
        raise RuntimeError(f"svg(): dot failed: {done.stderr.strip()}")
    return done.stdout


class Digraph:
    """A graph in Graphviz's language, as `make_dot` returns it; a notebook shows the picture."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.format = "svg"

    def save(self, filename: str) -> str:
        """Writes the source."""
        Path(filename).write_text(self.source, encoding="utf-8")
        return filename

    def render(self, filename: str = "Digraph.gv", format: str | None = None, cleanup: bool = False) -> str:
        """Draws the graph into `filename` with the format's ending; the source lies beside it unless `cleanup`."""
        kind = format or self.format
        program = shutil.which("dot")
        if program is None:
            drawn(self.source)  # raises, and says what to do
        assert program is not None
        path = f"{filename}.{kind}"
        subprocess.run(  # noqa: S603
            [program, f"-T{kind}", "-o", path], input=self.source, text=True, encoding="utf-8", check=True
        )
        if not cleanup:
            self.save(filename)
        return path

    def _repr_html_(self) -> str:
        return drawn(self.source) if shutil.which("dot") else f"<pre>{html.escape(self.source)}</pre>"

    def __str__(self) -> str:
        return self.source


def make_dot(
    var: Tensor | Sequence[Tensor],
    params: Mapping[str, Tensor] | None = None,
    show_attrs: bool = False,
    show_saved: bool = False,
) -> Digraph:
    """The graph behind a tensor, or behind several, in Graphviz's language; the interface is torchviz's.

    Args:
        var: the output or outputs.
        params: names for leaves, such as `dict(model.named_parameters())`.
        show_attrs: whether nodes show what they were made with.
        show_saved: whether the values that nodes have saved are drawn.

    >>> import retrograd as rg
    >>> w = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> make_dot((w * 2).sum(), params={"w": w}).source.count("->")
    4
    """
    outputs = [var] if isinstance(var, Tensor) else list(var)
    names = {id(tensor): name for name, tensor in (params or {}).items()}
    lines = list(_HEAD)
    numbers: dict[int, int] = {}
    todo: list[Node] = []

    def number(node: Node) -> int:
        if id(node) not in numbers:
            numbers[id(node)] = len(numbers)
            todo.append(node)
        return numbers[id(node)]

    for i, output in enumerate(outputs):
        lines.append(f"  out{i} [label={quoted(str(tuple(output.shape)))}, {_ROOT}]")
        if output.grad_fn is not None:
            lines.append(f"  n{number(output.grad_fn)} -> out{i}")
    at = 0
    while at < len(todo):
        node = todo[at]
        lines += _of_node(node, at, names, show_attrs, show_saved)
        lines += [f"  n{number(succ)} -> n{at}" for succ in node.successors()]
        at += 1
    return Digraph("\n".join([*lines, "}"]))


def _of_node(node: Node, at: int, names: Mapping[int, str], attrs: bool, saved: bool) -> list[str]:
    label = node.name().rpartition("::")[2]
    if attrs:
        values = {name: getattr(node, f"_saved_{name}", None) for name in node.saved_names()[0]}
        plain = [f"{k}: {v}" for k, v in values.items() if v is not None and not isinstance(v, Tensor)]
        label = "\n".join([label, *plain])
    lines = [f"  n{at} [label={quoted(label)}]"]
    if isinstance(node, AccumulateGrad):
        leaf = node.variable
        text = f"{names.get(id(leaf), '')}\n{tuple(leaf.shape)}".strip()
        lines += [f"  n{at}l [label={quoted(text)}, {_LEAF}]", f"  n{at}l -> n{at}"]
    if saved:
        for i, (name, array) in enumerate(saved_arrays(node)):
            text = f"{name}\n{tuple(array.shape)}"
            lines += [
                f'  n{at}s{i} [label={quoted(text)}, fillcolor="#fdf3c8"]',
                f"  n{at}s{i} -> n{at} [style=dashed]",
            ]
    return lines
