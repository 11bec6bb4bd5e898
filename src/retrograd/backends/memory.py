"""The caching allocator behind the arrays of the native pack: what it holds, and how to make it give memory back.

Blocks that arrays no longer need are kept for the next ones of their size, because fresh memory costs as much time
(page faults) as the arithmetic on it. What is kept is bounded: together with what is in use not much more than the
program has needed at once before, and never more than `set_memory_limit` allows. `RETROGRAD_NO_CACHE=1` in the
environment keeps nothing. Arrays made by NumPy itself are not counted, and without the pack there is nothing to
count.

Python itself gives memory back when a large graph ends: the arenas of its small objects. `keep_arenas(True)`, or
`RETROGRAD_KEEP_ARENAS=1` in the environment, keeps up to 128 MiB of them. That is off by default, because Python's
arenas are the whole program's. `empty_cache` gives them back, and the limit holds for them, too.
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

    `kept_arena_bytes.current` is beside them: Python's own memory for small objects that waits for the next graph,
    if `keep_arenas` lets it.

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


def keep_arenas(wanted: bool) -> None:
    """Whether memory of Python's small objects, nodes among them, waits for the next graph instead of going back.

    Python takes that memory in arenas of a megabyte, and gives one back to the system when nothing in it lives. A
    program that makes and drops graphs of many thousand nodes gets and clears the same pages again and again. True
    keeps up to 128 MiB of arenas for it, less if `set_memory_limit` says so; False gives them back, and leaves Python's
    allocator as it was found. This concerns the whole process, so importing retrograd does not do it.

    >>> keep_arenas(True)
    >>> keep_arenas(False)
    >>> memory_stats()["kept_arena_bytes.current"]
    0
    """
    if PACK is not None:
        PACK.keep_arenas(wanted)


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
