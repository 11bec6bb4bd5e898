"""What scripts ask about Apple's GPUs, as `torch.mps`. There are none: arrays live on the CPU."""

from __future__ import annotations

from typing import Final

from retrograd.absent import Unavailable, device_count, is_available, manual_seed

__all__ = [
    "current_allocated_memory",
    "device_count",
    "driver_allocated_memory",
    "empty_cache",
    "get_rng_state",
    "is_available",
    "manual_seed",
    "recommended_max_memory",
    "seed",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "synchronize",
]


def _unavailable(name: str) -> Unavailable:
    return Unavailable(f"torch.mps.{name}", RuntimeError, f"Cannot execute {name}() without MPS backend")


current_allocated_memory: Final = _unavailable("current_allocated_memory")
driver_allocated_memory: Final = _unavailable("driver_allocated_memory")
empty_cache: Final = _unavailable("empty_cache")
get_rng_state: Final = _unavailable("get_rng_state")
recommended_max_memory: Final = _unavailable("recommended_max_memory")
seed: Final = _unavailable("seed")
set_per_process_memory_fraction: Final = _unavailable("set_per_process_memory_fraction")
set_rng_state: Final = _unavailable("set_rng_state")
synchronize: Final = _unavailable("synchronize")
