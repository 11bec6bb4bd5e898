"""GPUs: which there are, their queues of work, memory and random numbers, by PyTorch's names.

Tensors on a GPU are CuPy's arrays: `pip install 'retrograd[cuda]'`. Without CuPy or a GPU `is_available()` is False,
and what needs one says what is missing. All is loaded when it is first asked for: Note [Loaded on demand] in lazy.py.
"""

from __future__ import annotations

import typing as _typing

from retrograd.errors import AcceleratorError, OutOfMemoryError
from retrograd.lazy import lazily as _lazily

if _typing.TYPE_CHECKING:
    from retrograd.cuda import amp
    from retrograd.cuda.devices import (
        can_device_access_peer,
        current_device,
        device,
        device_count,
        device_of,
        get_arch_list,
        get_device_capability,
        get_device_name,
        get_device_properties,
        init,
        is_available,
        is_bf16_supported,
        is_initialized,
        is_tf32_supported,
        set_device,
        synchronize,
    )
    from retrograd.cuda.memory import (
        empty_cache,
        max_memory_allocated,
        mem_get_info,
        memory_allocated,
        memory_reserved,
        memory_stats,
        memory_summary,
        reset_peak_memory_stats,
    )
    from retrograd.cuda.random import (
        get_rng_state,
        get_rng_state_all,
        initial_seed,
        manual_seed,
        manual_seed_all,
        seed,
        seed_all,
        set_rng_state,
        set_rng_state_all,
    )
    from retrograd.cuda.streams import (
        Event,
        Stream,
        StreamContext,
        current_stream,
        default_stream,
        set_stream,
        stream,
    )
    from retrograd.cuda.waiting import get_sync_debug_mode, set_sync_debug_mode
else:
    _get, __dir__ = _lazily(
        __name__,
        {
            "retrograd.cuda.amp": "amp=",
            "retrograd.cuda.devices": (
                "can_device_access_peer current_device device device_count device_of get_arch_list "
                "get_device_capability get_device_name get_device_properties init is_available is_bf16_supported "
                "is_initialized is_tf32_supported set_device synchronize"
            ),
            "retrograd.cuda.memory": (
                "empty_cache max_memory_allocated mem_get_info memory_allocated memory_reserved memory_stats "
                "memory_summary reset_peak_memory_stats max_memory_reserved=memory_reserved "
                "memory_cached=memory_reserved reset_max_memory_allocated=reset_peak_memory_stats "
                "reset_accumulated_memory_stats=reset_peak_memory_stats"
            ),
            "retrograd.cuda.random": (
                "generators get_rng_state get_rng_state_all initial_seed manual_seed manual_seed_all seed seed_all "
                "set_rng_state set_rng_state_all"
            ),
            "retrograd.cuda.streams": (
                "Event Stream StreamContext current_stream default_stream set_stream stream"
            ),
            "retrograd.cuda.waiting": "get_sync_debug_mode set_sync_debug_mode",
        },
    )

    def __getattr__(name: str) -> _typing.Any:
        """Names of the tables above, and the old types, `cuda.FloatTensor`, which can be named but not made."""
        if name == "default_generators":
            return _get("generators")()
        if name.endswith("Tensor"):
            from retrograd import legacy_types
            from retrograd.absent import Unavailable

            getattr(legacy_types, name)
            return Unavailable(f"torch.cuda.{name}", TypeError, f"type torch.cuda.{name} not available")
        return _get(name)


CudaError = AcceleratorError
has_half, has_magma = True, False

__all__ = [
    "AcceleratorError",
    "Event",
    "OutOfMemoryError",
    "Stream",
    "StreamContext",
    "amp",
    "can_device_access_peer",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "device_of",
    "empty_cache",
    "get_arch_list",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_rng_state_all",
    "get_sync_debug_mode",
    "init",
    "initial_seed",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "is_tf32_supported",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "set_sync_debug_mode",
    "stream",
    "synchronize",
]
