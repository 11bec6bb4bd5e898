"""Memory that is locked, so that a GPU copies from it quickly."""

from __future__ import annotations

from typing import Any, ClassVar

from retrograd.backends.base import BACKENDS, Backend, accelerator, device_of
from retrograd.backends.device import CPU
from retrograd.backends.device import device as Device
from retrograd.core.apply import apply1
from retrograd.core.families import Linear
from retrograd.core.tensor import Tensor
from retrograd.ops.register import public
from retrograd.ops.tensor.convert import DeviceLike
from retrograd.values import Array


class Pin(Linear):
    """a copy in memory that is locked for a device"""

    node_name = "PinMemoryBackward0"
    copies: ClassVar[bool] = True
    params: ClassVar[tuple[str, ...]] = ("target",)

    def __init__(self, target: Device) -> None:
        self.target = target

    def forward(self, xp: Backend, x: Array) -> Array:
        return BACKENDS.on(self.target).pin(x)

    def transpose(self, g: Any) -> Any:
        return g


@public("Tensor.is_pinned")
def is_pinned(self: Tensor, device: DeviceLike = None) -> bool:
    """Whether the memory is locked, so that a GPU copies from it quickly."""
    where = accelerator()
    return where is not None and device_of(self.array) is CPU and BACKENDS.on(where).is_pinned(self.array)


@public("Tensor.pin_memory")
def pin_memory(self: Tensor, device: DeviceLike = None) -> Tensor:
    """A copy in memory that is locked, so that a GPU copies from it quickly; itself if it lies there already."""
    where = accelerator()
    if where is None:
        raise RuntimeError(
            "Cannot access accelerator device when none is available: pin_memory() speeds copies to a GPU up, and "
            "there is none here. Leave it out, or ask torch.cuda.is_available() first."
        )
    if device_of(self.array) is not CPU:
        raise RuntimeError(
            f"cannot pin a tensor on {self.device}: only dense CPU tensors can be pinned. Pin it before it is moved."
        )
    found: Tensor = self if BACKENDS.on(where).is_pinned(self.array) else apply1(Pin(where), self)
    return found
