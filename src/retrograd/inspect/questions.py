"""The questions people ask of a backward, answered from a recording's document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from retrograd.inspect.values import is_finite

Document = dict[str, Any]


class Answer(NamedTuple):
    """A sentence, and what it is about: a node or an operation, and a line of code (-1 where there is none)."""

    text: str
    node: int = -1
    place: int = -1
    op: int = -1


def first_nonfinite(document: Document) -> Answer | None:
    """Where the first NaN or infinity came from: the first operation or step that made one of finite values."""
    found = [event for event in (_bad_operation(document), _bad_step(document)) if event is not None]
    return min(found, key=lambda event: event[0])[1] if found else None


def _bad_operation(document: Document) -> tuple[float, Answer] | None:
    """When the first operation ended that made one."""
    for number, op in enumerate(document["ops"]):
        for out in op["outputs"]:
            if _is_bad(document, out["value"]):
                name = op["name"].removesuffix("0").removesuffix("Backward")
                text = f"{name} made {_what(document, out['value'])} in the forward pass"
                told = f"{text}: {where(document, op['place'])}"
                return op["end"], Answer(told, op["node"], op["place"], number)
    return None


def _bad_step(document: Document) -> tuple[float, Answer] | None:
    """The same of steps of backwards. What nodes have sent until then is fine, but its sum may not be."""
    nodes = document["nodes"]
    for number, step in steps_in_time(document):
        backward = document["backwards"][number]
        node, receives = nodes[step["node"]], label(nodes[step["node"]])
        given = [v for v in step["given"] if _is_bad(document, v)]
        sent = [(i, receiver, v) for i, receiver, _, v in step["sent"] if _is_bad(document, v)]
        place, when = node["place"], step["start"] if step["end"] is None else step["end"]
        if given and step["node"] == backward["root"]:
            place, when = backward["place"], step["start"]
            text = f"The backward was given {_what(document, given[0])} to begin with"
        elif given:
            when = step["start"]
            text = f"{receives} got {_what(document, given[0])} as the sum of its gradients"
        elif sent:
            i, receiver, value = sent[0]
            text = f"{node['name']} made {_what(document, value)} in its gradient {i}, "
            text += f"for {label(nodes[receiver])}, from finite gradients"
        elif _is_bad(document, step["grad"]):
            text = f"{receives} made {_what(document, step['grad'])} when it added a gradient to .grad"
        else:
            continue
        told = text if place < 0 else f"{text}: {where(document, place)}"
        return when, Answer(told, step["node"], place, node["op"])
    return None


def _is_bad(document: Document, value: int) -> bool:
    return value >= 0 and not is_finite(document["values"][value])


def _what(document: Document, value: int) -> str:
    return "NaN" if document["values"][value].get("nan") else "an infinity"


def largest_gradient(document: Document) -> Answer | None:
    """Which node sent the gradient of the largest norm."""
    best, found = -1.0, None
    for _, step in steps_in_time(document):
        for _, receiver, _, value in step["sent"]:
            norm = document["values"][value].get("norm") if value >= 0 else None
            if isinstance(norm, float) and norm > best:
                best, found = norm, (step["node"], receiver)
    if found is None:
        return None
    node = document["nodes"][found[0]]
    text = f"{node['name']} sent a gradient of norm {best:.4g} to {label(document['nodes'][found[1]])}"
    return Answer(f"{text}: {where(document, node['place'])}", found[0], node["place"], node["op"])


def most_memory(document: Document) -> Answer | None:
    """Which node held the most memory for its backward."""
    sizes = {i: sum(s["bytes"] for s in node["saved"]) for i, node in enumerate(document["nodes"])}
    best = max(sizes, key=lambda i: sizes[i], default=-1)
    if best < 0 or not sizes[best]:
        return None
    node = document["nodes"][best]
    what = ", ".join(f"{s['name']} {tuple(s['shape'])}" for s in node["saved"])
    text = f"{node['name']} kept {amount(sizes[best])} for its backward ({what})"
    return Answer(f"{text}: {where(document, node['place'])}", best, node["place"], node["op"])


def without_gradient(document: Document) -> list[Answer]:
    """The parameters that no gradient reached, and why."""
    return [
        Answer(
            f"{leaf['name'] or 'a leaf'} {tuple(leaf['shape'])}: {leaf['why'] or 'no backward reached it.'}",
            leaf["node"],
        )
        for leaf in document["leaves"]
        if document["backwards"] and not leaf["reached"]
    ]


def order(document: Document, backward: int = 0) -> list[str]:
    """The nodes in the order in which the engine ran them."""
    return [label(document["nodes"][step["node"]]) for step in document["backwards"][backward]["steps"]]


class PeakMoment(NamedTuple):
    """The moment at which a recorded program held the most memory."""

    time: float
    bytes: int
    blocks: list[int]


def peak(document: Document) -> PeakMoment | None:
    """When the most memory that the recording has seen was in use, and by which blocks."""
    events: list[tuple[float, int, int]] = []
    for i, (size, born, died, *_) in enumerate(document["blocks"]):
        events.append((born, size, i))
        if died is not None:
            events.append((died, -size, i))
    events.sort()
    now, best, alive, found = 0, 0, set[int](), None
    for time, change, block in events:
        now += change
        if change > 0:
            alive.add(block)
        else:
            alive.discard(block)
        if now > best:
            best, found = now, PeakMoment(time, now, sorted(alive))
    return found


def makers(document: Document, blocks: list[int]) -> list[tuple[str, int, int]]:
    """Whose memory some blocks are: (who, place, bytes) by line of code, the most first."""
    found: dict[tuple[str, int], int] = {}
    for number in blocks:
        size, _, _, op, step, *_ = document["blocks"][number]
        key = ("there before", -1)
        if op >= 0:
            key = ("forward", document["ops"][op]["place"])
        elif step is not None:
            node = document["nodes"][document["backwards"][step[0]]["steps"][step[1]]["node"]]
            key = ("gradient of", node["place"]) if node["place"] >= 0 else (f"gradient of {label(node)}", -1)
        found[key] = found.get(key, 0) + size
    return sorted(((who, place, size) for (who, place), size in found.items()), key=lambda row: -row[2])


def holders(document: Document, block: int) -> list[int]:
    """The nodes that had saved a block of memory."""
    return [
        i
        for i, node in enumerate(document["nodes"])
        if any(saved["block"] == block for saved in node["saved"])
    ]


def used_nodes(document: Document) -> list[int]:
    """The nodes that have an edge to or from another."""
    nodes = document["nodes"]
    reached = {to for node in nodes for to, _ in node["edges"]}
    return [i for i, node in enumerate(nodes) if node["edges"] or i in reached]


def not_finite_nodes(document: Document) -> set[int]:
    """The nodes that a NaN or an infinity went into or came out of."""
    values = document["values"]
    return {
        step["node"]
        for backward in document["backwards"]
        for step in backward["steps"]
        if any(v >= 0 and not is_finite(values[v]) for v in (*step["given"], *(s[3] for s in step["sent"])))
    }


def steps_in_time(document: Document) -> Iterator[tuple[int, dict[str, Any]]]:
    """The steps of all backwards in the order in which they began, each with the number of its backward."""
    every = [(step["start"], i, step) for i, b in enumerate(document["backwards"]) for step in b["steps"]]
    every.sort(key=lambda entry: entry[0])
    for _, backward, step in every:
        yield backward, step


def label(node: dict[str, Any]) -> str:
    """A node as people call it: a leaf by its name."""
    if node["leaf"]:
        return f"AccumulateGrad {node['variable'] or 'leaf'} {tuple(node['inputs'][0]['shape'])}"
    return f"{node['variable']} = {node['name']}" if node["variable"] else str(node["name"])


def where(document: Document, place: int) -> str:
    """`train.py:12: y = x.log()`."""
    if place < 0:
        return "no line of the program's"
    spot = document["places"][place]
    return f"{spot['file']}:{spot['line']}: {spot['text'].strip()}"


def amount(count: float) -> str:
    """Bytes for people.

    >>> amount(512), amount(2048), amount(3 << 20)
    ('512 B', '2.0 KiB', '3.0 MiB')
    """
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(count) < 1024 or unit == "GiB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    raise AssertionError("unreachable")


def counted(number: int, what: str) -> str:
    """`1 step`, `2 steps`."""
    return f"{number:,} {what}" + ("" if number == 1 else "s")
