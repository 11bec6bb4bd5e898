"""A recording as a trace in the Chrome format, which ui.perfetto.dev and chrome://tracing show."""

from __future__ import annotations

import json
from typing import Any

from retrograd.inspect.questions import label, where

_PROCESS = 1


def perfetto(document: dict[str, Any]) -> str:
    """The trace: operations, backwards and their steps by thread, gradients as arrows, memory as a curve."""
    events: list[dict[str, Any]] = [_named("process_name", 0, document["title"])]
    events += [_named("thread_name", i, name) for i, name in enumerate(document["threads"])]
    for op in document["ops"]:
        told = {"line": where(document, op["place"]), "module": op["module"]}
        told["outputs"] = str([f"{tuple(o['shape'])} {o['dtype']}" for o in op["outputs"]])
        events.append(_slice(op["name"].partition("Backward")[0], "forward", op, told))
    for span in document["spans"]:
        events.append(_slice(span["name"], "optimiser", span, {}))
    flow = 0
    for backward in document["backwards"]:
        events.append(_slice("backward", "backward", backward, {"line": where(document, backward["place"])}))
        began = {step["node"]: step for step in backward["steps"]}
        for step in backward["steps"]:
            node = document["nodes"][step["node"]]
            given = step["given"][0] if step["given"] else -1
            norm = document["values"][given].get("norm") if given >= 0 else None
            told = {"line": where(document, node["place"]), "gradient norm": norm, "hooks": step["hooks"]}
            events.append(_slice(label(node), "node", step, told))
            for _, receiver, _, _ in step["sent"]:
                if receiver in began and step["end"] is not None:
                    flow += 1
                    events += _arrow(flow, step, began[receiver])
    events += _memory(document)
    return json.dumps({"displayTimeUnit": "ns", "traceEvents": events}, ensure_ascii=False)


def _named(what: str, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": _PROCESS, "tid": thread, "args": {"name": name}}


def _slice(name: str, kind: str, timed: dict[str, Any], told: dict[str, Any]) -> dict[str, Any]:
    end = timed["end"] if timed["end"] is not None else timed["start"]
    times = {"ts": timed["start"], "dur": max(0.0, end - timed["start"])}
    return {
        "ph": "X",
        "name": name,
        "cat": kind,
        "pid": _PROCESS,
        "tid": timed["thread"],
        **times,
        "args": told,
    }


def _arrow(number: int, source: dict[str, Any], receiver: dict[str, Any]) -> list[dict[str, Any]]:
    common = {"name": "gradient", "cat": "gradient", "id": number, "pid": _PROCESS}
    return [
        {"ph": "s", "tid": source["thread"], "ts": source["start"], **common},
        {"ph": "f", "bp": "e", "tid": receiver["thread"], "ts": receiver["start"], **common},
    ]


def _memory(document: dict[str, Any]) -> list[dict[str, Any]]:
    changes = []
    for size, born, died, *_ in document["blocks"]:
        changes.append((born, size))
        if died is not None:
            changes.append((died, -size))
    now, events = 0, []
    for time, change in sorted(changes):
        now += change
        events.append({"ph": "C", "name": "memory", "pid": _PROCESS, "ts": time, "args": {"bytes": now}})
    return events
