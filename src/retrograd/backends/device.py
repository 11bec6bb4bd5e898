"""Devices: where a tensor's memory lives."""

from __future__ import annotations

import threading
from typing import Any, Final

# All that PyTorch has names for; whoever brings a backend for another device adds it, see `base.register`.
DEVICE_TYPES: Final[list[str]] = [
    "cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla", "lazy",
    "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone",
]  # fmt: skip

_LARGEST_INDEX: Final = 127


class device:  # noqa: N801 - torch's name
    """Where a tensor's memory lives: `cpu`, or `cuda` with an index.

    >>> device("cuda:1").index, device("cuda", 0)
    (1, device(type='cuda', index=0))
    """

    def __init__(self, type: str | int | device, index: int | None = None) -> None:
        if isinstance(type, device):
            kind, index = type.type, type.index if index is None else index
        elif isinstance(type, str):
            if index is not None and index < 0:
                raise RuntimeError("Device index must not be negative")
            kind, index = _parsed(type, index)
        elif isinstance(type, int):
            if type < 0:
                raise RuntimeError("Device index must not be negative")
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

    def __enter__(self) -> device:
        """Inside a `with` block, tensors of this thread are made on this device unless they say where."""
        _LOCAL.around = (default_device(), getattr(_LOCAL, "around", None))
        use_device(self)
        return self

    def __exit__(self, kind: object = None, error: object = None, where: object = None) -> None:
        before, _LOCAL.around = _LOCAL.around
        use_device(before)


def _parsed(text: str, index: int | None) -> tuple[str, int | None]:
    """`cuda:1` in its parts."""
    kind, colon, number = text.partition(":")
    if colon:
        if index is not None:
            raise RuntimeError(f"type (string) must not include an index because index was passed: {text}")
        if not number.isdecimal() or number != number.lstrip("0").rjust(1, "0"):
            raise RuntimeError(f"Invalid device string: '{text}'. Write 'cpu' or 'cuda:N'.")
        index = int(number)
        if index > _LARGEST_INDEX:
            raise RuntimeError(f"Could not parse device index '{number}' in device string '{text}'")
    elif not kind:
        raise RuntimeError("Device string must not be empty: write 'cpu' or 'cuda:N'.")
    if kind not in DEVICE_TYPES:
        raise RuntimeError(
            f"Expected one of {', '.join(DEVICE_TYPES)} device type at start of device string: {kind}"
        )
    return kind, index


CPU: Final = device("cpu")


_LOCAL: Final[Any] = (
    threading.local()
)  # `where`: this thread's default; `around`: that of the `with` block around, and its `around`


class Choice:
    """Whether any thread has ever chosen a default: until then nobody has to ask."""

    made: bool = False


CHOICE: Final = Choice()


def default_device() -> device:
    """The device on which this thread makes tensors."""
    return getattr(_LOCAL, "where", CPU) if CHOICE.made else CPU


def use_device(where: device) -> None:
    """Lets this thread make tensors on a device, unless they say where."""
    CHOICE.made = True
    _LOCAL.where = where
