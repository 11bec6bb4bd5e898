"""The functions by which autocast is asked and set without a block, in this thread."""

from __future__ import annotations

from typing import Any

from retrograd.amp.autocast_mode import check_type
from retrograd.backends.dtype_class import dtype as DtypeClass
from retrograd.backends.dtype_class import dtype_of
from retrograd.backends.dtypes import as_dtype
from retrograd.core.autocast import close_block, open_block, put_setting, setting
from retrograd.core.modes import current
from retrograd.core.places import warn
from retrograd.errors import type_name


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether autocast is on for a type of device; without one, PyTorch means GPUs."""
    return setting(check_type(device_type))[0]


def set_autocast_enabled(device_type: Any, enabled: bool | None = None) -> None:
    """Switches autocast on or off: `set_autocast_enabled("cpu", True)`. With one argument, PyTorch means GPUs."""
    if enabled is None:
        device_type, enabled = "cuda", device_type
    kind = check_type(device_type)
    put_setting(kind, bool(enabled), setting(kind)[1])


def get_autocast_dtype(device_type: str) -> DtypeClass:
    """The lower precision of a type of device.

    >>> import retrograd as rg
    >>> rg.get_autocast_dtype("cpu")
    torch.bfloat16
    """
    if not isinstance(device_type, str):
        raise TypeError(
            f"get_autocast_dtype(): argument 'device_type' (position 1) must be str, not {type_name(device_type)}"
        )
    return dtype_of(setting(check_type(device_type))[1])


def set_autocast_dtype(device_type: str, dtype: Any) -> None:
    """Sets the lower precision of a type of device."""
    kind = check_type(device_type)
    put_setting(kind, setting(kind)[0], as_dtype(dtype))


def is_autocast_cache_enabled() -> bool:
    """Whether autocast converts a weight once for all its uses."""
    return current().autocast_keeps


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Sets that."""
    current().autocast_keeps = bool(enabled)


def clear_autocast_cache() -> None:
    """Lets go of the weights that autocast has converted."""
    current().autocast_cache.clear()


def autocast_increment_nesting() -> int:
    """What a block does on entry; how many there are then."""
    return open_block()


def autocast_decrement_nesting() -> int:
    """What a block does at its end; how many are left."""
    return close_block()


# -- old names, for one type of device each ----------------------------------------------------------------------------


def _old(name: str, new: str) -> None:
    warn(f"torch.{name} is deprecated. Please use torch.{new} instead.", DeprecationWarning)


def is_autocast_cpu_enabled() -> bool:
    """Whether autocast is on for the CPU. Old: see `is_autocast_enabled`."""
    _old("is_autocast_cpu_enabled()", "is_autocast_enabled('cpu')")
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """Switches autocast on or off for the CPU. Old: see `set_autocast_enabled`."""
    _old("set_autocast_cpu_enabled(enabled)", "set_autocast_enabled('cpu', enabled)")
    set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype() -> DtypeClass:
    """The lower precision of the CPU. Old: see `get_autocast_dtype`."""
    _old("get_autocast_cpu_dtype()", "get_autocast_dtype('cpu')")
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype: Any) -> None:
    """Sets the lower precision of the CPU. Old: see `set_autocast_dtype`."""
    _old("set_autocast_cpu_dtype(dtype)", "set_autocast_dtype('cpu', dtype)")
    set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype() -> DtypeClass:
    """The lower precision of GPUs. Old: see `get_autocast_dtype`."""
    _old("get_autocast_gpu_dtype()", "get_autocast_dtype('cuda')")
    return get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype: Any) -> None:
    """Sets the lower precision of GPUs. Old: see `set_autocast_dtype`."""
    _old("set_autocast_gpu_dtype(dtype)", "set_autocast_dtype('cuda', dtype)")
    set_autocast_dtype("cuda", dtype)
