"""What scripts ask about GPUs. There are none yet: arrays live on the CPU."""

from __future__ import annotations


def is_available() -> bool:
    """Whether tensors can live on a GPU.

    >>> is_available()
    False
    """
    return False


def device_count() -> int:
    """How many GPUs there are."""
    return 0
