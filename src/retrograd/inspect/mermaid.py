"""A recording's graph in Mermaid's language, which Markdown pages on code hosts show as a picture."""

from __future__ import annotations

from typing import Any

from retrograd.inspect.questions import label, not_finite_nodes, used_nodes
from retrograd.inspect.text import printable


def mermaid(document: dict[str, Any]) -> str:
    """A flowchart, from the loss down to the leaves, nodes of a module in a box."""
    nodes = document["nodes"]
    used = used_nodes(document)
    lines = ["flowchart TB"]
    modules: dict[str, list[int]] = {}
    for i in used:
        modules.setdefault(nodes[i]["module"], []).append(i)
    for number, (module, members) in enumerate(modules.items()):
        if module:
            lines.append(f"  subgraph m{number}[{_quoted(module)}]")
        for i in members:
            node = nodes[i]
            shape = tuple(node["inputs"][0]["shape"])
            if node["leaf"]:
                lines.append(f"    n{i}([{_quoted((node['variable'] or 'leaf') + ' ' + str(shape))}])")
            else:
                lines.append(f"    n{i}[{_quoted(label(node) + ' ' + str(shape))}]")
        if module:
            lines.append("  end")
    for i in used:
        lines += [f"  n{i} --> n{to}" for to, _ in nodes[i]["edges"] if to >= 0]
    leaves = [f"n{i}" for i in used if nodes[i]["leaf"]]
    bad = [f"n{i}" for i in sorted(not_finite_nodes(document))]
    for group, name, style in (
        (leaves, "leaf", "fill:#cfe3f5,stroke:#3b75af"),
        (bad, "bad", "fill:#f9d9c7,stroke:#c4531b"),
    ):
        if group:
            lines += [f"  classDef {name} {style}", f"  class {','.join(group)} {name}"]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """A label: whatever would end it, or be read as HTML, is written as an entity."""
    text = printable(text).replace("\n", " ")
    for sign, entity in (("#", "#35;"), ("&", "#amp;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;")):
        text = text.replace(sign, entity)
    return f'"{text}"'
