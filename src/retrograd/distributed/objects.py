"""Python objects, pickled, from rank to rank. Unpickling may run code that the sender chose: ranks trust each other."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from retrograd.distributed.calls import Call, call, start
from retrograd.distributed.checks import place_of
from retrograd.distributed.groups import ProcessGroup, check_inside, member
from retrograd.values import Array


def _packed(thing: Any) -> Array:
    return np.frombuffer(bytearray(pickle.dumps(thing)), np.uint8)


def _unpacked(data: Array) -> Any:
    return pickle.loads(data.tobytes())  # noqa: S301 - from a rank of the same program


def _broadcast(group: ProcessGroup, name: str, thing: Any, root: int) -> Any:
    """The object of one rank, on all."""
    transport, at_root = group.transport, group.rank() == root
    data = [_packed(thing) if at_root else np.empty(0, np.uint8)]

    def act(_: Any, __: Any) -> Any:
        size = np.array([data[0].size], np.int64)
        yield from transport.broadcast(size, root)
        if not at_root:
            data[0] = np.empty(int(size[0]), np.uint8)
        yield from transport.broadcast(data[0], root)

    call(group, name, act, details=f"(from {group.ranks[root]})")
    return thing if at_root else _unpacked(data[0])


def _gathered(group: ProcessGroup, name: str, thing: Any, root: int | None) -> list[Any]:
    """The objects of all ranks: on all, or on one, and nothing on the others."""
    transport, data = group.transport, _packed(thing)
    sizes = np.empty(group.size(), np.int64)
    parts: list[Array] = []

    def act(_: Any, __: Any) -> Any:
        yield from transport.all_gather_into(sizes, np.array([data.size], np.int64))
        if root is None or root == group.rank():
            parts.extend(np.empty(int(size), np.uint8) for size in sizes)
        if root is None:
            yield from transport.all_gather(parts, data)
        else:
            yield from transport.gather(parts or None, data, root)

    call(group, name, act, details="" if root is None else f"(to {group.ranks[root]})")
    return [_unpacked(part) for part in parts]


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """Gives the objects in the list of rank `src` to all ranks, in lists of the same length."""
    root = place_of(group, src, group_src, 0)
    found = member(group, "broadcast_object_list")
    if found is None:
        return
    given = _broadcast(found, "broadcast_object_list", list(object_list), root)
    for i in range(len(object_list)):
        object_list[i] = given[i]


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Gives the objects of all ranks to all: `object_list[i]` becomes that of rank i."""
    found = member(group, "all_gather_object")
    if found is None:
        return
    for i, thing in enumerate(_gathered(found, "all_gather_object", obj, None)):
        object_list[i] = thing


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Any = None,
    group_dst: int | None = None,
) -> None:
    """Gives the objects of all ranks to rank `dst`, by default the first: `object_gather_list[i]` becomes rank i's."""
    root = place_of(group, dst, group_dst, 0)
    found = member(group, "gather_object")
    if found is None:
        return
    at_root = found.rank() == root
    if at_root and not object_gather_list:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    if not at_root and object_gather_list:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    for i, thing in enumerate(_gathered(found, "gather_object", obj, root)):
        object_gather_list[i] = thing  # type: ignore[index]


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
) -> None:
    """Gives each rank its object of the list that rank `src`, by default the first, has: the first of its own list."""
    root = place_of(group, src, group_src, 0)
    found = member(group, "scatter_object_list")
    if found is None:
        return
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    transport, parts = found.transport, None
    if found.rank() == root:
        if scatter_object_input_list is None or len(scatter_object_input_list) != found.size():
            raise RuntimeError(
                f"scatter_object_list: Incorrect input list size {len(scatter_object_input_list or ())}. Input list "
                f"size should be {found.size()}, same as size of the process group."
            )
        parts = [_packed(thing) for thing in scatter_object_input_list]
    data: list[Array] = []

    def act(_: Any, __: Any) -> Any:
        size = np.empty(1, np.int64)
        sizes = None if parts is None else [np.array([part.size], np.int64) for part in parts]
        yield from transport.scatter(size, sizes, root)
        data.append(np.empty(int(size[0]), np.uint8))
        yield from transport.scatter(data[0], parts, root)

    call(found, "scatter_object_list", act, details=f"(from {found.ranks[root]})")
    scatter_object_output_list[0] = _unpacked(data[0])


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: Any = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Sends the objects of a list to rank `dst`."""
    check_inside(group)
    peer = place_of(group, dst, group_dst, None)
    found = member(group, "send_object_list")
    assert found is not None
    if found.rank() == peer:
        raise ValueError(
            "Invalid destination rank: destination rank should not be the same as the rank of the current process."
        )
    data, transport = _packed(list(object_list)), found.transport

    def act(_: Any, __: Any) -> Any:
        yield from transport.send(np.array([data.size], np.int64), peer, 0)
        yield from transport.send(data, peer, 0)

    start(Call(found, "send_object_list", (), ()), act, alone=True).wait()


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """Receives the objects of a list from rank `src`, or from whoever sends some; returns the rank that has."""
    check_inside(group)
    anyone = src is None and group_src is None
    peer = None if anyone else place_of(group, src, group_src, None)
    found = member(group, "recv_object_list")
    assert found is not None
    transport, source, data = found.transport, list[int](), list[Array]()

    def act(_: Any, __: Any) -> Any:
        size = np.empty(1, np.int64)
        yield from transport.receive(size, peer, 0, source)
        data.append(np.empty(int(size[0]), np.uint8))
        yield from transport.receive(data[0], source[0], 0, source)

    start(Call(found, "recv_object_list", (), ()), act, alone=True).wait()
    for i, thing in enumerate(_unpacked(data[0])):
        object_list[i] = thing
    return found.ranks[source[0]]
