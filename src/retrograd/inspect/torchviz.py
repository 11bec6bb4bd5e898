"""make_dot: the graph behind a tensor as scripts know it from torchviz, with its arguments and its look."""

from __future__ import annotations

import html
import shutil
import webbrowser
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from retrograd.core.accumulate import AccumulateGrad
from retrograd.core.node import Node
from retrograd.core.tensor import Tensor
from retrograd.inspect.dot import drawn, quoted

LEAF, OUTPUT, BASE, SAVED = "lightblue", "darkolivegreen1", "darkolivegreen3", "orange"
_LOOK = "align=left fontname=monospace fontsize=10 height=0.2 ranksep=0.1 shape=box style=filled"
SMALLEST, EACH = 12.0, 0.15
"""Inches that a picture may have at least, and for each line of the graph."""


class Digraph:
    """A graph in Graphviz's language, as `make_dot` returns it; a notebook shows the picture."""

    def __init__(self, source: str, format: str = "pdf") -> None:
        self.source = source
        self.format = format

    def save(self, filename: str = "Digraph.gv", directory: str | None = None) -> str:
        """Writes the source."""
        path = Path(directory or "") / filename
        path.write_text(self.source, encoding="utf-8")
        return str(path)

    def pipe(self, format: str | None = None) -> bytes:
        """The picture."""
        return drawn(self.source, format or self.format)

    def render(
        self,
        filename: str = "Digraph.gv",
        directory: str | None = None,
        view: bool = False,
        cleanup: bool = False,
        format: str | None = None,
    ) -> str:
        """Draws the graph into `filename` with the format's ending; the source lies beside it unless `cleanup`."""
        path = Path(directory or "") / f"{filename}.{format or self.format}"
        path.write_bytes(self.pipe(format))
        if not cleanup:
            self.save(filename, directory)
        if view:
            webbrowser.open(path.resolve().as_uri())
        return str(path)

    def view(self, filename: str = "Digraph.gv", directory: str | None = None, cleanup: bool = False) -> str:
        """Draws the graph and opens the picture."""
        return self.render(filename, directory, view=True, cleanup=cleanup)

    def _repr_html_(self) -> str:
        if shutil.which("dot"):
            return self.pipe("svg").decode()
        return f"<pre>{html.escape(self.source)}</pre>"

    def __str__(self) -> str:
        return self.source


def make_dot(
    var: Tensor | Sequence[Tensor],
    params: Mapping[str, Tensor] | None = None,
    show_attrs: bool = False,
    show_saved: bool = False,
    max_attr_chars: int = 50,
) -> Digraph:
    """The graph behind a tensor, or behind several, in Graphviz's language; the interface is torchviz's.

    Args:
        var: the output or outputs, green in the picture.
        params: names for leaves (blue), such as `dict(model.named_parameters())`.
        show_attrs: whether nodes show what they were made with and what they have saved.
        show_saved: whether the tensors that nodes have saved are drawn, in orange.
        max_attr_chars: how much of an attribute is shown.

    >>> import retrograd as rg
    >>> w = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> make_dot((w * 2).sum(), params={"w": w}).source.count("->")
    4
    """
    outputs = [var] if isinstance(var, Tensor) else list(var)
    names = {id(tensor): name for name, tensor in (params or {}).items()}
    drawing = _Picture(names, show_attrs, show_saved, max_attr_chars)
    for i, output in enumerate(outputs):
        drawing.add_output(output, i)
    drawing.add_nodes()
    size = f"{max(SMALLEST, EACH * len(drawing.lines)):g}"
    head = ["digraph {", f'  graph [size="{size},{size}"]', f"  node [{_LOOK}]"]
    return Digraph("\n".join([*head, *drawing.lines, "}"]) + "\n")


class _Picture:
    """The lines of a graph, and the nodes that are still to be drawn."""

    def __init__(self, names: Mapping[int, str], attrs: bool, saved: bool, most: int) -> None:
        self.names = names
        self.attrs = attrs
        self.saved = saved
        self.most = most
        self.lines: list[str] = []
        self.todo: list[Node] = []
        self.numbers: dict[int, int] = {}

    def number(self, node: Node) -> int:
        """The number of a node, which is drawn once."""
        if id(node) not in self.numbers:
            self.numbers[id(node)] = len(self.todo)
            self.todo.append(node)
        return self.numbers[id(node)]

    def box(self, name: str, label: str, color: str = "") -> None:
        self.lines.append(f"  {name} [label={quoted(label)}{f' fillcolor={color}' if color else ''}]")

    def named(self, tensor: Tensor) -> str:
        """A tensor's name, if it has one, and its shape."""
        return f"{self.names.get(id(tensor), '')}\n {_shape(tensor)}"

    def add_output(self, output: Tensor, i: int) -> None:
        """An end of the graph; if it is a view, with what it is a view of."""
        self.box(f"out{i}", self.named(output), OUTPUT)
        if output.grad_fn is not None:
            self.lines.append(f"  n{self.number(output.grad_fn)} -> out{i}")
        base = output._base
        if base is not None:
            self.box(f"base{i}", self.named(base), BASE)
            self.lines.append(f"  base{i} -> out{i} [style=dotted]")
            if base.grad_fn is not None:
                self.lines.append(f"  n{self.number(base.grad_fn)} -> base{i}")

    def add_nodes(self) -> None:
        """Every node that gradients go to."""
        at = 0
        while at < len(self.todo):
            node = self.todo[at]
            values = _saved_values(node)
            name = node.name().rpartition("::")[2]
            self.box(f"n{at}", _with_attributes(name, values, self.most) if self.attrs else name)
            if isinstance(node, AccumulateGrad):
                self.box(f"n{at}l", self.named(node.variable), LEAF)
                self.lines.append(f"  n{at}l -> n{at}")
            if self.saved:
                self.add_saved(at, values)
            self.lines += [f"  n{self.number(succ)} -> n{at}" for succ in node.successors()]
            at += 1

    def add_saved(self, at: int, values: Mapping[str, Any]) -> None:
        """The tensors that a node has saved."""
        found = [(name, value) for name, value in values.items() if isinstance(value, Tensor)]
        for name, value in values.items():
            if isinstance(value, (tuple, list)):
                found += [(f"{name}[{i}]", part) for i, part in enumerate(value) if isinstance(part, Tensor)]
        for i, (name, tensor) in enumerate(found):
            self.box(f"n{at}s{i}", f"{name}\n {_shape(tensor)}", SAVED)
            self.lines.append(f"  n{at} -> n{at}s{i} [dir=none]")


def _saved_values(node: Node) -> dict[str, Any]:
    """What a node has saved, by name; nothing once it was freed."""
    if node._freed:
        return {}
    own = getattr(node, "saved_tensors", None)  # a custom Function's
    found = {} if own is None else {"saved_tensors": own}
    return {**found, **{name: getattr(node, f"_saved_{name}") for name in sorted(node.saved_names()[0])}}


def _with_attributes(name: str, values: Mapping[str, Any], most: int) -> str:
    """A node's name above a table of what it has saved."""
    if not values:
        return name
    told = {key: _told(value) for key, value in values.items()}
    texts = {key: text if len(text) <= most else f"{text[:most]}..." for key, text in told.items()}
    wide, value_width = max(map(len, texts)), max(map(len, texts.values()))
    rows = [f"{key:<{wide}}: {text:>{value_width}}" for key, text in texts.items()]
    return "\n".join([name, "-" * max(map(len, [name, *rows])), *rows])


def _told(value: Any) -> str:
    if isinstance(value, Tensor):
        return "[saved tensor]"
    if isinstance(value, (tuple, list)) and any(isinstance(part, Tensor) for part in value):
        return "[saved tensors]"
    return str(value)


def _shape(tensor: Tensor) -> str:
    return f"({', '.join(map(str, tensor.shape))})"
