"""The CPU as a device among others, as `torch.cpu`.

`amp` is loaded when it is first asked for: see Note [Loaded on demand] in lazy.py.
"""

from __future__ import annotations

import platform
import typing as _typing
from typing import Any

from retrograd.absent import NoDevice
from retrograd.backends import flags
from retrograd.lazy import lazily as _lazily

if _typing.TYPE_CHECKING:
    from retrograd.cpu import amp
else:
    __getattr__, __dir__ = _lazily(__name__, {"retrograd.cpu.amp": "amp="})

__all__ = [
    "Event",
    "Stream",
    "StreamContext",
    "amp",
    "current_device",
    "current_stream",
    "device_count",
    "get_capabilities",
    "is_available",
    "is_initialized",
    "set_device",
    "stream",
    "synchronize",
]


def is_available() -> bool:
    """Whether tensors can live there: yes.

    >>> is_available()
    True
    """
    return True


def is_initialized() -> bool:
    """Whether it is in use: yes."""
    return True


def device_count() -> int:
    """How many there are: one."""
    return 1


def current_device() -> str:
    """Which one is in use."""
    return "cpu"


def set_device(device: Any) -> None:
    """Nothing: there is one."""


def synchronize(device: Any = None) -> None:
    """Nothing: what was called is done."""


class Stream:
    """The queue of work on the CPU: what was called is done."""

    def __init__(self, priority: int = -1) -> None: ...

    def wait_stream(self, stream: Any) -> None:
        """Nothing to wait for."""

    def record_event(self) -> None:
        """Nothing to mark."""

    def wait_event(self, event: Any) -> None:
        """Nothing to wait for."""


class Event:
    """A mark in it, which is always reached."""

    def query(self) -> bool:
        """Whether it is reached: yes."""
        return True

    def record(self, stream: Any = None) -> None:
        """Nothing to mark."""

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def wait(self, stream: Any = None) -> None:
        """Nothing to wait for."""


_STREAM = Stream()


class StreamContext(NoDevice):
    """A block in which work goes into a queue: it changes nothing, for there is one."""

    def __init__(self, stream: Any) -> None:
        super().__init__(-1)
        self.stream = stream


def current_stream(device: Any = None) -> Stream:
    """The queue of work."""
    return _STREAM


def get_capabilities() -> dict[str, Any]:
    """What the processor is, and which of its instructions the native pack uses.

    >>> import retrograd as rg
    >>> rg.cpu.get_capabilities()["avx512_vnni"]
    False
    """
    used = flags.cpu.get_cpu_capability()
    wide = used.startswith("AVX512")
    return {
        "architecture": platform.machine(),
        "avx2": wide or used == "AVX2",
        "avx512": wide,
        "avx512_vnni": False,  # products of small integers, which no kernel here makes
    }


def _is_avx2_supported() -> bool:
    """Whether the native pack uses such instructions."""
    return bool(get_capabilities()["avx2"])


def _is_avx512_supported() -> bool:
    """Whether it uses wider ones."""
    return bool(get_capabilities()["avx512"])


def stream(stream: Any) -> StreamContext:
    """A block in which work goes into a queue."""
    return StreamContext(stream)


def get_device_module(device: Any = None) -> Any:
    """The module that tells of a kind of device: `cpu`, `cuda`, `mps` or `xpu`.

    >>> import retrograd as rg
    >>> rg.get_device_module("cuda") is rg.cuda
    True
    """
    from importlib import import_module

    kind = "cpu" if device is None else str(device).partition(":")[0]
    if kind not in ("cpu", "cuda", "mps", "xpu"):
        raise RuntimeError(
            f"Device '{device}' does not have a corresponding module registered as 'torch.{kind}'."
        )
    return import_module(f"retrograd.{kind}")
