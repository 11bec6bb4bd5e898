"""The CPU as a device among others, as `torch.cpu`.

`amp` is loaded when it is first asked for: see Note [Loaded on demand] in lazy.py.
"""

from __future__ import annotations

import typing as _typing
from typing import Any

from retrograd.absent import NoDevice
from retrograd.lazy import lazily as _lazily

if _typing.TYPE_CHECKING:
    from retrograd.cpu import amp
else:
    __getattr__, __dir__ = _lazily(__name__, {"retrograd.cpu.amp": "amp="})

__all__ = [
    "amp",
    "current_device",
    "current_stream",
    "device_count",
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


def current_stream(device: Any = None) -> None:
    """The queue of work: there is none."""


def stream(stream: Any) -> NoDevice:
    """A context that changes nothing."""
    return NoDevice(-1)


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
