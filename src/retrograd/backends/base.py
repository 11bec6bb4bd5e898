"""Devices, and the socket through which an array library is reached."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from retrograd.backends.batch.array import BatchedArray
from retrograd.backends.batch.namespace import numpy_of
from retrograd.backends.native import XP
from retrograd.hints import mypyc_attr
from retrograd.values import Array

_TYPES = ("cpu", "cuda", "fake")
ndarray: Final[Any] = np.ndarray


class device:  # noqa: N801 - torch's name
    """Where a tensor's memory lives: `cpu`, or `cuda` with an index.

    >>> device("cuda:1").index, device("cuda", 0)
    (1, device(type='cuda', index=0))
    """

    def __init__(self, type: str | int | device, index: int | None = None) -> None:
        if isinstance(type, device):
            kind, index = type.type, type.index if index is None else index
        elif isinstance(type, str):
            kind, index = _parsed(type, index)
        elif isinstance(type, int):
            kind, index = "cuda", type
        else:
            raise TypeError(
                f"device(): argument 'type' must be str, int or device, not {type.__class__.__name__}"
            )
        self.type: str = kind
        self.index: int | None = index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and self.type == other.type and self.index == other.index

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __repr__(self) -> str:
        return (
            f"device(type='{self.type}')"
            if self.index is None
            else f"device(type='{self.type}', index={self.index})"
        )

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __reduce__(self) -> Any:
        return device, (self.type, self.index)


def _parsed(text: str, index: int | None) -> tuple[str, int | None]:
    """`cuda:1` in its parts."""
    kind, colon, number = text.partition(":")
    if colon:
        if index is not None:
            raise RuntimeError(f"type (string) must not include an index because index was passed: {text}")
        if not number.isdigit():
            raise RuntimeError(f"Invalid device string: '{text}'. Write 'cpu' or 'cuda:N'.")
        index = int(number)
    if kind not in _TYPES:
        raise RuntimeError(
            f"Expected one of {', '.join(_TYPES)} device type at start of device string: {kind}"
        )
    return kind, index


CPU = device("cpu")


def check_device(where: object) -> device:
    """The device meant by `where` (None, a string, an index or a device), if this build can reach it."""
    if where is None:
        return CPU
    found = where if isinstance(where, device) else device(where)  # type: ignore[arg-type]
    if found.type != "cpu":
        raise RuntimeError(
            f"device '{found}' is not available: this build of retrograd computes on the CPU with NumPy. "
            "Use device='cpu' (the default)."
        )
    return CPU if found.index in (None, 0) else found


@mypyc_attr(allow_interpreted_subclasses=True)
class Backend:
    """An array library and the devices whose memory it manages."""

    def take(self, array: Array, where: device) -> Array:
        """A copy of any array in the memory of `where`."""
        raise NotImplementedError(f"{type(self).__name__} has no take()")


class CpuBackend(Backend):
    """NumPy."""

    def take(self, array: Array, where: device) -> Array:
        return np.array(array, copy=True, subok=False)


# By device type; whoever brings a device registers it.
BACKENDS: dict[str, Backend] = {"cpu": CpuBackend()}


def reachable_device(where: object) -> device:
    """The device meant by `where`, if arrays can be moved to it."""
    found = where if isinstance(where, device) else device(where)  # type: ignore[arg-type]
    if found.type in BACKENDS and found.type != "cpu":
        return device(found.type, found.index or 0)
    return check_device(found)


def device_of(array: Array) -> device:
    """The device an array lives on."""
    if type(array) is ndarray or isinstance(array, BatchedArray):
        return CPU
    found: device = getattr(array, "where", CPU)
    return found


def where_of(array: Array) -> device | None:
    """The device an array lives on, None for the CPU: how nodes remember it."""
    found = device_of(array)
    return None if found is CPU else found


def namespace_of(array: Array) -> Any:
    """The array library (`xp`) that computes on `array`."""
    return numpy_of(array) if isinstance(array, BatchedArray) else XP


def is_array(value: object) -> bool:
    """Whether `value` is an array that a Tensor can hold as it is."""
    return isinstance(value, BatchedArray) or isinstance(value, ndarray)
