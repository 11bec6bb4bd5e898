"""GPUs: which there are, their queues of work, memory and random numbers, by PyTorch's names.

Tensors on a GPU are CuPy's arrays: `pip install 'retrograd[cuda]'`. Without CuPy or a GPU `is_available()` is False,
and what needs one says what is missing. All is loaded when it is first asked for: Note [Loaded on demand] in lazy.py.
"""

from __future__ import annotations

import typing as _typing
from typing import Final

from retrograd.errors import AcceleratorError, OutOfMemoryError
from retrograd.lazy import lazily as _lazily

if _typing.TYPE_CHECKING:
    from retrograd.cuda import amp, graphs, jiterator, nvtx, profiler
    from retrograd.cuda.devices import (
        can_device_access_peer,
        cudart,
        current_blas_handle,
        current_device,
        device,
        device_count,
        device_of,
        get_arch_list,
        get_device_capability,
        get_device_name,
        get_device_properties,
        get_gencode_flags,
        init,
        is_available,
        is_bf16_supported,
        is_initialized,
        is_tf32_supported,
        set_device,
        synchronize,
    )
    from retrograd.cuda.graphs import (
        CUDAGraph,
        graph,
        graph_pool_handle,
        is_current_stream_capturing,
        make_graphed_callables,
    )
    from retrograd.cuda.memory import (
        empty_cache,
        empty_host_cache,
        get_per_process_memory_fraction,
        ipc_collect,
        max_memory_allocated,
        mem_get_info,
        memory_allocated,
        memory_reserved,
        memory_stats,
        memory_stats_as_nested_dict,
        memory_summary,
        reset_peak_memory_stats,
        set_per_process_memory_fraction,
    )
    from retrograd.cuda.nvml import (
        clock_rate,
        device_memory_used,
        memory_usage,
        power_draw,
        temperature,
        utilization,
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
        ExternalStream,
        Stream,
        StreamContext,
        current_stream,
        default_stream,
        get_stream_from_external,
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
                "can_device_access_peer cudart current_blas_handle current_device device device_count "
                "device_of get_arch_list get_device_capability get_device_name get_device_properties "
                "get_gencode_flags init is_available is_bf16_supported is_initialized is_tf32_supported "
                "set_device synchronize"
            ),
            "retrograd.cuda.graphs": (
                "graphs= CUDAGraph graph graph_pool_handle is_current_stream_capturing make_graphed_callables"
            ),
            "retrograd.cuda.jiterator": "jiterator=",
            "retrograd.cuda.memory": (
                "empty_cache empty_host_cache get_per_process_memory_fraction ipc_collect "
                "max_memory_allocated max_memory_cached max_memory_reserved=memory_reserved mem_get_info "
                "memory_allocated memory_cached memory_reserved memory_stats memory_stats_as_nested_dict "
                "memory_summary reset_accumulated_memory_stats=reset_peak_memory_stats "
                "reset_max_memory_allocated reset_max_memory_cached reset_peak_memory_stats "
                "set_per_process_memory_fraction"
            ),
            "retrograd.cuda.nvml": (
                "clock_rate device_memory_used memory_usage power_draw temperature utilization"
            ),
            "retrograd.cuda.nvtx": "nvtx=",
            "retrograd.cuda.profiler": "profiler=",
            "retrograd.cuda.random": (
                "generators get_rng_state get_rng_state_all initial_seed manual_seed manual_seed_all seed seed_all "
                "set_rng_state set_rng_state_all"
            ),
            "retrograd.cuda.streams": (
                "Event ExternalStream Stream StreamContext current_stream default_stream "
                "get_stream_from_external set_stream stream"
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
            return Unavailable(
                f"torch.cuda.{name}",
                TypeError,
                f"type torch.cuda.{name} not available. Torch not compiled with CUDA enabled",
            )
        return _get(name)


CudaError = AcceleratorError
has_half: Final = True
has_magma: Final = False

__all__ = [
    "AcceleratorError",
    "CUDAGraph",
    "Event",
    "ExternalStream",
    "OutOfMemoryError",
    "Stream",
    "StreamContext",
    "amp",
    "can_device_access_peer",
    "clock_rate",
    "cudart",
    "current_blas_handle",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "device_memory_used",
    "device_of",
    "empty_cache",
    "empty_host_cache",
    "get_arch_list",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_gencode_flags",
    "get_per_process_memory_fraction",
    "get_rng_state",
    "get_rng_state_all",
    "get_stream_from_external",
    "get_sync_debug_mode",
    "graph",
    "graph_pool_handle",
    "graphs",
    "init",
    "initial_seed",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "is_current_stream_capturing",
    "is_initialized",
    "is_tf32_supported",
    "jiterator",
    "make_graphed_callables",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_stats_as_nested_dict",
    "memory_summary",
    "memory_usage",
    "nvtx",
    "power_draw",
    "profiler",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "set_sync_debug_mode",
    "stream",
    "synchronize",
    "temperature",
    "utilization",
]
