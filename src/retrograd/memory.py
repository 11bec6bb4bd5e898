"""Memory of arrays: how much is in use, and the cache behind it, under the names of `torch.accelerator`.

>>> import retrograd as rg
>>> before = rg.memory.memory_allocated()
>>> rg.memory.empty_cache()
>>> rg.memory.memory_reserved() >= rg.memory.memory_allocated()
True
"""

from retrograd.backends.memory import (
    empty_cache,
    keep_arenas,
    max_memory_allocated,
    memory_allocated,
    memory_reserved,
    memory_stats,
    memory_summary,
    reset_peak_memory_stats,
    set_memory_limit,
)

__all__ = [
    "empty_cache",
    "keep_arenas",
    "max_memory_allocated",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "reset_peak_memory_stats",
    "set_memory_limit",
]
