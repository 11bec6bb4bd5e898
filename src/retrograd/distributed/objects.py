"""Python objects, pickled, from rank to rank. Unpickling runs what the sender says: only between ranks that are trusted."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from retrograd.distributed.collectives import launch, root_of
from retrograd.distributed.groups import ProcessGroup, member


def _run(group: ProcessGroup, steps: Any) -> None:
    launch(group, steps, [], False)


def _bytes(thing: Any) -> Any:
    return np.frombuffer(bytearray(pickle.dumps(thing)), np.uint8)


def broadcast_object_list(
    object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None, group_src: int | None = None
) -> None:
    """Gives the objects of one rank's list to all, in their lists."""
    found = member(group, "broadcast_object_list")
    if found is None:
        return
    root = root_of(found, src, group_src)
    data = _bytes(list(object_list)) if found.rank() == root else np.empty(0, np.uint8)
    size = np.array([data.size])
    _run(found, found.transport.broadcast(size, root))
    if found.rank() != root:
        data = np.empty(int(size[0]), np.uint8)
    _run(found, found.transport.broadcast(data, root))
    if found.rank() != root:
        object_list[:] = pickle.loads(data.tobytes())


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Gives the objects of all ranks to all: `object_list[i]` becomes that of rank i."""
    found = member(group, "all_gather_object")
    if found is None:
        return
    data = _bytes(obj)
    sizes = np.empty(found.size(), np.int64)
    _run(found, found.transport.all_gather_into(sizes, np.array([data.size])))
    parts = [np.empty(int(size), np.uint8) for size in sizes]
    _run(found, found.transport.all_gather(parts, data))
    for i, part in enumerate(parts):
        object_list[i] = pickle.loads(part.tobytes())
