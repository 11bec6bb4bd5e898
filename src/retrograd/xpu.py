"""What scripts ask about Intel's GPUs, as `torch.xpu`. There are none: arrays live on the CPU."""

from __future__ import annotations

from typing import Any

from retrograd.absent import (
    NoDevice,
    Unavailable,
    device_count,
    empty_cache,
    is_available,
    is_initialized,
    manual_seed,
    memory_allocated,
    memory_stats,
    seed,
)

NEEDS_A_DEVICE = (
    "Event", "Stream", "current_device", "current_stream", "get_device_capability", "get_device_name",
    "get_device_properties", "get_rng_state", "init", "initial_seed", "mem_get_info", "set_rng_state", "synchronize",
)  # fmt: skip

__all__ = [
    "device",
    "device_count",
    "empty_cache",
    "is_available",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "seed",
    "seed_all",
    "set_device",
]

device = device_of = NoDevice
manual_seed_all = manual_seed
seed_all = seed
max_memory_allocated = memory_allocated
memory_reserved = memory_allocated
max_memory_reserved = memory_allocated


def set_device(device: Any) -> None:
    """Chooses a device; there is none to choose."""
    NoDevice(device).__enter__()


def __getattr__(name: str) -> Any:
    """What raises when it is called, made when it is asked for."""
    if name in NEEDS_A_DEVICE:
        return globals().setdefault(
            name, Unavailable(f"torch.xpu.{name}", AssertionError, "Torch not compiled with XPU enabled")
        )
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
