"""Who holds an object: the way of names that leads to it from a variable, found backwards through the collector."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Iterable, Mapping
from types import CellType, FrameType, FunctionType, GeneratorType
from typing import Any

DEEPEST = 12  # holders of holders that are looked at
MOST_HOLDERS = 20_000  # of one level: beyond it, too much is held by too many to be told


def paths_to(
    targets: Iterable[Any], scopes: Mapping[str, Mapping[str, Any]], own: Iterable[Any]
) -> dict[int, str]:
    """The ways to objects, by id. `scopes` are the variables, by where they are; `own` is what the search itself holds.

    >>> class Box: ...
    >>> box = Box()
    >>> box.things = {"one": [Box()]}
    >>> list(paths_to(box.things["one"], {"here": {"box": box}}, []).values())
    ["box.things['one'][0] here"]
    """
    level = list(targets)
    wanted = [id(target) for target in level]
    things = {id(target): target for target in level}
    above: dict[int, Any] = {}  # object -> who holds it
    starts = {
        id(v): f"{n} {where}" for where, scope in reversed(list(scopes.items())) for n, v in scope.items()
    }
    ignored = {id(thing) for thing in own} | {id(things), id(above), *map(id, scopes.values())}
    upper = level
    for _ in range(DEEPEST):
        level = [thing for thing in upper if id(thing) not in starts][:MOST_HOLDERS]
        if not level:
            break
        holders = gc.get_referrers(*level)
        ignored |= {id(holders), id(level), id(upper)}
        sought = {id(thing) for thing in level}
        upper = []
        for holder in holders:
            if id(holder) in ignored or id(holder) in things or _is_scope(holder):
                continue
            held = [id(child) for child in gc.get_referents(holder) if id(child) in sought]
            above.update({child: holder for child in held if child not in above})
            things[id(holder)] = holder
            upper.append(holder)
    return {i: path for i in wanted if (path := _path(things[i], above, starts))}


def _is_scope(holder: Any) -> bool:
    """Whether this is a frame or a file's namespace: their variables are starts, and all else leads to them."""
    return isinstance(holder, FrameType) or (isinstance(holder, dict) and "__builtins__" in holder)


def _path(target: Any, above: Mapping[int, Any], starts: Mapping[int, str]) -> str:
    """`net.blocks[0].last in train (train.py)`; empty if no variable leads there."""
    way = [target]
    while id(way[-1]) not in starts:
        if id(way[-1]) not in above:
            return ""
        way.append(above[id(way[-1])])
    way.reverse()
    links = [_link(way[i - 1] if i else None, way[i], way[i + 1]) for i in range(len(way) - 1)]
    name, _, where = starts[id(way[0])].partition(" ")
    return f"{name}{''.join(links)} {where}"


def _link(above: Any, holder: Any, child: Any) -> str:
    """How one gets from a holder to what it holds; `above` holds the holder."""
    if isinstance(holder, GeneratorType):
        return f" → {_key(holder.gi_frame.f_locals, child)}" if holder.gi_frame is not None else ""
    if isinstance(holder, CellType):
        return ""
    if isinstance(holder, dict):
        key = _key(holder, child)
        of_object = isinstance(above, type) or getattr(above, "__dict__", None) is holder
        attribute = of_object or _is_registry(above, holder)
        return f".{key}" if attribute else f"[{key!r}]"
    if isinstance(holder, FunctionType):
        return ""  # its closure says more
    if isinstance(above, FunctionType) and isinstance(holder, tuple):
        return (
            f" → {above.__code__.co_freevars[_index(holder, child)]}" if above.__closure__ is holder else ""
        )
    if isinstance(holder, (list, tuple, deque)):
        return f"[{_index(holder, child)}]"
    return _attribute(holder, child)


def _is_registry(above: Any, holder: Any) -> bool:
    """Whether a dictionary is one in which a module keeps its parts, whose names are attributes to users."""
    return isinstance(above, dict) and any(above.get(name) is holder for name in ("_modules", "_buffers"))


def _attribute(holder: Any, child: Any) -> str:
    own = getattr(holder, "__dict__", None)
    if own is child or (isinstance(holder, type) and isinstance(child, dict)):
        return ""
    name = _key(own, child) if isinstance(own, Mapping) else ""
    if not name:
        slots = [slot for cls in type(holder).__mro__ for slot in getattr(cls, "__slots__", ())]
        name = next((s for s in (*slots, "args", "keywords") if getattr(holder, s, None) is child), "")
    if name in ("_modules", "_buffers"):
        return ""
    return f".{name}" if name else " → "


def _key(scope: Mapping[Any, Any], child: Any) -> Any:
    """The name under which something stands in a dictionary."""
    for name, value in list(scope.items()):
        if value is child:
            return "" if name in ("_modules", "_buffers") else name
    return ""


def _index(holder: Iterable[Any], child: Any) -> int:
    return next((i for i, part in enumerate(holder) if part is child), 0)
