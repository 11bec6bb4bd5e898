"""How busy and how warm a GPU is, by NVIDIA's management library: `pip install nvidia-ml-py`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from retrograd.cuda.devices import index_of, library


def _ask(question: Callable[[Any, Any], Any], device: Any) -> Any:
    """What a function of the library and of its handle of a GPU gives."""
    try:
        nvml = importlib.import_module("pynvml")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "nvidia-ml-py does not seem to be installed or it can't be imported: pip install nvidia-ml-py"
        ) from error
    nvml.nvmlInit()
    address: str = library().cuda.runtime.deviceGetPCIBusId(index_of(device))
    return question(nvml, nvml.nvmlDeviceGetHandleByPciBusId(address.encode()))


def utilization(device: Any = None) -> int:
    """In how many of a hundred moments a GPU was busy."""
    found: int = _ask(lambda nvml, handle: nvml.nvmlDeviceGetUtilizationRates(handle).gpu, device)
    return found


def memory_usage(device: Any = None) -> int:
    """In how many of a hundred moments its memory was read or written."""
    found: int = _ask(lambda nvml, handle: nvml.nvmlDeviceGetUtilizationRates(handle).memory, device)
    return found


def device_memory_used(device: Any = None) -> int:
    """How many bytes of its memory are in use, by all programs."""
    found: int = _ask(lambda nvml, handle: nvml.nvmlDeviceGetMemoryInfo(handle).used, device)
    return found


def temperature(device: Any = None) -> int:
    """How warm it is, in degrees Celsius."""
    found: int = _ask(lambda nvml, handle: nvml.nvmlDeviceGetTemperature(handle, 0), device)
    return found


def power_draw(device: Any = None) -> int:
    """How much power it takes, in milliwatts."""
    found: int = _ask(lambda nvml, handle: nvml.nvmlDeviceGetPowerUsage(handle), device)
    return found


def clock_rate(device: Any = None) -> int:
    """How fast its processors run, in megahertz."""
    found: int = _ask(lambda nvml, handle: nvml.nvmlDeviceGetClockInfo(handle, 1), device)
    return found
