"""What scripts ask about GPUs. There are none yet: arrays live on the CPU."""

from __future__ import annotations

from typing import Any

from retrograd.absent import (
    AcceleratorError,
    NoDevice,
    OutOfMemoryError,
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
from retrograd.lazy import load

# What raises because there is no device.
NEEDS_A_DEVICE = (
    "Event", "ExternalStream", "Stream", "can_device_access_peer", "current_blas_handle", "current_device",
    "current_stream", "default_stream", "get_device_capability", "get_device_name", "get_device_properties",
    "get_rng_state", "get_sync_debug_mode", "init", "initial_seed", "ipc_collect", "mem_get_info", "set_rng_state",
    "set_sync_debug_mode", "synchronize", "utilization",
)  # fmt: skip

__all__ = [
    "AcceleratorError",
    "OutOfMemoryError",
    "device",
    "device_count",
    "empty_cache",
    "get_arch_list",
    "get_rng_state_all",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "is_tf32_supported",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_rng_state_all",
    "stream",
]

CudaError = AcceleratorError
device = device_of = NoDevice
manual_seed_all = manual_seed
seed_all = seed
max_memory_allocated = memory_reserved = max_memory_reserved = memory_cached = memory_allocated
default_generators: tuple[()] = ()
has_half, has_magma = True, False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether a GPU computes in bfloat16: there is none."""
    return False


def is_tf32_supported() -> bool:
    """Whether a GPU computes in TF32: there is none."""
    return False


def get_arch_list() -> list[str]:
    """The kinds of GPU that are supported: none."""
    return []


def get_rng_state_all() -> list[Any]:
    """The states of the generators of all GPUs: there are none."""
    return []


def set_rng_state_all(new_states: Any) -> None:
    """Nothing, as there is no generator to set."""


def set_device(device: Any) -> None:
    """Chooses a GPU; there is none to choose, but one without a number, as -1, is let pass."""
    NoDevice(device).__enter__()


def stream(stream: Any) -> NoDevice:
    """A context in which a stream is used; None changes nothing."""
    return NoDevice(-1 if stream is None else 0)


def reset_peak_memory_stats(device: Any = None) -> None:
    """Nothing: no memory of a GPU is in use."""


reset_max_memory_allocated = reset_accumulated_memory_stats = reset_peak_memory_stats


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """What memory of a GPU is used for, as text."""
    return "There is no GPU, and so no memory of one; rg.memory.memory_summary() tells of that of arrays."


def __getattr__(name: str) -> Any:
    """What raises when it is called, made when it is asked for."""
    if name in NEEDS_A_DEVICE:
        error = RuntimeError if name[0].isupper() else AssertionError
        why = (
            "Torch not compiled with CUDA enabled"
            if error is AssertionError
            else f"torch.cuda.{name} requires CUDA support"
        )
        return globals().setdefault(name, Unavailable(f"torch.cuda.{name}", error, why))
    if name.endswith("Tensor"):
        from retrograd import legacy_types

        getattr(legacy_types, name)
        return Unavailable(f"torch.cuda.{name}", TypeError, f"type torch.cuda.{name} not available")
    if name == "amp":
        return load("retrograd.cuda.amp")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
