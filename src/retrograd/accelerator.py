"""What computes beside the CPU, as `torch.accelerator`: the GPUs of `retrograd.cuda`, where there are any."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from retrograd import cuda
from retrograd.backends.base import accelerator
from retrograd.backends.device import device as Device
from retrograd.backends.dtype_class import dtype_of
from retrograd.backends.dtypes import SCALAR_NAMES
from retrograd.cuda import device_count, is_available

__all__ = [
    "current_accelerator",
    "current_device_idx",
    "current_device_index",
    "current_stream",
    "device_count",
    "device_index",
    "empty_cache",
    "empty_host_cache",
    "get_device_capability",
    "get_memory_info",
    "is_available",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "set_device_idx",
    "set_device_index",
    "set_stream",
    "synchronize",
]


def _gpus() -> Any:
    """`retrograd.cuda`, if there is a GPU; else PyTorch's error."""
    if accelerator() is None:
        raise RuntimeError(
            "Cannot access accelerator device when none is available: tensors live on the CPU. Ask is_available() "
            "first."
        )
    return cuda


def current_accelerator(check_available: bool = False) -> Device | None:
    """The kind of device there is, as a device without a number; None where there is the CPU alone.

    >>> kind = current_accelerator()
    >>> device = "cpu" if kind is None else kind
    """
    return accelerator()


def current_device_index() -> int:
    """The number of the device on which this thread makes tensors unless it says where."""
    found: int = _gpus().current_device()
    return found


def set_device_index(device: Any, /) -> None:
    """Makes a device the current one of this thread; a negative number changes nothing."""
    _gpus().set_device(device)


current_device_idx = current_device_index
set_device_idx = set_device_index


class device_index:  # noqa: N801 - torch's name
    """A block in which a device, given by its number, is the current one; None changes nothing."""

    prev_idx: int

    def __init__(self, device: int | None, /) -> None:
        self.idx = device
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx is not None:
            self.prev_idx = current_device_index()
            set_device_index(self.idx)

    def __exit__(self, *error: object) -> None:
        if self.idx is not None:
            set_device_index(self.prev_idx)


def get_device_capability(device: Any = None, /) -> dict[str, Any]:
    """What a device can compute with: `supported_dtypes`."""
    _gpus().get_device_capability(device)
    return {"supported_dtypes": {dtype_of(dtype) for dtype in SCALAR_NAMES}}


def current_stream(device: Any = None, /) -> Any:
    """The queue into which this thread's work for a device goes."""
    return _gpus().current_stream(device)


def set_stream(stream: Any) -> None:
    """Lets this thread's work go into a queue from now on."""
    _gpus().set_stream(stream)


def synchronize(device: Any = None, /) -> None:
    """Waits until a device has done all its work."""
    _gpus().synchronize(device)


def empty_cache() -> None:
    """Gives memory of devices that no tensor uses back to the system."""
    _gpus().empty_cache()


def empty_host_cache() -> None:
    """Gives locked memory of the CPU that no tensor uses back to the system."""
    _gpus().empty_host_cache()


def memory_stats(device_index: Any = None, /) -> OrderedDict[str, Any]:
    """What is known of a device's memory."""
    found: OrderedDict[str, Any] = _gpus().memory_stats(device_index)
    return found


def memory_allocated(device_index: Any = None, /) -> int:
    """How many bytes of a device tensors take up."""
    found: int = _gpus().memory_allocated(device_index)
    return found


def max_memory_allocated(device_index: Any = None, /) -> int:
    """The most bytes that they have taken up."""
    found: int = _gpus().max_memory_allocated(device_index)
    return found


def memory_reserved(device_index: Any = None, /) -> int:
    """How many bytes of a device have been taken from the system."""
    found: int = _gpus().memory_reserved(device_index)
    return found


def max_memory_reserved(device_index: Any = None, /) -> int:
    """The most bytes that have been taken from it."""
    found: int = _gpus().max_memory_reserved(device_index)
    return found


def reset_accumulated_memory_stats(device_index: Any = None, /) -> None:
    """Begins to count memory anew."""
    _gpus().reset_accumulated_memory_stats(device_index)


def reset_peak_memory_stats(device_index: Any = None, /) -> None:
    """Begins to note the most bytes that are in use."""
    _gpus().reset_peak_memory_stats(device_index)


def get_memory_info(device_index: Any = None, /) -> tuple[int, int]:
    """How many bytes of a device are free, and how many it has."""
    found: tuple[int, int] = _gpus().mem_get_info(device_index)
    return found
