"""How much memory of a GPU is in use. It is CuPy's pool: what both libraries hold is counted."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from retrograd.backends.base import BACKENDS
from retrograd.cuda.devices import index_of, is_available, library


class MostBytes:
    """The most bytes that were in use. CuPy keeps no such figure: it is kept from when somebody first asks."""

    bytes: int = 0
    watch: Any = None

    def begin(self) -> None:
        """Begins to watch allocations."""
        cupy = library()
        pool = cupy.get_default_memory_pool()
        self.bytes = pool.used_bytes()
        if self.watch is not None:
            return

        class OnAllocation(cupy.cuda.MemoryHook):  # type: ignore[misc, name-defined]
            name = "retrograd"

            def malloc_postprocess(self, **_: Any) -> None:
                MOST.bytes = max(MOST.bytes, pool.used_bytes())

        self.watch = OnAllocation()
        self.watch.__enter__()


MOST = MostBytes()


def memory_allocated(device: Any = None) -> int:
    """How many bytes of a GPU arrays take up."""
    if not is_available():
        return 0
    cupy = library()
    BACKENDS.by_device["cuda"].trim()
    with cupy.cuda.Device(index_of(device)):
        return int(cupy.get_default_memory_pool().used_bytes())


def memory_reserved(device: Any = None) -> int:
    """How many bytes of a GPU the pool has taken from the system."""
    if not is_available():
        return 0
    cupy = library()
    with cupy.cuda.Device(index_of(device)):
        return int(cupy.get_default_memory_pool().total_bytes())


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that arrays have taken up since `reset_peak_memory_stats`, which has to be called first."""
    if not is_available():
        return 0
    if MOST.watch is None:
        MOST.begin()
    return max(MOST.bytes, memory_allocated(device))


def reset_peak_memory_stats(device: Any = None) -> None:
    """Begins to note the most bytes that are in use."""
    if is_available():
        MOST.begin()


def memory_stats(device: Any = None) -> OrderedDict[str, Any]:
    """What is known of a GPU's memory, by PyTorch's names."""
    if not is_available():
        return OrderedDict()
    return OrderedDict({
        "allocated_bytes.all.current": memory_allocated(device),
        "allocated_bytes.all.peak": max_memory_allocated(device),
        "reserved_bytes.all.current": memory_reserved(device),
    })  # fmt: skip


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """What memory of a GPU is used for, as text."""
    if not is_available():
        return "There is no GPU, and so no memory of one; rg.memory.memory_summary() tells of that of arrays."
    return "\n".join(f"{name:<32}{value / 2**20:>12,.1f} MiB" for name, value in memory_stats(device).items())


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """How many bytes of a GPU are free, and how many it has."""
    cupy = library()
    with cupy.cuda.Device(index_of(device)):
        free, total = cupy.cuda.runtime.memGetInfo()
    return int(free), int(total)


def empty_cache() -> None:
    """Gives memory that no array uses back to the system."""
    if is_available():
        BACKENDS.by_device["cuda"].empty_cache()
