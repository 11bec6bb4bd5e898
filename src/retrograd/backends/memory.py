"""The caching allocator behind the arrays of the native pack: what it holds, and how to make it give memory back.

Blocks that arrays no longer need are kept for the next ones of their size, because fresh memory costs as much time
(page faults) as the arithmetic on it. What is kept is bounded: together with what is in use not much more than the
program has needed at once before, and never more than `set_memory_limit` allows. `RETROGRAD_NO_CACHE=1` in the
environment keeps nothing. Arrays made by NumPy itself are not counted, and without the pack there is nothing to
count.

`keep_arenas` makes the pack keep a little of what Python itself gives back when a large graph ends, up to 128 MiB: the
arenas of its small objects. It is off unless asked for, because it concerns the whole process.
"""

from __future__ import annotations

from retrograd.backends.pack import PACK

_NOTHING = {
    "allocated_bytes.current": 0,
    "allocated_bytes.peak": 0,
    "allocation.current": 0,
    "allocation.peak": 0,
    "allocation.allocated": 0,
    "reserved_bytes.current": 0,
    "kept_arena_bytes.current": 0,
    "num_system_allocations": 0,
    "limit_bytes": 0,
}


def memory_stats() -> dict[str, int]:
    """What the allocator counts, by name: bytes and blocks in use and their peaks, bytes reserved from the system.

    `kept_arena_bytes.current` is beside them: Python's own memory for small objects that waits for the next graph.

    >>> memory_stats()["allocated_bytes.peak"] >= 0
    True
    """
    found: dict[str, int] = dict(_NOTHING) if PACK is None else PACK.memory_stats()
    return found


def memory_allocated() -> int:
    """How many bytes arrays of the pack use now."""
    return memory_stats()["allocated_bytes.current"]


def max_memory_allocated() -> int:
    """The most bytes that arrays of the pack have used at once since `reset_peak_memory_stats`."""
    return memory_stats()["allocated_bytes.peak"]


def memory_reserved() -> int:
    """How many bytes the allocator holds: those in use, and those kept for reuse."""
    return memory_stats()["reserved_bytes.current"]


def reset_peak_memory_stats() -> None:
    """Starts peaks anew, at what is in use now."""
    if PACK is not None:
        PACK.reset_peak_memory_stats()


def empty_cache() -> None:
    """Gives memory that no array uses, and what is kept for Python's small objects, back to the system.

    >>> empty_cache()
    """
    if PACK is not None:
        PACK.empty_cache()


def keep_arenas(on: bool = True) -> None:
    """Keeps memory of Python's small objects for the next graph, up to 128 MiB; with `on=False`, no longer.

    Graphs of many thousand nodes are freed at once, and Python then gives their memory back to the system, which clears
    it anew for the next graph: keeping it saves about a third of the time of such graphs, and nothing for small ones.
    It replaces the allocator of Python's arenas for the whole process. `RETROGRAD_KEEP_ARENAS=1` in the environment
    does the same from the start. Without the native pack nothing happens.

    >>> keep_arenas(False)
    """
    if PACK is not None:
        PACK.keep_arenas(bool(on))


def set_memory_limit(bytes: int | None) -> None:
    """Bounds what is kept for reuse to so many bytes; None lets the allocator decide, 0 keeps no large block.

    >>> set_memory_limit(None)
    """
    if bytes is not None and bytes < 0:
        raise ValueError(
            f"set_memory_limit(): a limit cannot be negative, got {bytes}. Use 0 to keep nothing."
        )
    if PACK is not None:
        PACK.set_memory_limit(-1 if bytes is None else bytes)


def memory_summary() -> str:
    """The statistics as a short text.

    >>> print(memory_summary().splitlines()[0])
    memory of arrays made by the native pack
    """
    stats = memory_stats()
    rows = [
        ("in use", stats["allocated_bytes.current"], f"{stats['allocation.current']} blocks"),
        ("in use at most", stats["allocated_bytes.peak"], f"{stats['allocation.peak']} blocks"),
        (
            "reserved",
            stats["reserved_bytes.current"],
            f"{stats['num_system_allocations']} calls of the system",
        ),
    ]
    lines = [f"  {name:<15}{size / 2**20:>10.1f} MiB   {more}" for name, size, more in rows]
    return "\n".join(["memory of arrays made by the native pack", *lines])
