"""How much memory of a GPU is in use. It is CuPy's pool: what both libraries hold is counted."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from retrograd.backends.base import BACKENDS
from retrograd.core.places import warn
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


def empty_host_cache() -> None:
    """Gives locked memory of the CPU that no array uses back to the system."""
    if is_available():
        library().get_default_pinned_memory_pool().free_all_blocks()


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """What `memory_stats` tells, as dicts in dicts: `["allocated_bytes"]["all"]["current"]`."""
    found: dict[str, Any] = {}
    for name, value in memory_stats(device).items():
        *path, last = name.split(".")
        place = found
        for part in path:
            place = place.setdefault(part, {})
        place[last] = value
    return found


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Lets this process take so much of a GPU's memory at most; one that wants more gets an OutOfMemoryError."""
    cupy = library()
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    with cupy.cuda.Device(index_of(device)):
        cupy.get_default_memory_pool().set_limit(fraction=fraction)


def get_per_process_memory_fraction(device: Any = None) -> float:
    """How much of a GPU's memory this process may take: 1.0 unless somebody has said otherwise."""
    cupy = library()
    with cupy.cuda.Device(index_of(device)):
        limit = cupy.get_default_memory_pool().get_limit()
    return limit / mem_get_info(device)[1] if limit else 1.0


def ipc_collect() -> None:
    """Nothing but to ask for a GPU: no memory of one is shared between processes here."""
    library()


def memory_cached(device: Any = None) -> int:
    """`memory_reserved`. Old."""
    warn("torch.cuda.memory_cached has been renamed to torch.cuda.memory_reserved", FutureWarning)
    return memory_reserved(device)


def max_memory_cached(device: Any = None) -> int:
    """`max_memory_reserved`. Old."""
    warn("torch.cuda.max_memory_cached has been renamed to torch.cuda.max_memory_reserved", FutureWarning)
    return memory_reserved(device)


def reset_max_memory_allocated(device: Any = None) -> None:
    """`reset_peak_memory_stats`. Old."""
    warn("torch.cuda.reset_max_memory_allocated now calls torch.cuda.reset_peak_memory_stats", FutureWarning)
    reset_peak_memory_stats(device)


def reset_max_memory_cached(device: Any = None) -> None:
    """`reset_peak_memory_stats`. Old."""
    warn("torch.cuda.reset_max_memory_cached now calls torch.cuda.reset_peak_memory_stats", FutureWarning)
    reset_peak_memory_stats(device)
