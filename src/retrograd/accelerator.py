"""What scripts ask about whatever device is there, as `torch.accelerator`. There is none: arrays live on the CPU."""

from __future__ import annotations

from typing import Any

from retrograd.absent import NoDevice, Unavailable, device_count, is_available

# What raises because there is no device.
NEEDS_A_DEVICE = (
    "current_device_idx", "current_device_index", "current_stream", "empty_cache", "get_device_capability",
    "get_memory_info", "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved",
    "memory_stats", "reset_accumulated_memory_stats", "reset_peak_memory_stats", "set_device_idx", "set_device_index",
    "set_stream", "synchronize",
)  # fmt: skip

__all__ = ["current_accelerator", "device_count", "device_index", "is_available"]

device_index = NoDevice


def current_accelerator(check_available: bool = False) -> None:
    """The kind of device there is: None.

    >>> current_accelerator() is None
    True
    """


def __getattr__(name: str) -> Any:
    """What raises when it is called, made when it is asked for."""
    if name in NEEDS_A_DEVICE:
        why = "Cannot access accelerator device when none is available"
        return globals().setdefault(name, Unavailable(f"torch.accelerator.{name}", RuntimeError, why))
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
