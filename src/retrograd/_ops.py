"""`torch._ops`: the classes of what is in `torch.ops`, which dispatch modes and policies ask for."""

from __future__ import annotations

from retrograd.ops.aten import OpOverload, OpOverloadPacket

__all__ = ["OpOverload", "OpOverloadPacket"]
